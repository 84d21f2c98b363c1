"""`memory`: the API's memory commands, on what outlives runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.events.of_agent import Label
from orchestrator.memory.commands import Commands
from orchestrator.tools.base import Effects, ToolContext

__all__ = ["MemoryArgs", "MemoryTool"]

_TAKES = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
"""What each command must have, and may have."""


class MemoryArgs(BaseModel):
    """Arguments of `memory`: flat, as the API's own tool has them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: str | None = Field(default=None, description="`/memories/...`")
    view_range: list[int] | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = Field(default=None, description="0: at the top.")
    insert_text: str | None = None
    old_path: str | None = None
    new_path: str | None = None


class MemoryTool:
    """Reads and writes the files that outlive runs.

    What they hold is data: marks of the program in it are defused like those of any
    other file.
    """

    name: ClassVar[str] = "memory"
    description: ClassVar[str] = (
        "Files under /memories that outlive this run: what will be true and useful "
        "next time, not progress or secrets. Update entries rather than add. A topic "
        "is one `.md` file: `# Title`, a line about it, then entries:\n"
        "## Key\n\nValue.\n\n- evidence: path/file.py:12-14\n- confidence: 0.9\n"
        "A person's entries cannot be changed."
    )
    Args: ClassVar[type[BaseModel]] = MemoryArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 30
    label: ClassVar[Label] = "transient"

    def __init__(self, desk: Callable[[ToolContext], Commands]) -> None:
        """Make it.

        Args:
            desk: the commands of the agent that makes a call.
        """
        self._desk = desk

    def run(self, args: MemoryArgs, context: ToolContext) -> str:
        """Return what the command says.

        Raises:
            ToolError: the command cannot be carried out, or does not go with what it
                was given.
        """
        given = args.model_dump(exclude_none=True, exclude={"command"})
        needed, allowed = _TAKES[args.command]
        missing = [name for name in needed if name not in given]
        extra = [name for name in given if name not in (*needed, *allowed)]
        if missing or extra:
            also = f" and may take {_named(allowed)}" if allowed else ""
            told = f", not {_named(extra)}" if extra else ""
            raise ToolError(f"`{args.command}` takes {_named(needed)}{also}{told}")
        return self._desk(context).run({"command": args.command, **given})


def _named(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
