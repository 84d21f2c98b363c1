"""Shapes of how runs stand: `show RUN`, `show --changes`, `runs`."""

from __future__ import annotations

from typing import Any, Literal

from orchestrator.inspection.shapes.figures import (
    AgentFigures,
    CostShape,
    FullestShape,
    ModelUseShape,
    Shape,
    TokensShape,
    ToolUseShape,
    Version,
    WaitsShape,
)

__all__ = [
    "AgentInTree",
    "ChangeShape",
    "ChangeSums",
    "ChangeWithDiff",
    "CostliestShape",
    "FactorShape",
    "FilesChanged",
    "LimitReachedShape",
    "LimitShape",
    "LogShape",
    "PersonActShape",
    "ReasonShape",
    "RefusedShape",
    "ReportShape",
    "ReusedShape",
    "RunShape",
    "RunSums",
    "Runs",
    "ShownChanges",
    "ShownRun",
]


class AgentInTree(AgentFigures):
    """One agent of a run."""

    depth: int
    """In the tree; 0: the lead."""


class LimitShape(Shape):
    """One limit of the run, in the unit of its name."""

    used: float
    allowed: float


class LimitReachedShape(Shape):
    """A limit that was reached."""

    agent: str
    """"" for the run."""
    limit: str


class RefusedShape(Shape):
    """A brief that was refused."""

    title: str
    problems: list[str]


class ReusedShape(Shape):
    """A brief that was answered by findings of before."""

    title: str
    agent: str


class ReportShape(Shape):
    """What became of the lead's report."""

    attempts: int
    citations: int
    wrong_citations: list[str]


class FactorShape(Shape):
    """A figure of the costliest subagent, beside the others'."""

    name: str
    """`turns`, `explored_tokens`, `cache_share` and the like."""
    value: float
    others: float
    """The median of the other subagents."""


class CostliestShape(Shape):
    """The subagent that cost most."""

    agent: str
    measure: Literal["usd", "tokens"]
    """`tokens` where no dollars are known, or all are 0."""
    amount: float
    share: float
    """Of what all subagents took, 0 to 1."""
    factors: list[FactorShape]
    """In what it differs most from the others, the largest difference first."""
    model: str
    """That it asked, where others asked another; else ""."""


class ReasonShape(Shape):
    """One reason why the run is not done."""

    text: str
    events: list[int]
    """Numbers of the events that tell of it."""


class PersonActShape(Shape):
    """One thing that a person did to the run."""

    seq: int
    at: str
    """RFC 3339."""
    action: str
    """`stop`, `steer`, `pause`, `go_on`, `edit_notes`, `ask`, `allow` or `refuse`."""
    to: str
    """The agent it is about; "" for the run."""
    text: str


class ChangeShape(Shape):
    """A file that is not as it was before the run."""

    path: str
    state: Literal["created", "edited", "removed"]
    added: int
    """Lines."""
    removed: int
    agents: dict[str, int]
    """Who changed it → how often."""
    before_sha256: str
    after_sha256: str
    before: str
    """Artifact with its text before, or ""."""
    after: str
    remark: str


class ChangeWithDiff(ChangeShape):
    """A file that was changed, and how."""

    diff: list[str]
    """Rows of a unified diff."""


class ChangeSums(Shape):
    """How much was changed in files."""

    files: int
    added: int
    removed: int


class FilesChanged(ChangeSums):
    """What was changed in files, without the texts."""

    changes: list[ChangeShape]


class LogShape(Shape):
    """What was read."""

    events: int
    damaged: int
    """Records that are lost."""
    unknown_kinds: dict[str, int]
    """Kinds that this version does not know → how often."""


class ShownRun(CostShape):
    """`show RUN --json`: how a run stands."""

    v: Version
    id: str
    task: str
    objective: str
    questions: list[str]
    """Further ones, in order."""
    state: str
    """`done`, `partial`, `failed`, `parked`, `interrupted`, `running`, `paused` or
    `crashed`: its log has no end and nobody works on it."""
    reason: str
    resume_at: str
    """When a parked run can go on, RFC 3339, or ""."""
    exit_code: int | None
    resumable: bool
    missing: list[str]
    reasons: list[ReasonShape]
    person: list[PersonActShape]
    started: str | None
    """RFC 3339."""
    ended: str | None
    seconds: float
    """At work; the time between processes is left out."""
    resumes: int
    models: dict[str, str]
    """By role."""
    prices: dict[str, dict[str, Any]]
    """Model → `source`, `date` and `bands` of dollars per million tokens."""
    tokens: TokensShape
    explored_tokens: int
    """Of all subagents."""
    returned_tokens: int
    costliest: CostliestShape | None
    """null: there are not two subagents that began."""
    fullest: FullestShape | None
    """null: nothing was sent."""
    tools: dict[str, ToolUseShape]
    requests: dict[str, ModelUseShape]
    """By model."""
    waits_s: WaitsShape
    limits: dict[str, LimitShape]
    limits_reached: list[LimitReachedShape]
    refused_briefs: list[RefusedShape]
    reused_briefs: list[ReusedShape]
    report: ReportShape
    agents: list[AgentInTree]
    """Parents before their children."""
    log: LogShape
    files: dict[str, str]
    """`folder`, `report`, `result`, `notes` → path, of those that are there."""
    earlier_reports: list[str]
    files_changed: FilesChanged


class ShownChanges(ChangeSums):
    """`show RUN --changes --json`: what was changed in files."""

    v: Version
    run: str
    cut_off: list[str]
    """Tools of calls that have not ended: what they changed is not known."""
    changes: list[ChangeWithDiff]


class RunShape(Shape):
    """One run of the list."""

    id: str
    task: str
    state: str
    """As in `show`, or `unreadable`."""
    started: str
    """RFC 3339, or ""."""
    seconds: float
    agents: int
    tokens: int
    """As `limits.tokens` counts them: all but cache reads."""
    usd: float | None
    """null: no price is known."""
    reason: str
    resume_at: str


class RunSums(Shape):
    """The sums of a list of runs."""

    runs: int
    by_state: dict[str, int]
    agents: int
    tokens: int
    usd: float | None
    usd_is_whole: bool
    """Whether the dollars of all of them are known."""
    seconds: float


class Runs(Shape):
    """`runs --json`: the runs of a folder."""

    v: Version
    runs: list[RunShape]
    more: int
    """How many more there are that were not wanted in this number."""
    totals: RunSums
    """Of those that are listed."""
