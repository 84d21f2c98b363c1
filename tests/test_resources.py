from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.resources import data_root, read_text


def test_shipped_files_are_found() -> None:
    assert (data_root() / "agents/lead.md").is_file()
    assert "{{objective}}" in read_text("prompts/lead_task.md")


def test_a_wheel_keeps_them_inside_the_package(tmp_path: Path) -> None:
    (tmp_path / "site/orchestrator/_data").mkdir(parents=True)
    package = tmp_path / "site/orchestrator"
    assert data_root(package) == package / "_data"


def test_agents_of_another_package_are_never_taken(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "orchestrator").mkdir()
    with pytest.raises(FileNotFoundError, match="no agent and prompt files"):
        data_root(tmp_path / "orchestrator")
