from __future__ import annotations

from pathlib import Path

from orchestrator.agent.files import AgentFiles
from orchestrator.store.layout import RunFolder


def test_a_file_that_cannot_be_written_is_remembered_until_it_can(
    tmp_path: Path,
) -> None:
    files = AgentFiles(RunFolder(tmp_path), str)
    (tmp_path / "agents").write_text("a file where a folder is needed")

    files.keep("a1", "brief.md", b"one")
    assert list(files.lost) == ["agents/a1/brief.md"]
    assert "a file is where a folder is needed" in files.lost["agents/a1/brief.md"]

    (tmp_path / "agents").unlink()
    files.keep("a1", "brief.md", b"two")
    assert files.lost == {}
    assert (tmp_path / "agents" / "a1" / "brief.md").read_bytes() == b"two"


def test_a_run_that_was_deleted_does_not_come_back(tmp_path: Path) -> None:
    files = AgentFiles(RunFolder(tmp_path / "gone"), str)

    files.keep("a1", "brief.md", b"one")

    assert list(files.lost) == ["agents/a1/brief.md"]
    assert list(tmp_path.iterdir()) == []
