"""Read a log, whatever has happened to it.

Reading never fails because of damage: it costs the damaged record, and is announced.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import orjson

from orchestrator.errors import StoreError
from orchestrator.events import Event
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.disk import store_error
from orchestrator.store.records import REF, records_of

__all__ = [
    "BUFFER",
    "DAMAGED",
    "Line",
    "Span",
    "events_of_lines",
    "loaded",
    "read_events",
    "read_events_about",
    "read_events_of",
    "read_lines",
    "read_spans",
]

DAMAGED = "log.damaged"
BUFFER = 1 << 20
"""Bytes to read at once: with fewer, long logs take clearly longer."""
Span = tuple[int, int]
"""Offset and size of a line, in bytes."""


class Line(NamedTuple):
    """One line of a log."""

    number: int
    """From 1."""
    offset: int
    """Of its first byte."""
    data: bytes
    """All of it; of an unfinished last line, its whole records."""
    events: list[Event]
    """Its records as written: large fields are references."""
    why: str
    """What is damaged in it, or ""."""

    @property
    def span(self) -> Span:
        """Return where it lies."""
        return self.offset, len(self.data)


def read_lines(
    path: Path,
    *,
    start: int = 0,
    after: int = 0,
    seen: int = 0,
    stop: int | None = None,
) -> Iterator[Line]:
    """Yield the lines of a log; the run may be live.

    An unfinished last line is what a crash leaves: of it only whole records count. A
    record that stands out of its order, or once more, is damage of its line.

    Args:
        path: the log.
        start: offset of the first line to read.
        after: number of the line before that.
        seen: `seq` of the last record before that.
        stop: offset behind the last line to read; None: the end of the file.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    held: list[Line] = []  # the newest line with records, and those without behind it
    for line in _lines(path, start, after, stop):
        if not line.events:
            if held:
                held.append(line)
            else:
                yield line
            continue
        if held:
            held[0], seen = _in_order(held[0], seen, line.events[0].seq)
            yield from held
        held = [line]
    if held:
        held[0], _ = _in_order(held[0], seen, math.inf)
        yield from held


def _lines(path: Path, start: int, after: int, stop: int | None) -> Iterator[Line]:
    try:
        with path.open("rb", buffering=BUFFER) as file:
            offset = file.seek(start)
            for number, data in enumerate(file, after + 1):
                if stop is not None and offset >= stop:
                    return
                events, why, end = records_of(data)
                if not data.endswith(b"\n"):
                    data, why = data[:end], ""  # noqa: PLW2901 - the rest is no line
                if data:
                    yield Line(number, offset, data, events, why)
                offset += len(data)
    except OSError as error:
        raise store_error("read the log", path, error) from error


def _in_order(line: Line, seen: int, following: float) -> tuple[Line, int]:
    """Return a line without records that stand elsewhere than they were written.

    Args:
        line: with at least one record.
        seen: `seq` of the last record before it that stands where it should.
        following: `seq` of the first record behind it.

    Returns:
        The line, and what `seen` is behind it.
    """
    first = line.events[0].seq
    if seen < first < following and len(line.events) == 1:
        return line, first
    kept: list[Event] = []
    whys = [line.why] if line.why else []
    behind = [*(event.seq for event in line.events[1:]), following]
    for event, then in zip(line.events, behind, strict=True):
        # One that is too far ahead must not cost all those that it has passed.
        if event.seq <= seen or seen < then < event.seq:
            whys.append(f"`{event.kind}`, seq {event.seq}: not in its place")
        else:
            kept.append(event)
            seen = event.seq
    return line._replace(events=kept, why="; ".join(whys)), seen


def read_spans(path: Path, spans: Iterable[Span]) -> Iterator[Event]:
    """Yield the records of the lines at `spans`, each line once.

    Args:
        path: the log.
        spans: in order; one may be named several times in a row.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise store_error("read the log", path, error) from error
    last: Span | None = None
    seen = 0
    try:
        for span in spans:
            if span != last:
                data = os.pread(handle, span[1], span[0])
                line = Line(0, span[0], data, records_of(data).events, "")
                if line.events:
                    line, seen = _in_order(line, seen, math.inf)
                    yield from line.events
            last = span
    except OSError as error:
        raise store_error("read the log", path, error) from error
    finally:
        os.close(handle)


def read_events(path: Path, artifacts: Artifacts | None = None) -> Iterator[Event]:
    """Yield the events of a log, oldest first; the run may be live.

    A damaged record is passed over, and announced by an event of kind `log.damaged`
    with `seq` 0 and `data` {"line", "why"}; whole records on the same line are kept.
    So is one that stands where it was not written.

    Args:
        path: the log.
        artifacts: where large fields lie; without it they stay
            {"$artifact", "bytes"}.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    yield from events_of_lines(read_lines(path), artifacts)


def events_of_lines(
    lines: Iterable[Line], artifacts: Artifacts | None = None
) -> Iterator[Event]:
    """Yield the events of lines, and what is damaged in them, as `read_events` does."""
    last: Event | None = None
    for line in lines:
        if line.why:
            yield _damaged(line.number, line.why, last)
        for event in line.events:
            last = event
            try:
                yield loaded(event, artifacts) if artifacts else event
            except StoreError as error:
                yield _damaged(line.number, str(error), event)


def read_events_of(
    path: Path, agent: str, artifacts: Artifacts, *, is_damaged: bool = False
) -> Iterator[Event]:
    """Yield the events of one agent, oldest first; the run may be live.

    Lines of others are not parsed, unless the log is damaged: only they tell then what
    stands where it should. What is damaged is passed over.

    Args:
        path: the log.
        agent: its id.
        artifacts: where large fields lie.
        is_damaged: records of the log are lost.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    if is_damaged:
        yield from (
            each for each in read_events(path, artifacts) if each.agent == agent
        )
        return
    mark = b'"agent":%b,' % orjson.dumps(agent)
    yield from (each for each in _marked(path, mark, artifacts) if each.agent == agent)


def read_events_about(path: Path, noun: str, artifacts: Artifacts) -> Iterator[Event]:
    """Yield the events whose kinds begin with a noun, oldest first.

    Lines of others are not parsed; what is damaged is passed over. The run may be live.

    Args:
        path: the log.
        noun: `notes` for `notes.updated` and all other kinds of that noun.
        artifacts: where large fields lie.

    Raises:
        StoreError: the file cannot be opened or read.
    """
    mark = b'"kind":"%b.' % noun.encode()
    yield from (
        each
        for each in _marked(path, mark, artifacts)
        if each.kind.startswith(f"{noun}.")
    )


def _marked(path: Path, mark: bytes, artifacts: Artifacts) -> Iterator[Event]:
    """Yield the events of the lines that hold a mark; damage is passed over."""
    seen = 0
    try:
        with path.open("rb", buffering=BUFFER) as file:
            for data in file:
                if mark not in data:
                    continue
                line = Line(0, 0, data, records_of(data).events, "")
                if line.events:
                    line, seen = _in_order(line, seen, math.inf)
                for event in line.events:
                    with suppress(StoreError):
                        yield loaded(event, artifacts)
    except OSError as error:
        raise store_error("read the log", path, error) from error


def loaded(event: Event, artifacts: Artifacts) -> Event:
    """Return `event` with the fields that were stored apart.

    Raises:
        StoreError: one of them is gone or damaged.
    """
    try:
        found = {
            name: orjson.loads(artifacts.read(value[REF]))
            for name, value in event.data.items()
            if type(value) is dict and REF in value
        }
    except (StoreError, ValueError) as error:
        raise StoreError(f"`{event.kind}`, seq {event.seq}: {error}") from error
    return replace(event, data=event.data | found) if found else event


def _damaged(number: int, why: str, last: Event | None) -> Event:
    data = {"line": number, "why": why}
    if last is None:
        return Event(0, "", "", "", DAMAGED, 0, data)
    return Event(0, last.at, last.run, "", DAMAGED, 0, data, worked_s=last.worked_s)
