"""Entries as JSON lines, to be kept elsewhere and taken in again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from orchestrator.errors import SpecError
from orchestrator.memory.entries import Earlier, Entry, Place, Topic

__all__ = ["Record", "Taken", "exported", "read_records", "record_of", "take_in"]

VERSION: Final = 1
MAX_LINE_BYTES: Final = 1_000_000
_KINDS: Final = {str: "a text", list: "a list", dict: "an object", int: "a number"}


@dataclass(frozen=True, slots=True)
class Record:
    """One entry on its way between two memories.

    Attributes:
        topic: path of its topic file.
        title: of the topic.
        description: of the topic.
        entry: as it is written; its `check` tells whether it is a person's.
    """

    topic: str
    title: str
    description: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one entry that was to come in.

    Attributes:
        key: of the entry.
        topic: the file that has it.
        what: `kept`: what memory had stays.
        why: of what was kept or refused.
    """

    key: str
    topic: str
    what: Literal["new", "updated", "kept", "refused"]
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "key": self.key, "topic": self.topic, "what": self.what, "why": self.why
        }  # fmt: skip


def record_of(topic: Topic, entry: Entry) -> dict[str, Any]:
    """Return an entry as the object of its line."""
    return {
        "v": VERSION,
        "topic": topic.path,
        "title": topic.title,
        "description": topic.description,
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
