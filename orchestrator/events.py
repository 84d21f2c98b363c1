"""The events of a run, one frozen class per kind: what the log holds.

Changes are only additive: a field may be added with a default, never renamed,
removed or given another meaning. Unknown kinds and unknown fields survive reading
and rewriting, since a reader keeps `Event.data` as it came.

Writing gives a class (`log.append(ModelAnswered(...), agent="a1")`); reading gives an
`Event`, and `parse(event, ModelAnswered)` where the fields are wanted. Plain
dataclasses on purpose: the reading commands load them in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from orchestrator.messages import Block

__all__ = [
    "KINDS",
    "SCHEMA_VERSION",
    "AgentEnded",
    "AgentStarted",
    "BriefRefused",
    "Event",
    "FileSeen",
    "FindingsSubmitted",
    "LimitReachedEvent",
    "ModelAnswered",
    "ModelFailed",
    "ModelRequested",
    "ModelRetried",
    "NotesUpdated",
    "Payload",
    "ReportSubmitted",
    "RunEnded",
    "RunResumed",
    "RunStarted",
    "SubagentAccepted",
    "SubagentEnded",
    "TextAdded",
    "ToolEnded",
    "ToolStarted",
    "parse",
]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log.

    Attributes:
        seq: 1, 2, 3 …; the order in which things happened.
        at: time of day in UTC, RFC 3339 with milliseconds.
        run: the run's id.
        agent: `lead`, `a1`, … or "" for the run itself.
        kind: `noun.verb`.
        cause: `seq` of the event that led to this one, or 0.
        data: the fields of the kind's class, as they were written.
        v: version of the schema.
    """

    seq: int
    at: str
    run: str
    agent: str
    kind: str
    cause: int
    data: dict[str, Any]
    v: int = SCHEMA_VERSION

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, in the order of the log; `data` is shared."""
        names = ("v", "seq", "at", "run", "agent", "kind", "cause", "data")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Payload:
    """Base of all kinds."""

    KIND: ClassVar[str] = ""


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


@dataclass(frozen=True, slots=True)
class RunStarted(Payload):
    """A run begins; its folder and `task.yaml` are written."""

    KIND: ClassVar[str] = "run.started"
    task: str
    objective: str
    versions: dict[str, str]
    salt: str
    """Hex; keys the placeholders of redaction, so that they stay the same."""
    models: dict[str, str]
    limits: dict[str, Any]
    model_reason: str = ""


@dataclass(frozen=True, slots=True)
class RunResumed(Payload):
    """A later process goes on with the run."""

    KIND: ClassVar[str] = "run.resumed"
    versions: dict[str, str]
    after: int
    """`seq` of the last event that was kept."""
    limits: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnded(Payload):
    """A run ends: `done`, `partial`, `failed` or `interrupted`."""

    KIND: ClassVar[str] = "run.ended"
    state: str
    exit_code: int
    reason: str
    missing: list[str]
    """What was asked for and is not there, a line each."""
    seconds: float
    traceback: str = ""


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
    """`max_output_tokens`, `call_s`, `silence_s`, and further fields as `request`."""
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
    """Estimated tokens by layer: prompt, tools, task, results, assistant, text."""


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
    turn: int
    error: str
    message: str
    detail: str = ""
    begun: bool = False
    """The service may have begun to answer: the call may be billed."""


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


@dataclass(frozen=True, slots=True)
class TextAdded(Payload):
    """The program adds one text block after the results of the next user message."""

    KIND: ClassVar[str] = "text.added"
    reason: str
    """`nudge`, `limit`, `reminder`, `steer`, `findings`, `continue`."""
    text: str


@dataclass(frozen=True, slots=True)
class BriefRefused(Payload):
    """A brief did not stand alone; nothing was spent on it."""

    KIND: ClassVar[str] = "brief.refused"
    call: str
    index: int
    title: str
    problems: list[str]


@dataclass(frozen=True, slots=True)
class SubagentAccepted(Payload):
    """A brief was accepted and has its agent id; the agent waits for its turn."""

    KIND: ClassVar[str] = "subagent.accepted"
    id: str
    call: str
    """The `delegate` call, by its tool_use id."""
    index: int
    """Place of the brief in that call, from 0."""
    title: str
    profile: str
    brief: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SubagentEnded(Payload):
    """A subagent is over and its findings are stored."""

    KIND: ClassVar[str] = "subagent.ended"
    id: str
    status: str
    """Of the findings: `complete`, `partial`, `nothing_found`, `failed`."""
    outcome: str
    reason: str
    findings: dict[str, Any]
    """As delivered."""
    explored_tokens: int
    """Estimated tokens of everything its tools returned."""
    returned_tokens: int
    """Estimated tokens of the findings as delivered."""
    unsupported: int = 0
    """Items whose evidence was not found."""
    unsupported_items: list[int] = field(default_factory=list)
    """Their numbers, from 1."""
    notes: list[str] = field(default_factory=list)
    """What the program has to say about the findings, a line each."""
    traceback: str = ""
    """Of a fault of the program."""


@dataclass(frozen=True, slots=True)
class FindingsSubmitted(Payload):
    """A subagent handed in findings; problems send them back."""

    KIND: ClassVar[str] = "findings.submitted"
    attempt: int
    accepted: bool
    problems: list[str]
    findings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportSubmitted(Payload):
    """The lead handed in its report; wrong citations send it back once."""

    KIND: ClassVar[str] = "report.submitted"
    attempt: int
    accepted: bool
    citations: int
    wrong: list[str]
    report: str = ""
    result: Any = None


@dataclass(frozen=True, slots=True)
class NotesUpdated(Payload):
    """An agent wrote to its notes."""

    KIND: ClassVar[str] = "notes.updated"
    section: str
    mode: str
    text: str
    pin: bool = False


@dataclass(frozen=True, slots=True)
class LimitReachedEvent(Payload):
    """A limit stopped an agent or the run."""

    KIND: ClassVar[str] = "limit.reached"
    limit: str
    used: float
    allowed: float


P = TypeVar("P", bound=Payload)

KINDS: dict[str, type[Payload]] = {
    kind.KIND: kind
    for kind in (
        RunStarted, RunResumed, RunEnded, AgentStarted, AgentEnded, ModelRequested,
        ModelAnswered, ModelRetried, ModelFailed, ToolStarted, ToolEnded, TextAdded,
        BriefRefused, SubagentAccepted, SubagentEnded, FindingsSubmitted,
        ReportSubmitted, NotesUpdated, LimitReachedEvent,
    )
}  # fmt: skip


def parse(event: Event, kind: type[P]) -> P:
    """Return the data of `event` as `kind`; fields it does not know are left out.

    Raises:
        TypeError: a field without a default is missing.
    """
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in event.data.items() if name in known})
