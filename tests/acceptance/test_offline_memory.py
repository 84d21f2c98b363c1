"""Runs one after the other with the offline model: what one learned serves the next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_bench import Ended, RunBench

from orchestrator.models.offline import OfflineModel

LEASE = "# Lease\n\nThe lease of the hall runs for 5 years.\n"
DEPOSIT = "# Deposit\n\nThe deposit of the hall is 2,400 euros.\n"
LONG = "How long does the lease of the hall run?"
MUCH = "How much is the deposit of the hall?"


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"docs/lease.md": LEASE, "docs/deposit.md": DEPOSIT})


async def asked(bench: RunBench, *questions: str) -> Ended:
    ended = await bench.run(
        OfflineModel(),
        objective="Tell the board about the lease and the deposit of the hall.",
        questions=questions,
        memory={"scope": "project"},
    )
    assert ended.result.state == "done", ended.result.missing
    return ended


def topic(bench: RunBench) -> str:
    return (bench.root / ".orchestrate" / "memory" / "docs.md").read_text()


def kept(ended: Ended) -> list[str]:
    (event,) = ended.events("memory.kept")
    return [each["what"] for each in event.data["outcomes"]]


async def test_what_is_unchanged_is_cited_without_a_look(bench: RunBench) -> None:
    first = await asked(bench, LONG, MUCH)
    second = await asked(bench, LONG, MUCH)

    assert kept(first) == ["new", "new"]
    assert kept(second) == []
    assert {e.data["name"] for e in second.events("tool.started")} == {
        "update_notes",
        "finish",
    }
    report = second.text("report.md")
    assert "[docs/lease.md:3] (from memory of " in report
    assert "[docs/deposit.md:3] (from memory of " in report
    assert topic(bench).count("\n## ") == 2


async def test_only_the_changed_file_is_read_again_and_its_entry_updated(
    bench: RunBench,
) -> None:
    await asked(bench, LONG, MUCH)
    bench.write("docs/lease.md", LEASE.replace("5 years", "7 years"))
    second = await asked(bench, LONG, MUCH)

    report = second.text("report.md")
    assert "runs for 7 years. [docs/lease.md:3]" in report
    assert "Memory was stale here" in report
    assert "says “Lease: The lease of the hall runs for 5 years.”" in report
    assert "[docs/deposit.md:3] (from memory of " in report
    assert len(second.events("agent.started")) == 2
    assert kept(second) == ["updated"]
    text = topic(bench)
    assert text.count("\n## ") == 2
    assert "runs for 7 years." in text
    assert "- was: Lease: The lease of the hall runs for 5 years." in text


async def test_a_hint_that_says_what_was_found_is_left_out(bench: RunBench) -> None:
    await asked(bench, LONG)
    file = bench.root / ".orchestrate" / "memory" / "docs.md"
    seal = re.compile(r"(- evidence: \S+) \(check \w+\)")
    file.write_text(seal.sub(r"\1", topic(bench)))
    same = await asked(bench, LONG)
    file.write_text(file.read_text().replace("5 years", "9 years"))
    other = await asked(bench, LONG)

    assert "A hint from memory" not in same.text("report.md")
    assert "A hint from memory" in other.text("report.md")
