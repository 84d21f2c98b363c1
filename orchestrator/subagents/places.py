"""Write findings that a brief cites as the places that a subagent can open itself.

A subagent sees no findings but its own, yet it sees the same files. So a lead can hand
its draft, citations and all, to a reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.brief import MAX_BRIEF_CHARS, Brief
from orchestrator.evidence import Source, citations, parse_source
from orchestrator.findings import Findings
from orchestrator.messages import one_line

__all__ = ["with_places"]

MAX_PLACES_OF_AN_ITEM = 3
"""The first ones: an item says one thing, and the brief has a limit of its own."""
MAX_RANGE = 20
"""Items of `[a2#1-20]`; a wider range stays as it is."""
MAX_TITLE_CHARS = 200

_ITEM = r"(?<![\w./\\@#-])a[1-9]\d{0,5}#\d{1,6}(?:-#?\d{1,6})?(?![\w#])"
_CITED = re.compile(
    rf"\[(?P<inside>[^\[\]\n]*)\]|(?P<tick>`?)(?P<item>{_ITEM})(?P=tick)"
)
_IN_BRACKETS = re.compile(rf"`?({_ITEM})`?")
_SEPARATOR = re.compile(r"(\s*[,;\uff0c\uff1b、]\s*)")
_MORE_LINES = re.compile(r"L?\d{1,9}(?:[-–—]L?\d{1,9})?")
_NEEDS_TICKS = re.compile(r"[\[\],;\uff0c\uff1b、]")


def with_places(brief: Brief, findings: Mapping[str, Findings]) -> Brief:
    """Return `brief` with the places of each item of findings that it cites.

    `[a2#3]`, `a2#3` and lists of them become `[src/a.py:12-14]` or, for an item with
    several, `[src/a.py:12-14, 40, docs/b.md:3]`. What names no item with evidence stays
    as it is, and so does a brief that is too long anyway.

    Args:
        brief: as the lead wrote it.
        findings: agent id → its accepted findings.

    Returns:
        The same object where nothing is to be written otherwise.
    """
    texts = (brief.objective, brief.background, brief.deliverable.form)
    size = sum(map(len, (*texts, *brief.questions)))
    if not findings or size > MAX_BRIEF_CHARS:
        return brief
    writer = _Writer(findings)
    title = writer.text(brief.title)
    deliverable = brief.deliverable
    form = writer.text(deliverable.form)
    changed: dict[str, Any] = {
        "title": title if len(title) <= MAX_TITLE_CHARS else brief.title,
        "objective": writer.text(brief.objective),
        "background": writer.text(brief.background),
        "questions": tuple(writer.text(each) for each in brief.questions),
        "deliverable": deliverable.model_copy(update={"form": form}),
    }
    found = brief.model_copy(update=changed)
    return brief if found == brief else found


class _Writer:
    """Rewrites texts, up to a size that no brief may have."""

    def __init__(self, findings: Mapping[str, Findings]) -> None:
        self._findings = findings
        self._known: dict[str, tuple[Source, ...]] = {}
        self._left = 2 * MAX_BRIEF_CHARS

    def text(self, text: str) -> str:
        """Return `text` with places in it."""
        return _CITED.sub(self._cited, text)

    def _cited(self, match: re.Match[str]) -> str:
        inside = match["inside"]
        if inside is not None:
            return f"[{self._list(inside)}]"
        places = self._places(match["item"])
        return f"[{_joined(places)}]" if places else match[0]

    def _list(self, inside: str) -> str:
        """Return what stands between brackets, piece by piece."""
        written: list[str] = []
        path = shown = ""  # what bare lines belong to, and what they would seem to
        for piece in _SEPARATOR.split(inside):
            bare = piece.strip().strip("`")
            source = parse_source(bare)
            if _MORE_LINES.fullmatch(bare):
                if not path and len(written) > 1:
                    return inside  # nobody knows what these lines are of
                written.append(piece if path == shown else f"{path}:{bare}")
                shown = path
            elif _IN_BRACKETS.search(piece):
                written.append(_IN_BRACKETS.sub(self._between, piece))
                shown = ""
            else:
                written.append(piece)
                if source.first is not None:
                    path = shown = source.target
        return "".join(written)

    def _between(self, match: re.Match[str]) -> str:
        places = self._places(match[1])
        return _joined(places) if places else match[0]

    def _places(self, item: str) -> tuple[Source, ...]:
        """Return the places of an item or a range of them; none if one has none."""
        if item not in self._known:
            self._known[item] = self._look_up(item)
        places = self._known[item]
        self._left -= sum(len(place.target) + 12 for place in places)
        return places if self._left >= 0 else ()

    def _look_up(self, item: str) -> tuple[Source, ...]:
        cited = citations(f"[{item}]")
        found: list[Source] = []
        for each in cited:
            places = self._places_of(each.agent, each.item)
            if not places or len(cited) > MAX_RANGE:
                return ()
            found += places
        return tuple(dict.fromkeys(found))

    def _places_of(self, agent: str, number: int) -> list[Source]:
        findings = self._findings.get(agent)
        if findings is None or not 1 <= number <= len(findings.items):
            return []
        sources = dict.fromkeys(
            each.source for each in findings.items[number - 1].evidence
        )
        first = [*sources][:MAX_PLACES_OF_AN_ITEM]
        return [parse_source(one_line(each)) for each in first]


def _joined(places: Sequence[Source]) -> str:
    """Return places as `citations` reads them: a path once, then further lines."""
    written: list[str] = []
    path = ""
    for place in places:
        if place.target == path and place.first is not None:
            written.append(str(Source("", place.first, place.last))[1:])
            continue
        text = str(place).replace("`", "'")
        path = place.target
        if not _NEEDS_TICKS.search(text) or _reads_as(text, place):
            written.append(text)
        else:
            # A name that would be taken apart: no citation, but words to go by.
            written.append(f"`{text}`")
            path = ""
    return ", ".join(written)


def _reads_as(text: str, place: Source) -> bool:
    cited = citations(f"[{text}]")
    return [each.target for each in cited] == [place.target]
