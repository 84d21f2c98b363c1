"""What the program itself writes of a run is what is recalled of it later."""

from __future__ import annotations

from pathlib import Path

from real_runs import offline_run

from orchestrator.memory.earlier_runs import EarlierRuns, FromRun


def asked(runs: Path, work: Path, query: str, current: str = "") -> list[FromRun]:
    earlier = EarlierRuns(runs, workspace=work, current=current, redact=str)
    return earlier.recall([query])


def test_what_a_real_run_left_is_found(tmp_path: Path) -> None:
    done = offline_run(tmp_path)
    runs, work = tmp_path / "runs", tmp_path / "work"

    found = asked(runs, work, "How long do refunds take?")

    assert found
    assert {each.run for each in found} == {done.id}
    [claim] = [each for each in found if "14 days" in each.text]
    assert claim.places[0].path == "refunds.md"
    assert claim.state == "unchanged"
    assert claim.when

    (work / "refunds.md").write_text("# Refunds\n\nNone at all.\n")
    states = {each.state for each in asked(runs, work, "refund 14 days")}
    assert "changed" in states
    assert asked(runs, work, "refund", current=done.id) == []
