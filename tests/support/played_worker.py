"""Who works on a run, played in a thread: with a real lock and a real log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orchestrator.clock import SystemClock
from orchestrator.events import Payload, RunEnded
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.control import Request, pending, read_request, remove
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock

__all__ = ["LIMIT_S", "STOPPED", "worked_on", "write"]

LIMIT_S = 10
STOPPED = RunEnded("interrupted", 130, "stopped", [], 1.0)


def write(
    folder: RunFolder, payload: Payload, agent: str = "", cause: int | None = None
) -> int:
    """Add an event to the log of a run that nobody else writes; return its `seq`."""
    artifacts = Artifacts(folder.artifacts)
    log = EventLog.reopen(folder.events, folder.id, artifacts, SystemClock())
    event = log.append(payload, agent=agent, cause=cause)
    log.close()
    return event.seq


@contextmanager
def worked_on(
    folder: RunFolder,
    answer: Callable[[Request], object],
    *,
    before: Callable[[], object] = lambda: None,
    leaves: bool = True,
    takes: bool = True,
) -> Iterator[list[Request]]:
    """Hold the lock of a run; take one request, answer it, and let go if so told.

    Args:
        folder: the run's.
        answer: called with the request once its file is gone.
        before: called while the file is there.
        leaves: let go of the lock then.
        takes: remove the file.
    """
    taken: list[Request] = []
    gives_up = threading.Event()
    lock = RunLock(folder.lock)
    lock.acquire()

    def work() -> None:
        while not (found := pending(folder.control)):
            if gives_up.wait(0.005):
                return
        taken.append(read_request(found[0]))
        before()
        if takes:
            remove(found[0])
        answer(taken[0])
        if leaves:
            lock.release()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield taken
    finally:
        gives_up.set()
        thread.join(LIMIT_S)
        lock.release()
