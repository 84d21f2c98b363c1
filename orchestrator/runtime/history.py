"""What earlier processes of a run did: a fold over its log.

The fold holds sums, and of the rest only where it lies: which lines are read again when
the run goes on. So its size does not grow with what finished subagents did.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version

from orchestrator.agent.usage import Spent, Worked
from orchestrator.errors import StoreError
from orchestrator.events import (
    AgentStarted,
    BriefRefused,
    BriefReused,
    ContextCompacted,
    ControlReceived,
    Event,
    LimitReachedEvent,
    MemoryRecalled,
    ModelAdapted,
    ModelAnswered,
    NotesEdited,
    NotesUpdated,
    PermissionAnswered,
    PermissionAsked,
    ReportSubmitted,
    RunEnded,
    RunParked,
    RunReopened,
    RunResumed,
    RunStarted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    TextAdded,
    ToolEnded,
    ToolStarted,
)
from orchestrator.events.arrivals import arrivals
from orchestrator.runtime.readable import is_readable
from orchestrator.runtime.sums import AgentSums
from orchestrator.runtime.totals import Totals
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import Line, Span, loaded, read_spans
from orchestrator.subagents.sightings import Sightings

__all__ = ["History"]

_KEPT = frozenset(
    kind.KIND
    for kind in (
        RunStarted, RunResumed, RunReopened, RunEnded, SubagentAccepted, SubagentAsked,
        SubagentEnded, BriefRefused, BriefReused, NotesUpdated, ReportSubmitted,
        LimitReachedEvent, ControlReceived, ModelAdapted, RunParked,
        PermissionAsked, PermissionAnswered, NotesEdited,
    )
)  # fmt: skip
"""Kinds that are read again whoever they are about."""
_SEEN = ("files", "changes")
"""Fields of a result that tell what its agent knows of files."""


@dataclass(slots=True)
class History:
    """A run up to a byte of its log.

    Attributes:
        program: version of the program that folded it.
        offset: bytes of the log that are in it.
        lines: lines of the log that are in it.
        checksum: CRC-32 of those bytes.
        last_seq: `seq` of the last event.
        highest: number of the newest subagent that anything is known of, 0 for none.
        newest: agent → `seq` of what last happened to it.
        damage: what is damaged, a line each.
        missing: records that are not there, told by the numbers of the others.
        is_told: the gap before the next record is told in `damage` already.
        kept: lines that are read again when the run goes on.
        at_work: agent that is not over → its lines.
        begun: subagents that have begun.
        over: subagents that have delivered.
        totals: of all calls.
        sums: agent → what it used and read.
        delivered: findings that reached who wants them, by delivery id.
        reported: `delegate` calls that ended in logs that do not tell of deliveries.
        spent: money and tokens, by agent.
        worked: time, by agent.
        sightings: what was seen of files, by agent.
    """

    program: str = field(default_factory=lambda: version("orchestrator"))
    offset: int = 0
    lines: int = 0
    checksum: int = 0
    last_seq: int = 0
    highest: int = 0
    newest: dict[str, int] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    missing: int = 0
    is_told: bool = False
    kept: list[Span] = field(default_factory=list)
    at_work: dict[str, list[Span]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    totals: Totals = field(default_factory=Totals)
    sums: dict[str, AgentSums] = field(default_factory=dict)
    delivered: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    spent: Spent = field(default_factory=Spent)
    worked: Worked = field(default_factory=Worked)
    sightings: Sightings = field(default_factory=Sightings)

    def take(self, line: Line, artifacts: Artifacts) -> None:
        """Take in the next line of the log.

        Args:
            line: the one that begins at `offset`.
            artifacts: where large fields lie.
        """
        self.offset += len(line.data)
        self.lines = line.number
        self.checksum = zlib.crc32(line.data, self.checksum)
        if line.why:
            self.damage.append(f"line {line.number}: {line.why}")
            self.is_told = True
        for event in line.events:
            self._apply(event, line.span, artifacts)

    def _apply(self, event: Event, span: Span, artifacts: Artifacts) -> None:
        who = event.agent
        self._miss(event.seq - self.last_seq - 1)
        self.last_seq = max(self.last_seq, event.seq)
        if who not in self.newest:
            self.highest = max(self.highest, _number(who))
        self.newest[who] = event.seq
        if not is_readable(event):
            self._lose(f"line {self.lines}: {_unreadable(event)}")
            return
        self._add_up(event)
        if is_kept(event):
            self.kept.append(span)
        if who not in self.over and who:
            self.at_work.setdefault(who, []).append(span)
        self._follow(event, artifacts)

    def _follow(self, event: Event, artifacts: Artifacts) -> None:
        """Take in what an event says of agents and their work."""
        who, data = event.agent, event.data
        match event.kind:
            case ModelAnswered.KIND:
                self.totals = self.totals.plus(data)
            case ToolEnded.KIND | ContextCompacted.KIND | MemoryRecalled.KIND:
                self._see(event, artifacts)
            case AgentStarted.KIND:
                self.begun.add(who)
            case SubagentAccepted.KIND:
                self.newest[data["id"]] = event.seq
                self.highest = max(self.highest, _number(data["id"]))
                self.sightings.apply(event)
            case SubagentEnded.KIND:
                self.over.add(data["id"])
                self.at_work.pop(data["id"], None)
                self.sightings.apply(event)
            case SubagentAsked.KIND:  # it is read anew as a whole, when it goes on
                self.over.discard(data["id"])

    def _add_up(self, event: Event) -> None:
        self.spent.apply(event)
        self.worked.apply(event)
        if event.agent:
            self.sums.setdefault(event.agent, AgentSums()).apply(event)
        came = arrivals(event)
        self.delivered.update(came.ids)
        if came.call:
            self.reported.add(came.call)

    def _lose(self, why: str) -> None:
        """Note that a record is of no use; once, though it may be read again."""
        if why not in self.damage:
            self.damage.append(why)
            self.missing += 1

    def _miss(self, records: int) -> None:
        """Note how many records are missing before the next one."""
        if records > 0:
            self.missing += records
            if not self.is_told:
                self.damage.append(f"line {self.lines}: records before it are missing")
        self.is_told = False

    @property
    def lost(self) -> int:
        """Return how many records are lost, as far as that can be told."""
        return max(self.missing, len(self.damage))

    def _see(self, event: Event, artifacts: Artifacts) -> None:
        try:
            if any(isinstance(event.data.get(name), dict) for name in _SEEN):
                event = _whole(event, artifacts)
            self.sightings.apply(event)
        except StoreError as error:
            self.damage.append(f"line {self.lines}: {error}")

    def kept_events(self, folder: RunFolder) -> list[Event]:
        """Return the events about the run as a whole, with full data.

        Raises:
            StoreError: the log cannot be read.
        """
        return [event for event in self._read(folder, self.kept) if is_kept(event)]

    def events_of(self, folder: RunFolder, agent: str) -> list[Event]:
        """Return the events of an agent that is not over, with full data.

        Raises:
            StoreError: the log cannot be read.
        """
        spans = self.at_work.get(agent, [])
        return [event for event in self._read(folder, spans) if event.agent == agent]

    def _read(self, folder: RunFolder, spans: list[Span]) -> Iterator[Event]:
        artifacts = Artifacts(folder.artifacts)
        for event in read_spans(folder.events, spans):
            if not is_readable(event):
                continue  # it shares its line with another, and is told already
            try:
                yield _whole(event, artifacts)
            except StoreError as error:
                why = str(error)
                if why not in self.damage:
                    self.damage.append(why)


def is_kept(event: Event) -> bool:
    """Return whether an event is read again whoever it is about."""
    if event.kind == ToolStarted.KIND:
        return bool(event.data["effects"] == "effects")
    if event.kind == ToolEnded.KIND:  # its effect is not what it was to be
        return bool(event.data["is_error"])
    if event.kind == TextAdded.KIND:  # a person's words that were told
        return bool(event.data["reason"] == "steer")
    return event.kind in _KEPT


def _whole(event: Event, artifacts: Artifacts) -> Event:
    """Return a readable event with full data.

    Raises:
        StoreError: a large field is gone or damaged, or not what it should be.
    """
    whole = loaded(event, artifacts)
    if whole is not event and not is_readable(whole):
        raise StoreError(_unreadable(event))
    return whole


def _unreadable(event: Event) -> str:
    return f"`{event.kind}`, seq {event.seq}: fields are missing or of another type"


def _number(agent: str) -> int:
    digits = agent.removeprefix("a")
    return int(digits) if digits.isdecimal() and digits != agent else 0
