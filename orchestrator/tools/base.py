"""The port that every tool implements, and what a tool is handed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from orchestrator.events import FileChange, FileSeen
from orchestrator.events.of_agent import Label
from orchestrator.messages import Block, Message
from orchestrator.security.permissions import Permission
from orchestrator.security.workspace import Workspace
from orchestrator.store.artifacts import Artifacts

__all__ = [
    "Clip",
    "Described",
    "Effects",
    "Tool",
    "ToolContext",
    "ToolOutput",
]

Effects = Literal["reads", "repeatable", "effects"]

A_contra = TypeVar("A_contra", bound=BaseModel, contravariant=True)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back, before cleaning, redaction and clipping."""

    text: str = ""
    is_error: bool = False
    files: tuple[FileSeen, ...] = ()
    """Files whose text is shown, for the look-up of quotes."""
    blocks: tuple[Block, ...] = ()
    """Content that is not text (images); most tools give none."""
    paged: bool = False
    """The tool kept its own limit, at line ends; it is not clipped again."""
    limit_tokens: int | None = None
    """Of a paged output: its limit, where that is not the page size of the context."""
    ends: bool = False
    """Accepted hand-in: the agent's loop ends with this step."""
    value: Any = None
    """What the hand-in is, for the program; never shown to a model."""
    delivers: tuple[str, ...] = ()
    """Deliveries of subagents in it: `a3`, or `a3/1` for its first follow-up."""
    label: Label = "reference"
    """How long it stays in sight: `critical` is never cleared, `transient` soon."""
    changes: tuple[FileChange, ...] = ()
    """What the call changed in the workspace, in order."""


class Clip(Protocol):
    """Bounds text on entry; the same for every agent and tool."""

    def __call__(
        self, text: str, *, limit_tokens: int, is_error: bool, ref: str
    ) -> str:
        """Return `text`, or its head and tail where it is longer.

        Args:
            text: clean and redacted.
            limit_tokens: most that is returned.
            is_error: the end says most.
            ref: where the whole text is kept; stands in the marker between them.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call may touch. Made by the agent for each call."""

    agent: str
    call: str
    """The tool_use id."""
    workspace: Workspace
    artifacts: Artifacts
    redact: Callable[[str], str]
    """Replaces secrets by stable placeholders; cheap on clean text."""
    count: Callable[[str], int]
    """Estimated tokens of a text."""
    read_tokens: int = 8000
    """Page size of `read_file` and `read_ref`."""
    clip_tokens: int = 4000
    knows_ref: Callable[[str], bool] = field(default=lambda _ref: False)
    """Whether a reference occurs in this agent's context."""
    history: Callable[[], Sequence[Message]] = field(default=tuple)
    """The agent's whole transcript, oldest first, whatever of it is still sent."""
    findings_of: Callable[[str], str] = field(default=lambda _agent: "")
    """Findings of a subagent as they were delivered to this agent; "": it has none."""
    shown: Callable[[FileSeen], str] = field(default=lambda _page: "")
    """Page of a file → reference of a result that the agent still sees and that shows
    all lines of that page, in that version; "": there is none."""
    may: frozenset[Permission] = frozenset()
    """What this agent may have, of what the task allows."""
    seen: Callable[[str], FileSeen | None] = field(default=lambda _path: None)
    """Path, relative to the workspace → the version of it that this agent saw last."""
    restore: Callable[[str], str] = field(default=lambda text: text)
    """Puts secrets back in place of their placeholders, and defused marks as they
    were, for what leaves the program; raises `ToolError` where a secret is unknown or
    the task does not allow it."""
    restore_file: Callable[[str], str] = field(default=lambda text: text)
    """The same for what is written into the workspace, which needs no permission."""


class Described(Protocol):
    """What can be told of a tool, by the tool itself or by its class."""

    @property
    def name(self) -> str:
        """Return 1 to 64 ASCII letters, digits, dashes and underscores."""
        ...

    @property
    def description(self) -> str:
        """Return what the model reads: what it is for, when to use it, its limits."""
        ...

    @property
    def Args(self) -> type[BaseModel]:  # noqa: N802 - a class
        """Return the argument model."""
        ...

    @property
    def effects(self) -> Effects:
        """Return whether it only reads, may be repeated, or has effects."""
        ...


class Tool(Described, Protocol[A_contra]):
    """Something a model can call.

    `run` may be async; a sync `run` is put in a thread. It raises `ToolError` for what
    the model can mend and lets bugs through.

    A tool whose results are JSON may have `context_fields`, a tuple of dotted names:
    only these parts are shown, and the model can ask for the rest. One whose results
    should all be kept or let go may have `label`, as in `ToolOutput`. One that needs a
    permission of the task has `asks(args, context)`: what a person is asked where the
    task says `ask`. One whose results hold the program's own marks (findings, steps)
    has `own_marks = True`, and defuses what else is in them; in all other results
    imitations of those marks are defused.
    """

    @property
    def timeout_s(self) -> float:
        """Return after how many seconds a call is given up."""
        ...

    def run(self, args: A_contra, context: ToolContext) -> Any:  # noqa: ANN401 - sync or async
        """Return a `ToolOutput` or a text, or an awaitable of either.

        Raises:
            ToolError: the call failed in a way the model can mend.
        """
        ...
