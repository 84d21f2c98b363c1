"""What is on record of a run, as a replay needs it: by process, and by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from orchestrator.errors import StoreError
from orchestrator.events import (
    AgentStarted,
    BriefRefused,
    BriefReused,
    CacheMissed,
    ControlReceived,
    Event,
    EvidenceStale,
    NotesEdited,
    PermissionAnswered,
    PermissionAsked,
    RunEnded,
    RunReopened,
    RunResumed,
    RunStarted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.models.pricing import Price
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import loaded, read_lines

__all__ = ["Key", "Moment", "Part", "Record", "key_of", "moments_of", "read_record"]

Key = tuple[str, ...]
"""What an event is, however many others happen meanwhile."""

_NAMED_BY = {
    ToolStarted.KIND: ("call",),
    ToolEnded.KIND: ("call",),
    PermissionAsked.KIND: ("call",),
    PermissionAnswered.KIND: ("call",),
    SubagentAccepted.KIND: ("call", "index"),
    BriefRefused.KIND: ("call", "index"),
    BriefReused.KIND: ("call", "index"),
    SubagentAsked.KIND: ("id",),
    SubagentEnded.KIND: ("id",),
    EvidenceStale.KIND: ("of",),
    ControlReceived.KIND: ("action", "to"),
}


def key_of(event: Event) -> Key:
    """Return what tells an event from the others of its agent, but for its number."""
    named = _NAMED_BY.get(event.kind, ())
    return (event.agent, event.kind, *(str(event.data.get(name)) for name in named))


@dataclass(frozen=True)
class Part:
    """What one process did of a run.

    Attributes:
        events: in the order of the log, with full data.
        first: place of the first of them among all events of the run.
        offset: bytes of the log before it.
    """

    events: tuple[Event, ...]
    first: int
    offset: int

    @cached_property
    def ended(self) -> RunEnded | None:
        """Return how it ended; None: it was killed."""
        newest = (each for each in reversed(self.events) if each.kind == RunEnded.KIND)
        found = next(newest, None)
        return None if found is None else parse(found, RunEnded)

    @cached_property
    def beside(self) -> frozenset[int]:
        """Return the places of what people did while nobody was at work.

        That is while it was paused, and changes of the notes that were found only when
        all was decided.
        """
        ends = [at for at, each in enumerate(self.events) if each.kind == RunEnded.KIND]
        if not ends:
            return frozenset()
        rest = [at for at in ends if self.events[at].data["state"] == "paused"]
        found = set(range(rest[0] + 1, len(self.events))) if rest else set()
        before = (rest or ends[-1:])[0] - 1
        while before >= 0 and self.events[before].kind == NotesEdited.KIND:
            found.add(before)
            before -= 1
        return frozenset(found)

    @property
    def state(self) -> str:
        """Return the state in which it left the run."""
        return self.ended.state if self.ended else "crashed"

    @property
    def reopened(self) -> RunReopened | None:
        """Return what it began with, where the lead had ended before."""
        for event in self.events[:1]:
            if event.kind == RunReopened.KIND:
                return parse(event, RunReopened)
        return None

    @property
    def limits(self) -> dict[str, Any]:
        """Return the limits that it was given anew, by name."""
        begins = (RunReopened.KIND, RunResumed.KIND)
        given: dict[str, Any] = {}
        for event in self.events[:2]:
            if event.kind in begins:
                given.update(event.data.get("limits") or {})
        return given


@dataclass(frozen=True)
class Record:
    """A whole run.

    Attributes:
        folder: of the run; nothing is written there.
        begun: how it began.
        parts: what each process did, oldest first.
        damaged: lines of the log that cannot be read.
    """

    folder: RunFolder
    begun: RunStarted
    parts: tuple[Part, ...]
    damaged: int = 0

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Return all of its events."""
        return tuple(event for part in self.parts for event in part.events)

    @property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Return the tools that agents were told of, by name."""
        return {
            tool["name"]: tool
            for event in self.events
            if event.kind == AgentStarted.KIND
            for tool in event.data["tools"]
        }

    @property
    def allowed(self) -> frozenset[str]:
        """Return the names of the tools that agents might call."""
        return frozenset(
            name
            for event in self.events
            if event.kind == AgentStarted.KIND
            for name in event.data["allowed"]
        )

    @property
    def without(self) -> tuple[str, ...]:
        """Return what the endpoint was known to lack when the run began."""
        for event in self.events:
            if event.kind == AgentStarted.KIND:
                return tuple(event.data["settings"].get("without") or ())
        return ()

    @cached_property
    def caches_prompts(self) -> bool:
        """Return whether its models read prompts from a cache, as far as is told."""
        told = ("cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
        return any(
            event.kind == CacheMissed.KIND
            or any((event.data.get("usage") or {}).get(name) for name in told)
            for event in self.events
        )

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Return subagent → hash of the tree that it was to look at."""
        return {
            event.data["id"]: str(event.data.get("scope_hash") or "")
            for event in self.events
            if event.kind == SubagentAccepted.KIND
        }

    def prices(self, part: Part) -> Callable[[str], Price | None]:
        """Return what models cost, as one process was told: bare id → price."""
        told = self.begun.prices
        for event in part.events[:2]:
            if event.kind == RunResumed.KIND:
                told = event.data.get("prices") or told

        def price_of(model: str) -> Price | None:
            return Price.stored(model, told.get(model))

        return price_of


@dataclass(frozen=True, slots=True)
class Moment:
    """When an event happened: seconds of work since the first one, and time of day."""

    seconds: float
    at: datetime


def moments_of(events: Sequence[Event]) -> list[Moment]:
    """Return when each event happened; the seconds never go back.

    While the machine slept no seconds went by.
    """
    first, found, latest = events[0], list[Moment](), 0.0
    begun = datetime.fromisoformat(first.at)
    for event in events:
        at = datetime.fromisoformat(event.at)
        if event.worked_s is None or first.worked_s is None:
            latest = max(latest, (at - begun).total_seconds())
        else:
            latest = max(latest, event.worked_s - first.worked_s)
        found.append(Moment(latest, at))
    return found


def read_record(folder: RunFolder) -> Record:
    """Return what is on record of a run.

    Raises:
        StoreError: its log cannot be read, or does not tell how it began.
    """
    artifacts, damaged = Artifacts(folder.artifacts), 0
    events: list[Event] = []
    offsets: list[int] = []
    for line in read_lines(folder.events):
        damaged += bool(line.why)
        for event in line.events:
            events.append(loaded(event, artifacts))
            offsets.append(line.offset)
    begun = next((each for each in events if each.kind == RunStarted.KIND), None)
    if begun is None:
        raise StoreError(
            f"`{folder.events}` does not tell how the run began, so that it cannot be "
            "replayed"
        )
    starts = list(_starts(events))
    parts = tuple(
        Part(tuple(events[start:end]), start, offsets[start])
        for start, end in zip(starts, [*starts[1:], len(events)], strict=True)
    )
    return Record(folder, parse(begun, RunStarted), parts, damaged)


def _starts(events: Sequence[Event]) -> Iterator[int]:
    """Yield the places at which a process began to write."""
    yield 0
    for place, event in enumerate(events):
        is_told = place and events[place - 1].kind == RunReopened.KIND
        # What a lead that had ended is told stands before the word that it goes on.
        if event.kind == RunReopened.KIND or (
            event.kind == RunResumed.KIND and place and not is_told
        ):
            yield place
