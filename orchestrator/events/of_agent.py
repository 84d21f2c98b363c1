"""Kinds that tell of one agent: its start, its model calls, its tools, its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from orchestrator.events.base import Payload
from orchestrator.messages import Block

__all__ = [
    "UNKNOWN",
    "AgentEnded",
    "AgentStarted",
    "CacheMissed",
    "FileChange",
    "FileSeen",
    "Label",
    "ModelAdapted",
    "ModelAnswered",
    "ModelFailed",
    "ModelReplaced",
    "ModelRequested",
    "ModelRetried",
    "NotesEdited",
    "NotesUpdated",
    "ResultReplaced",
    "TextAdded",
    "ThinkingDropped",
    "ToolEnded",
    "ToolStarted",
]

Label = Literal["critical", "reference", "transient"]
"""How much a tool result is worth keeping in sight."""


@dataclass(frozen=True, slots=True)
class AgentStarted(Payload):
    """An agent has its fresh context: everything it is sent first, verbatim."""

    KIND: ClassVar[str] = "agent.started"
    role: str
    """`lead` or `subagent`."""
    profile: str
    title: str
    model: str
    parent: str
    system: list[Block]
    tools: list[dict[str, Any]]
    first: list[Block]
    """Blocks of the first user message."""
    settings: dict[str, Any]
    """`max_output_tokens`, `call_s`, `silence_s`, further fields as `request`, features
    that are left out as `without`."""
    limits: dict[str, Any]
    allowed: list[str]
    """Tools it may call; the definitions in `tools` may hold more."""


@dataclass(frozen=True, slots=True)
class AgentEnded(Payload):
    """An agent's loop is over."""

    KIND: ClassVar[str] = "agent.ended"
    outcome: str
    """`submitted`, `unvalidated`, `limit`, `failed`, `cancelled`."""
    reason: str
    turns: int


@dataclass(frozen=True, slots=True)
class ModelRequested(Payload):
    """Intent: a request is about to leave."""

    KIND: ClassVar[str] = "model.requested"
    turn: int
    sha256: str
    bytes: int
    max_output_tokens: int
    estimated_tokens: int
    """Input tokens, estimated."""
    reserved_usd: float | None
    composition: dict[str, int] = field(default_factory=dict)
    """Estimated tokens by layer: prompt, tools, task, state, notes, summary, subagents,
    memory, findings, results:<tool>, stubs, assistant, thinking, text; in older logs
    results as one."""
    reserved_tokens: int | None = None
    """Set aside in tokens; None: `estimated_tokens` and `max_output_tokens`."""
    purpose: str = ""
    """Empty for a turn of the agent; `summary` or `judge`: of the program, no turn."""
    rent_usd: float | None = None
    """What carrying stale results has cost since the last rewrite, this turn included;
    None: prices do not decide."""
    newest_unwritten: bool = False
    """The newest block is not written to the prompt cache: a clear is about to come."""
    model: str = ""
    """Who is asked, of a request with a purpose."""


@dataclass(frozen=True, slots=True)
class ModelAnswered(Payload):
    """Outcome: a whole reply. `kept` false: it does not enter the transcript."""

    KIND: ClassVar[str] = "model.answered"
    turn: int
    content: list[Block]
    stop_reason: str | None
    usage: dict[str, Any]
    """As `models.base.Usage`."""
    usd: float | None
    message_id: str
    model: str
    seconds: float
    first_token_s: float | None
    kept: bool = True
    cut_calls: list[str] = field(default_factory=list)
    broken_calls: dict[str, str] = field(default_factory=dict)
    """Call id → the text that was not JSON, bounded."""
    stop_details: dict[str, Any] | None = None
    usd_parts: dict[str, float] = field(default_factory=dict)
    """`usd` by class of token: `input`, `cache_write`, `cache_read`, `output`."""
    counted_usd: float | None = None
    counted_tokens: int | None = None
    """What limits count for it, where the service told too few tokens to be true."""
    queued_s: float = 0.0
    """Seconds in which it was held back by limits that all requests of a model share;
    they are no part of `seconds`."""
    purpose: str = ""
    """As in its request."""


@dataclass(frozen=True, slots=True)
class CacheMissed(Payload):
    """A request read clearly less from the prompt cache than it should have."""

    KIND: ClassVar[str] = "cache.missed"
    turn: int
    expected: int
    """Tokens that it should have read: all that the request before had read or written,
    or half of an estimated head that others had written."""
    read: int
    """Tokens that it read."""
    cause: str
    """`expired`: more than the lifetime of the cache lay between them;
    `prefix_changed`; `resumed`: another process made the request before; `not_cached`:
    the endpoint never reports any use of a cache (told once); `unknown`."""
    detail: str = ""
    """What changed, as far as that was our doing."""
    reported: str = ""
    """The service's own word for it."""


@dataclass(frozen=True, slots=True)
class ModelRetried(Payload):
    """One try failed; another follows after `wait_s`."""

    KIND: ClassVar[str] = "model.retried"
    turn: int
    attempt: int
    error: str
    message: str
    wait_s: float
    begun: bool = False
    """The service may have begun to answer: the try may be billed."""


@dataclass(frozen=True, slots=True)
class ModelFailed(Payload):
    """Outcome: no usable reply, retries included."""

    KIND: ClassVar[str] = "model.failed"
    NOT_SENT: ClassVar[str] = "not_sent"
    """The error of a request that was held back, since its run is parked."""
    turn: int
    error: str
    message: str
    detail: str = ""
    begun: bool = False
    """The service may have begun to answer: the call may be billed."""
    purpose: str = ""
    """As in its request."""


@dataclass(frozen=True, slots=True)
class ModelAdapted(Payload):
    """An edit: requests to a model do without some features from now on."""

    KIND: ClassVar[str] = "model.adapted"
    model: str
    without: list[str]
    """What is left out that was not before: `cache_control`, `thinking`, …"""
    message: str = ""
    """The endpoint's words; "": others of the run had found it out."""


@dataclass(frozen=True, slots=True)
class ModelReplaced(Payload):
    """An edit: another model goes on with the conversation, for good.

    The answer before it, a refusal, is no turn. Thinking of the model before is not
    sent any more: it is bound to that model.
    """

    KIND: ClassVar[str] = "model.replaced"
    turn: int
    model: str
    """Who refused."""
    instead: str
    reason: str
    """Category of the refusal, in the service's words."""
    request: dict[str, Any] = field(default_factory=dict)
    """Further fields of every request from now on."""
    without: list[str] = field(default_factory=list)
    """Features that are left out."""


@dataclass(frozen=True, slots=True)
class FileSeen:
    """A file whose text an agent saw, and the version it saw."""

    path: str
    """Relative to the workspace, with forward slashes."""
    sha256: str
    """Of the bytes on disk."""
    artifact: str
    """Where the whole text of this version is kept, after redaction; "" if too big."""
    lines: int
    """Lines of that text."""
    first: int = field(default=0, compare=False)
    """First line that was shown as a page, from 1; 0: no page was. Two pages of a
    version are the same version."""
    last: int = field(default=0, compare=False)
    """Last line of that page."""

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> FileSeen:
        """Return what a log holds; fields of later versions are left out."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


UNKNOWN = (
    "Interrupted: the program was stopped while this call was at work, and its outcome "
    "is unknown. Check what it did before you make it again."
)
"""`content` of the result of a call with effects that was cut off."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that a call made, changed or removed."""

    path: str
    """Relative to the workspace, with forward slashes."""
    before: str = ""
    """Artifact with the text before, after redaction; "": no file, or no text."""
    after: str = ""
    """Artifact with the text after, likewise."""
    before_sha256: str = ""
    """Of the bytes before; "": there was no file."""
    after_sha256: str = ""
    """Of the bytes after; "": there is no file any more."""
    note: str = ""
    """Why there is no text: `binary, 10,240 bytes`."""

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> FileChange:
        """Return what a log holds; fields of later versions are left out."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


@dataclass(frozen=True, slots=True)
class ToolStarted(Payload):
    """Intent: a call is about to run."""

    KIND: ClassVar[str] = "tool.started"
    call: str
    name: str
    input: dict[str, Any]
    effects: str
    """`reads`, `repeatable` or `effects`."""


@dataclass(frozen=True, slots=True)
class ToolEnded(Payload):
    """Outcome: the result that the model is shown, byte for byte."""

    KIND: ClassVar[str] = "tool.ended"
    call: str
    name: str
    content: str | list[Block]
    is_error: bool
    seconds: float
    tokens: int
    """Estimated tokens of `content`."""
    full_tokens: int
    """Estimated tokens of the whole output, before clipping."""
    artifact: str = ""
    """Where the whole output is, if it was clipped."""
    files: list[FileSeen] = field(default_factory=list)
    ends: bool = False
    """The call ended its agent: an accepted `finish` or `submit_findings`."""
    delivers: list[str] = field(default_factory=list)
    """Deliveries in it, never made again: `a3`, or `a3/1` for its first follow-up."""
    label: str = ""
    """`critical`, `reference` or `transient`; empty: as its tool has it."""
    changes: list[FileChange] = field(default_factory=list)
    """What the call changed in the workspace, in order."""


@dataclass(frozen=True, slots=True)
class TextAdded(Payload):
    """The program adds one text block after the results of the next user message."""

    KIND: ClassVar[str] = "text.added"
    reason: str
    """`nudge`, `limit`, `reminder`, `wrap_up`, `steer`, `findings`, `continue`,
    `question`."""
    text: str
    delivers: list[str] = field(default_factory=list)
    """Deliveries in it, never made again: `a3`, or `a3/1` for its first follow-up."""
    limit: str = ""
    """With `wrap_up`: the limit that it is about. With `reminder`: `context`, where it
    says that the context is filling."""
    allowed: float = 0.0
    """With `wrap_up`: the size of that limit then."""
    words: str = ""
    """With `steer`: the person's own, without those of the program around them."""


@dataclass(frozen=True, slots=True)
class ThinkingDropped(Payload):
    """An edit: no thinking block of this agent up to now is sent any more.

    They are bound to what stood before them, and that has changed.
    """

    KIND: ClassVar[str] = "thinking.dropped"
    why: str
    blocks: int


@dataclass(frozen=True, slots=True)
class ResultReplaced(Payload):
    """An edit: what answers a call from now on.

    In place of a result that is lost, or for which there is no room.
    """

    KIND: ClassVar[str] = "result.replaced"
    call: str
    content: str
    is_error: bool
    delivers: list[str] = field(default_factory=list)
    """Deliveries in it, never made again: `a3`, or `a3/1` for its first follow-up."""


@dataclass(frozen=True, slots=True)
class NotesUpdated(Payload):
    """An agent wrote to its notes."""

    KIND: ClassVar[str] = "notes.updated"
    section: str
    mode: str
    text: str
    pin: bool = False


@dataclass(frozen=True, slots=True)
class NotesEdited(Payload):
    """A person changed a section of the notes of this agent, in their file."""

    KIND: ClassVar[str] = "notes.edited"
    section: str
    text: str
    """The section as the person left it; "": it was emptied. What the agent noted there
    meanwhile stands below that."""
    origin: str = ""
    """Names what stood in the file, and what that was a change of: found again, in an
    old file or one that was saved again, it is no new change."""
    whole: str = ""
    """Artifact with the text, where it is too long for the agent to be told all of
    it."""
