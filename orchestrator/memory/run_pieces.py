"""Cut what a run delivered into pieces that can be found by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.evidence import NEAR_LINES, Citation, citations
from orchestrator.memory.cutting import cut_at_sentence, sections
from orchestrator.memory.entries import Entry, Topic
from orchestrator.memory.quotes_now import Said
from orchestrator.memory.run_records import Claim, Delivered, Head, Tried

__all__ = ["Piece", "pieces_of", "topic_of"]

MAX_PIECES: Final = 2_000
"""Of one run; a report of 200 kB has about 400."""
MAX_PLACES: Final = 8
"""Of one piece, as many as can be looked up and shown."""
_MAX_HEADING_CHARS: Final = 200
_UNSUPPORTED: Final = "UNSUPPORTED, quote not found then: "
_BRAILLE: Final = 0x2800


@dataclass(frozen=True, slots=True)
class Piece:
    """A section of a report, a claim, or what was tried in vain.

    Attributes:
        number: its place in the run, from 0.
        what: of which of the two it is a part.
        heading: what is searched beside the text.
        title: what it is called where it is shown.
        text: as it is shown, 600 characters at most.
        said: the places it names, and what was copied from there.
    """

    number: int
    what: Literal["report", "finding"]
    heading: str
    title: str
    text: str
    said: tuple[Said, ...] = ()

    @property
    def key(self) -> str:
        """Return its key in the index: the heading, and signs that are no words.

        They tell the number and the text, so that no row of before finds another text.
        In plain figures they would be found by every question that names a number.
        """
        digest = hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).digest()
        marks = self.number.to_bytes(2, "big") + digest[:4]
        return f"{self.heading} {''.join(chr(_BRAILLE + mark) for mark in marks)}"


def pieces_of(head: Head, delivered: Delivered) -> list[Piece]:
    """Return the pieces of a run: of its report, then its claims, then the rest.

    Args:
        head: of the run; its objective stands in for a heading where there is none.
        delivered: what came out of it.
    """
    by_item = {(each.agent, each.number): each for each in delivered.claims}
    evidence = _evidence(delivered.claims)
    pieces: list[Piece] = []
    for section in sections(delivered.report):
        heading = _heading(section.heading or head.objective)
        said = _cited(section.text, by_item, evidence)
        piece = Piece(len(pieces), "report", heading, heading, section.text, said)
        pieces.append(piece)
    for claim in delivered.claims:
        pieces.append(_of_claim(len(pieces), claim))
    for tried in delivered.tried:
        pieces.append(_of_attempt(len(pieces), tried))
    return pieces[:MAX_PIECES]


def topic_of(head: Head, pieces: Sequence[Piece]) -> Topic:
    """Return a run in the form that the index takes, one entry a piece."""
    entries = (Entry(piece.key, piece.text, when=head.when) for piece in pieces)
    return Topic(head.run, "", "", tuple(entries))


def _of_claim(number: int, claim: Claim) -> Piece:
    title = f"{claim.agent}#{claim.number}"
    if not claim.is_supported:
        text = _UNSUPPORTED + claim.item.claim
        said = tuple(Said.of(each.source, "") for each in claim.item.evidence)
    else:
        text, said = claim.item.claim, _said(claim)
    return Piece(
        number,
        "finding",
        heading=_heading(claim.title),
        title=_heading(f"{title} {claim.title}"),
        text=cut_at_sentence(text),
        said=said[:MAX_PLACES],
    )


def _of_attempt(number: int, tried: Tried) -> Piece:
    attempt = tried.attempt
    return Piece(
        number,
        "finding",
        heading=_heading(tried.title),
        title=_heading(f"{tried.agent} {tried.title}"),
        text=cut_at_sentence(f"Tried in vain: {attempt.tried} — {attempt.why}"),
    )


def _said(claim: Claim) -> tuple[Said, ...]:
    return tuple(Said.of(each.source, each.quote) for each in claim.item.evidence)


def _evidence(claims: Sequence[Claim]) -> dict[str, list[Said]]:
    """Return path → what was copied from there and found."""
    places: dict[str, list[Said]] = {}
    for claim in claims:
        for said in _said(claim) if claim.is_supported else ():
            places.setdefault(_plain(said.path), []).append(said)
    return places


def _cited(
    text: str,
    by_item: Mapping[tuple[str, int], Claim],
    evidence: Mapping[str, Sequence[Said]],
) -> tuple[Said, ...]:
    """Return the places that a section cites, with quotes where findings have them."""
    found: dict[Said, None] = {}
    for citation in citations(text):
        if citation.agent:
            claim = by_item.get((citation.agent, citation.item))
            if claim is not None and claim.is_supported:
                found.update(dict.fromkeys(_said(claim)))
        else:
            found.update(dict.fromkeys(_quotes_at(citation, evidence)))
    return tuple(found)[:MAX_PLACES]


def _quotes_at(
    citation: Citation, evidence: Mapping[str, Sequence[Said]]
) -> Iterator[Said]:
    """Yield the evidence that a citation of lines rests on, else the lines alone."""
    there = [
        said
        for said in evidence.get(_plain(citation.target), ())
        if said.first - NEAR_LINES <= citation.last
        and citation.first <= said.last + NEAR_LINES
    ]
    if there:
        yield from there
    else:
        yield Said(citation.target, citation.first, citation.last)


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


def _heading(text: str) -> str:
    return cut_at_sentence(" ".join(text.split()), _MAX_HEADING_CHARS)
