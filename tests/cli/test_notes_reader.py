"""`notes` of a run whose file a person changes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.inspection.following import POLL_S
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock
from orchestrator.store.notes import Notes, RunHeader

RUN_ID = "20261129-201500-auth-7f3a"
HEADER = RunHeader(RUN_ID, "Find out.", "running", "now", 1, 2, 3, 0.5, 2.0, 30)
GOLDEN = Path(__file__).parents[1] / "golden/v1/runs/20261129-120000-golden-300b"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run that is at work, with notes."""
    folder = RunFolder(tmp_path / RUN_ID)
    folder.path.mkdir()
    folder.events.write_bytes((GOLDEN / "events.jsonl").read_bytes())
    folder.progress.write_text(Notes().render(HEADER, [], []))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [True, False])
def test_following_shows_a_change_once_and_nothing_half(
    folder: RunFolder, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    whole = folder.progress.read_text().replace("_Nothing yet._", "Only Q3.", 1)
    done = threading.Event()
    poll_s = POLL_S

    def edit() -> None:
        with RunLock(folder.lock):
            begun.set()
            done.wait(poll_s / 2)
            folder.progress.write_text(whole[: len(whole) // 2])
            done.wait(poll_s)
            folder.progress.write_text(whole)
            done.wait(poll_s * 2)

    begun = threading.Event()
    editor = threading.Thread(target=edit)
    editor.start()
    begun.wait()
    flags = ["--json"] if as_json else []
    assert main(["notes", str(folder.path), "--follow", *flags]) == 0
    editor.join()

    shown = capsys.readouterr().out
    assert shown.count("# Progress of ") == 2
    assert shown.count("Only Q3.") == (2 if as_json else 1)  # of the text, of a section
