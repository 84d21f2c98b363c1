"""Read what an earlier run left: its state, its workspace, its report, its findings.

The files may be of another version, half written, swapped or anybody's: what cannot be
read is passed over, and no link is followed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.findings import FailedAttempt, Item
from orchestrator.memory.bounded import read_start
from orchestrator.security import beneath
from orchestrator.spec.document import parse

__all__ = ["MAX_REPORT_BYTES", "Claim", "Delivered", "Head", "Tried"]

MAX_REPORT_BYTES = 200_000
"""What follows is not read: reports are some thousand tokens, and one far beyond that
would crowd out the others."""
_MAX_RUN_JSON = 200_000
_MAX_TASK = 1_000_000
_MAX_FINDINGS = 1_000_000
_MAX_AGENTS = 500
_MAX_OBJECTIVE = 2_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY_OF_ID = re.compile(r"(\d{4})(\d{2})(\d{2})-\d{6}-", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    """What tells whether a run is to be known, and what it was for.

    Attributes:
        run: its id, the name of its folder.
        state: as `run.json` has it: `done`, `partial`, `running`, …
        when: the day it ended, `YYYY-MM-DD`; "" where nothing tells.
        workspace: as recorded, all links resolved.
        objective: what it was to do, at most 2,000 characters.
    """

    run: str
    state: str
    when: str
    workspace: str
    objective: str

    @classmethod
    def read(cls, runs_dir: Path, run: str) -> Head | None:
        """Return what the folder of a run tells; None where it is none or is broken."""
        record = _json(runs_dir, f"{run}/run.json", _MAX_RUN_JSON)
        state = record.get("state")
        task = _task(runs_dir, run)
        workspace, objective = task.get("workspace"), task.get("objective")
        if not isinstance(state, str) or not isinstance(workspace, str):
            return None
        # One that is relative would mean another folder for each who reads it.
        if not Path(workspace).is_absolute() or "\0" in workspace:
            return None
        objective = objective if isinstance(objective, str) else ""
        return cls(
            run=run,
            state=state,
            when=_day(record, run),
            workspace=os.path.realpath(workspace),
            objective=objective.strip()[:_MAX_OBJECTIVE],
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """One item of findings: `item` is what its agent said, `number` its place, from 1.

    `is_supported` is false where the evidence was not found when it was handed in.
    """

    agent: str
    number: int
    title: str
    item: Item
    is_supported: bool


@dataclass(frozen=True, slots=True)
class Tried:
    """What a subagent tried in vain; `number` counts those of its agent, from 1."""

    agent: str
    number: int
    title: str
    attempt: FailedAttempt


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came out of a run; each part may be missing."""

    report: str = ""
    claims: tuple[Claim, ...] = ()
    tried: tuple[Tried, ...] = ()

    @classmethod
    def read(cls, runs_dir: Path, run: str) -> Delivered:
        """Return what can be read of report and findings of a run."""
        data = _bytes(runs_dir, f"{run}/report.md", MAX_REPORT_BYTES, cut=True) or b""
        report = data.decode("utf-8", "replace")
        if len(data) == MAX_REPORT_BYTES:
            report = report.rpartition("\n")[0]
        claims: list[Claim] = []
        tried: list[Tried] = []
        for agent in _agents(runs_dir, run):
            folder = f"{run}/agents/{agent}"
            record = _json(runs_dir, f"{folder}/findings.json", _MAX_FINDINGS)
            if record:
                title = _title(runs_dir, folder)
                claims.extend(_claims(record, agent, title))
                tried.extend(_tried(record, agent, title))
        return cls(report, tuple(claims), tuple(tried))


def _task(runs_dir: Path, run: str) -> dict[str, Any]:
    data = _bytes(runs_dir, f"{run}/task.yaml", _MAX_TASK)
    if data is None:
        return {}
    try:
        task = parse(data.decode("utf-8"), file="task.yaml").value
    except (SpecError, ValueError, RecursionError):
        return {}
    return task if isinstance(task, dict) else {}


def _day(record: dict[str, Any], run: str) -> str:
    for name in ("ended", "started"):
        found = _DAY.match(str(record.get(name)))
        if found:
            return found[0]
    of_id = _DAY_OF_ID.match(run)
    return "-".join(of_id.groups()) if of_id else ""


def _agents(runs_dir: Path, run: str) -> list[str]:
    """Return the names of the folders of agents, `a2` before `a10`."""
    try:
        with beneath.entries(runs_dir, f"{run}/agents") as found:
            names = [each.name for each in found if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(names, key=lambda name: (len(name), name))[:_MAX_AGENTS]


def _title(runs_dir: Path, folder: str) -> str:
    """Return what the brief of an agent was called, or ""."""
    data = _bytes(runs_dir, f"{folder}/brief.md", 1_000, cut=True) or b""
    first = data.decode("utf-8", "replace").lstrip("\ufeff").partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def _answers(record: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return what was handed in on a brief and on each further question.

    Each with the number of its first item, from 1.
    """
    more = record.get("follow_ups")
    answers = [record, *(more if isinstance(more, list) else ())]
    found: list[tuple[int, dict[str, Any]]] = []
    following = 1
    for each in answers:
        if not isinstance(each, dict):
            continue
        told = each.get("first_item")
        first = told if isinstance(told, int) and told > 0 else following
        items = each.get("items")
        following = first + (len(items) if isinstance(items, list) else 0)
        found.append((first, each))
    return found


def _claims(record: dict[str, Any], agent: str, title: str) -> list[Claim]:
    found: list[Claim] = []
    for first, answer in _answers(record):
        items = answer.get("items")
        for number, raw in enumerate(items if isinstance(items, list) else (), first):
            try:
                item = Item.model_validate(raw, extra="ignore")
            except ValidationError:
                continue
            is_supported = raw.get("unsupported") is not True
            found.append(Claim(agent, number, title, item, is_supported))
    return found


def _tried(record: dict[str, Any], agent: str, title: str) -> list[Tried]:
    found: list[Tried] = []
    for _, answer in _answers(record):
        attempts = answer.get("failed_attempts")
        for raw in attempts if isinstance(attempts, list) else ():
            try:
                attempt = FailedAttempt.model_validate(raw, extra="ignore")
            except ValidationError:
                continue
            found.append(Tried(agent, len(found) + 1, title, attempt))
    return found


def _json(runs_dir: Path, relative: str, most: int) -> dict[str, Any]:
    data = _bytes(runs_dir, relative, most)
    if data is None:
        return {}
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}


def _bytes(
    runs_dir: Path, relative: str, most: int, *, cut: bool = False
) -> bytes | None:
    """Return a file of at most `most` bytes; None where it is missing or longer."""
    try:
        data = read_start(runs_dir, relative, most if cut else most + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= most else None
