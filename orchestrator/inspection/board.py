"""What somebody who watches a run wants to see at a glance, as data.

One look at a `RunView`: it can be taken at any moment, also when the run is over, and
takes time in proportion to the number of agents, not of events. Which agents are
chosen where there is no room for all is decided here; how they look is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from orchestrator.events.activity import Doing
from orchestrator.events.base import moment
from orchestrator.events.phrases import quoted
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.fill import Fill
from orchestrator.inspection.limits import LimitUse
from orchestrator.inspection.run import RunView
from orchestrator.inspection.said import Said
from orchestrator.inspection.tokens import Cost, Tokens

__all__ = ["Board", "Row", "board_of", "summary_of"]

Placed = tuple[AgentView, int]
"""An agent and its depth in the tree."""
HEARD_S = 20.0
"""So long it is still of interest that the lead was told what a person said."""
STOPPING = ("usd", "tokens", "minutes")
"""Limits that end a run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One agent.

    Attributes:
        id: of the agent.
        title: of its task or brief.
        depth: in the tree; 0: the lead.
        state: where it stands in at most ten letters: `waiting`, `running`, or its
            result.
        doing: what it does or waits for; its kind is "" where nobody works on it.
        words: the same in a few words; of one that is over, why it ended so, or "".
        fill: how full its context is.
        tokens: sent and written.
        usd: None: no price is known.
        seconds: at work; None: it has not begun.
        turns: of its conversation.
        clears: how often results were no longer sent.
        compactions: how often earlier steps were summed up.
        retries: tries of its requests that failed.
    """

    id: str
    title: str
    depth: int
    state: str
    doing: Doing
    words: str
    fill: Fill
    tokens: int
    usd: float | None
    seconds: float | None
    turns: int
    clears: int
    compactions: int
    retries: int

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        doing = {name: getattr(self.doing, name) for name in self.doing.__slots__}
        return {**plain, "doing": doing, "fill": self.fill.to_dict()}


@dataclass(frozen=True, slots=True)
class Board:
    """A run at one moment.

    Attributes:
        id: of the run.
        task: its name.
        state: of the run; `pausing`, `parking` or `stopping` where that is under way.
        reason: why it is not simply at work, or "".
        seconds: at work on it.
        rows: agents in the order of the tree, parents before their children.
        hidden: of those that are not in `rows`, how many stand where.
        tokens: of all agents.
        cost: of all agents.
        limits: that end the run, as far as they are set.
        clears: of all agents.
        compactions: of all agents.
        said: by people, and not told to the lead yet, or just now; oldest first.
    """

    id: str
    task: str
    state: str
    reason: str
    seconds: float
    rows: tuple[Row, ...] = ()
    hidden: dict[str, int] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)
    limits: tuple[LimitUse, ...] = ()
    clears: int = 0
    compactions: int = 0
    said: tuple[Said, ...] = ()

    @property
    def closest(self) -> LimitUse | None:
        """Return the limit that is closest: it is the one that will stop the run."""
        set_ = [use for use in self.limits if use.allowed > 0]
        return max(set_, key=lambda use: use.used / use.allowed, default=None)

    @property
    def dollars(self) -> LimitUse | None:
        """Return the limit of dollars, if it is set."""
        return next((use for use in self.limits if use.name == "usd"), None)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines."""
        return {
            "id": self.id,
            "task": self.task,
            "state": self.state,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            "agents": [row.to_dict() for row in self.rows],
            "hidden": dict(self.hidden),
            "tokens": self.tokens.to_dict(),
            **self.cost.to_dict(),
            "limits": {
                each.name: {"used": round(each.used, 6), "allowed": each.allowed}
                for each in self.limits
            },
            "clears": self.clears,
            "compactions": self.compactions,
            "said": [each.to_dict() for each in self.said],
        }


def board_of(
    view: RunView, now: datetime | None = None, *, most: int | None = None
) -> Board:
    """Return how a run stands.

    Args:
        view: the run; it is not changed.
        now: for all that goes on with the clock; None: at its last event.
        most: agents that there is room for; None: for all. Where some are left out,
            those at work come first, then those that ended last, then those that wait.
            The lead is always there; an agent may be there without its parent.
    """
    agents = list(view.tree())
    shown = agents
    if most is not None and len(agents) > most:
        shown = _most_telling(agents, max(most, 0))
    here = {agent.id for agent, _depth in shown}
    hidden = Counter(view.label(each) for each, _depth in agents if each.id not in here)
    rows = tuple(_row(agent, depth, view, now) for agent, depth in shown)
    return replace(summary_of(view, now), rows=rows, hidden=dict(hidden))


def summary_of(view: RunView, now: datetime | None = None) -> Board:
    """Return how a run stands without its agents: `rows` and `hidden` are empty.

    Args:
        view: the run; it is not changed.
        now: for all that goes on with the clock; None: at its last event.
    """
    limits = [each for each in view.limit_use(now) if each.name in STOPPING]
    return Board(
        id=view.id,
        task=view.task,
        state=_state(view),
        reason=view.reason,
        seconds=view.seconds(now),
        tokens=view.tokens,
        cost=view.cost,
        limits=tuple(limits),
        clears=sum(agent.clears for agent in view.agents.values()),
        compactions=sum(agent.compactions for agent in view.agents.values()),
        said=tuple(_said(view, now)),
    )


def _state(view: RunView) -> str:
    if not view.is_running:
        return view.state
    if asked := view.said.asked:
        return {"pause": "pausing", "stop": "stopping"}[asked]
    # While it is at work there is no other reason than what is about to end it.
    return "parking" if view.reason else view.state


def _most_telling(rows: Sequence[Placed], room: int) -> list[Placed]:
    """Return the rows that say most, in the order of the tree."""
    order = {"running": 0, "ended": 1, "waiting": 2}
    ranked = sorted(
        enumerate(rows),
        key=lambda each: (
            each[1][1] > 0,
            order.get(each[1][0].state, 3),
            # Of those that ended, the newest say most.
            -each[0] if each[1][0].state == "ended" else each[0],
        ),
    )
    return _drawn_together(rows, {index for index, _row in ranked[:room]})


def _drawn_together(rows: Sequence[Placed], kept: set[int]) -> list[Placed]:
    """Return the rows that are kept, each below the nearest that is kept above it."""
    above: list[tuple[int, int]] = []
    """Depth of each row above, and of what is drawn below it."""
    found = []
    for index, (agent, depth) in enumerate(rows):
        while above and above[-1][0] >= depth:
            above.pop()
        drawn = above[-1][1] if above else 0
        if index in kept:
            found.append((agent, drawn))
            drawn += 1
        above.append((depth, drawn))
    return found


def _row(agent: AgentView, depth: int, view: RunView, now: datetime | None) -> Row:
    words = view.doing(agent, now)
    is_at_work = bool(words)
    if is_at_work:
        words += _asides(agent)
    elif agent.is_over:
        words = agent.answers.newest.why or agent.reason
    return Row(
        id=agent.id,
        title=agent.title,
        depth=depth,
        state=view.label(agent),
        doing=agent.activity.doing(now) if is_at_work else Doing(""),
        words=words,
        fill=agent.fill,
        tokens=agent.tokens.sent + agent.tokens.output,
        usd=agent.cost.known_usd,
        seconds=agent.seconds(now) if agent.started_at else None,
        turns=agent.turns,
        clears=agent.clears,
        compactions=agent.compactions,
        retries=sum(agent.waits.retries.values()),
    )


def _asides(agent: AgentView) -> str:
    by = f" ({agent.model} in its model's place)" if agent.refused_by else ""
    asked = agent.answers.newest.question if agent.state == "waiting" else ""
    return by + (f", asked further {quoted(asked)}" if asked else "")


def _said(view: RunView, now: datetime | None) -> list[Said]:
    untold = view.said.untold
    newest = view.said.words[-1] if view.said.words else None
    told_at = moment(newest.told_at) if newest and newest.told_at else None
    if newest is None or told_at is None or now is None:
        return untold
    is_fresh = (now - told_at).total_seconds() < HEARD_S
    return [*untold, newest] if is_fresh and view.is_running else untold
