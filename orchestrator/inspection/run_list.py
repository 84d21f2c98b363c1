"""The runs of a folder as a list: chosen, put in order, added up.

The line of a run that has ended is taken from its `run.json`, if the last record of
its log bears that out; else its log is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

import orjson

from orchestrator.errors import StoreError
from orchestrator.events import RunEnded
from orchestrator.events.base import moment
from orchestrator.inspection.reading import RunSummary, summarize
from orchestrator.inspection.states import ENDED
from orchestrator.store.heads import last_event
from orchestrator.store.layout import RunFolder

__all__ = ["ORDERS", "RunList", "Wanted", "listed", "quick_summary"]

ORDERS: dict[str, Callable[[RunSummary], float]] = {
    "cost": lambda run: run.usd or 0.0,
    "tokens": lambda run: run.tokens,
    "time": lambda run: run.seconds,
}
"""By what a list can be ordered besides age; the most comes first."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are wanted; every part narrows it further.

    Attributes:
        states: any of these; empty: all.
        task: the task's name has it, in upper or lower case; "": any.
        since: begun then or later; a run whose beginning is not known is none.
    """

    states: frozenset[str] = frozenset()
    task: str = ""
    since: datetime | None = None

    def takes(self, run: RunSummary) -> bool:
        """Return whether a run is wanted."""
        if self.states and run.state not in self.states:
            return False
        if self.task.casefold() not in run.task.casefold():
            return False
        started = moment(run.started) if self.since is not None else None
        return self.since is None or (started is not None and started >= self.since)


@dataclass(slots=True)
class RunList:
    """Runs in the order wanted, and their sums.

    Attributes:
        runs: those that are shown.
        more: how many more were wanted, or not looked at: older ones.
    """

    runs: list[RunSummary]
    more: int = 0
    totals: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        states: dict[str, int] = {}
        for run in self.runs:
            states[run.state] = states.get(run.state, 0) + 1
        known = [run.usd for run in self.runs if run.usd is not None]
        self.totals = {
            "runs": len(self.runs),
            "by_state": states,
            "agents": sum(run.agents for run in self.runs),
            "tokens": sum(run.tokens for run in self.runs),
            "usd": round(sum(known), 6) if known or not self.runs else None,
            "usd_is_whole": len(known) == len(self.runs),
            "seconds": round(sum(run.seconds for run in self.runs), 3),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        runs = [run.to_dict() for run in self.runs]
        return {"runs": runs, "more": self.more, "totals": self.totals}


def listed(
    folders: Sequence[RunFolder], wanted: Wanted, *, most: int | None, order: str = ""
) -> RunList:
    """Return the runs that are wanted.

    Args:
        folders: of all runs, newest first.
        wanted: which of them.
        most: show so many at most; None: all.
        order: one of `ORDERS`; "": as they come.
    """
    found = filter(wanted.takes, map(quick_summary, folders))
    if order:
        ordered = sorted(found, key=ORDERS[order], reverse=True)
        return RunList(ordered[:most], len(ordered) - len(ordered[:most]))
    runs = list(islice(found, most))
    if wanted == Wanted():
        return RunList(runs, len(folders) - len(runs))
    return RunList(runs, _count(found))


def quick_summary(folder: RunFolder) -> RunSummary:
    """Return the line of a run, from its log only where that is needed."""
    return _kept(folder) or summarize(folder)


def _count(runs: Iterable[RunSummary]) -> int:
    return sum(1 for _ in runs)


def _kept(folder: RunFolder) -> RunSummary | None:
    """Return what `run.json` has of a run that has ended; None: ask its log.

    The two are written one after the other: a process that died in between leaves a
    `run.json` of before, and so does one that goes on with the run.
    """
    try:
        last = last_event(folder.events)
        if last is None or last.kind != RunEnded.KIND:
            return None
        record = orjson.loads(folder.run_json.read_bytes())
        told, totals = record["state"], record["totals"]
        is_same = told == last.data.get("state") and record["ended"] == last.at
        if not is_same or told not in ENDED or totals["usd"] is None:
            return None
        started = moment(record["started"])
        tokens = ("input_tokens", "cache_write_tokens", "output_tokens")
        return RunSummary(
            id=folder.path.name,
            task=str(record["task"]),
            state=told,
            started=started.isoformat() if started else "",
            seconds=float(record["seconds"]),
            agents=int(record["agents"]),
            tokens=sum(int(totals[name]) for name in tokens),
            usd=round(float(totals["usd"]), 6),
            reason=str(record["reason"]),
            resume_at=str(record["resume_at"]),
        )
    except (StoreError, OSError, ValueError, TypeError, KeyError):
        return None
