"""`progress.md` and `run.json`, written anew from the events of the run."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import structlog

from orchestrator.agent.budget import Amount
from orchestrator.agent.usage import Spent
from orchestrator.clock import Clock
from orchestrator.context.main_argument import named_argument
from orchestrator.errors import StoreError
from orchestrator.events import (
    Event,
    ModelAnswered,
    NotesEdited,
    NotesUpdated,
    RunEnded,
    RunReopened,
    RunResumed,
    RunStarted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    ToolEnded,
    ToolStarted,
)
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.ids import LEAD
from orchestrator.runtime.history import History
from orchestrator.runtime.members import Members
from orchestrator.runtime.notes_file import EditLog, NotesFile
from orchestrator.runtime.stale_notes import StaleNotes
from orchestrator.runtime.totals import Totals
from orchestrator.store.disk import write_derived
from orchestrator.store.layout import RunFolder
from orchestrator.store.notes import Notes, RunHeader
from orchestrator.store.swapping import SwappedFile

__all__ = ["Progress"]

# Kinds after which the files are worth writing at once; the rest waits a moment.
_WORTH = frozenset(
    {
        RunStarted.KIND,
        RunResumed.KIND,
        SubagentAccepted.KIND,
        SubagentAsked.KIND,
        SubagentEnded.KIND,
        NotesEdited.KIND,
        NotesUpdated.KIND,
    }
)
MIN_INTERVAL_S = 0.5
MAX_EFFECT_CHARS = 200
MOST_ROUNDS = 5
"""So often a person may be faster than the program at the end of a run."""

logger = structlog.get_logger(__name__)


class Progress:
    """Follows the log of one run and keeps its two files true.

    Both are derived: they can be written again from the log at any time. So they are
    written at most twice a second, and a disk that refuses them ends no run.
    """

    def __init__(
        self, folder: RunFolder, clock: Clock, edits: EditLog | None = None
    ) -> None:
        """Write nothing yet.

        Args:
            folder: the run's.
            clock: tells how long it is at work.
            edits: where changes go that people make in the notes; None: there are none.
        """
        self.totals = Totals()
        self.carried_s = 0.0
        """Seconds the run was at work in earlier processes."""
        self._folder = folder
        self._clock = clock
        self._began = clock.monotonic()
        self._written = float("-inf")
        self._dirty = False
        self._lost = ""
        self._notes: dict[str, Notes] = {LEAD: Notes()}
        self._changed: set[str] = set()
        self._members = Members()
        self._effects: list[str] = []
        self._effect_of: dict[tuple[str, str], int] = {}
        """Agent and call → where in `_effects` it stands, until it has ended."""
        self._started: Event | None = None
        self._ended: dict[str, Any] = {}
        self._limits: dict[str, Any] = {}
        self._questions: list[str] = []
        self._spent = Spent()
        self._stale = StaleNotes(self._notes[LEAD])
        self._page = NotesFile(
            SwappedFile(folder.progress),
            self._notes[LEAD],
            clock,
            render=self._rendered,
            edits=edits,
        )

    @property
    def seconds(self) -> float:
        """Return seconds at work; time between two processes does not count."""
        return self.carried_s + self._clock.monotonic() - self._began

    @property
    def subagents(self) -> int:
        """Return how many subagents were accepted."""
        return len(self._members)

    def spent_by(self, agent: str) -> Amount:
        """Return what the calls of one agent used, in earlier processes too."""
        return self._spent.of(agent)

    @property
    def effects(self) -> list[str]:
        """Return what was changed outside the run folder, a line each.

        A call that failed may have changed something or nothing: its line says so.
        """
        return list(self._effects)

    @property
    def stale_notes(self) -> list[str]:
        """Return the lead's sections that its newest findings have passed by."""
        return self._stale.names()

    def notes_of(self, agent: str) -> Notes:
        """Return the notes of `agent`; the lead's are the run's."""
        return self._notes.setdefault(agent, Notes(free=agent != LEAD))

    def apply(self, event: Event) -> None:
        """Take in one event, without writing."""
        self._dirty = True
        self._spent.apply(event)
        self._members.apply(event)
        data = event.data
        if event.agent == LEAD:
            self._notes[LEAD].apply(event)
            self._stale.apply(event)
        elif event.kind == NotesUpdated.KIND:
            self.notes_of(event.agent).apply(event)
            self._changed.add(event.agent)
        match event.kind:
            case RunStarted.KIND:
                self._started, self._limits = event, data["limits"]
            case RunResumed.KIND:
                self._limits = {**self._limits, **(data.get("limits") or {})}
                self._ended = {}
            case RunReopened.KIND:
                self._limits = {**self._limits, **(data.get("limits") or {})}
                self._questions += [data["question"]] if data["question"] else []
            case RunEnded.KIND:
                self._ended = {**data, "at": event.at}
            case ModelAnswered.KIND:
                self.totals = self.totals.plus(data)
            case ToolStarted.KIND | ToolEnded.KIND:
                self._enter(event)

    def _enter(self, event: Event) -> None:
        """Enter a call with effects, and how it ended."""
        data = event.data
        key = event.agent, data["call"]
        if event.kind == ToolStarted.KIND and data["effects"] == "effects":
            self._effect_of[key] = len(self._effects)
            self._effects.append(f"{event.agent}: {_effect(data)}")
        elif event.kind == ToolEnded.KIND and key in self._effect_of:
            self._effects[self._effect_of.pop(key)] += _fate(data)

    def restore(self, events: Iterable[Event], history: History) -> None:
        """Take over what earlier processes did, without writing.

        Args:
            events: those about the run as a whole.
            history: sums over all events.
        """
        for event in events:
            self.apply(event)
        self.totals = history.totals
        self.carried_s = history.worked.of()
        self._spent = deepcopy(history.spent)
        self._members.restore(history)
        self._stale.restore(history)

    def follow(self, event: Event) -> None:
        """Take in one event of the live run, and write where it is worth it."""
        self.apply(event)
        if event.kind in _WORTH:
            self.write()

    def write(self, *, force: bool = False) -> None:
        """Write both files, unless they were written a moment ago.

        What cannot be written is told once, and tried again the next time.
        """
        now = self._clock.monotonic()
        recent = now - self._written < MIN_INTERVAL_S
        if self._started is None or (not force and (recent or not self._dirty)):
            return
        self._written, self._dirty = now, False
        try:
            self._write_files()
        except StoreError as error:
            self._dirty = True
            if str(error) != self._lost:
                logger.warning("progress.lost", error=str(error))
            self._lost = str(error)

    def _write_files(self) -> None:
        folder = self._folder
        write_derived(folder.run_json, self._run_json())
        if not self._page.put():  # it is read first
            self._dirty = True
        for agent in self._changed:
            notes = self._notes[agent].render_free(self._members.title_of(agent))
            path, data = folder.agent(agent) / "notes.md", notes.encode()
            if not _holds(path, data):  # after a resume, mostly it does
                write_derived(path, data, within=folder.path)
        self._changed = set()

    async def look(self) -> None:
        """Take in what people changed in the notes, if they did: it is in the log then.

        Raises:
            StoreError: the log cannot be written.
        """
        if self._started is not None:
            await self._page.look()

    async def settle(self) -> None:
        """Bring the files to what they are to be when nobody works on the run any more.

        Raises:
            StoreError: the log cannot be written.
        """
        for _ in range(MOST_ROUNDS):
            if self._started is not None:
                await self._page.look(is_last=True)
            self.write(force=True)
            if not self._dirty:
                break
        if self._started is not None:
            await self._page.look(is_last=True)

    def _rendered(self) -> str:
        """Return `progress.md` as it should be."""
        rows = self._members.rows(state=self._ended.get("state", ""))
        return self._notes[LEAD].render(self._header(), rows, self._effects)

    def _header(self) -> RunHeader:
        started = self._started
        if started is None:
            raise ValueError("the run has not started")
        limits, totals = self._limits, self.totals
        return RunHeader(
            run=started.run,
            objective=started.data["objective"],
            questions=tuple(self._questions),
            state=self._ended.get("state", "running"),
            started=started.at,
            seconds=self.seconds,
            tokens=totals.limited_tokens,
            max_tokens=limits["tokens"],
            usd=totals.usd,
            usd_set_aside=self._set_aside.usd,
            max_usd=limits.get("usd"),
            max_minutes=limits["minutes"],
            reason=self._ended.get("reason", ""),
        )

    @property
    def _set_aside(self) -> Amount:
        """Return what counts as used for calls that are out, or were cut off."""
        known = Amount(self.totals.usd or 0.0, self.totals.limited_tokens)
        rest = self._spent.total - known
        return Amount(max(round(rest.usd, 8), 0.0), max(rest.tokens, 0))

    def _run_json(self) -> bytes:
        started, ended = self._started, self._ended
        if started is None:
            raise ValueError("the run has not started")
        record = {
            "id": started.run,
            "task": started.data["task"],
            "questions": self._questions,
            "state": ended.get("state", "running"),
            "exit_code": ended.get("exit_code"),
            "reason": ended.get("reason", ""),
            "resume_at": ended.get("resume_at", ""),
            "missing": ended.get("missing", []),
            "started": started.at,
            "ended": ended.get("at"),
            "seconds": round(self.seconds, 3),
            "agents": 1 + len(self._members),
            "totals": asdict(self.totals),
            "set_aside": asdict(self._set_aside),
            "limits": self._limits,
            "models": started.data["models"],
            "versions": started.data["versions"],
        }
        return orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n"


def _effect(data: dict[str, Any]) -> str:
    """Return a call in short: what it is about, then what else it was given."""
    given = data["input"]
    main = named_argument(given)
    rest = {name: value for name, value in given.items() if value is not main}
    said = [main] if isinstance(main, str) else []
    if not said or rest:
        said.append(orjson.dumps(rest if said else given).decode())
    return f"{data['name']} {' '.join(said)[:MAX_EFFECT_CHARS]}"


def _fate(data: dict[str, Any]) -> str:
    """Return what is to be said of how a call with effects ended, with its space."""
    if data["content"] == UNKNOWN:
        return " (outcome unknown)"
    return " (failed)" if data["is_error"] else ""


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
