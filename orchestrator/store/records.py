"""One line of the log: how it is written, read, and saved from damage."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from typing import Any, NamedTuple

import orjson

from orchestrator.errors import StoreError
from orchestrator.events import SCHEMA_VERSION, Event, Payload

__all__ = ["REF", "Found", "dump", "plain", "records_of", "to_event"]

# `fields` is slow, and this runs for every event.
_NAMES: dict[type[Payload], tuple[str, ...]] = {}
REF = "$artifact"
"""Key of what stands for a field that is stored apart."""
_NUMBERS = (float, int)  # and not `bool`
_START = '{"v":'
_DECODER = json.JSONDecoder()
# So that reading a line takes time in proportion to its length, whatever is in it:
# what is lost with the rest is announced.
_WORK = 16
"""Characters that may be looked at in vain, for each of a damaged line."""
_MIN_WORK = 1 << 20
_TRY = 100
"""What each try costs, in characters."""
_TRY_NESTED = 10_000
"""The same, where nesting is beyond all bounds."""


class Found(NamedTuple):
    """What a damaged line still holds."""

    events: list[Event]
    """The whole records, in order."""
    why: str
    """What else was there, or "" if nothing was lost."""
    end: int
    """Bytes up to the end of the last whole record."""


def plain(payload: Payload) -> dict[str, Any]:
    """Return the fields of `payload` as reading its line gives them back.

    Values are not copied; only dataclasses among them become dicts.
    """
    data: dict[str, Any] = {}
    kind = type(payload)
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(each.name for each in fields(kind))
    for name in names:
        value = getattr(payload, name)
        if isinstance(value, list | tuple):
            value = [_undressed(part) for part in value]
        data[name] = value
    return data


def _undressed(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


def dump(value: object) -> bytes:
    """Return `value` as compact JSON in valid UTF-8.

    What orjson refuses goes the slow way: half characters become U+FFFD, long
    integers and deep nesting stay.

    Raises:
        StoreError: it is nested beyond all bounds.
        TypeError: it holds something that JSON has no form for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        text = json.dumps(_clean(value), ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise StoreError("an event is nested too deeply to be written") from error
    return text.encode()


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        # Two halves of a character become one, a single one becomes U+FFFD.
        halves = value.encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_clean(str(key)): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value


def to_event(record: object) -> Event | None:
    """Return a parsed line as event, or None if it is not one."""
    if type(record) is not dict:
        return None
    get: Callable[..., Any] = record.get
    seq, kind, data = get("seq"), get("kind"), get("data")
    if type(seq) is not int or type(kind) is not str or type(data) is not dict:
        return None
    return Event(
        seq,
        str(get("at", "")),
        str(get("run", "")),
        str(get("agent", "")),
        kind,
        cause if type(cause := get("cause", 0)) is int else 0,
        data,
        v if type(v := get("v", SCHEMA_VERSION)) is int else SCHEMA_VERSION,
        float(s) if type(s := get("worked_s")) in _NUMBERS else None,
    )


def records_of(line: bytes) -> Found:
    """Return what a line holds: one record, or what damage has left of it.

    Two records may be glued together, a torn one may stand before a whole one, and
    there may be NULs or halves of characters between them.
    """
    try:
        event = to_event(orjson.loads(line))
    except ValueError:
        event = None
    if event is not None:
        return Found([event], "", len(line))
    return _salvage(line)


def _salvage(line: bytes) -> Found:
    # Bytes that are not UTF-8 become lone surrogates and come back as they were.
    text = line.decode("utf-8", "surrogateescape")
    events: list[Event] = []
    lost: list[str] = []
    done = 0  # characters up to the end of the last whole record
    work = _WORK * len(text) + _MIN_WORK
    at = text.find(_START)
    while at != -1 and work > 0:
        found = _record_at(text, at)
        if isinstance(found, int):
            work -= found
            at = text.find(_START, at + 1)
            continue
        lost.append(text[done:at])
        event, done = found
        events.append(event)
        at = text.find(_START, done)
    lost.append(text[done:])
    end = len(text[:done].encode("utf-8", "surrogateescape"))
    return Found(events, _why("".join(lost)), end)


def _record_at(text: str, at: int) -> tuple[Event, int] | int:
    """Return the record at `at` and its end, or what it took to see there is none."""
    end = at
    try:
        _, end = _DECODER.raw_decode(text, at)
        raw = text[at:end].encode("utf-8", "surrogateescape")
        event = to_event(orjson.loads(raw))
    except json.JSONDecodeError as error:
        # A string without an end is told by its start, and was searched to the last.
        is_open = error.msg.startswith("Unterminated")
        seen = len(text) if is_open else max(end, error.pos)
        # To make the error, lines were counted from the start, which is faster.
        return _TRY + seen - at + error.pos // 32
    except (ValueError, RecursionError):
        return _TRY_NESTED
    return _TRY + end - at if event is None else (event, end)


def _why(lost: str) -> str:
    rest = lost.strip()
    if not rest:
        return ""
    nuls = rest.count("\0")
    if nuls == len(rest):
        return f"{nuls} NUL bytes"
    size = len(rest.encode("utf-8", "surrogateescape"))
    return f"not a whole record: {size} bytes" + (
        f", {nuls} of them NUL" if nuls else ""
    )
