"""Open a run folder to look at it: nothing here writes.

A run is folded from its log each time, so that what is shown is what happened, also
where the process died before it could write anything else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from orchestrator.errors import StoreError
from orchestrator.inspection.run import RunView
from orchestrator.inspection.states import ENDED
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import is_held
from orchestrator.store.reading import read_events

__all__ = ["RunSummary", "load_run", "summarize", "text_of", "true_state"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    id: str
    task: str
    state: str
    started: str
    """RFC 3339, or ""."""
    seconds: float
    agents: int
    tokens: int
    """As `limits.tokens` counts them: all but cache reads."""
    usd: float | None
    """None: no price is known."""
    reason: str = ""
    resume_at: str = ""
    """When a parked run can go on, RFC 3339, or ""."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


def load_run(folder: RunFolder) -> RunView:
    """Return the run in `folder`, also a live one or one that was killed.

    Raises:
        StoreError: there is no log, or it cannot be read.
    """
    view = RunView()
    for event in read_events(folder.events):
        view.apply(event)
    view.id = folder.path.name
    view.state = true_state(view.state, folder)
    artifacts = Artifacts(folder.artifacts)
    for agent in view.agents.values():
        for answer in agent.answers.all:
            answer.take(_loaded(answer.findings, artifacts))
    return view


def summarize(folder: RunFolder) -> RunSummary:
    """Return the line of the list of runs for `folder`.

    A run whose log cannot be read is a line that says so: it never hides the others.
    """
    try:
        view = load_run(folder)
    except (StoreError, OSError) as error:
        return RunSummary(
            folder.path.name, "", "unreadable", "", 0, 0, 0, None, str(error)
        )
    cost = view.cost.to_dict()
    return RunSummary(
        id=folder.path.name,
        task=view.task,
        state=view.state,
        started=view.started_at.isoformat() if view.started_at else "",
        seconds=round(view.seconds(datetime.now(UTC)), 3),
        agents=len(view.agents),
        tokens=view.tokens.limited,
        usd=cost["usd"],
        reason=view.reason,
        resume_at=view.resume_at,
    )


def text_of(path: Path) -> str | None:
    """Return what stands in a text file of a run; None: there is no such file.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read `{path}`: {error.strerror}") from error


def true_state(state: str, folder: RunFolder) -> str:
    """Return the state of a run: that of its log, or what the lock says of it."""
    if state in ENDED:
        return state
    if is_held(folder):
        return state or "running"
    return "crashed"


def _loaded(findings: dict[str, Any], artifacts: Artifacts) -> dict[str, Any]:
    """Return findings that were put away as an artifact; {} if that is gone."""
    ref = findings.get("$artifact")
    if not isinstance(ref, str):
        return findings
    try:
        found = orjson.loads(artifacts.read_text(ref))
    except (StoreError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
