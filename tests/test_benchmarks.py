"""The benchmarks of `make bench` still run; what they measure is not judged here."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"
TINY: dict[str, tuple[tuple[int, ...], str]] = {
    "fan_out.py": ((12, 5, 1), "a run, all at once"),
    "log_cost.py": ((300,), "after each event"),
    "long_runs.py": ((700,), "resume: all, snapshot"),
    "snapshot_cost.py": ((700, 200_000), "snapshots"),
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
