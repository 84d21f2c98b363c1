"""The program as a process of its own, watched from outside while it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.store.layout import RunFolder

__all__ = ["ORCHESTRATE", "LiveProcess", "environment", "live", "wait_until"]

ORCHESTRATE = (sys.executable, "-m", "orchestrator")
LIMIT_S = 30.0
LOOK_S = 0.005


def wait_until(is_so: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Look again and again; fail if it is not so in time."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(LOOK_S)


def environment(folder: Path, url: str = "") -> dict[str, str]:
    """The variables of a user with a key for the endpoint at `url`."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "ORCHESTRATE_"))
    }
    env |= {"HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    if url:
        env |= {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": url}
    return env


@dataclass
class LiveProcess:
    """A process that works on a run in `folder/runs`."""

    process: subprocess.Popen[Any]
    folder: Path
    pids: set[int]

    @property
    def run(self) -> RunFolder:
        """The newest run."""
        found = sorted((self.folder / "runs").glob("2*"))
        assert found, "there is no run"
        return RunFolder(found[-1])

    def has_run(self) -> bool:
        return any((self.folder / "runs").glob("2*/events.jsonl"))

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so; fail at once if the process ends before."""

        def is_over() -> bool:
            return is_so() or self.process.poll() is not None

        wait_until(is_over)
        assert self.process.poll() is None, self.process.communicate()

    def counts(self, kind: str, **data: str) -> int:
        """How many whole events of a kind there are, with these values in them."""
        if not self.has_run():
            return 0
        lines = self.run.events.read_bytes().split(b"\n")[:-1]
        events = [orjson.loads(line) for line in lines]
        return sum(
            event["kind"] == kind
            and all(event["data"].get(key) == value for key, value in data.items())
            for event in events
        )

    def children(self) -> set[int]:
        """The processes that it started and that are alive; all are remembered."""
        found: set[int] = set()
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                found |= {int(pid) for pid in task.read_text().split()}
            except OSError:  # the thread has ended
                continue
        self.pids |= found
        return found

    def alive(self) -> set[int]:
        """Of the processes that were seen, those that are still at work."""
        return {pid for pid in self.pids if Path(f"/proc/{pid}").exists()}

    def send(self, number: signal.Signals) -> float:
        """Send a signal; return the time."""
        self.process.send_signal(number)
        return time.monotonic()

    def ended(self, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
        """Wait for the end: status, stdout, stderr."""
        out, err = self.process.communicate(timeout=limit_s)
        return self.process.returncode, out, err

    def view(self) -> RunView:
        return load_run(self.run)


@contextmanager
def live(
    command: Sequence[str], folder: Path, env: dict[str, str]
) -> Iterator[LiveProcess]:
    """Start a process in `folder`; it is gone when this is left."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield LiveProcess(process, folder, set())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
