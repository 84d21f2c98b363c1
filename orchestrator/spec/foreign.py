"""Names that agent files of other programs use, and ours for the same thing."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.security.permissions import Permission

__all__ = [
    "EXPLORE_NOTHING",
    "FOREIGN_KEYS",
    "FOREIGN_MODELS",
    "FOREIGN_TOOLS",
    "LIMIT_KEYS",
    "NEEDS",
    "OUR_TOOLS",
    "SAME_KEYS",
    "available_tools",
]

OUR_TOOLS = frozenset(
    {
        "delegate", "wait_for", "follow_up", "cancel", "finish", "submit_findings",
        "update_notes", "read_ref", "recall", "read_file", "grep", "glob", "list_dir",
        "write_file", "edit_file", "bash", "fetch_url", "memory",
    }
)  # fmt: skip
"""Tools that exist."""

NEEDS: dict[str, Permission] = {
    "write_file": "write",
    "edit_file": "write",
    "bash": "shell",
    "fetch_url": "network",
}
"""Tools that a run has only where its task allows this."""

EXPLORE_NOTHING = frozenset(
    {
        "delegate", "finish", "submit_findings", "update_notes", "wait_for",
        "follow_up", "cancel", "recall", "memory",
    }
)  # fmt: skip
"""Tools whose results are the program's own words, findings, or known already."""

FOREIGN_TOOLS: dict[str, str | None] = {
    "Read": "read_file", "NotebookRead": "read_file", "read": "read_file",
    "read_many_files": "read_file", "view": "read_file", "cat": "read_file",
    "Grep": "grep", "search": "grep", "search_file_content": "grep",
    "grep_search": "grep", "codebase": "grep",
    "Glob": "glob", "find": "glob", "fileSearch": "glob", "file_search": "glob",
    "LS": "list_dir", "ls": "list_dir", "list": "list_dir",
    "list_directory": "list_dir", "listDirectory": "list_dir",
    "Write": "write_file", "write": "write_file", "create_file": "write_file",
    "Edit": "edit_file", "MultiEdit": "edit_file", "edit": "edit_file",
    "replace": "edit_file", "editFiles": "edit_file",
    "Bash": "bash", "shell": "bash", "run_shell_command": "bash", "terminal": "bash",
    "runCommands": "bash",
    "WebFetch": "fetch_url", "web_fetch": "fetch_url", "webfetch": "fetch_url",
    "fetch": "fetch_url",
    "TodoWrite": "update_notes", "todowrite": "update_notes",
    "Task": "delegate", "Agent": "delegate", "task": "delegate",
    # Known, and nothing of ours does the same.
    "WebSearch": None, "web_search": None, "google_web_search": None,
    "NotebookEdit": None, "BashOutput": None, "KillShell": None, "KillBash": None,
    "ExitPlanMode": None, "EnterPlanMode": None, "AskUserQuestion": None,
    "SlashCommand": None, "Skill": None, "ToolSearch": None, "TodoRead": None,
    "LSP": None, "Monitor": None, "TaskOutput": None, "TaskStop": None,
    "TaskCreate": None, "TaskGet": None, "TaskList": None, "TaskUpdate": None,
    "SendMessage": None, "ListMcpResourcesTool": None, "ReadMcpResourceTool": None,
    "save_memory": None, "write_todos": None, "PowerShell": None,
}  # fmt: skip
"""Tool names of other programs; None: we have nothing like it."""

FOREIGN_MODELS: dict[str, str | None] = {
    "inherit": None,
    "default": None,
    "fable": "claude-fable-5-2",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}
"""Short model names; None: whatever the run uses. Ids as of November 2026."""

FOREIGN_KEYS = frozenset(
    {
        "argument-hint", "author", "background", "category", "color", "date",
        "displayName", "handoffs", "hidden", "hooks", "icon", "id", "initialPrompt",
        "isolation", "kind", "license", "mcp-servers", "mcpServers", "memory",
        "metadata", "mode", "omitClaudeMd", "permission", "permissionMode",
        "permissions", "skills", "tags", "target", "temperature", "title", "top_p",
        "version",
    }
)  # fmt: skip
"""Keys of other programs that are read over. Hooks and permission modes are among
them: a profile can neither run commands nor widen what the task allows."""

LIMIT_KEYS: dict[str, str] = {
    "maxTurns": "turns",
    "max_turns": "turns",
    "maxSteps": "turns",
    "steps": "turns",
    "timeout_mins": "minutes",
    "maxBudgetUsd": "usd",
}
"""Keys that limit an agent, ours first, and the limit each one is."""

SAME_KEYS: dict[str, str] = {
    "allowed-tools": "tools",
    "allowedTools": "tools",
    "allowed_tools": "tools",
    "disallowed-tools": "disallowedTools",
    "disallowed_tools": "disallowedTools",
}
"""Other spellings of our keys."""


def available_tools(
    permissions: Collection[Permission], *, has_memory: bool
) -> frozenset[str]:
    """Return the tools of ours that a run has.

    Args:
        permissions: of its agents.
        has_memory: its task has a scope of memory.
    """
    missing = {name for name, need in NEEDS.items() if need not in permissions}
    return OUR_TOOLS - missing - (frozenset() if has_memory else {"memory"})
