"""Whole runs whose lead directs subagents, cut off anywhere and gone on with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from directed_checks import faults_of_resume, faults_of_run
from directed_policy import (
    FILES,
    GATES,
    HANG,
    LEAD,
    LOOK,
    PLAN,
    READ,
    DirectedPolicy,
    Pace,
    Plans,
    handed_in,
    sent,
)
from run_bench import Ended, RunBench, finish

from orchestrator.api import Orchestrator
from orchestrator.clock import Clock, SystemClock
from orchestrator.events import Event
from orchestrator.ids import sha256
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, say

__all__ = [
    "AGENTS",
    "PATIENCE_S",
    "SCENES",
    "Scene",
    "Whole",
    "events_of",
    "faults",
    "go_on",
    "whole_run",
]

PATIENCE_S = 20.0
AGENTS = ["splitter", "explorer"]


@dataclass(frozen=True)
class Scene:
    """A run to be disturbed.

    Attributes:
        plans: what each agent does.
        state: what the run comes to.
        limits: of the task.
        all_arrive: the lead gets what each of its subagents brings.
        gates: as in `Pace`.
        clock: makes the clock.
    """

    plans: Plans
    state: str = "done"
    limits: Mapping[str, Any] = field(default_factory=dict)
    all_arrive: bool = True
    gates: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    clock: Callable[[], Clock] = FakeClock


_ALL = finish("All: @cites")
_HANGS = [READ, sent("Deep", wait="none"), HANG, handed_in("Whole")]
_DEEP = [READ, HANG, handed_in("Deep")]

SCENES = {
    "all ways": Scene(PLAN, gates=GATES),
    "turns of the lead": Scene(
        {
            LEAD: [sent("Whole", "Two", wait="none", splits=["Whole"]), LOOK, _ALL],
            "Whole": [READ, sent("Left"), handed_in("Whole")],
        },
        "partial",
        {"turns": 3},
        gates={"Two": (LEAD, 1)},
    ),
    "minutes of the lead": Scene(
        {
            LEAD: [
                sent("Whole", "Two", wait="none", splits=["Whole"]),
                say("I wait for the others."),
                _ALL,
            ],
            "Whole": _HANGS,
            "Deep": _DEEP,
        },
        "partial",
        {"minutes": 0.01},
        clock=SystemClock,
    ),
    "a lead that insists": Scene(
        {
            LEAD: [
                sent("Whole", "Two", wait="none", splits=["Whole"]),
                LOOK,
                finish("All: some days."),
            ],
            "Whole": _HANGS,
            "Deep": _DEEP,
        },
        "partial",
        all_arrive=False,
    ),
    "money for a few": Scene(
        {LEAD: [sent("One"), sent("Two", "Three", "Four", "Five"), _ALL]},
        "partial",
        {"tokens": 50_000},
    ),
}


@dataclass(frozen=True)
class Whole:
    """An undisturbed run and its log."""

    scene: Scene
    folder: Path
    lines: tuple[bytes, ...]
    events: tuple[Event, ...]

    def copy(self, to: Path, log: bytes) -> Path:
        """The run with another log, without what is derived from it."""
        run = to / "runs" / self.folder.name
        shutil.copytree(self.folder, run)
        (run / "events.jsonl").write_bytes(log)
        for derived in ("report.md", "run.json", "progress.md"):
            (run / derived).unlink(missing_ok=True)
        return run

    def cut(self, to: Path, records: int, *, torn: bool = False) -> Path:
        """The run as it was after so many records, and perhaps a half one."""
        log = b"".join(self.lines[:records])
        half = self.lines[records][: len(self.lines[records]) // 2]
        return self.copy(to, log + half if torn else log)


def events_of(run: Path) -> tuple[Event, ...]:
    """All events of a run, with full data."""
    return tuple(read_events(run / "events.jsonl", Artifacts(run / "artifacts")))


def whole_run(scene: Scene, folder: Path) -> Whole:
    """Let a run come to its end in peace."""
    bench = RunBench(folder, FILES)
    policy = DirectedPolicy(scene.plans, Pace(scene.gates).before)

    async def run() -> Ended:
        with anyio.fail_after(PATIENCE_S):
            return await bench.run(
                ScriptedModel(policy),
                clock=scene.clock(),
                agents=AGENTS,
                limits={"depth": 2, "concurrency": 4, "subagents": 20, **scene.limits},
            )

    ended = anyio.run(run)
    assert (ended.result.state, policy.refused) == (scene.state, []), ended.result
    log = (ended.folder / "events.jsonl").read_bytes()
    lines = tuple(log.splitlines(keepends=True))
    return Whole(scene, ended.folder, lines, events_of(ended.folder))


async def go_on(run: Path, policy: DirectedPolicy, clock: Clock | None = None) -> Ended:
    """Resume a run; the test's patience bounds it, whatever hangs."""
    model = ScriptedModel(policy)
    with anyio.fail_after(PATIENCE_S):
        async with Orchestrator(
            runs_dir=run.parent, model=model, clock=clock or FakeClock()
        ) as here:
            return Ended(await here.resume(run), model)


async def faults(whole: Whole, run: Path, *, hastily: bool = False) -> list[str]:
    """Go on with a run that was cut off, and return all that is wrong then.

    Args:
        whole: where it is from.
        run: the copy.
        hastily: subagents hand in as soon as they can.
    """
    scene, before = whole.scene, events_of(run)
    gates = {} if hastily else scene.gates
    policy = DirectedPolicy(scene.plans, Pace(gates, patience_s=0.02).before)
    try:
        ended = await go_on(run, policy, scene.clock())
    except TimeoutError:
        return [f"it did not come to an end: {run}"]
    sent_now = [sha256(request.body) for request in ended.requests]
    found = faults_of_run(events_of(run), all_arrive=scene.all_arrive)
    found += faults_of_resume(before, sent_now)
    found += [f"refused: {each}" for each in policy.refused]
    if ended.result.state != scene.state:
        found.append(f"{ended.result.state}: {ended.result.missing}")
    return found
