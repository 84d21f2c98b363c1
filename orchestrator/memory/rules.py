"""What may be written into memory, and the form in which it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from orchestrator.memory.entries import (
    Entry,
    Place,
    folded,
    folded_key,
    heading,
)
from orchestrator.memory.fences import open_fence, outside_fences
from orchestrator.memory.folder import INDEX_PAGE, MAX_DEPTH
from orchestrator.memory.tombstones import Tombstones
from orchestrator.memory.volatile import why_volatile
from orchestrator.security.placeholders import PLACEHOLDER

__all__ = [
    "FORGOTTEN",
    "MAX_DESCRIPTION_CHARS",
    "MAX_ENTRIES",
    "MAX_KEY_CHARS",
    "MAX_PLACES",
    "MAX_VALUE_CHARS",
    "PERSONS",
    "clean_description",
    "clean_key",
    "clean_places",
    "clean_text",
    "clean_value",
    "why_no_entry",
    "why_no_path",
]

MAX_KEY_CHARS: Final = 120
MAX_VALUE_CHARS: Final = 4_000
MAX_DESCRIPTION_CHARS: Final = 300
MAX_PLACES: Final = 8
MAX_ENTRIES: Final = 500
"""Of one topic file."""
MAX_PATH_CHARS: Final = 200
PERSONS: Final = "a person wrote or changed it, and only a person changes it"
FORGOTTEN: Final = "forgotten: a person had it taken out for good"
MAX_NAME_BYTES: Final = 200
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SUBHEADING: Final = re.compile(r"##(?=[ \t])")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\\]{1,100}")
_PATHS_MEANT: Final = re.compile(r"[\x00-\x1f\x7f]|\s\(check ")


def clean_key(key: str, redact: Callable[[str], str]) -> str:
    """Return a key as it is written: redacted, one line, without marks of headings."""
    plain = _SURROGATES.sub("\ufffd", _CONTROLS.sub(" ", redact(key)))
    line = folded(plain).lstrip("# ")
    return heading(f"## {line}") if line else ""


def clean_text(text: str) -> str:
    """Return a text without controls and lone surrogates; its lines end as before."""
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def clean_value(value: str, redact: Callable[[str], str]) -> str:
    """Return a value as it is written: redacted, its own headings below the entry's."""
    text = redact(value).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line.rstrip() for line in clean_text(text).split("\n")]
    if fence := open_fence(lines):
        lines.append(fence)  # else a block of code further down would end it
    for number, line in list(outside_fences(lines)):
        lines[number] = _SUBHEADING.sub("###", line, count=1)
    return "\n".join(lines).strip("\n").rstrip()


def clean_description(text: str, redact: Callable[[str], str]) -> str:
    """Return a description of a topic; "" where it should not be kept."""
    line = folded(clean_value(text, redact)).lstrip("#-*> ")
    if len(line) > MAX_DESCRIPTION_CHARS:
        line = f"{line[: MAX_DESCRIPTION_CHARS - 1].rstrip()}…"
    return "" if PLACEHOLDER.search(line) or why_volatile(line) else line


def clean_places(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Return evidence without what cannot be written in a line, each place once."""
    fit = (
        place
        for place in places
        if place.path.strip()
        and len(place.path) <= MAX_PATH_CHARS
        and not _PATHS_MEANT.search(place.path)
        and not _SURROGATES.search(place.path)
    )
    return tuple(dict.fromkeys(fit))[:MAX_PLACES]


def why_no_entry(key: str, value: str, forgotten: Tombstones) -> str:
    """Return why a clean key and value are not written, or ""."""
    return (
        _why_no_text(key, value)
        or ("holds a secret" if PLACEHOLDER.search(f"{key}\n{value}") else "")
        or (FORGOTTEN if forgotten.holds(key, value) else "")
        or why_volatile(value)
    )


def why_no_path(path: str) -> str:
    """Return why no topic file can have a path, or ""."""
    names = path.split("/")
    return _why_no_topic(path, names) or next(
        filter(None, map(_why_no_name, names)), ""
    )


def _why_no_topic(path: str, names: list[str]) -> str:
    if not path.endswith(".md") or names[-1] == ".md":
        return "a topic is a file that ends in `.md`, as `auth.md`"
    if path.lower() == INDEX_PAGE.lower():
        return f"`{INDEX_PAGE}` is written by the program; choose another name"
    if len(names) > MAX_DEPTH + 1:
        return f"a topic lies at most {MAX_DEPTH} folders deep"
    return ""


def _why_no_name(name: str) -> str:
    if name in ("", ".", "..") or not _NAME.fullmatch(name):
        return "it is no path of a topic file, as `auth.md` or `api/auth.md`"
    if name.startswith("."):
        return "hidden names are the program's own"
    if name != name.strip() or _SURROGATES.search(name):
        return "a name has blanks around it, or signs that are no text"
    return "a name is too long" if len(name.encode()) > MAX_NAME_BYTES else ""


def same_value(entry: Entry, value: str) -> bool:
    """Return whether an entry has a value already, white space aside."""
    return folded(entry.value) == folded(value)


def _why_no_text(key: str, value: str) -> str:
    if not folded_key(key):
        return "it has no key"
    if len(key) > MAX_KEY_CHARS:
        return f"its key has over {MAX_KEY_CHARS} characters"
    if not value.strip():
        return "it has no value"
    if len(value) > MAX_VALUE_CHARS:
        return f"its value has over {MAX_VALUE_CHARS:,} characters; keep what matters"
    return ""
