"""A run looks into memory, whatever others do to it meanwhile."""

from __future__ import annotations

import fcntl
from pathlib import Path

from refund_runs import FILES, WORK, sent
from run_bench import RunBench, finish

from orchestrator.ids import LEAD
from orchestrator.memory.earlier_runs import EarlierRuns
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory
from orchestrator.runtime.run_memory import RunMemory


async def test_who_holds_the_lock_keeps_nothing_from_being_shown(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, FILES)
    await bench.play([sent("One"), finish("Done.")], {"One": WORK})
    day = "2026-11-29"
    memory = Memory(
        tmp_path / "memory", workspace=bench.root, redact=str, today=lambda: day
    )
    value = "A refund takes 14 days after arrival."
    memory.keep([Put("shop.md", "Refund", value)], Author("earlier", LEAD))
    day = "2026-11-30"  # so that it is to be noted that it was shown
    earlier = EarlierRuns(bench.runs, workspace=bench.root, current="this", redact=str)
    ours = RunMemory("this", memory, earlier, str)

    with (tmp_path / "memory" / ".index" / "lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        looked = ours.look(["How long does a refund take?"], most=5, agent=LEAD)

    assert [known.entry.key for known in looked.found] == ["Refund"]
    assert looked.runs
    assert "is locked" in looked.failure
