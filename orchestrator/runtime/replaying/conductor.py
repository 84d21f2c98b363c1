"""The order of a replay: everything happens when, and as, the record has it.

What the program does by itself happens by itself. What came from outside – answers of
models, results of tools, words of people, the time – is let in where the record has it:
as soon as all that stands before it has happened again.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from orchestrator.events import (
    ControlReceived,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
    NotesEdited,
    RunEnded,
    RunReopened,
    RunResumed,
    SubagentEnded,
    TextAdded,
    ToolEnded,
)
from orchestrator.runtime.replaying.record import Key, Moment, Part, key_of, moments_of
from orchestrator.runtime.replaying.virtual import VirtualClock
from orchestrator.store.control import PAUSE, STOP

__all__ = ["Conductor"]

BEAT_S = 5.0
"""Those who wait for an answer hear something of it at least so often."""
SLACK_S = 0.3
"""How far the time goes on where what is next does not happen by itself: timers of the
program are due a little later than they were."""
AT_ONCE_S = 0.02
"""What a person says so soon after something may be looked for amid it."""
MAX_TRIES = 3
MAX_IDLE = 100_000
"""So often in a row nothing could happen: the replay is wrong, and ends."""
_TOLD = frozenset({ToolEnded.KIND, TextAdded.KIND, RunEnded.KIND})
_BRAKES = frozenset({PAUSE, STOP})
_AT_REST = frozenset({"paused", "parked"})
_BEFORE_WORK = frozenset({RunReopened.KIND, RunResumed.KIND, NotesEdited.KIND})
_AFTER_WORK = frozenset({NotesEdited.KIND, RunEnded.KIND})
HAPPENINGS = frozenset({ModelRetried.KIND, ModelAnswered.KIND, ModelFailed.KIND})


@dataclass(slots=True)
class Conductor:
    """Follows the log of a replay beside the record of what it replays.

    Attributes:
        part: what is replayed.
        clock: is set to the times of the record.
        say: does again what a person did, as an event tells it.
        stop: ends the run, as a person or a kill did.
        extra: events that the record does not have.
        missing: events of the record that did not happen.
        compared: events that happened again.
        same: requests that were to be made again, byte for byte.
    """

    part: Part
    clock: VirtualClock
    say: Callable[[Event], None] = lambda _event: None
    stop: Callable[[], None] = lambda: None
    extra: list[Event] = field(default_factory=list)
    missing: list[Event] = field(default_factory=list)
    compared: int = 0
    same: int = 0
    is_stopped: bool = False
    _moments: list[Moment] = field(default_factory=list)
    _places: dict[tuple[Key, int], int] = field(default_factory=dict)
    _counts: Counter[Key] = field(default_factory=Counter)
    _done: set[int] = field(default_factory=set)
    _left: Counter[str] = field(default_factory=Counter)
    """Agent → how many of its events have not happened yet."""
    _next: int = 0
    _said: set[int] = field(default_factory=set)
    _waiting: dict[int, anyio.Event] = field(default_factory=dict)
    _asked: defaultdict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """SHA-256 of a request that is about to leave → the places of its intent; -1: it
    is not on record."""
    _leaving: int = 0
    """How many are."""
    _by_kind: defaultdict[tuple[str, str], deque[int]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Agent and kind → places that have not happened yet, and some that have."""
    _by_agent: defaultdict[str, deque[int]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Likewise, by agent alone."""
    _beats: list[Callable[[], None]] = field(default_factory=list)
    _tries: int = 0
    _idles: int = 0

    def __post_init__(self) -> None:
        self._moments = moments_of(self.events)
        counts: Counter[Key] = Counter()
        for place, event in enumerate(self.events):
            key = key_of(event)
            self._places[key, counts[key]] = place
            counts[key] += 1
            self._by_kind[event.agent, event.kind].append(place)
            self._by_agent[event.agent].append(place)
            self._left[event.agent] += 1
        # The program does nothing about it; the next part begins with it.
        for place in self.part.beside:
            self._done.add(place)
            self._left[self.events[place].agent] -= 1
            self.compared += 1

    @property
    def events(self) -> Sequence[Event]:
        """Return the record."""
        return self.part.events

    @property
    def is_killed(self) -> bool:
        """Return whether the process that is replayed was killed."""
        return self.part.ended is None

    @property
    def was_cut(self) -> bool:
        """Return whether somebody or something ended it that is not in its log."""
        return self.is_killed or self.part.state == "interrupted"

    def follow(self, event: Event) -> None:
        """Take note of an event of the replay."""
        self._idles = 0
        key = key_of(event)
        place = self._places.get((key, self._counts[key]))
        self._counts[key] += 1
        if event.kind == ModelRequested.KIND:
            self._asked[event.data["sha256"]].append(-1 if place is None else place)
            self._leaving += 1
        if place is None:
            if not self.is_beyond(event.agent):
                self.extra.append(event)
            return
        self._done.add(place)
        if event.kind == ModelRequested.KIND:
            recorded = self.events[place].data["sha256"]
            self.same += event.data["sha256"] == recorded
        self._left[event.agent] -= 1
        self.compared += 1
        self._go_on()
        if self.is_killed and self._next >= len(self.events) and not self.is_stopped:
            self._stop()

    def is_beyond(self, agent: str) -> bool:
        """Return whether an agent is past all that its process had time for."""
        return self.was_cut and self._left[agent] <= 0

    def asked(self, sha256: str) -> int:
        """Return the place of the intent of the request with that hash.

        Returns:
            -1 where the record has no such request.
        """
        places = self._asked.get(sha256)
        if not places:
            return -1
        self._leaving -= 1
        place = places.pop(0)
        self._go_on()
        return place

    def happenings(self, intent: int) -> list[int]:
        """Return what came of a request: places of retries, then of its outcome."""
        asked = self.events[intent]
        found: list[int] = []
        for place in range(intent + 1, len(self.events)):
            event = self.events[place]
            if event.agent != asked.agent:
                continue
            if event.kind == ModelRequested.KIND:
                break
            if event.kind in HAPPENINGS:
                found.append(place)
                if event.kind != ModelRetried.KIND:
                    break
        return found

    def follows(self, place: int, kind: str) -> bool:
        """Return whether the next event of the agent of an event is of a kind."""
        agent = self.events[place].agent
        behind = self.events[place + 1 :]
        following = next((each for each in behind if each.agent == agent), None)
        return following is not None and following.kind == kind

    def place_of(self, *key: str) -> int | None:
        """Return the place of the first event that is `key`, or None."""
        return self._places.get((key, 0))

    def find(self, *key: str) -> Event | None:
        """Return the first event of the record that is `key`, or None."""
        place = self.place_of(*key)
        return None if place is None else self.events[place]

    async def until(self, place: int) -> Event:
        """Wait until an event of the record is next, and return it."""
        news = self._waiting[place] = anyio.Event()
        try:
            self._go_on()
            await news.wait()
        finally:
            self._waiting.pop(place, None)
        return self.events[place]

    async def turn(self, agent: str) -> None:
        """Wait until what an agent does next is next of all."""
        places = self._by_agent[agent]
        while places and places[0] in self._done:
            places.popleft()
        if places and places[0] != self._next:
            await self.until(places[0])
        while not places and self.part.state in _AT_REST:
            await anyio.sleep_forever()  # the run came to rest before it did more

    def fault(self, agent: str) -> tuple[int, str] | None:
        """Return the fault of the program that ended an agent, if one did.

        Returns:
            Place of the event that tells of it, and what it says.
        """
        for place in (
            self._places.get(((agent, SubagentEnded.KIND, agent), 0)),
            self._places.get((("", RunEnded.KIND), 0)),
        ):
            if place is not None and self.events[place].data.get("traceback"):
                return place, str(self.events[place].data["reason"])
        return None

    @contextmanager
    def beating(self, beat: Callable[[], None]) -> Iterator[None]:
        """Let `beat` be called from time to time: something of an answer arrives."""
        self._beats.append(beat)
        try:
            yield
        finally:
            self._beats.remove(beat)

    def ahead(self, agent: str, kind: str) -> int | None:
        """Return the place of the next of an agent's events of a kind, or None."""
        places = self._by_kind[agent, kind]
        while places and places[0] in self._done:
            places.popleft()
        return places[0] if places else None

    def soon(self, agent: str, kind: str) -> Iterator[Event]:
        """Yield what an agent has of a kind before the next thing that it is told."""
        for place in self._by_agent[agent]:
            if place not in self._done:
                event = self.events[place]
                if event.kind in _TOLD:
                    return
                if event.kind == kind:
                    yield event

    def left(self) -> list[Event]:
        """Return what of the record has not happened and is not told as missing."""
        gone = {id(event) for event in self.missing}
        return [
            event
            for place, event in enumerate(self.events)
            if place not in self._done and id(event) not in gone
        ]

    def idle(self) -> None:
        """Decide what happens next; nothing can by itself."""
        place = self._next
        self._idles += 1
        if self._idles > MAX_IDLE:
            raise RuntimeError("the replay stands still")
        if self.is_stopped:
            self._pass(SLACK_S)
        elif self._let_in():
            self._leaving = 0  # they were held back
        elif place >= len(self.events):
            self._stop()
        elif self.clock.elapsed_s < self._moments[place].seconds:
            self._reach(place)
        elif self._speak(at_rest=True):
            return
        elif self._tries < MAX_TRIES:
            self._tries += 1
            self._pass(SLACK_S)
        else:
            self._tries = 0
            self._unstick(place)

    def _go_on(self) -> None:
        """Let in what is next, if that is what somebody waits for."""
        while self._next in self._done:
            self._next += 1
            self._tries = 0
        self._speak()
        if not self._leaving:  # what is under way counts as that
            self._let_in()

    def _speak(self, *, at_rest: bool = False) -> bool:
        """Let the person say what is next, once; return whether there was anything."""
        place = self._next
        if place in self._said or place >= len(self.events):
            return False
        to_go = self._moments[place].seconds - self.clock.elapsed_s
        if not _is_said(self.events[place]):
            return False
        is_brake = self.events[place].data.get("action") in _BRAKES
        if is_brake and self._leaving and not at_rest:
            return False  # it does not hold back what was on its way by then
        if to_go > AT_ONCE_S and not self._is_looked_for(place):
            return False
        self._reach(place)
        for each in self._in_a_breath(place):
            self._said.add(each)
            self.say(self.events[each])
        return True

    def _is_looked_for(self, place: int) -> bool:
        """Return whether the program looked for that by itself, at its start or end."""
        kinds = [event.kind for event in self.events]
        if kinds[place] != NotesEdited.KIND:
            return False
        return _BEFORE_WORK.issuperset(kinds[:place]) or _AFTER_WORK.issuperset(
            kinds[place:]
        )

    def _in_a_breath(self, place: int) -> Iterator[int]:
        """Yield the place, and what was asked right behind it: one look found it all.

        Said one by one, each would wait for a look of its own, and the time with it.
        """
        yield place
        for each in range(place + 1, len(self.events)):
            asked = (self.events[each - 1], self.events[each])
            gap_s = self._moments[each].seconds - self._moments[each - 1].seconds
            is_asked = all(
                _is_said(e) and e.kind == ControlReceived.KIND for e in asked
            )
            if not is_asked or gap_s > AT_ONCE_S:
                return
            yield each

    def _let_in(self) -> bool:
        """Let in what is next; return whether somebody waits for it."""
        if self._next not in self._waiting:
            return False
        self._reach(self._next)
        self._waiting.pop(self._next).set()
        return True

    def _reach(self, place: int) -> None:
        """Let it be the time at which an event happened, if it is not later."""
        moment = self._moments[place]
        self._pass(moment.seconds - self.clock.elapsed_s)
        self.clock.tell(moment.at)

    def _pass(self, seconds: float) -> None:
        """Let time go by; those who wait for an answer hear of it."""
        end = self.clock.elapsed_s + seconds
        while self.clock.elapsed_s < end:
            self.clock.elapsed_s = min(end, self.clock.elapsed_s + BEAT_S)
            for beat in self._beats:
                beat()

    def _unstick(self, place: int) -> None:
        """Go on though what is next does not happen."""
        if self.part.state == "interrupted":
            self._stop()
        elif self._waiting:
            soonest = min(self._waiting)
            self._waiting.pop(soonest).set()
        else:
            self.missing.append(self.events[place])
            self._done.add(place)
            self._go_on()

    def _stop(self) -> None:
        self.is_stopped = True
        self.stop()


def _is_said(event: Event) -> bool:
    """Return whether a person did or said what an event tells."""
    is_asked = event.kind == ControlReceived.KIND and not event.data.get("by")
    return is_asked or event.kind == NotesEdited.KIND
