"""Beside packages that use the same names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., str]


def test_both_work_beside_openai_agents_whose_package_is_called_agents(
    wheel: Path, install: Callable[..., Command]
) -> None:
    command = install(wheel, "openai-agents")

    theirs = command("python", "-c", "import agents; print(agents.Runner.__module__)")
    ours = command("orchestrate", "agents")

    assert theirs.startswith("agents.")
    assert "explorer" in ours
