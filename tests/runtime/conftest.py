from __future__ import annotations

from pathlib import Path

import pytest
from run_bench import RunBench

PAPER = "A refund takes 14 days.\nWithout a receipt it takes 30 days.\n"


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": PAPER, "README.md": "Papers.\n"})
