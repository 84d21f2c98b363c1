"""Stand-in until the real one is merged."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Entry", "Topic", "folded_key"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact."""

    key: str
    value: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic file."""

    path: str
    title: str
    description: str
    entries: tuple[Entry, ...]


def folded_key(key: str) -> str:
    """Return a key without case, white space, `_` and `-`."""
    return re.sub(r"[\s_-]+", " ", key).strip().casefold()
