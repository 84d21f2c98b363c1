"""Which events one goes back to: for what is missing, and what people did."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.events import Event
from orchestrator.inspection.run import RunView
from orchestrator.inspection.story import Reason
from orchestrator.inspection.troubles import is_trouble

AT = "2026-11-29T12:00:00.000Z"


def event(seq: int, kind: str, agent: str = "", **data: Any) -> Event:
    return Event(seq, AT, "r", agent, kind, 0, data)


ENDED = [
    event(1, "run.started"),
    event(2, "limit.reached", "a1", limit="tokens"),
    event(3, "model.failed", "a2", error="invalid", message="no"),
    event(4, "subagent.ended", "lead", id="a2", status="failed"),
    event(5, "brief.refused", "lead", title="x", problems=["vague"]),
    event(6, "subagent.ended", "a1", id="a1", status="partial", outcome="limit"),
    event(7, "report.submitted", "lead", wrong=["[x:1]"]),
    event(8, "limit.reached", "lead", limit="usd"),
    event(9, "agent.ended", "lead", outcome="limit"),
]


@pytest.mark.parametrize(
    ("missing", "seqs"),
    [
        ("subagent a1 (Where) did not come to its end: stopped by a limit", (2, 6)),
        ("a2 “Session storage”: invalid: 400", (3, 4)),
        ("subagent a7 (Gone) failed", ()),
        ("nothing was explored, every brief was refused: vague", (5,)),
        ("1 brief found no room in what is left of the budget: “x”", (5,)),
        ("wrong citation [x:1]: no such file", (7,)),
        ("`result` is missing; the task asks for JSON", (7,)),
        ("the lead was stopped by a limit: `usd` reached", (8, 9)),
        ("something of a later version", ()),
    ],
)
def test_what_is_missing_points_to_its_events(
    missing: str, seqs: tuple[int, ...]
) -> None:
    view = RunView()
    for each in [*ENDED, event(10, "run.ended", state="partial", missing=[missing])]:
        view.apply(each)

    assert view.reasons == [Reason(missing, seqs)]


@pytest.mark.parametrize("state", ["parked", "failed", "interrupted"])
def test_an_end_with_nothing_missing_points_to_itself(state: str) -> None:
    view = RunView()
    for each in [*ENDED[:1], event(2, "run.ended", state=state, reason="quota")]:
        view.apply(each)

    assert view.reasons == [Reason("quota", (2,))]


def test_a_run_that_is_done_or_goes_on_has_no_reasons() -> None:
    view = RunView()
    for each in [*ENDED[:1], event(2, "run.ended", state="partial", missing=["x"])]:
        view.apply(each)
    view.apply(event(3, "run.resumed"))
    assert view.reasons == []

    view.apply(event(4, "run.ended", state="done"))
    assert view.reasons == []


def test_what_people_did_is_told_in_order() -> None:
    view = RunView()
    for each in (
        event(1, "run.started"),
        event(2, "control.received", action="steer", to="lead", text="Look\n at b.py"),
        event(3, "control.received", "lead", action="cancel", to="a1", by="lead"),
        event(4, "notes.edited", "lead", section="Plan", text="x"),
        event(5, "permission.answered", "a1", tool="bash", answer="no", by="person"),
        event(6, "permission.answered", "a1", tool="bash", answer="no", by="nobody"),
        event(7, "control.received", action="stop", to="a1"),
        event(8, "run.reopened", "lead", question="And?", text=""),
        event(9, "run.reopened", "lead", question="", text="do what is missing"),
    ):
        view.apply(each)

    assert [(act.seq, act.action, act.to, act.text) for act in view.story.acts] == [
        (2, "steer", "lead", "Look at b.py"),
        (4, "edit_notes", "lead", "Plan: x"),
        (5, "refuse", "a1", "bash"),
        (7, "stop", "a1", ""),
        (8, "ask", "lead", "And?"),
    ]


@pytest.mark.parametrize(
    ("kind", "data", "is_bad"),
    [
        ("tool.ended", {"is_error": True}, True),
        ("tool.ended", {"is_error": False}, False),
        ("model.failed", {}, True),
        ("model.retried", {}, True),
        ("limit.reached", {}, True),
        ("log.damaged", {}, True),
        ("findings.submitted", {"accepted": False}, True),
        ("findings.submitted", {"accepted": True}, False),
        ("report.submitted", {"accepted": True, "wrong": ["[x:1]"]}, True),
        ("subagent.ended", {"status": "failed"}, True),
        ("subagent.ended", {"status": "partial", "outcome": "limit"}, True),
        ("subagent.ended", {"status": "partial", "outcome": "cancelled"}, False),
        ("run.ended", {"state": "partial"}, True),
        ("run.ended", {"state": "done"}, False),
        ("run.ended", {"state": "interrupted"}, False),
        ("agent.started", {}, False),
    ],
)
def test_what_went_wrong_is_known(
    kind: str, data: dict[str, Any], is_bad: bool
) -> None:
    assert is_trouble(event(1, kind, "a1", **data)) is is_bad
