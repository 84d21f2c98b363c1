"""Who was sent, and what of that is missing."""

from __future__ import annotations

import pytest
from run_bench import brief

from orchestrator.brief import Brief
from orchestrator.events import (
    BriefRefused,
    ControlReceived,
    SubagentAsked,
    SubagentEnded,
)
from orchestrator.findings import Findings
from orchestrator.ids import LEAD
from orchestrator.subagents import shortfall
from orchestrator.subagents.child import Child
from orchestrator.subagents.roster import USED_UP, Roster

NOTHING = Findings(status="nothing_found", summary="Looked everywhere.")


def accept(roster: Roster, call: str, index: int, title: str = "Same") -> None:
    child = Child(roster.next_id(), Brief.model_validate(brief(title)), "lead")
    roster.take_in(child, call, index)
    roster.places[-1].answers.append(
        SubagentEnded(
            child.id, "nothing_found", "submitted", "", NOTHING.model_dump(), 0, 0
        )
    )


def refuse(roster: Roster, call: str, index: int, title: str = "Same") -> None:
    roster.note_refused(
        BriefRefused(call, index, title, [f"all 2 {USED_UP}"], True), LEAD
    )


@pytest.mark.parametrize(
    ("later", "missing"),
    [
        pytest.param([], "2 briefs found no subagent", id="both"),
        pytest.param(["no", "no"], "2 briefs found no subagent", id="tried in vain"),
        pytest.param(["yes", "no"], "1 brief found no subagent", id="one came"),
        pytest.param(["yes", "yes"], "", id="both came"),
    ],
)
def test_briefs_of_one_title_are_told_apart(later: list[str], missing: str) -> None:
    roster = Roster()
    accept(roster, "c1", 0)
    accept(roster, "c1", 1)
    refuse(roster, "c1", 2)
    refuse(roster, "c1", 3)
    for index, came in enumerate(later):
        (accept if came == "yes" else refuse)(roster, "c2", index)

    lines = shortfall.missing(roster, LEAD, has_explored=True)

    assert [line.split(",")[0] for line in lines] == ([missing] if missing else [])


def test_a_stop_that_came_too_late_does_not_end_a_further_question() -> None:
    roster = Roster()
    accept(roster, "c1", 0)
    [place] = roster.places
    ended = place.answers.pop()
    roster.withdraw(place, ControlReceived("cancel", "a1", by=LEAD, reason="Enough."))
    place.answers.append(ended)

    roster.ask(SubagentAsked("a1", "f1", "Which line says so?", "And?"))

    assert place.child.brake.why == ""
    assert not place.is_withdrawn


def test_what_was_refused_before_the_lead_did_what_is_missing_has_lapsed() -> None:
    roster = Roster()
    accept(roster, "c1", 0, "First")
    refuse(roster, "c1", 1, "Refused")
    roster.told_at = 1
    before = shortfall.missing(roster, LEAD, has_explored=True)

    accept(roster, "c2", 0, "In other words")

    assert len(before) == 1
    assert shortfall.missing(roster, LEAD, has_explored=True) == []


def test_a_question_whose_record_is_lost_is_recognised_and_not_asked_again() -> None:
    roster = Roster()
    accept(roster, "c1", 0)
    [place] = roster.places
    roster.ask(SubagentAsked("a1", "", "How long?", ""))

    assert not place.recognises("c2", "How short?")
    assert place.recognises("c2", "How long?")
    assert not place.recognises("c3", "How long?")
    assert roster.asked_by_call(LEAD, "c2") == (place, 1)
