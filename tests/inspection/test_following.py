"""Following a run from outside, while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from sample_runs import halfway_run, open_script, survey

from orchestrator.errors import StoreError
from orchestrator.inspection.board import board_of
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.following import (
    MAX_READ,
    follow_events,
    follow_run,
    follow_text,
)
from orchestrator.inspection.reading import load_run
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock


def stepping(*steps: Callable[[], object]) -> Callable[[float], None]:
    """A wait in which the next thing happens."""
    left: Iterator[Callable[[], object]] = iter(steps)
    return lambda _seconds: (next(left)(), None)[1]


def test_a_run_is_yielded_each_time_it_went_on_and_at_its_end(tmp_path: Path) -> None:
    with open_script(tmp_path) as (folder, script):
        script.start_run()
        lock = RunLock(folder.lock)
        lock.acquire()

        def ends() -> None:
            script.log.close()
            lock.release()

        nothing = int
        wait = stepping(nothing, lambda: survey(script), nothing, ends)
        seen = [
            (view.events, view.state, len(board_of(view).rows))
            for view in follow_run(folder, wait=wait)
        ]

    assert seen == [(1, "running", 0), (script.log.seq, "partial", 4)]


def test_a_run_whose_process_died_is_crashed_at_the_end(tmp_path: Path) -> None:
    folder = halfway_run(tmp_path)

    states = [view.state for view in follow_run(folder)]

    assert states == ["running", "crashed"]


def test_what_is_followed_is_what_a_later_look_finds(tmp_path: Path) -> None:
    with open_script(tmp_path) as (folder, script):
        survey(script)
    [followed] = follow_run(folder)

    assert run_figures(followed) == run_figures(load_run(folder))


def test_a_log_that_is_longer_than_what_is_read_at_a_time_is_whole(
    tmp_path: Path,
) -> None:
    folder = halfway_run(tmp_path)
    [first, *_] = folder.events.read_bytes().splitlines()
    count = MAX_READ // len(first) + 10
    event = orjson.loads(first)
    with folder.events.open("wb") as log:
        log.writelines(
            orjson.dumps({**event, "seq": seq}) + b"\n" for seq in range(1, count + 1)
        )

    seqs = [each.seq for each in follow_events(folder)]

    assert folder.events.stat().st_size > MAX_READ
    assert seqs == list(range(1, count + 1))


def test_without_a_log_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read the log"):
        next(follow_events(RunFolder(tmp_path)))


def test_a_file_is_yielded_when_it_is_another(tmp_path: Path) -> None:
    folder = halfway_run(tmp_path)
    lock = RunLock(folder.lock)
    lock.acquire()
    path = folder.progress

    def writes(text: str) -> Callable[[], object]:
        return lambda: path.write_text(text, encoding="utf-8")

    wait = stepping(
        writes("one"), writes("one"), path.unlink, writes("two"), lock.release
    )

    assert list(follow_text(folder, path, wait=wait)) == ["one", "two"]


def test_a_folder_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    folder = halfway_run(tmp_path)
    folder.progress.mkdir()

    with pytest.raises(StoreError, match="cannot read"):
        list(follow_text(folder, folder.progress))
