"""Which events of a log somebody wants to see."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from orchestrator.events import Event
from orchestrator.events.base import moment
from orchestrator.inspection.sentences import describe
from orchestrator.inspection.troubles import TROUBLE_KINDS, is_trouble
from orchestrator.store.heads import Head, head_of, last_chosen, read_chosen

__all__ = ["OF_RUN", "Selection", "around", "chain_to", "of_run", "read_selected"]

OF_RUN = "run"
"""What events of no agent are called."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted of a log; every part narrows it further.

    Attributes:
        agents: ids; `run` for what is of no agent. Empty: all.
        kinds: `tool.ended`, or `tool` for all of its verbs. Empty: all.
        since: not before.
        until: not after.
        after: only events with a higher number.
        before: only events with a lower number; None: all.
        chain: only events of these numbers; None: all.
        only_troubles: only what went wrong.
        text: only where the line or the content has it, in upper or lower case.
    """

    agents: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    after: int = 0
    before: int | None = None
    chain: frozenset[int] | None = None
    only_troubles: bool = False
    text: str = ""
    _kinds: dict[str, bool] = field(default_factory=dict, compare=False)
    """Kind → whether it is wanted: there are few, and many events of each."""

    def wants_head(self, head: Head) -> bool:
        """Return whether an event with this head can be wanted."""
        if self.agents and (head.agent or OF_RUN) not in self.agents:
            return False
        is_wanted = self._kinds.get(head.kind)
        if is_wanted is None:
            is_wanted = self._kinds[head.kind] = self._wants_kind(head.kind)
        if not is_wanted or (self.after and head.seq <= self.after):
            return False
        if self.before is not None and head.seq >= self.before:
            return False
        if self.chain is not None and head.seq not in self.chain:
            return False
        return (self.since is self.until is None) or self._is_in_time(head.at)

    def wants(self, event: Event) -> bool:
        """Return whether an event is wanted."""
        if not self.wants_head(head_of(event)):
            return False
        if self.only_troubles and not is_trouble(event):
            return False
        return not self.text or _holds(event, self.text.casefold())

    def _wants_kind(self, kind: str) -> bool:
        if self.only_troubles and kind not in TROUBLE_KINDS:
            return False
        noun = kind.partition(".")[0]
        return not self.kinds or kind in self.kinds or noun in self.kinds

    def _is_in_time(self, at: str) -> bool:
        then = moment(at)
        if then is None:
            return True
        if self.since is not None and then < self.since:
            return False
        return self.until is None or then <= self.until


def of_run(event: Event) -> str:
    """Return what the agent of an event is called."""
    return event.agent or OF_RUN


def read_selected(
    path: Path,
    selection: Selection,
    *,
    last: int | None = None,
    stop: int | None = None,
) -> Iterator[Event]:
    """Yield the events that are wanted, oldest first.

    Args:
        path: the log.
        selection: what is wanted.
        last: only the newest so many.
        stop: offset behind the last line to read; None: the end of the file.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    needs_data = selection.only_troubles or selection.text
    if last is None or needs_data:
        found = read_chosen(path, selection.wants_head, stop=stop)
        wanted: Iterable[Event] = filter(selection.wants, found)
        yield from wanted if last is None else deque(wanted, maxlen=last)
    else:
        yield from last_chosen(path, selection.wants_head, last, stop=stop)


def around(events: Iterable[Event], seq: int, near: int) -> Iterator[Event]:
    """Yield the event of a number, and so many before and behind it.

    Args:
        events: in order, of which the nearest are wanted.
        seq: the number; it need not be among them.
        near: at most so many on each side.
    """
    before: deque[Event] = deque(maxlen=near)
    rest = iter(events)
    for event in rest:
        if event.seq >= seq:
            yield from before
            yield event
            yield from islice(rest, near - (event.seq != seq))
            return
        before.append(event)
    yield from before


def chain_to(path: Path, seq: int) -> frozenset[int]:
    """Return the numbers of an event, of its cause, of the cause of that, and so on.

    Empty: there is no such event.

    Args:
        path: the log.
        seq: number of the event.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    causes: dict[int, int] = {}

    def takes(head: Head) -> bool:
        causes[head.seq] = head.cause
        return False

    for _damaged in read_chosen(path, takes):
        pass
    chain: set[int] = set()
    while seq in causes and seq not in chain and seq > 0:
        chain.add(seq)
        seq = causes[seq]
    return frozenset(chain)


def _holds(event: Event, text: str) -> bool:
    """Return whether what is shown of an event, or its content, has a text."""
    shown = f"{of_run(event)} {event.kind} {describe(event)}"
    return text in shown.casefold() or any(
        text in each.casefold() for each in _texts(event.data)
    )


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield all texts in a value, in order; keys of objects are none."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            stack.extend(reversed(each.values()))
        elif isinstance(each, list):
            stack.extend(reversed(each))
