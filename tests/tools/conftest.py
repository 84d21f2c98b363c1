from __future__ import annotations

from pathlib import Path

import pytest
from tool_bench import ToolBench


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    return ToolBench(tmp_path)
