"""What the old text says and a summary leaves out, though it will be needed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.context import cues
from orchestrator.context.bearing import forbids, has_shade, obliges, statuses
from orchestrator.context.figures import dates, names, numbers
from orchestrator.context.flips import OWN_NOTE, Check
from orchestrator.context.old_text import Claim, Statements, is_han
from orchestrator.context.statements import clauses, terms
from orchestrator.context.summary import Section, Summary, parse

__all__ = ["Loss", "Wanted", "losses"]

_TOLD_SHARE: Final = 0.4
"""So much of a statement, by weight, in another one: that tells it."""
_TOLD_LARGELY: Final = 0.5
_TOLD_WITH_FIGURE: Final = 0.15
_DIGITS_OF_A_FIGURE: Final = 3
_SAME_TOPIC: Final = 0.6
_MOST_RULES: Final = 40
_MOST_STATUSES: Final = 12
_MOST_USED: Final = 20
_GONE_SHARE: Final = 0.4
"""A section is missing where so much of what belongs into it is told nowhere."""
_MOST_EVIDENCE: Final = 40
_LINES_OF_A_SECTION: Final = 6
_USED_CHARS: Final = 4_000
_LINE_CHARS: Final = 400


_BOLD: Final = re.compile(r"\*\*[^*]+\*\*")
"""What a heading inside a section becomes."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is nowhere any more."""

    check: Check
    line: str
    """Of the old text, word for word; shortened only where it is very long."""
    where: str
    """`said`, `result`, `later`, or the section of an earlier summary."""
    rank: int
    """What matters most has the lowest."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What will be needed besides the old text's own rules and statuses."""

    used_later: Sequence[str]
    open_calls: Collection[str]
    references: Collection[str]


def losses(
    summary: Summary, *, old: Statements, state: Sequence[str], wanted: Wanted
) -> list[Loss]:
    """Return what is lost with `summary` and `state` in the place of the old texts.

    Args:
        summary: already mended.
        old: what it covers, indexed.
        state: lines that are written out beside the summary.
        wanted: what the kept steps use, calls that are open, names known otherwise.
    """
    texts = [summary.sections[name] for name in summary.sections]
    shown = Statements([("said", texts), ("state", state)])
    found = [*_rules(old, shown), *_statuses(old, shown)]
    found += _sections(summary, old, shown, wanted.references)
    found += _used(old, shown, wanted)
    found += _calls(old, shown, wanted)
    return sorted(found, key=lambda loss: loss.rank)


def _telling(claim: Claim, old: Statements, shown: Statements) -> list[Claim]:
    """Return the shown statements that tell what the old one does."""
    near = shown.near(claim.terms, most=6)
    found = [
        each.claim
        for each in near
        if old.share(claim.terms, each.claim.terms) >= _TOLD_SHARE
    ]
    if found:
        return found
    figures = [n for n in claim.numbers if n.digits >= _DIGITS_OF_A_FIGURE]
    days = {day.of_year for day in dates(claim.text)}
    return [
        each.claim
        for each in near
        if old.share(claim.terms, each.claim.terms) >= _TOLD_WITH_FIGURE
        and (figures or days)
        and all(each.claim.values & set(n.values) for n in figures)
        and days <= {day.of_year for day in dates(each.claim.text)}
    ]


def _is_told(claim: Claim, old: Statements, shown: Statements) -> bool:
    """Return whether a shown statement tells much of what the old one does."""
    return any(
        old.share(claim.terms, each.claim.terms) >= _TOLD_LARGELY
        for each in shown.near(claim.terms, most=4)
    )


def _is_told_abroad(claim: Claim, shown: Statements) -> bool:
    """Return whether, told in another language, all names and figures are there."""
    if not _is_foreign(claim, shown):
        return False
    figures = [n for n in claim.numbers if not n.is_count]
    if not claim.names and not figures:
        return False
    return all(map(shown.has_name, claim.names)) and all(
        any(v in shown.values for v in n.values) for n in figures
    )


def _rules(old: Statements, shown: Statements) -> Iterator[Loss]:
    """Yield prohibitions that do not bind any more, the newest first."""
    handled: list[Claim] = []
    for claim in reversed(list(old.of("said"))):
        if len(handled) >= _MOST_RULES:
            break
        if not cues.MAY_FORBID.search(claim.text) or not forbids(claim.text):
            continue
        if OWN_NOTE in claim.text or not claim.terms:
            continue
        if _is_repeat(claim, handled, old):
            continue
        handled.append(claim)
        telling = _telling(claim, old, shown)
        is_bound = any(_binds(each) and _names_same(claim, each) for each in telling)
        if not is_bound and not _is_told_abroad(claim, shown):
            yield Loss("rules", claim.text[:_LINE_CHARS], "said", 0)


def _names_same(claim: Claim, other: Claim) -> bool:
    """Return whether all that one names by an id or a path, the other names too."""
    named = other.text.lower()
    return all(name.lower().rstrip("/") in named for name in claim.names)


def _is_foreign(claim: Claim, shown: Statements) -> bool:
    return shown.han_share < 0.05 if is_han(claim.text) else shown.han_share > 0.8


def _binds(claim: Claim) -> bool:
    text = claim.text
    if forbids(text) or (obliges(text) and has_shade(text)):
        return True
    return claim.kind == "state" or (has_shade(text) and not cues.TOLD.search(text))


def _is_repeat(claim: Claim, handled: Sequence[Claim], old: Statements) -> bool:
    return any(
        _names_same(claim, other)
        and old.share(claim.terms, other.terms) >= _SAME_TOPIC
        and old.share(other.terms, claim.terms) >= _SAME_TOPIC
        for other in handled
    )


def _statuses(old: Statements, shown: Statements) -> Iterator[Loss]:
    """Yield what somebody settled, or was asked, that is told nowhere."""
    handled: list[Claim] = []
    for claim in reversed(list(old.of("said"))):
        if len(handled) >= _MOST_STATUSES:
            break
        if not cues.SETTLED.search(claim.text) or cues.OWN.search(claim.text):
            continue
        if not statuses(claim.text) & {"confirmed", "denied", "asked"}:
            continue
        if len(claim.terms) < 2 or _is_repeat(claim, handled, old):
            continue
        handled.append(claim)
        core = " ".join(part for part in clauses(claim.text) if statuses(part))
        told = [Claim(core, "said"), claim] if len(terms(core)) > 1 else [claim]
        is_told = any(_telling(each, old, shown) for each in told)
        if not is_told and not _is_told_abroad(claim, shown):
            yield Loss("statuses", claim.text[:_LINE_CHARS], "said", 1)


_RANKS: Final[Mapping[Section, int]] = {
    "decisions": 2,
    "open": 2,
    "facts": 3,
    "failed": 3,
    "work": 4,
    "pointers": 4,
}


def _sections(
    summary: Summary, old: Statements, shown: Statements, references: Collection[str]
) -> Iterator[Loss]:
    """Yield lines for each section that is missing though there was something."""
    earlier = [each for text in old.said if (each := _sectioned(text))]
    for section, rank in _RANKS.items():
        if summary.sections.get(section):
            continue
        lines = [line.strip() for each in earlier for line in each.lines(section)]
        evidence = [Claim(line, "said") for line in lines if not _BOLD.fullmatch(line)]
        where = f"earlier summary, {section}" if evidence else "said"
        evidence = evidence or list(_evidence(section, old))
        told = [_is_told(claim, old, shown) for claim in evidence]
        gone = [
            claim
            for claim, is_told in zip(evidence, told, strict=True)
            if not is_told
            and not _is_told_abroad(claim, shown)
            and not _is_elsewhere(section, claim, references)
        ]
        # What another section tells is not missing, and may belong there.
        if gone and _GONE_SHARE * len(evidence) <= len(gone):
            for claim in gone[-_LINES_OF_A_SECTION:]:
                line = re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", claim.text)
                yield Loss("sections", line[:_LINE_CHARS], where, rank)


def _sectioned(text: str) -> Summary | None:
    """Return an earlier summary, or None where a text has no headings."""
    if "#" not in text and "**" not in text:
        return None
    summary = parse(text)
    return None if summary.is_free else summary


def _is_elsewhere(section: Section, claim: Claim, references: Collection[str]) -> bool:
    if section != "pointers" or not claim.names:
        return False
    return all(name in references for name in claim.names)


def _evidence(section: Section, old: Statements) -> list[Claim]:
    """Return the newest of what was said that belongs into a section."""
    found = [claim for claim in old.of("said") if _belongs(section, claim)]
    return found[-_MOST_EVIDENCE:]


def _belongs(section: Section, claim: Claim) -> bool:
    if section != "facts" and not cues.SECTIONS[section].search(claim.text):
        return False
    if len(claim.terms) < 3 and not claim.names:
        return False
    match section:
        case "facts":
            has_figure = any(n.digits > 1 and not n.is_count for n in claim.numbers)
            return has_figure or bool(dates(claim.text))
        case "pointers":
            return bool(claim.names)
        case "work":
            return bool(claim.names or claim.numbers)
    return True


def _used(old: Statements, shown: Statements, wanted: Wanted) -> Iterator[Loss]:
    """Yield the sources of names and figures that later calls use, the newest first."""
    used = [text[:_USED_CHARS] for text in reversed(wanted.used_later)]
    known = dict.fromkeys(name.text for text in used for name in names(text))
    lost: list[Loss] = []
    for name in known:
        if name in wanted.references or shown.has_name(name):
            continue
        if source := old.source_of(name):
            lost.append(Loss("names", _around(source.text, name), source.kind, 3))
    for number in (number for text in used for number in numbers(text)):
        if number.digits < _DIGITS_OF_A_FIGURE or number.text in wanted.references:
            continue
        if any(value in shown.values for value in number.values):
            continue
        same = old.with_number(number.text, most=1)
        lost += [
            Loss("numbers", _around(source.text, number.text), source.kind, 3)
            for source in same
        ]
    yield from lost[:_MOST_USED]


def _around(text: str, item: str) -> str:
    """Return the line, or of a long one the part with the item."""
    if len(text) <= _LINE_CHARS:
        return text
    at = text.lower().find(item.lower())
    start = max(at - _LINE_CHARS // 2, 0)
    return text[start : start + _LINE_CHARS]


def _calls(old: Statements, shown: Statements, wanted: Wanted) -> Iterator[Loss]:
    for call in wanted.open_calls:
        if call.lower() in shown.lower or call in wanted.references:
            continue
        source = old.source_of(call)
        line = _around(source.text, call) if source else call
        yield Loss("calls", line, source.kind if source else "later", 1)
