"""What all tests share: steady property tests, and a process without credentials.

Property tests take the same examples for everybody, and no stopwatch;
`HYPOTHESIS_PROFILE=search make unit` looks for new examples instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder that the process stands in, without credentials or settings."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "ORCHESTRATE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path
