from __future__ import annotations

from pathlib import Path

import pytest
from agent_bench import AgentBench


@pytest.fixture
def bench(tmp_path: Path) -> AgentBench:
    return AgentBench(tmp_path)
