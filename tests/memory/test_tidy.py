"""What nobody uses goes, what says the same becomes one, and a person's stays."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from memory_desk import Desk

from orchestrator.memory.catalog import FEW
from orchestrator.memory.entries import Place
from orchestrator.memory.keeping import Outcome, Put

DAY = date(2026, 1, 1)


def after(days: int) -> str:
    return (DAY + timedelta(days)).isoformat()


@pytest.mark.parametrize(
    ("confidence", "days"),
    [(None, 365), (0.8, 365), (0.79, 180), (0.5, 180), (0.49, 60)],
)
def test_what_is_not_used_goes_after_its_time(
    desk: Desk, confidence: float | None, days: int
) -> None:
    desk.day = after(0)
    desk.keep(Put("a.md", "k", "v", confidence=confidence))

    desk.day = after(days - 1)
    assert desk.memory().tidy() == []
    desk.day = after(days)
    told = f"not used for {days} days"
    assert desk.memory().tidy() == [Outcome("k", "a.md", "dropped", told)]
    assert desk.keys() == []
    assert desk.memory().recall(["k v"]) == []


def test_being_used_or_written_begins_the_time_anew(desk: Desk) -> None:
    desk.day = after(0)
    desk.keep(*(Put("a.md", key, f"{key} v", confidence=0.1) for key in "abc"))
    desk.day = after(59)
    desk.memory().touch(["a"])
    desk.keep(Put("a.md", "b", "b v"))
    desk.day = after(100)

    assert [each.key for each in desk.memory().tidy()] == ["c"]
    assert desk.keys() == ["a", "b"]


def test_where_its_evidence_is_gone_half_the_time_is_enough(desk: Desk) -> None:
    (desk.work / "a.py").write_text("x\n")
    (desk.work / "b.py").write_text("x\n")
    desk.day = after(0)
    desk.keep(
        Put("a.md", "gone", "v", (Place("a.py", 1),)),
        Put("a.md", "changed", "w", (Place("b.py", 1),)),
    )
    (desk.work / "a.py").unlink()
    (desk.work / "b.py").write_text("y\n")
    desk.day = after(182)

    (outcome,) = desk.memory().tidy()
    assert outcome.key == "gone"
    assert outcome.why == "not used for 182 days, and what it rests on is gone"


def test_a_persons_entries_and_undated_ones_stay(desk: Desk) -> None:
    desk.day = after(0)
    desk.put("ours", "v")
    text = "\n## by hand\n\nv\n\n- when: 2001-01-01\n- confidence: 0.1\n"
    desk.write("auth.md", desk.read("auth.md") + text)
    desk.day = after(9_000)

    assert [each.key for each in desk.memory().tidy()] == ["ours"]
    assert desk.read("auth.md").endswith(text)


def test_a_day_in_the_future_is_no_reason(desk: Desk) -> None:
    desk.day = "2999-01-01"
    desk.put("ours", "v")
    desk.day = "2026-01-01"

    assert desk.memory().tidy() == []


def test_duplicates_that_came_at_the_same_moment_are_merged_later(desk: Desk) -> None:
    value = "The nightly backup of the database is kept for 90 days."
    desk.day = after(0)
    desk.put("Backup retention", value, "a.md")
    first = desk.read("a.md")
    (desk.folder / "a.md").unlink()
    desk.day = after(1)
    desk.put("Nightly backup retention", f"{value[:-1]} there.", "b.md")
    desk.write("a.md", first)
    assert len(desk.keys()) == 2

    (outcome,) = desk.memory().tidy()

    assert outcome == Outcome(
        "Nightly backup retention", "b.md", "merged", "`Backup retention` said the same"
    )
    (known,) = desk.memory().entries()
    assert known.entry.when == after(1)
    assert [each.value for each in known.entry.was] == [value]
    assert not known.entry.is_by_a_person
    assert not (desk.folder / "a.md").exists()


def test_in_a_large_scope_duplicates_are_left_to_tidying(desk: Desk) -> None:
    for number in range(FEW):
        desk.write(f"t{number}.md", f"## Mine {number}\n\nMine.\n")
    value = "The nightly backup of the database is kept for 90 days."
    desk.put("Backup retention", value, "a.md")

    put = Put("b.md", "Nightly backup retention", f"{value[:-1]} there.")
    (outcome,) = desk.keep(put)

    assert outcome.what == "new"
    assert [each.what for each in desk.memory().tidy()] == ["merged"]


def test_it_is_due_once_a_day(desk: Desk) -> None:
    desk.day = after(0)
    desk.keep(Put("a.md", "k", "v", confidence=0.1), Put("a.md", "l", "w"))
    desk.day = after(80)
    memory = desk.memory()

    assert len(memory.tidy_if_due()) == 1
    before = desk.read(".index/tidied")
    assert memory.tidy_if_due() == []
    assert before == desk.read(".index/tidied") == f"{desk.day}\n"
