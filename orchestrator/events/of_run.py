"""Kinds that tell of the run as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events.base import Payload

__all__ = [
    "ControlReceived",
    "LimitReachedEvent",
    "PermissionAnswered",
    "PermissionAsked",
    "ReportSubmitted",
    "RunEnded",
    "RunParked",
    "RunReopened",
    "RunResumed",
    "RunStarted",
]


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
    facts: str = ""
    """What agents are told of the workspace, so that later ones are told the same."""
    context: list[dict[str, str]] | None = None
    """The context files as agents are shown them: `path` and `text`. None: not kept."""
    prices: dict[str, Any] = field(default_factory=dict)
    """Model → its price: `source`, `date`, and `bands` of dollars per million tokens.
    A model whose price is unknown is not in it."""
    tool_folders: list[str] = field(default_factory=list)
    """Where the user's own tools were looked for, besides what is installed."""
    redact: list[str] = field(default_factory=list)
    """What is replaced by placeholders besides secrets: `personal`, or nothing."""
    skills: list[dict[str, str]] = field(default_factory=list)
    """That agents were told of: `name`, `description`, `folder`."""
    root_name: str = ""
    """Of the workspace."""
    top_level: list[str] | None = None
    """What lay in the workspace, as far as agents may see it; folders end in `/`. None:
    it is not known."""


@dataclass(frozen=True, slots=True)
class RunResumed(Payload):
    """A later process goes on with the run, or the same one after a pause."""

    KIND: ClassVar[str] = "run.resumed"
    versions: dict[str, str]
    after: int
    """`seq` of the last event that was kept."""
    limits: dict[str, Any] = field(default_factory=dict)
    prices: dict[str, Any] = field(default_factory=dict)
    """As in `run.started`, from here on; what was booked before stays as it is."""


@dataclass(frozen=True, slots=True)
class RunParked(Payload):
    """Nothing more is sent; what is under way comes in, then the process lets go."""

    KIND: ClassVar[str] = "run.parked"
    error: str
    """Kind of the error that is the reason."""
    message: str
    """The endpoint's own words."""
    detail: str = ""
    resume_at: str = ""
    """When requests are answered again, as the endpoint says, in UTC, or ""."""
    under_way: int = 0
    """Requests whose answers may still come."""
    by: str = ""
    """The agent whose request met it."""
    turn: int = 0
    """Of that agent."""


@dataclass(frozen=True, slots=True)
class RunEnded(Payload):
    """A run ends: `done`, `partial`, `failed`, `parked` or `interrupted`.

    Or it is `paused`: its process waits until a person lets it go on.
    """

    KIND: ClassVar[str] = "run.ended"
    state: str
    exit_code: int
    reason: str
    missing: list[str]
    """What was asked for and is not there, a line each."""
    seconds: float
    traceback: str = ""
    stopped: list[str] = field(default_factory=list)
    """Those of `missing` that a person stopped: a resume leaves them alone."""
    resume_at: str = ""
    """When a parked run can go on, in UTC; "": nobody knows."""


@dataclass(frozen=True, slots=True)
class RunReopened(Payload):
    """The lead had ended and goes on: asked something, or to do what is missing."""

    KIND: ClassVar[str] = "run.reopened"
    text: str
    """What the lead is told; a block of its next user message."""
    question: str
    """The further question; "" where what is missing is to be done."""
    earlier: int = 0
    """Number that the report of before is kept under, as in `report.1.md`; 0: none."""
    limits: dict[str, Any] = field(default_factory=dict)
    """As they are from now on; empty where none has changed."""


@dataclass(frozen=True, slots=True)
class ControlReceived(Payload):
    """A person asked something of the live run, or an agent of its subagent."""

    KIND: ClassVar[str] = "control.received"
    action: str
    """`stop`, `steer`, `pause` or `go_on` by a person, `cancel` by an agent."""
    to: str
    """The agent it is about; "" for the whole run."""
    by: str = ""
    """The agent that asked; "" for a person, through the `control/` folder."""
    reason: str = ""
    """Why, in the words of who asked."""
    text: str = ""
    """With `steer`: what the person says to the lead."""
    request: str = ""
    """Name of the file that asked: one that is still there was taken already."""


@dataclass(frozen=True, slots=True)
class PermissionAsked(Payload):
    """A call needs a permission that a person gives, and waits for the answer."""

    KIND: ClassVar[str] = "permission.asked"
    call: str
    tool: str
    permissions: list[str]
    """What is asked for: `write`, `shell`, `network`, `secrets`."""
    effect: str
    """What the call would do, as the person sees it, without secrets."""


@dataclass(frozen=True, slots=True)
class PermissionAnswered(Payload):
    """The answer to the newest question of this agent about that call."""

    KIND: ClassVar[str] = "permission.answered"
    call: str
    tool: str
    answer: str
    """`once`, `always` or `no`."""
    by: str
    """`person`, or `nobody` where none was there."""


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
    unfinished: list[str] = field(default_factory=list)
    """Subagents whose findings it did not have: why it went back."""
    unheard: int = 0
    """Things a person had said that the lead had not been told: why it went back."""


@dataclass(frozen=True, slots=True)
class LimitReachedEvent(Payload):
    """A limit stopped an agent or the run."""

    KIND: ClassVar[str] = "limit.reached"
    limit: str
    used: float
    """What is set aside for calls included."""
    allowed: float
    set_aside: float | None = None
    """Of `used`; None: nobody knows."""
