"""What all tests of memory begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A scope with nothing in it."""
    work = tmp_path / "work"
    work.mkdir()
    return Desk(work, work / ".orchestrate" / "memory")
