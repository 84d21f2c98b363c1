"""What a person changed in `progress.md`, so that nobody's text is lost.

A person's text becomes the section. What the agent noted there since the version that
the person began with is put below it, so that an editor that was open for an hour takes
nothing back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from orchestrator.store.notes import SECTIONS, Notes
from orchestrator.store.notes_back import Found, Page
from orchestrator.store.notes_page import PERSON
from orchestrator.store.notes_text import as_lines, tidy, version_of

__all__ = ["Edit", "cleaned", "edits_of"]

_FIGURES: Final = re.compile(r"\d+")


class Edit(NamedTuple):
    """A section that a person changed, and its text from now on."""

    section: str
    text: str
    origin: str = ""
    """As in `notes.edited`."""


def cleaned(page: Page, clean: Callable[[str], str]) -> Page:
    """Return a page with all that is not as the program wrote it cleaned.

    Args:
        page: the file as it was read.
        clean: redacts a text, and takes out what cannot be sent.
    """
    sections = {
        name: found if found.is_as_written else replace(found, text=clean(found.text))
        for name, found in page.sections.items()
    }
    changed = clean("\n".join(page.changed)).split("\n") if page.changed else ()
    loose = clean(page.loose)
    return replace(page, sections=sections, changed=tuple(changed), loose=loose)


def edits_of(page: Page, notes: Notes, *, ours: Iterable[str]) -> list[Edit]:
    """Return what a person changed; applied to `notes`, it is not found again.

    What is only missing is no change: a file that was cut off or emptied says nothing.

    Args:
        page: the file, cleaned.
        notes: as the log has them.
        ours: lines that the program writes outside of sections; figures may differ.
    """
    found: list[Edit] = []
    for name in SECTIONS:
        section = page.sections.get(name)
        if section is None or section.is_as_written:
            continue
        origin = f"{section.version}:{version_of(section.text)}"
        if notes.has_taken(name, origin):
            continue
        text = _merged(section, name, notes, is_whole=page.is_whole)
        if not _is_same(text, notes.text_of(name)):
            found.append(Edit(name, text, origin))
    text = _outside(page, notes, ours)
    if not _is_same(text, notes.text_of(PERSON)):
        found.append(Edit(PERSON, text))
    return found


def _merged(found: Found, name: str, notes: Notes, *, is_whole: bool) -> str:
    """Return what a section is from now on."""
    mine, theirs = notes.text_of(name), tidy(found.text)
    version = found.version or version_of(theirs)
    known = notes.version(name, version)
    # Of a version that nobody remembers no line can be said to have been taken out.
    base = known if known is not None else "" if found.version else mine
    is_shortened = found.is_cut and not is_whole and base.startswith(theirs)
    if is_shortened or _is_same(theirs, base):
        return mine
    return _with(theirs, _added(mine, base, beside=theirs))


def _outside(page: Page, notes: Notes, ours: Iterable[str]) -> str:
    """Return the section that is for what people write anywhere else."""
    mine, found = notes.text_of(PERSON), page.sections.get(PERSON, Found(""))
    known = notes.version(PERSON, found.version)
    base = known or ""
    theirs = tidy(found.text)
    is_shortened = found.is_cut and not page.is_whole and base.startswith(theirs)
    if known is not None and (found.is_as_written or is_shortened):
        theirs = base
    more = tidy(_not_ours(page, ours))
    since = _added(mine, base)
    new = _less(more.split("\n"), since)
    if len(new) < len(more.split("\n")):  # some of it is there already
        new = [line for line in new if line]
    if found.text and not _is_same(theirs, base):  # they changed what stood there
        mine = _with(theirs, _less(since, theirs.split("\n")))
    return _with(mine, new if any(new) else [])


def _not_ours(page: Page, ours: Iterable[str]) -> str:
    """Return what stands outside of sections and is not the program's."""
    known = {_plain(line) for line in ours}
    lines = [*page.changed, *(["", *page.loose.split("\n")] if page.loose else [])]
    if not page.is_whole and lines and lines[-1]:
        last = _plain(lines[-1])  # it may be the start of a line of ours
        if any(line.startswith(last) for line in known):
            lines.pop()
    kept = [line for line in lines if not line or _plain(line) not in known]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept).strip("\n"))


def _plain(line: str) -> str:
    return _FIGURES.sub("0", line.strip())


def _added(text: str, base: str, *, beside: str = "") -> list[str]:
    """Return the lines of `text` that are not in `base`, nor begin one of `beside`."""
    known, there = Counter(base.split("\n")), beside.split("\n")
    lines: list[str] = []
    for line in text.split("\n"):
        if known[line] > 0:
            known[line] -= 1
        elif line and not any(each.startswith(line) for each in there):
            lines.append(line)
    return lines


def _less(lines: Sequence[str], others: Iterable[str]) -> list[str]:
    """Return the lines that are not among `others`, each of which counts once."""
    left, kept = Counter(others), []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        else:
            kept.append(line)
    return kept


def _with(text: str, lines: Sequence[str]) -> str:
    return "\n".join([*([text] if text else []), *lines])


def _is_same(text: str, other: str) -> bool:
    return text == other or as_lines(text) == as_lines(other)
