"""Runs in processes of their own that are killed and gone on with."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson
from explore_policy import ExplorePolicy, lay_parts
from fake_endpoint import FakeEndpoint
from kill_policy import Slow
from kill_zygote import Order
from run_bench import OBJECTIVE

from orchestrator.ids import sha256

__all__ = [
    "KillBench",
    "Left",
    "Scar",
    "Struck",
    "Whole",
    "kill_bench",
    "records_of",
    "whole_records",
]

PATIENCE_S = 60.0
"""Longest time that a run or a resume may take; they take less than two seconds."""
SHORTER = 0.8
GLANCE_S = 0.002
"""How often a log is looked at for the moment to kill."""


class Zygote:
    """The process that forks the runs; see `kill_zygote`."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("kill_zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=PATIENCE_S)

    def fork(self, order: Order) -> int:
        """Start a child and return its pid, which is its group's too."""
        return int(self._ask(asdict(order))["pid"])

    def wait(self, pid: int) -> int:
        """Return how a child ended: its status, or minus the signal."""
        return int(self._ask({"do": "wait", "pid": pid})["status"])

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(command) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that forks is gone"
        answer: dict[str, Any] = orjson.loads(line)
        return answer


@dataclass(frozen=True)
class Scar:
    """What a kill left.

    Attributes:
        after_s: seconds from the fork to the kill.
        log: the bytes of the log, right after the kill.
        arrived: number of requests that the endpoint had seen by then.
        lines: lines of the ledger.
    """

    after_s: float
    log: bytes
    arrived: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Left:
    """What a run came to, and what the endpoint saw of it.

    Attributes:
        said: what its last process said.
        folder: the run's, or None where there is none.
        log: the bytes of its log.
        bodies: requests, in order of arrival.
        lines: lines of the ledger.
        seconds: of its last process, from the fork to its end.
        to_first_s: seconds from the start of the last process to its first request.
    """

    said: dict[str, Any]
    folder: Path | None
    log: bytes
    bodies: list[bytes]
    lines: tuple[str, ...]
    seconds: float
    to_first_s: float | None

    @property
    def report(self) -> bytes:
        assert self.folder is not None
        return (self.folder / "report.md").read_bytes()

    @property
    def findings(self) -> dict[str, bytes]:
        """Path → the bytes of each file of findings, and of the subagents' notes."""
        assert self.folder is not None
        agents = self.folder / "agents"
        paths = [*agents.glob("a*/findings.json"), *agents.glob("a*/notes.md")]
        return {str(path.relative_to(agents)): path.read_bytes() for path in paths}


@dataclass(frozen=True)
class Whole:
    """What an undisturbed run came to."""

    seconds: float
    report: bytes
    findings: dict[str, bytes]
    bodies: frozenset[str]
    """SHA-256 of each request."""


@dataclass(frozen=True)
class Struck:
    """A run that was killed, its scars, and what it came to."""

    seed: int
    place: Path
    scars: list[Scar]
    left: Left

    def __str__(self) -> str:
        moments = ", ".join(f"{scar.after_s * 1000:.1f} ms" for scar in self.scars)
        return f"seed {self.seed}, killed after {moments}, in {self.place}"


@dataclass
class KillBench:
    """A workspace, an endpoint and a process that forks runs.

    Attributes:
        folder: where everything lies.
        zygote: forks the runs.
        endpoint: answers, and records what it is asked.
        slow: its script.
        has_effects: runs have the tool `enter`.
    """

    folder: Path
    zygote: Zygote
    endpoint: FakeEndpoint
    slow: Slow
    has_effects: bool = False
    _places: list[Path] = field(default_factory=list)

    @property
    def policy(self) -> ExplorePolicy:
        return self.slow.policy

    def plays(self, slow: Slow) -> None:
        """Let the endpoint answer by `slow` from now on."""
        self.slow = slow
        self.endpoint.plays(slow)

    def to_its_end(self, place: Path) -> Left:
        """Start what is in `place`, or resume it, and let it come to its end."""
        left = self.attempt(place, PATIENCE_S)
        assert isinstance(left, Left), f"{place} takes too long"
        return left

    def whole(self, *, runs: int = 2) -> Whole:
        """Let some runs end in peace, and return what the last came to."""
        left = [self.peaceful() for _ in range(runs)][-1]
        bodies = frozenset(map(sha256, left.bodies))
        return Whole(left.seconds, left.report, left.findings, bodies)

    def peaceful(self) -> Left:
        place = self.new_place("whole")
        left = self.to_its_end(place)
        assert left.said.get("state") == "done", left.said
        return left

    def strike(self, seed: int, seconds: float) -> Struck:
        """Kill a run at a moment that `seed` chooses, go on with it, and again.

        A third of the resumes are killed too, up to twice.

        Args:
            seed: chooses the moments, and how many there are.
            seconds: of an undisturbed run.
        """
        chance = random.Random(seed)
        place = self.new_place(f"seed{seed}")
        kills = 1 + (chance.randint(1, 2) if chance.random() < 1 / 3 else 0)
        moment = chance.uniform(0, seconds)
        scars: list[Scar] = []
        left = self.attempt(place, moment)
        while isinstance(left, Left):  # it was over before; a shorter moment, anew
            place, moment = self.new_place(f"seed{seed}"), moment * SHORTER
            left = self.attempt(place, moment)
        while isinstance(left, Scar):
            scars.append(left)
            assert len(scars) <= kills, f"{place} takes too long"
            to_go = max(seconds - moment, seconds / 10)
            is_enough = len(scars) == kills or _run_in(place) is None
            moment = PATIENCE_S if is_enough else chance.uniform(0, to_go)
            left = self.attempt(place, moment)
        return Struck(seed, place, scars, left)

    def attempt(
        self,
        place: Path,
        seconds: float,
        until: Callable[[list[dict[str, Any]]], bool] | None = None,
    ) -> Left | Scar:
        """Start what is in `place`, or resume it, and kill its group if it lasts.

        Args:
            place: a folder that `new_place` has made.
            seconds: longest time it may take.
            until: kill it as soon as this holds of the records in its log.
        """
        before, began = len(self.slow.arrived), time.monotonic()
        pid = self.zygote.fork(self._order(place))
        if until is None:
            is_over = _ends_within(pid, seconds)
        else:
            while not (is_over := _ends_within(pid, GLANCE_S)):
                if until(records_of(_log_in(place))):
                    break
                assert time.monotonic() - began < seconds, f"{place} takes too long"
        if not is_over:
            os.killpg(pid, signal.SIGKILL)
        lasted = time.monotonic() - began
        if self.zygote.wait(pid) == -signal.SIGKILL:
            arrived = len(self.endpoint.bodies)
            return Scar(seconds, _log_in(place), arrived, _ledger(place))
        arrived_at = self.slow.arrived[before:]
        said = orjson.loads((place / "said.json").read_bytes())
        return Left(
            said=said,
            folder=_run_in(place),
            log=_log_in(place),
            bodies=list(self.endpoint.bodies),
            lines=_ledger(place),
            seconds=lasted,
            to_first_s=arrived_at[0] - said["began"] if arrived_at else None,
        )

    def _order(self, place: Path) -> Order:
        """What a user would type: `run`, or `resume` once there is a run."""
        run = _run_in(place)
        return Order(
            do="resume" if run else "run",
            what=str(run or self.folder / "task.yaml"),
            runs=str(place / "runs"),
            said=str(place / "said.json"),
            url=self.endpoint.url,
            ledger=str(place / "ledger") if self.has_effects else "",
        )

    def new_place(self, name: str) -> Path:
        """Make an empty folder for a run, and let the endpoint's record begin anew."""
        for record in (
            self.endpoint.requests,
            self.endpoint.bodies,
            self.endpoint.headers,
            self.slow.arrived,
        ):
            record.clear()
        place = self.folder / f"{name}.{len(self._places)}"
        place.mkdir()
        self._places.append(place)
        return place


@contextmanager
def kill_bench(
    folder: Path, slow: Slow, *, has_effects: bool = False, **fields: Any
) -> Iterator[KillBench]:
    """Lay the workspace out and start the endpoint and the process that forks.

    Args:
        folder: gets all of it.
        slow: how the endpoint answers.
        has_effects: runs have the tool `enter`.
        fields: of the task, beside those that all of them have.
    """
    root = folder / "work"
    lay_parts(root, slow.policy.parts)
    task = {
        "name": "killed",
        "objective": OBJECTIVE,
        "workspace": str(root),
        "model": "claude-haiku-5-5",
        "context": [],
        **fields,
    }
    (folder / "task.yaml").write_bytes(orjson.dumps(task))
    with Zygote(folder) as zygote, FakeEndpoint(slow) as endpoint:
        yield KillBench(folder, zygote, endpoint, slow, has_effects)


def records_of(log: bytes) -> list[dict[str, Any]]:
    """The whole records of a log; what a kill tore is left out."""
    return [orjson.loads(line) for line in whole_records(log).splitlines()]


def whole_records(log: bytes) -> bytes:
    """The part of a log that is whole; a newline may be all that the end lacks."""
    end = log.rfind(b"\n") + 1
    try:
        orjson.loads(log[end:])
    except orjson.JSONDecodeError:
        return log[:end]
    return log


def _ends_within(pid: int, seconds: float) -> bool:
    """Wait for the end of a process, or until the time is over."""
    handle = os.pidfd_open(pid)
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _run_in(place: Path) -> Path | None:
    found = [each for each in place.glob("runs/*") if each.is_dir()]
    assert len(found) <= 1, found
    return found[0] if found else None


def _log_in(place: Path) -> bytes:
    run = _run_in(place)
    log = run / "events.jsonl" if run else None
    return log.read_bytes() if log and log.is_file() else b""


def _ledger(place: Path) -> tuple[str, ...]:
    path = place / "ledger"
    return tuple(path.read_text().splitlines()) if path.is_file() else ()
