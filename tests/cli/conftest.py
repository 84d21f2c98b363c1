"""What the tests of the commands share: where runs are, and how wide the screen is."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where the commands look for runs, on a screen of 80 columns."""
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path
