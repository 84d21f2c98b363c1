"""Follow a run while it goes on: its events, how it stands, a file of it.

A log is the only thing that is read: whoever shows a live run somewhere else, in
another terminal or on a page, needs nothing of the process that works on it.

    for view in follow_run(folder):
        show(board_of(view, datetime.now(UTC)))

Each of these ends when nobody works on the run any more; what came up to then is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orchestrator.events import Event
from orchestrator.inspection.reading import text_of, true_state
from orchestrator.inspection.run import RunView
from orchestrator.store.disk import store_error
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import is_held
from orchestrator.store.records import records_of

__all__ = ["follow_events", "follow_run", "follow_text"]

POLL_S = 0.5
MAX_READ = 1 << 20
"""Bytes that are read at a time: a long log takes no memory of its length."""
Wait = Callable[[float], None]


def follow_events(
    folder: RunFolder,
    *,
    start: int = 0,
    poll_s: float = POLL_S,
    wait: Wait = time.sleep,
) -> Iterator[Event]:
    """Yield events as they are written, until nobody works on the run any more.

    Args:
        folder: the run.
        start: offset in the log, behind a whole line, from which on they are wanted.
        poll_s: seconds between two looks at the log.
        wait: waits so many seconds.

    Raises:
        StoreError: there is no log, or it cannot be read.
    """
    for found in _looks(folder, poll_s, wait, start):
        yield from found


def follow_run(
    folder: RunFolder, *, poll_s: float = POLL_S, wait: Wait = time.sleep
) -> Iterator[RunView]:
    """Yield how a run stands, at once and after each look at which it had gone on.

    It is the same object each time, brought up to date. The last one tells how the run
    ended; where nobody works on it and it has no end, its state is `crashed`.

    Args:
        folder: the run.
        poll_s: seconds between two looks at the log.
        wait: waits so many seconds.

    Raises:
        StoreError: there is no log, or it cannot be read.
    """
    view = RunView()
    is_first = True
    for found in _looks(folder, poll_s, wait):
        seen = view.events
        for event in found:
            view.apply(event)
        view.id = folder.path.name
        if view.events > seen or is_first:
            is_first = False
            yield view
    state = true_state(view.state, folder)
    if state != view.state:
        view.state = state
        yield view


def follow_text(
    folder: RunFolder,
    path: Path,
    *,
    is_whole: Callable[[str], bool] = bool,
    poll_s: float = POLL_S,
    wait: Wait = time.sleep,
) -> Iterator[str]:
    """Yield a file of a run, at once and whenever it is another; a missing one is not.

    Args:
        folder: the run.
        path: the file: its notes, or those of an agent.
        is_whole: whether a text is not one that is being written; what is not whole
            is yielded if it is there at the next look, too.
        poll_s: seconds between two looks at it.
        wait: waits so many seconds.

    Raises:
        StoreError: it cannot be read.
    """
    shown: str | None = None
    before: str | None = None
    while True:
        is_live = is_held(folder)
        text = text_of(path)
        is_ready = text is not None and (
            is_whole(text) or text == before or not is_live
        )
        if text is not None and text != shown and is_ready:
            shown = text
            yield text
        before = text
        if not is_live:
            return
        wait(poll_s)


def _looks(
    folder: RunFolder, poll_s: float, wait: Wait, start: int = 0
) -> Iterator[Iterator[Event]]:
    """Yield what each look at the log finds; it must be taken before the next one."""
    tail = _Tail(folder.events, start)
    while True:
        is_live = is_held(folder)  # before the log is read: what came last is in it
        yield tail.read()
        if not is_live:
            return
        wait(poll_s)


class _Tail:
    """Reads on where it stopped; an unfinished line waits for its end."""

    def __init__(self, path: Path, start: int) -> None:
        self._path = path
        self._offset, self._newest = start, 0
        self._rest = b""

    def read(self) -> Iterator[Event]:
        """Yield what has been written since the last time, each event once."""
        try:
            with self._path.open("rb") as log:
                log.seek(self._offset)
                while data := log.read(MAX_READ):
                    self._offset += len(data)
                    *lines, self._rest = (self._rest + data).split(b"\n")
                    for line in lines:
                        yield from self._events(line)
        except OSError as error:
            raise store_error("read the log", self._path, error) from error

    def _events(self, line: bytes) -> Iterator[Event]:
        for event in records_of(line).events:
            if event.seq > self._newest:  # one that came before is out of place
                self._newest = event.seq
                yield event
