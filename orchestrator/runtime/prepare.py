"""Everything that can be wrong before a run, found before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orchestrator.access import BASE_URL, check_access, has_credentials
from orchestrator.errors import SpecError
from orchestrator.extras import how_to_install, is_installed
from orchestrator.models.pricing import Price
from orchestrator.runtime.allowed import sandbox_notices
from orchestrator.runtime.context_notices import context_notices
from orchestrator.runtime.costs import (
    fallback_notices,
    models_used,
    price_file_notices,
    summary_notices,
    usd_limit,
)
from orchestrator.runtime.fixed import AgentNumbers, agent_numbers
from orchestrator.runtime.memory_place import check_memory
from orchestrator.settings import (
    OFFLINE,
    ModelsChosen,
    Settings,
    bare_model,
    choose_models,
)
from orchestrator.spec.context_files import ContextFile, read_context
from orchestrator.spec.delegating import depth_notices
from orchestrator.spec.foreign import OUR_TOOLS, available_tools
from orchestrator.spec.mcp_secrets import notices as server_notices
from orchestrator.spec.mcp_servers import McpServer, mcp_servers
from orchestrator.spec.profiles import Discovery, Selection, discover, select
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.skills import Skill, find_skills
from orchestrator.spec.task import Task
from orchestrator.tools.base import Tool
from orchestrator.tools.loading import load_tools

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task with all that it names, read and checked.

    Attributes:
        task: as loaded.
        models: which model each role uses, and why.
        profiles: the lead's and those of subagents.
        found: where the profiles came from.
        book: the prompts in force.
        context_files: as agents are shown them, before redaction.
        usd: limit in dollars, or None where a model's price is unknown.
        notices: for the user, a line each.
        numbers: of the lead's context, then of those of each profile it may send.
        tools: the user's own that the task names.
        tool_folders: where those were looked for, besides what is installed.
        skills: those that the task names.
        servers: MCP servers that the task names, by name.
    """

    task: Task
    models: ModelsChosen
    profiles: Selection
    found: Discovery
    book: PromptBook
    context_files: tuple[ContextFile, ...]
    usd: float | None
    notices: tuple[str, ...]
    numbers: tuple[AgentNumbers, ...]
    tools: tuple[Tool[Any], ...] = ()
    tool_folders: tuple[Path, ...] = ()
    skills: tuple[Skill, ...] = ()
    servers: Mapping[str, McpServer] = field(default_factory=dict)


def prepare(
    task: Task,
    *,
    settings: Settings,
    env: Mapping[str, str],
    price_of: Callable[[str], Price | None],
    task_folder: Path | None = None,
    cwd: Path | None = None,
    needs_credentials: bool = True,
) -> Prepared:
    """Return `task` with everything it names.

    Args:
        task: as loaded.
        settings: the user's.
        env: where credentials and the address of the endpoint are looked for.
        price_of: bare id → price, or None if unknown.
        task_folder: folder of the task file; default: the workspace.
        cwd: the working directory; default: the process's.
        needs_credentials: false where the caller brings a model of its own.

    Raises:
        SpecError: something is missing or wrong; nothing was spent.
    """
    folder, here = task_folder or task.workspace, cwd or Path.cwd()
    if "personal" in task.redact and not is_installed("personal"):
        raise SpecError(
            "`personal` needs what is not installed; install it "
            + how_to_install("personal"),
            field="redact",
        )
    found = discover(folder, here)
    profiles = select(task.agents, found)
    book = PromptBook.of(folder, here)
    book.check()
    can_call = not needs_credentials or has_credentials(env)
    has_endpoint = bool(env.get(BASE_URL))
    models = choose_models(task, settings, can_call, has_endpoint=has_endpoint)
    if needs_credentials and not models.is_offline:
        check_access(env)
    models = replace(
        models,
        fallback=fallback_of(task, models),
        judge=_judge_of(task, models),
        summaries=models.summaries if _summarises(task) else "",
    )
    context_files = read_context(task.workspace, task.context or ())
    tools = load_tools(task.tools, folders=(folder, here), taken=OUR_TOOLS)
    skills = find_skills([Path(each) for each in task.skills])
    servers = mcp_servers(task.mcp_servers, env)
    told_of_memory = check_memory(task, settings, env)
    usd, notices = usd_limit(task, models, profiles, price_of)
    return Prepared(
        task=task,
        models=models,
        profiles=profiles,
        found=found,
        book=book,
        context_files=context_files,
        usd=usd,
        notices=(
            models.reason,
            *profiles.notices,
            *(f"an agent file is passed over: {each}" for each in found.problems),
            *_ignored(models, profiles, book),
            *sandbox_notices(task.permissions),
            *_unused_permissions(task, models),
            *server_notices(task.mcp_servers),
            *told_of_memory,
            *depth_notices(task.limits, profiles.subagents.values()),
            *fallback_notices(models, profiles),
            *summary_notices(task, models),
            *context_notices(task.context_policy, models, profiles),
            *price_file_notices(models_used(models, profiles), price_of),
            *notices,
        ),
        numbers=agent_numbers(
            task,
            models,
            profiles,
            book=book,
            context_files=context_files,
            available=available_tools(
                task.permissions, has_memory=task.memory.has_entries
            ),
            own_tools=tools,
        ),
        tools=tools,
        tool_folders=(folder, here),
        skills=skills,
        servers=servers,
    )


def _unused_permissions(task: Task, models: ModelsChosen) -> Iterator[str]:
    """Yield a line if the task allows what the offline model never does."""
    if models.is_offline and task.permissions:
        yield (
            "the offline model only reads: what the task allows beyond that "
            f"({', '.join(task.permissions)}) is not used"
        )


def fallback_of(task: Task, models: ModelsChosen) -> str:
    """Return the bare id of the model that goes on after a refusal, or "".

    Raises:
        SpecError: what the task names is no model, or none that can go on with what
            another one began.
    """
    if task.fallback_model is None:
        return ""
    fallback = bare_model(task.fallback_model, field="fallback_model")
    if fallback == OFFLINE and not models.is_offline:
        raise SpecError(
            f"`{OFFLINE}` cannot go on with the conversation of a language model; "
            "name another one or leave it out",
            field="fallback_model",
        )
    return fallback


def _summarises(task: Task) -> bool:
    return task.context_policy.policy == "ladder"


def _judge_of(task: Task, models: ModelsChosen) -> str:
    """Return the bare id of the model that judges summaries, or ""."""
    judge = task.context_policy.judge
    if judge is None or models.is_offline or not _summarises(task):
        return ""
    return bare_model(judge, field="context_policy.judge")


def _ignored(
    models: ModelsChosen, profiles: Selection, book: PromptBook
) -> Iterator[str]:
    """Yield what the user wrote and this run does not follow."""
    for profile in (profiles.lead, *profiles.subagents.values()):
        role = models.lead if profile is profiles.lead else models.subagents
        if role == OFFLINE and profile.model not in (None, OFFLINE):
            yield (
                f"profile `{profile.name}` asks for `{profile.model}`; this run is "
                "offline"
            )
    for path, name in book.strangers().items():
        yield f"`{path}` replaces no prompt; did you mean `{name}.md`?"
