"""Shapes of runs that were run again: `replay RUN`, `replay RUN --context FILE`."""

from __future__ import annotations

from typing import Any

from orchestrator.inspection.shapes.figures import Shape, Version

__all__ = [
    "AgentOfTwoPolicies",
    "ChangedField",
    "DifferenceShape",
    "EndState",
    "FiguresShape",
    "MarksOfBoth",
    "MarksShape",
    "Replay",
    "SightShape",
    "ThreeColumns",
    "TwoPolicies",
]


class DifferenceShape(Shape):
    """Where the first request of an agent differs from what was sent."""

    agent: str
    seq: int
    """Of the request in the log; 0: it had no such request."""
    turn: int
    """From 1."""
    where: str
    """Place in the request, in words."""
    recorded: str
    """What stood there, shortened around the difference."""
    now: str
    """What would stand there."""


class EndState(Shape):
    """How the run ended, and the replay."""

    recorded: str
    now: str


class Replay(Shape):
    """What came of a replay: `replay --json`."""

    v: Version
    run: str
    is_same: bool
    """Every request, the state and the report."""
    requests: int
    """Of the run."""
    same: int
    """Those of them that are the same, byte for byte."""
    differences: list[DifferenceShape]
    """The first of each agent; later ones of an agent mostly follow from it."""
    extra: list[str]
    """Events that the run did not have, as `agent kind`."""
    missing: list[str]
    """Events that did not happen again, as `seq agent kind`."""
    events: int
    """Those that happened again."""
    total: int
    """Events of the run."""
    state: EndState
    report_is_same: bool
    parts: int
    """Processes that were at work on the run."""
    recorded_s: float
    """Seconds from the first event of the run to its last."""
    took_s: float
    """Seconds that the replay took."""


class SightShape(Shape):
    """Of the times that something learned was used, how often it could be read."""

    uses: int
    """A fact counts once for each turn that used it."""
    facts: int
    """Different ones."""
    visible: int
    """It stood in the request."""
    reachable: int
    """It did not, and could be opened in two calls."""
    gone: int
    """Neither."""


class FiguresShape(Shape):
    """What a policy comes to, for an agent or a run."""

    requests: int
    turns: int
    input_tokens: int
    """Neither read from the cache nor written to it."""
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    usd: float | None
    """null: no price is known."""
    clears: int
    """Times that results were cleared."""
    compactions: int
    peak_tokens: int
    """The largest request."""
    sent_tokens: int
    """The requests of all turns together."""
    mean_tokens: int
    """The request of a turn, on average."""
    too_long: list[int]
    """Turns whose request would not fit, from 1; of a run empty."""
    too_long_count: int
    sight: SightShape


class ThreeColumns(Shape):
    """The run, and both policies computed alike."""

    was: FiguresShape
    """As the log has it."""
    own: FiguresShape
    """Of the run's own policy, computed."""
    other: FiguresShape
    """Of the policy in the file, computed."""


class MarksShape(Shape):
    """Window and marks, in tokens."""

    window_tokens: int | None
    soft_tokens: int | None
    hard_tokens: int | None
    output_tokens: int
    """Room that is left for a reply."""


class MarksOfBoth(Shape):
    """Window and marks under the run's own policy and under the other."""

    own: MarksShape
    other: MarksShape


class AgentOfTwoPolicies(ThreeColumns):
    """One agent of the run."""

    id: str
    parent: str
    """"" for the lead."""
    title: str
    profile: str
    model: str
    shorter: int
    """Results that the other policy cuts shorter on entry."""
    longer: int
    """Results of which it shows more."""
    marks: MarksOfBoth


class ChangedField(Shape):
    """A field of `context_policy` in which the two differ."""

    field: str
    own: Any
    other: Any


class TwoPolicies(Shape):
    """What another policy would have made of a run: `replay --context --json`."""

    v: Version
    run: str
    changes: list[ChangedField]
    agents: list[AgentOfTwoPolicies]
    total: ThreeColumns
    caveats: list[str]
    """What is not computed, and what it rests on."""
    unpriced: list[str]
    """Models whose price nobody told."""
