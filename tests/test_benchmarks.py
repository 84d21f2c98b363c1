"""The benchmarks of `make bench` still run; what they measure is not judged here."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"
TINY: dict[str, tuple[tuple[int, ...], str]] = {
    "access_cost.py": ((2000,), "governor, headers with limits, and reservation"),
    "context_policies.py": ((12,), "long reads: ladder"),
    "fan_out.py": ((3, 2, 1), "a run, 3 at a time"),
    "hindsight.py": ((8,), "ours, all"),
    "live_cost.py": ((2, 3, 1, 3), "3 subagents"),
    "log_cost.py": ((300,), "after each event"),
    "long_runs.py": ((700,), "resume: all, snapshot"),
    "reading_cost.py": ((700,), "transcript a5"),
    "memory_retrieval.py": ((0,), "ours, by words"),
    "memory_scale.py": ((4, 5, 10, 3), "find: eight very common words"),
    "redaction_cost.py": ((20_000,), "logs: and personal"),
    "memory_runs.py": ((12, 2, 4), "with one new run"),
    "replay_speed.py": ((3, 3), "its replay"),
    "sandbox_cost.py": ((2, 50), "a call of bash that may write"),
    "snapshot_cost.py": ((700, 200_000), "snapshots"),
    "turn_cost.py": ((24,), "window 200,000, turn 10"),
}


def test_each_has_a_tiny_size() -> None:
    assert {path.name for path in BENCHMARKS.glob("*.py")} == set(TINY)


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_runs_and_prints_its_table(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes, row = TINY[name]

    runpy.run_path(str(BENCHMARKS / name))["main"](*sizes)

    shown = capsys.readouterr().out
    assert f"\n{row}" in shown
    assert "nan" not in shown


@pytest.mark.slow
def test_a_fan_out_drains_and_sends_as_many_requests_as_the_bare_loop() -> None:
    script = runpy.run_path(str(BENCHMARKS / "fan_out.py"))

    found = script["compared"](12, 5, 1)

    assert set(found) == {
        (way, at_once) for way in ("a run", "bare loop") for at_once in (8, 12)
    }
    for (way, _), taken in found.items():
        assert taken.ended == 12
        assert taken.arrived.of_subagents == 12 * 5
        assert taken.arrived.of_lead == (2 if way == "a run" else 0)
        assert taken.arrived.violations == []
    for at_once in (8, 12):
        of_run, of_bare = (
            found[way, at_once].arrived.size for way in ("a run", "bare loop")
        )
        assert of_bare == pytest.approx(of_run, rel=0.1)
