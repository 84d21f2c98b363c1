"""Choose events of a log by the heads of its lines, so that few of them are parsed.

A line begins with its number, time, agent, kind and cause, as this program writes it.
Where every line so far holds exactly the record of its own number, what stands on the
others cannot change what a line means: those that nobody wants are passed over. The
first line that is in any way different, and all behind it, is read in full.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from orchestrator.events import Event
from orchestrator.store.disk import store_error
from orchestrator.store.reading import (
    BUFFER,
    DAMAGED,
    Line,
    events_of_lines,
    read_lines,
)
from orchestrator.store.records import records_of

__all__ = [
    "Head",
    "Wants",
    "head_of",
    "last_chosen",
    "last_event",
    "read_chosen",
    "whole_end",
]

_HEAD = re.compile(
    rb'\{"v":\d+,"seq":(\d+),"at":"([^"\\]*)","run":"[^"\\]*","agent":"([^"\\]*)",'
    rb'"kind":"([^"\\]*)","cause":(\d+),"'
)
_START = b'{"v":'
_BLOCK = 1 << 16
_MOST_BLOCK = 1 << 22
_MOST_BACK = 1 << 25
"""Bytes to look through from the end; with more, the way from the start is shorter."""


class Head(NamedTuple):
    """What an event is about, without its data."""

    seq: int
    at: str
    agent: str
    kind: str
    cause: int


Wants = Callable[[Head], bool]
"""Tells whether the event with this head is wanted."""
_DAMAGE = Head(0, "", "", DAMAGED, 0)


def head_of(event: Event) -> Head:
    """Return the head of an event that is known."""
    return Head(event.seq, event.at, event.agent, event.kind, event.cause)


def read_chosen(
    path: Path, wants: Wants, *, stop: int | None = None
) -> Iterator[Event]:
    """Yield the events that are wanted, oldest first; the run may be live.

    They are those of `read_events`, with the same announcements of damage: those that
    are wanted, and those of lines that were wanted or whose head is damaged.

    Args:
        path: the log; large fields stay references.
        wants: asked for each event; the same answer each time.
        stop: offset behind the last line to read; None: the end of the file.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    if wants(_DAMAGE):  # it would have to be looked for
        yield from _exactly(read_lines(path, stop=stop), wants)
        return
    number = offset = 0
    before = b""
    try:
        with path.open("rb", buffering=BUFFER) as file:
            for data in file:
                if stop is not None and offset >= stop:
                    return
                head = _plain_head(data, number + 1)
                if head is None:
                    break
                number += 1
                if wants(head):
                    found = records_of(data)
                    if len(found.events) != 1 or found.why:
                        number -= 1
                        break
                    yield found.events[0]
                before = data
                offset += len(data)
            else:
                return
    except OSError as error:
        raise store_error("read the log", path, error) from error
    yield from _from(path, (number, offset), before, wants, stop)


def _from(
    path: Path,
    at: tuple[int, int],
    before: bytes,
    wants: Wants,
    stop: int | None,
) -> Iterator[Event]:
    """Yield what is wanted from a line on that is not as it should be.

    Args:
        path: the log.
        at: number of the line before, and the offset behind it.
        before: that line; perhaps nobody wanted it.
        wants: asked for each event.
        stop: as in `read_chosen`.
    """
    number, offset = at
    lines: Iterator[Line]
    if number and len(records_of(before).events) != 1:
        # Rare enough to be read again: what counts behind it is not known.
        whole = read_lines(path, stop=stop)
        lines = (line for line in whole if line.number > number)
    else:
        lines = read_lines(path, start=offset, after=number, seen=number, stop=stop)
    yield from _exactly(lines, lambda head: head.kind == DAMAGED or wants(head))


def last_chosen(
    path: Path, wants: Wants, most: int, *, stop: int | None = None
) -> list[Event]:
    """Return the newest events that are wanted, oldest first.

    They are those that `read_chosen` yields and that are wanted, the last of them; as a
    rule the log is read from its end. Only what follows such a line is known there: not
    that, further up, two records from elsewhere hide all that comes behind them.

    Args:
        path: the log; large fields stay references.
        wants: asked for each event; the same answer each time.
        most: so many at most, 1 or more.
        stop: offset behind the last line to read; None: the end of the file.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            found = _backwards(file, wants, most, stop)
    except OSError as error:
        raise store_error("read the log", path, error) from error
    if found is None:
        chosen = read_chosen(path, wants, stop=stop)
        found = deque((e for e in chosen if wants(head_of(e))), maxlen=most)
    return list(found)


def last_event(path: Path) -> Event | None:
    """Return the record on the last line; None: that is not one whole record.

    Nothing else of the log is looked at: it may stand there out of place.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            lines = _lines_before(file, file.seek(0, 2))
            unfinished, last = next(lines, b""), next(lines, b"")
    except OSError as error:
        raise store_error("read the log", path, error) from error
    found = records_of(last) if last and not unfinished else None
    is_one = found is not None and len(found.events) == 1 and not found.why
    return found.events[0] if found is not None and is_one else None


def whole_end(path: Path) -> int:
    """Return the offset behind the last whole line.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            return end - len(next(_lines_before(file, end), b""))
    except OSError as error:
        raise store_error("read the log", path, error) from error


def _backwards(
    file: BinaryIO, wants: Wants, most: int, stop: int | None
) -> deque[Event] | None:
    """Return the newest events that are wanted; None: it takes reading all."""
    end = file.seek(0, 2) if stop is None else stop
    number = _count_lines(file, end)
    lines = _lines_before(file, end)
    if records_of(next(lines, b"")).events:  # of an unfinished line
        return None
    has_all = wants(_DAMAGE)
    found: deque[Event] = deque()
    seen = 0
    for data in lines:
        seen += len(data)
        if seen > _MOST_BACK:
            return None
        head = _plain_head(data, number)
        if head is None:
            return None
        number -= 1
        if not has_all and not wants(head):
            continue
        records = records_of(data)
        if len(records.events) != 1 or records.why:
            return None
        if wants(head):
            found.appendleft(records.events[0])
        if len(found) == most:
            break
    return found


def _count_lines(file: BinaryIO, end: int) -> int:
    """Return the number of the last whole line: its record should have it too."""
    file.seek(0)
    count, left = 0, end
    while data := file.read(min(left, _MOST_BLOCK)):
        count += data.count(b"\n")
        left -= len(data)
    return count


def _lines_before(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield what stands behind the last line end, perhaps nothing, then the lines.

    The newest line comes first.
    """
    rest, size, is_tail = b"", _BLOCK, True
    while end:
        size = min(size, end)
        end -= size
        file.seek(end)
        rest, *lines = (file.read(size) + rest).split(b"\n")
        for line in reversed(lines):
            yield line if is_tail else line + b"\n"
            is_tail = False
        size = min(size * 2, _MOST_BLOCK)
    yield rest if is_tail else rest + b"\n"


def _plain_head(data: bytes, number: int) -> Head | None:
    """Return the head of a line that holds the record of its number, and only that.

    None: it cannot be told from its head.
    """
    match = _HEAD.match(data)
    if match is None or not data.endswith(b"}}\n") or data.find(_START, 1) != -1:
        return None
    seq, at, agent, kind, cause = match.groups()
    if int(seq) != number:
        return None
    try:
        return Head(number, at.decode(), agent.decode(), kind.decode(), int(cause))
    except UnicodeDecodeError:
        return None


def _exactly(lines: Iterator[Line], wants: Wants) -> Iterator[Event]:
    return (each for each in events_of_lines(lines) if wants(head_of(each)))
