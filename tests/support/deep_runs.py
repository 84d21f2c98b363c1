"""A made-up run with three levels of subagents, as a list of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    BriefReused,
    ControlReceived,
    Event,
    LimitReachedEvent,
    ModelAnswered,
    ModelRequested,
    ModelRetried,
    Payload,
    RunEnded,
    RunStarted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    TextAdded,
    ToolEnded,
    ToolStarted,
)

__all__ = ["QUESTION", "TITLES", "deep_run", "ended_run", "live_run"]

BEGAN = datetime(2026, 11, 29, 20, 15, tzinfo=UTC)
QUESTION = "Which of them are rotated?"
TITLES = {
    "a1": "Where tokens are checked",
    "a2": "Sessions in the shop",
    "a3": "Sessions in the admin pages",
    "a4": "Cookies of the admin pages",
    "a5": "Password hashing and its settings",
    "a6": "Log of failed sign-ins",
    "a7": "Rate limits of the sign-in page",
}


def brief(title: str) -> dict[str, Any]:
    """A brief that stands alone."""
    objective = f"Find out about this, for a security review: {title}."
    return {"title": title, "objective": objective, "questions": [f"{title}: how?"]}


class _Pen:
    """Writes one event after the other, a second apart."""

    def __init__(self) -> None:
        self.seq = 0

    def __call__(self, payload: Payload, agent: str = "") -> Event:
        self.seq += 1
        at = BEGAN + timedelta(seconds=self.seq)
        stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        data = asdict(payload)
        return Event(
            self.seq, stamp, "20261129-201500-deep-7f3a", agent, payload.KIND, 0, data,
            worked_s=float(self.seq),
        )  # fmt: skip

    def begins(self, agent: str, title: str = "") -> Event:
        is_lead = agent == "lead"
        settings = {
            "max_output_tokens": 8192,
            "call_s": 600,
            "silence_s": 90,
            "request": {},
        }
        started = AgentStarted(
            role="lead" if is_lead else "subagent",
            profile="lead" if is_lead else "explorer",
            title=title or TITLES[agent],
            model="m",
            parent="",
            system=[],
            tools=[],
            first=[{"type": "text", "text": "Go."}],
            settings=settings,
            limits={"turns": 9},
            allowed=[],
        )
        return self(started, agent)

    def asks(self, agent: str, turn: int) -> Event:
        return self(ModelRequested(turn, "", 1, 8192, 900, 0.1), agent)

    def turn(self, agent: str, turn: int) -> Iterator[Event]:
        usage = {
            "input_tokens": 1000, "cache_write_5m_tokens": 0,
            "cache_write_1h_tokens": 0, "cache_read_tokens": 3000,
            "output_tokens": 150, "thinking_tokens": 0,
        }  # fmt: skip
        yield self.asks(agent, turn)
        yield self(
            ModelAnswered(turn, [], "tool_use", usage, 0.01, "", "m", 1, 1), agent
        )

    def calls(self, agent: str, call: str, name: str, /, **given: Any) -> Event:
        return self(ToolStarted(call, name, given, "repeatable"), agent)

    def returns(
        self, agent: str, call: str, name: str, *delivers: str, full: int = 40
    ) -> Event:
        ended = ToolEnded(call, name, "x", False, 1, 40, full, delivers=list(delivers))
        return self(ended, agent)

    def accepts(self, child: str, parent: str, call: str) -> Event:
        accepted = SubagentAccepted(
            child, call, 0, TITLES[child], "explorer", brief(TITLES[child])
        )
        return self(accepted, parent)

    def explores(self, agent: str) -> Iterator[Event]:
        """One turn with one read."""
        yield self.begins(agent)
        yield from self.turn(agent, 1)
        yield self.calls(agent, f"{agent}r", "read_file", path="src/auth.py")
        yield self.returns(agent, f"{agent}r", "read_file", full=4000)

    def ends(
        self,
        agent: str,
        status: str,
        *,
        items: int = 2,
        outcome: str = "submitted",
        reason: str = "",
        explored: int = 4000,
        **more: Any,
    ) -> Iterator[Event]:
        evidence = [{"source": "src/auth.py:3", "quote": "def verify_token(raw):"}]
        claims = [
            {"claim": f"claim {n} of {agent}", "evidence": evidence, "confidence": 0.8}
            for n in range(1, items + 1)
        ]
        found = {"status": status, "summary": "In one place.", "items": claims}
        yield self(AgentEnded(outcome, reason, 2), agent)
        ended = SubagentEnded(
            agent, status, outcome, reason, found, explored, 300, **more
        )
        yield self(ended, agent)


def live_run() -> list[Event]:
    """The run while it is at work, at every level."""
    return list(_first_half(_Pen()))


def ended_run() -> list[Event]:
    """The whole run, which is partial."""
    return list(deep_run())


def deep_run() -> Iterator[Event]:
    """The run, event by event."""
    pen = _Pen()
    yield from _first_half(pen)
    yield from _second_half(pen)


def _first_half(pen: _Pen) -> Iterator[Event]:
    limits = {"usd": 2.0, "tokens": 3_000_000, "minutes": 30, "depth": 3}
    models = {"lead": "m", "subagents": "m"}
    yield pen(RunStarted("deep", "Say who may sign in.", {}, "00", models, limits))
    yield pen.begins("lead", "deep")
    yield from pen.turn("lead", 1)
    briefs = [{"title": TITLES[each]} for each in ("a1", "a5", "a6", "a7")]
    yield pen.calls("lead", "d1", "delegate", briefs=briefs, wait="none")
    yield pen.accepts("a1", "lead", "d1")
    yield from pen.explores("a1")
    yield from pen.turn("a1", 2)
    yield pen.calls("a1", "d2", "delegate", briefs=[{}, {}])
    yield pen.accepts("a2", "a1", "d2")
    yield pen.accepts("a3", "a1", "d2")
    yield from pen.explores("a3")
    yield from pen.turn("a3", 2)
    yield pen.calls("a3", "d3", "delegate", briefs=[{}])
    yield pen.accepts("a4", "a3", "d3")
    for child in ("a5", "a6", "a7"):
        yield pen.accepts(child, "lead", "d1")
    yield pen.returns("lead", "d1", "delegate")
    yield from pen.explores("a4")
    yield pen.calls("a4", "g", "grep", pattern="refund", path="docs")
    yield from pen.explores("a5")
    yield from pen.ends("a5", "complete", items=4, unsupported=1, unsupported_items=[2])
    yield from pen.turn("lead", 2)
    yield pen.calls("lead", "w1", "wait_for", mode="any")
    yield pen.returns("lead", "w1", "wait_for", "a5")
    yield from pen.turn("lead", 3)
    yield pen.calls("lead", "f1", "follow_up", agent="a5", question=QUESTION)
    yield pen(SubagentAsked("a5", "f1", QUESTION, "Go on: …"), "a5")
    yield from pen.explores("a6")
    yield pen.asks("a6", 2)
    yield pen(ModelRetried(2, 1, "overloaded", "529", 2.0), "a6")


def _second_half(pen: _Pen) -> Iterator[Event]:
    yield from pen.turn("a5", 3)
    yield pen.calls("a5", "g5", "grep", pattern="rotate")
    yield pen.returns("a5", "g5", "grep", full=1200)
    yield from pen.ends(
        "a5", "complete", items=2, question=QUESTION, first_item=5,
        unsupported=1, unsupported_items=[6], explored=5200,
    )  # fmt: skip
    yield pen.returns("lead", "f1", "follow_up", "a5/1")
    yield pen(LimitReachedEvent("stall_s", 300, 300), "a6")
    stalled = "`stall_s` reached: used 300 of 300; the last call failed: no answer"
    yield from pen.ends("a6", "partial", items=0, outcome="limit", reason=stalled)
    yield from pen.explores("a2")
    yield from pen.ends("a2", "nothing_found", items=0)
    why = "the shop has no admin pages"
    yield pen(ControlReceived("cancel", "a3", "a1", why), "a1")
    yield pen.returns("a4", "g", "grep", full=700)
    below = "a3, which sent it, was cancelled"
    yield from pen.ends("a4", "partial", items=1, outcome="cancelled", reason=below)
    told = f"a1 cancelled it: {why}"
    yield from pen.ends("a3", "partial", items=0, outcome="cancelled", reason=told)
    yield pen.returns("a1", "d2", "delegate", "a2", "a3")
    yield from pen.ends("a1", "complete", items=3)
    yield from pen.turn("lead", 4)
    late = ["a1", "a6"]
    yield pen(TextAdded("findings", "…", delivers=late), "lead")
    yield pen(BriefReused("d4", 0, "Who checks tokens", "a1"), "lead")
    yield from pen.explores("a7")
    unheard = "the lead ended"
    yield from pen.ends("a7", "partial", items=1, outcome="cancelled", reason=unheard)
    yield pen(AgentEnded("submitted", "", 4), "lead")
    missing = ["a6 “Log of failed sign-ins” stalled"]
    yield pen(RunEnded("partial", 3, missing[0], missing, 90.0))
