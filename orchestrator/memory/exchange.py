"""Entries as JSON lines: to be kept elsewhere, and to be read again.

A line that cannot be meant is refused with its number, before anything is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from orchestrator.errors import SpecError
from orchestrator.memory.entries import (
    MAX_WAS,
    Earlier,
    Entry,
    Place,
    Topic,
    check_of,
    folded,
    folded_key,
    parse_place,
    parse_topic,
    place_text,
    title_of,
    topic_text,
)

__all__ = ["VERSION", "Record", "read_records", "record_of"]

VERSION: Final = 1
MAX_LINE_BYTES: Final = 1_000_000
_SHOWN_CHARS: Final = 60
_SEAL: Final = re.compile(r"[0-9a-f]{8}")
# As a topic file is named by whoever writes one; the store judges the path again.
_TOPIC: Final = re.compile(r"[^/\\\0.][^/\\\0]*(?:/[^/\\\0.][^/\\\0]*){0,2}")


@dataclass(frozen=True, slots=True)
class Record:
    """One entry on its way between two memories.

    Attributes:
        topic: path of its topic file.
        title: of the topic.
        description: of the topic.
        entry: as it is to be written.
    """

    topic: str
    title: str
    description: str
    entry: Entry


def record_of(topic: str, title: str, description: str, entry: Entry) -> dict[str, Any]:
    """Return an entry as the object of its line."""
    return {
        "v": VERSION,
        "topic": topic,
        "title": title,
        "description": description,
        "key": entry.key,
        "value": entry.value,
        "when": entry.when,
        "confidence": entry.confidence,
        "source": entry.source,
        "by_a_person": entry.is_by_a_person,
        "evidence": [
            {"path": p.path, "first": p.first, "last": p.last, "seal": p.seal}
            for p in entry.evidence
        ],
        "used": entry.used,
        "was": [{"value": each.value, "when": each.when} for each in entry.was],
    }


def read_records(data: bytes, name: str) -> list[Record]:
    """Return the entries of JSON lines, in order.

    Args:
        data: all of them; empty lines are passed over.
        name: of the file, for messages.

    Raises:
        SpecError: a line is no entry, or has a key that an earlier one has.
    """
    found: list[Record] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record, wrong = _record(line), ""
        except _WrongError as error:
            wrong = str(error)
        else:
            earlier = lines.setdefault(folded_key(record.entry.key), number)
            if earlier != number:
                wrong = f"`key` is that of line {earlier}, too"
        if wrong:
            raise SpecError(f"{wrong}; nothing was taken in", name, number)
        found.append(record)
    return found


class _WrongError(Exception):
    """What is wrong with one line."""


def _record(line: bytes) -> Record:
    if len(line) > MAX_LINE_BYTES:
        raise _WrongError(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        # In this form whatever is decoded can be encoded again: no lone surrogates.
        value = json.loads(line.decode("utf-8"))
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise _WrongError("the line is no JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise _WrongError("the line is no object")
    return _Fields(value).record()


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of one object, each judged as it is taken."""

    of: dict[str, Any]
    within: str = field(default="")

    def record(self) -> Record:
        version = self.of.get("v", VERSION)
        if version != VERSION:
            raise _WrongError(f"`v` is {_shown(version)}; known is {VERSION}")
        topic = self.line("topic")
        if not topic.endswith(".md") or not _TOPIC.fullmatch(topic):
            raise _WrongError(
                f"`topic` is {_shown(topic)}; a topic file is named like `auth.md`, "
                "in two folders at most"
            )
        title, description = self.line("title", ""), self.text("description", "")
        entry = self._entry()
        if (why := _why_odd(topic, entry)) != "":
            raise _WrongError(why)
        return Record(topic, title or title_of(topic), folded(description), entry)

    def _entry(self) -> Entry:
        key, value = self.line("key"), self.text("value").strip("\n").rstrip()
        if not value.strip():
            raise _WrongError("`value` is empty")
        source = self.line("source", "")
        is_by_a_person = self.of.get("by_a_person", not source)
        if not isinstance(is_by_a_person, bool):
            raise _WrongError("`by_a_person` is not true or false")
        if not source and not is_by_a_person:
            raise _WrongError("`source` is missing: no person wrote it, who did?")
        return Entry(
            key=key,
            value=value,
            when=self.day("when"),
            confidence=self._confidence(),
            source=source,
            evidence=tuple(each.place() for each in self.objects("evidence")),
            used=self.day("used"),
            was=tuple(each.earlier() for each in self.objects("was"))[:MAX_WAS],
            check="" if is_by_a_person else check_of(key, value),
        )

    def place(self) -> Place:
        path = self.line("path")
        first, last = self.number("first"), self.number("last")
        seal = self.line("seal", "")
        if seal and not _SEAL.fullmatch(seal):
            raise _WrongError(
                f"`{self.within}.seal` is {_shown(seal)}; not 8 hex digits"
            )
        place = Place(path, first, max(first, last), seal)
        if parse_place(place_text(place)) != Place(path, first, max(first, last)):
            raise _WrongError(
                f"`{self.within}` is {_shown(place_text(place))}: no place"
            )
        return place

    def earlier(self) -> Earlier:
        return Earlier(folded(self.text("value")), self.day("when"))

    def text(self, name: str, otherwise: str | None = None) -> str:
        value = self.of.get(name, otherwise)
        if not isinstance(value, str):
            missing = name not in self.of
            raise _WrongError(
                f"`{self._path(name)}` is {'missing' if missing else 'no text'}"
            )
        return value.replace("\r\n", "\n").replace("\r", "\n")

    def line(self, name: str, otherwise: str | None = None) -> str:
        """Return a text of one line; without `otherwise` it must say something."""
        value = self.text(name, otherwise).strip()
        if len(value.splitlines()) > 1:
            raise _WrongError(f"`{self._path(name)}` has more than one line")
        if not value and otherwise is None:
            raise _WrongError(f"`{self._path(name)}` is empty")
        return value

    def day(self, name: str) -> str:
        value = self.line(name, "")
        try:
            return value and date.fromisoformat(value).isoformat()
        except ValueError:
            raise _WrongError(
                f"`{self._path(name)}` is {_shown(value)}; a date is `YYYY-MM-DD`"
            ) from None

    def number(self, name: str) -> int:
        value = self.of.get(name, 0)
        if type(value) is not int or not 0 <= value < 10**9:
            raise _WrongError(f"`{self._path(name)}` is {_shown(value)}: no line")
        return value

    def objects(self, name: str) -> Iterator[_Fields]:
        values = self.of.get(name, [])
        if not isinstance(values, list) or not all(isinstance(v, dict) for v in values):
            raise _WrongError(f"`{name}` is no list of objects")
        for number, value in enumerate(values):
            yield _Fields(value, f"{name}[{number}]")

    def _confidence(self) -> float | None:
        value = self.of.get("confidence")
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise _WrongError(f"`confidence` is {_shown(value)}; allowed is 0 to 1")
        return float(value)

    def _path(self, name: str) -> str:
        return f"{self.within}.{name}" if self.within else name


def _why_odd(topic: str, entry: Entry) -> str:
    """Return why a file with this entry would not be read as this entry, or ""."""
    text = topic_text(Topic(topic, "T", "", (entry,)))
    found = parse_topic(text, topic).entries
    if len(found) != 1 or found[0].key != entry.key:
        return "`key` or `value` holds a line `## …`, which begins another entry"
    return (
        "" if found[0] == entry else "`value` ends in what would be taken for a field"
    )


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
