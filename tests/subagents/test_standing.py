"""Where subagents stand, as whoever sent them is told after a compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from run_bench import brief

from orchestrator.brief import Brief
from orchestrator.events import SubagentEnded
from orchestrator.findings import Findings, Item
from orchestrator.ids import LEAD
from orchestrator.subagents.child import Child
from orchestrator.subagents.mail import Due, Mail
from orchestrator.subagents.place import Place
from orchestrator.subagents.roster import Roster
from orchestrator.subagents.standing import Standing

FOUND = Findings(
    status="complete",
    summary="Refunds take five days.",
    items=(Item(claim="It takes five days."), Item(claim="Fees are not refunded.")),
)


@dataclass
class Undelivered:
    """What has not reached who sent the subagents."""

    dues: list[Due] = field(default_factory=list)

    def unseen(self) -> list[Due]:
        return self.dues


def sent(roster: Roster, title: str, *, found: Findings | None = None) -> Place:
    child = Child(roster.next_id(), Brief.model_validate(brief(title)), LEAD)
    place = roster.take_in(child, "c1", len(roster.places))
    if found is not None:
        told = found.model_dump(mode="json")
        ended = SubagentEnded(
            child.id, found.status, "submitted", "", told, 0, 0, unsupported_items=[2]
        )
        place.answers.append(ended)
    return place


def standing(roster: Roster, *dues: Due) -> Standing:
    return Standing(LEAD, roster, cast(Mail, Undelivered(list(dues))))


def test_without_subagents_there_is_no_table() -> None:
    assert standing(Roster()).table() == ""


def test_the_table_names_each_with_its_state() -> None:
    roster = Roster()
    sent(roster, "Refunds", found=FOUND)
    sent(roster, "Fees | and more").is_begun = True
    late = sent(roster, "Late ones", found=FOUND)

    lines = standing(roster, Due(late, 0)).table().split("\n")

    assert lines[0] == "id | title | state"
    assert lines[1].startswith("a1 | Refunds | complete, 2 items, delivered: ")
    assert '`read_ref` opens "a1"' in lines[1]
    assert lines[2] == "a2 | Fees / and more | at work"
    assert lines[3].endswith("ended; its findings come to you next")


def test_facts_are_what_was_delivered_by_number_and_with_its_doubts() -> None:
    roster = Roster()
    sent(roster, "Refunds", found=FOUND)
    late = sent(roster, "Late ones", found=FOUND)

    facts = standing(roster, Due(late, 0)).facts()

    assert facts == [
        "a1 (Refunds), complete: Refunds take five days.",
        "[a1#1] It takes five days.",
        "[a1#2] Fees are not refunded. (unsupported)",
    ]


def test_who_is_at_work_is_named_and_the_rest_counted() -> None:
    roster = Roster()
    for number in range(10):
        sent(roster, f"Part {number}")

    running = standing(roster).running()

    assert running[0] == "a1 (Part 0)"
    assert running[-1] == "2 more"
    assert len(running) == 9


def test_only_what_was_delivered_can_be_opened() -> None:
    roster = Roster()
    sent(roster, "Refunds", found=FOUND)
    late = sent(roster, "Late ones", found=FOUND)
    here = standing(roster, Due(late, 0))

    assert "It takes five days." in here.opened("a1")
    assert here.opened("a2") == here.opened("a7") == ""
