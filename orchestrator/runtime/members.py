"""The subagents of a run as `progress.md` shows them, folded from the events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from orchestrator.events import (
    BriefReused,
    ControlReceived,
    Event,
    LimitReachedEvent,
    RunEnded,
    RunResumed,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
)
from orchestrator.events.activity import Activity
from orchestrator.events.answers import Answers
from orchestrator.events.arrivals import Arrivals, arrivals
from orchestrator.events.phrases import count_phrase, quoted
from orchestrator.runtime.history import History
from orchestrator.runtime.sums import AgentSums
from orchestrator.store.notes import AgentRow

__all__ = ["Members"]

_Left = Literal["", "over", "parked", "paused"]
"""Whether somebody works on it (""), nobody does any more, or nobody for now."""
_AT_REST: Final = frozenset({"parked", "paused"})
_LEFT_BY: Final[Mapping[str, _Left]] = {"": "", "parked": "parked", "paused": "paused"}
"""State in which a run ended → that; after any other it is `over`."""
_UNFINISHED = {"running": "cut off", "waiting": "never ran"}


@dataclass(slots=True)
class _Member:
    """One subagent: who it is, what it does, used and brought."""

    id: str
    title: str
    parent: str
    call: str
    activity: Activity
    answers: Answers
    sums: AgentSums = field(default_factory=AgentSums)
    reused: int = 0
    """Later briefs that its findings answered too."""
    shown: tuple[_Left, AgentRow] | None = None
    """Its row of the last time, where nothing has happened since, and how it was left
    then."""


class Members:
    """The subagents of a run, in order of acceptance; fed with all of its events."""

    def __init__(self) -> None:
        self._of: dict[str, _Member] = {}

    def __len__(self) -> int:
        """Return how many were accepted."""
        return len(self._of)

    def title_of(self, agent: str) -> str:
        """Return what a subagent looks into; the id of one that is not known."""
        member = self._of.get(agent)
        return member.title if member else agent

    def apply(self, event: Event) -> None:
        """Take in one event."""
        member = self._of.get(event.agent)
        if member is not None:
            member.shown = None
            member.sums.apply(event)
            member.activity.apply(event)
        self._deliver(arrivals(event))
        if event.kind in (RunEnded.KIND, RunResumed.KIND):
            for each in self._of.values():
                each.activity.interrupt()
                each.shown = None
        else:
            self._apply_fate(event, event.data)

    def _apply_fate(self, event: Event, data: dict[str, Any]) -> None:
        if event.kind == SubagentAccepted.KIND:
            member = _Member(
                data["id"],
                data["title"],
                event.agent,
                data["call"],
                Activity(),
                Answers(data["id"], keeps_findings=False),
            )
            self._of[member.id] = member
            self._send(member, data["call"])
            return
        named = data.get("to") if event.kind == ControlReceived.KIND else data.get("id")
        about = self._of.get(named or event.agent)
        if about is None:
            return
        about.shown = None
        match event.kind:
            case SubagentAsked.KIND:
                about.answers.ask(data)
                about.activity.reopen("waiting")
                self._send(about, data["call"])
            case SubagentEnded.KIND:
                about.answers.end(data)
                about.activity.end()
                if (parent := self._of.get(about.parent)) is not None:
                    parent.activity.hears_of(about.id)
                    parent.shown = None
            case LimitReachedEvent.KIND:
                about.answers.limit(data)
            case ControlReceived.KIND if data["to"]:
                about.answers.cancel(data)
            case BriefReused.KIND:
                about.reused += 1

    def _send(self, member: _Member, call: str) -> None:
        parent = self._of.get(member.parent)
        if parent is not None:
            parent.activity.sends(member.id, call)
            parent.shown = None

    def _deliver(self, came: Arrivals) -> None:
        for delivery in came.ids:
            self._reach(delivery)
        if came.call:
            self._reach_all(came.call)

    def _reach(self, delivery: str) -> None:
        member = self._of.get(delivery.partition("/")[0])
        if member is not None:
            member.answers.deliver(delivery)
            member.shown = None

    def _reach_all(self, call: str) -> None:
        for member in self._of.values():
            if member.call == call:
                member.answers.deliver_all()
                member.shown = None

    def restore(self, history: History) -> None:
        """Take over what is not told by the events that were given again.

        Args:
            history: sums over all events.
        """
        for agent, member in self._of.items():
            member.sums = deepcopy(history.sums.get(agent, AgentSums()))
            if agent in history.begun and member.activity.state == "waiting":
                member.activity.reopen("running")
        for delivery in history.delivered:
            self._reach(delivery)
        for call in history.reported:
            self._reach_all(call)

    def rows(self, *, state: str) -> list[AgentRow]:
        """Return a row for each, those of a subagent right below it.

        Args:
            state: in which the run ended, or ""; once nobody works on it any more,
                nobody does on those that were left by one that has ended.
        """
        run_left = _LEFT_BY.get(state, "over")
        below: dict[str, list[_Member]] = {}
        for member in self._of.values():
            parent = member.parent if member.parent in self._of else ""
            below.setdefault("" if parent == member.id else parent, []).append(member)
        found: list[AgentRow] = []
        stack = [(member, 0, run_left) for member in reversed(below.get("", []))]
        while stack:
            member, depth, left = stack.pop()
            if member.shown is None or member.shown[0] != left:
                member.shown = left, _row(member, depth, left)
            found.append(member.shown[1])
            if not left and member.activity.state == "ended":
                left = "over"
            children = reversed(below.get(member.id, []))
            stack.extend((child, depth + 1, left) for child in children)
        return found


def _row(member: _Member, depth: int, left: _Left) -> AgentRow:
    answers, sums = member.answers, member.sums
    is_answered = answers.brief.is_over
    returned = sum(each.returned_tokens for each in answers.all)
    return AgentRow(
        id=member.id,
        title=member.title,
        state=_state(member, left),
        tokens=sums.used.limited_tokens,
        findings=f"agents/{member.id}/findings.md" if is_answered else "",
        depth=depth,
        doing="; ".join(_told(member, left)),
        turns=sums.turns,
        explored_tokens=sums.explored_tokens,
        returned_tokens=returned if is_answered else None,
        usd=sums.used.usd,
    )


def _state(member: _Member, left: _Left) -> str:
    activity, brief = member.activity, member.answers.brief
    if activity.state != "ended" and not left:
        return activity.state
    if brief.is_over:
        return brief.word
    if left in _AT_REST and activity.state != "ended":
        return left if activity.state == "running" else activity.state
    return "not finished"


def _told(member: _Member, left: _Left) -> Iterator[str]:
    """Yield what it does now, or how it ended, in parts."""
    activity, answers = member.activity, member.answers
    if activity.state != "ended" and not left:
        yield activity.phrase()
        if answers.further:
            yield f"asked further {quoted(answers.newest.question)}"
    elif activity.state == "ended" or answers.brief.is_over:
        yield from _came_of(member, left)
    elif left == "over":
        yield _UNFINISHED[activity.state]


def _came_of(member: _Member, left: _Left) -> Iterator[str]:
    """Yield what it brought and what became of that, in parts."""
    answers = member.answers
    brief = answers.brief
    if brief.why:
        yield brief.why
    if brief.items or not brief.why:
        yield f"handed in {brief.brought}"
    if answers.further:
        without = "not answered yet" if left in _AT_REST else "cut off"
        words = ", ".join(each.word or without for each in answers.further)
        yield f"asked {count_phrase(len(answers.further), 'further question')}: {words}"
    if member.reused:
        yield f"answers {count_phrase(member.reused, 'later brief')} too"
    if left and answers.undelivered:
        yield "not delivered to who sent it"
