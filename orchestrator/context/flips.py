"""What a summary turns round: a negation, a status; and rules that it makes up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.context.bearing import (
    CONFLICTS,
    Status,
    denials,
    denied,
    denies,
    forbids,
    has_shade,
    is_ruling,
    shades,
    statuses,
)
from orchestrator.context.figures import Day, Name, Number
from orchestrator.context.moved import Within
from orchestrator.context.old_text import Claim, Near, Statements, is_han
from orchestrator.context.statements import clauses, first_term, terms
from orchestrator.messages import shortened

__all__ = [
    "CLOSE",
    "OF_BEST",
    "OWN_NOTE",
    "RELATED",
    "SAME",
    "Check",
    "Doubt",
    "doubt",
    "flipped",
    "made_up",
]

Check = Literal[
    "sections",
    "length",
    "names",
    "numbers",
    "negations",
    "statuses",
    "rules",
    "calls",
]

OWN_NOTE: Final = "Own note, not a rule that was given:"
"""Stands before a rule that a summary made up."""

# Shares of a statement's weight that another one must hold.
SAME: Final = 0.75
CLOSE: Final = 0.6
RELATED: Final = 0.5
OF_BEST: Final = 0.85
_RULE_FROM_RULE: Final = 0.42
_RULE_FROM_ANY: Final = 0.62
_LOOSE: Final = 0.4
_STRANGE: Final = 0.3
_MAX_SOURCE_CHARS: Final = 400

_URGES: Final = re.compile(
    r"\b(?:please|should|keep|only|needs?|want|prefer|require|leave|avoid|make sure|"
    r"ensure|except|unless|until|rule|policy|convention|allowed|stick to)\b|"
    r"请|应|需|要|别|保持|规定|约定|规则|除非|之前|仅|只",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that the old text does not bear out.

    Attributes:
        check: which check found it.
        said: the statement of the summary.
        source: the nearest old statement, word for word, or "".
        start: what of the statement is replaced.
        end: one behind the last character of that.
        instead: what stands there then.
        is_update: the claim may be newer than the source, which is told as the one
            before.
    """

    check: Check
    said: str
    source: str
    start: int
    end: int
    instead: str
    is_update: bool = False


def flipped(
    claim: Claim, near: Sequence[Near], *, old: Statements, within: Within
) -> Doubt | None:
    """Return a doubt where the claim says the contrary of the nearest statements.

    It is replaced by the source, a claim about what was said. But one that newer texts
    bear out is right; and how far an earlier summary saw the work may have changed:
    that is told beside it.

    Args:
        claim: of the summary.
        near: the nearest old statements, the best first.
        old: all of them.
        within: where the claim stands.
    """
    found = _flipped_denial(claim, near, old, within)
    return found or _flipped_status(claim, near, within)


def _flipped_denial(
    claim: Claim, near: Sequence[Near], old: Statements, within: Within
) -> Doubt | None:
    """Return a doubt where a negation was lost or put in."""
    close, section = _of_best(near, RELATED), within.section
    if section == "failed" and near and _tells_success(claim, near):
        return _replaced("negations", claim, near[0])
    for each in close:
        if _loses_denial(claim, each.claim, old, section):
            since = [*close, *_newer(claim, near, each)]
            if not _is_said(claim, since, is_denied=False):
                return _turned("negations", claim, each, within)
        elif _adds_denial(claim, each.claim, old):
            since = [*close, *_newer(claim, near, each)]
            if not _is_said(claim, since, is_denied=True):
                return _turned("negations", claim, each, within)
    return None


def _newer(claim: Claim, near: Sequence[Near], contrary: Near) -> list[Near]:
    """Return what is about the same and newer than the contrary; results are, too."""
    return [
        each
        for each in near
        if each.share >= _LOOSE
        and len(each.claim.terms & claim.terms) > 1
        and (each.place > contrary.place or each.claim.kind == "result")
        and each.place != contrary.place
    ]


def _turned(check: Check, claim: Claim, source: Near, within: Within) -> Doubt:
    """Return the doubt about a statement that says the contrary of its source."""
    text = source.claim.text
    is_of_work = not statuses(claim.text) & _OF_OTHERS and not is_ruling(text)
    if (
        is_of_work
        and text in within.earlier
        and (text in within.moving or _UNFINISHED.search(text))
    ):
        # Inside the sentence, so that both stay one statement.
        short = shortened(text.rstrip(_ENDS), _BESIDE_CHARS)
        end = len(claim.text.rstrip(_ENDS))
        return Doubt(
            check,
            claim.text,
            text[:_MAX_SOURCE_CHARS],
            end,
            end,
            f' (before: "{short}")',
            is_update=True,
        )
    return _replaced(check, claim, source)


_OF_OTHERS: Final[frozenset[Status]] = frozenset({"confirmed", "asked", "denied"})
_BESIDE_CHARS: Final = 120
_ENDS: Final = " .!。！"
_UNFINISHED: Final = re.compile(
    r"\b(?:yet|still|so far|to-?do|in progress|underway|ongoing|pending|now)\b|"
    r"\bcurrently\b|\bfail|\bpass|尚|还没|还未|未|仍|暂|正在|进行中|目前|失败|通过",
    re.IGNORECASE,
)


def _tells_success(claim: Claim, near: Sequence[Near]) -> bool:
    """Return whether a failed attempt is told as one that worked."""
    if statuses(claim.text) != {"passed"} or denies(claim.text):
        return False
    return near[0].share >= _LOOSE and not any(
        "passed" in statuses(each.claim.text) for each in near
    )


def _loses_denial(claim: Claim, source: Claim, old: Statements, section: str) -> bool:
    """Return whether the claim tells a denied part of the source without denying it."""
    if denials(source.text) <= shades(claim.text, but=source.text):
        return False
    own = clauses(claim.text)
    for part in clauses(source.text):
        if not denies(part) or (section == "open" and not forbids(part)):
            continue
        about = terms(part) - _digits(part)
        if len(about) < 2 or old.share(frozenset(about), claim.terms) < RELATED:
            continue
        is_free = forbids(part)
        if not any(_is_about(claim, each, is_free=is_free) for each in denied(part)):
            continue
        mine = [text for text in own if terms(text) & about]
        if not any(shades(text, but=source.text) for text in mine):
            return True
    return False


def _is_about(claim: Claim, behind: str, *, is_free: bool) -> bool:
    """Return whether the claim has the very word that a negation denies.

    Where it has another one, the sentence is reworded, and may be as true without. In a
    prohibition any word that is denied will do; and in Han, which is not parted into
    words, but for outcomes.

    Args:
        claim: of the summary.
        behind: what stands behind the negation.
        is_free: whether any word will do.
    """
    head = first_term(behind)
    if head in claim.terms:
        return True
    is_free = is_free or (is_han(head) and head not in _OUTCOMES)
    return is_free and bool(terms(behind) & claim.terms)


_OUTCOMES: Final = frozenset(
    {"work", "help", "succeed", "success", "go", "com", "get", "manag", "成功", "行"}
)


def _adds_denial(claim: Claim, source: Claim, old: Statements) -> bool:
    """Return whether the claim denies what the source tells without denying it."""
    if has_shade(source.text) or _is_other(claim, source):
        return False
    for part in clauses(claim.text):
        about = frozenset(terms(part))
        if len(about) < 2 or old.share(about, source.terms) < SAME:
            continue
        heads = {first_term(behind) for behind in denied(part)} - _OUTCOMES
        if heads & source.terms:
            return True
    return False


def _is_other(claim: Claim, source: Claim) -> bool:
    """Return whether both name things, and none that is of the other one's."""
    mine, theirs = claim.names, source.names
    is_shared = any(one in other or other in one for one in mine for other in theirs)
    return bool(mine and theirs) and not is_shared


def _digits(text: str) -> set[str]:
    return {term for term in terms(text) if term[0].isdigit()}


def _is_said(claim: Claim, close: Sequence[Near], *, is_denied: bool) -> bool:
    """Return whether an old statement about the same is meant as the claim is."""
    for each in close:
        parts = [p for p in clauses(each.claim.text) if terms(p) & claim.terms]
        if is_denied and any(map(has_shade, parts)):
            return True
        text = each.claim.text
        is_plain = not denies(text) and shades(text) <= shades(claim.text)
        if not is_denied and (is_plain or not has_shade(text)):
            return True
    return False


def _of_best(near: Sequence[Near], least: float) -> list[Near]:
    """Return those that hold about as much as the best one does."""
    if not near or near[0].share < least:
        return []
    return [each for each in near if each.share >= max(OF_BEST * near[0].share, least)]


def _flipped_status(claim: Claim, near: Sequence[Near], within: Within) -> Doubt | None:
    """Return a doubt where a thing stands elsewhere than the newest statement says."""
    own = statuses(claim.text)
    if not own:
        return None
    rivals: set[Status] = {rival for status in own for rival in CONFLICTS[status]}
    close = [
        (each, found)
        for each in _of_best(near, RELATED)
        if (found := _statuses_about(each.claim, claim)) & (rivals | own)
        and len(each.claim.terms & claim.terms) >= 2
    ]
    if not close:
        return None
    newest, found = max(close, key=lambda pair: pair[0].place)
    if "failed" in found:
        found |= {"denied"}
    for status in own - found:
        if CONFLICTS[status] & found - own and not any(
            status in _statuses_about(each.claim, claim)
            for each in _newer(claim, near, newest)
        ):
            return _turned("statuses", claim, newest, within)
    return None


def _statuses_about(other: Claim, claim: Claim) -> frozenset[Status]:
    """Return the statuses in those parts that tell of what the claim does."""
    parts = [p for p in clauses(other.text) if terms(p) & claim.terms]
    found = {status for part in parts for status in statuses(part)}
    return frozenset(found) or statuses(other.text)


def made_up(
    claim: Claim, near: Sequence[Near], *, old: Statements, section: str
) -> Doubt | None:
    """Return a doubt about a rule that nobody stated.

    One that an earlier summary made up, and marked, is no source.
    """
    if not is_ruling(claim.text) or len(claim.terms) < 2 or OWN_NOTE in claim.text:
        return None
    rated = [
        (old.share(claim.terms, each.claim.terms, is_strict=True), each.claim)
        for each in near
        if OWN_NOTE not in each.claim.text
    ]
    # What is still to do must be done, too: there only the strange is doubted.
    is_task = section == "open" and not _BINDING.search(claim.text)
    if is_task and any(share >= _STRANGE for share, _ in rated):
        return None
    pooled: set[str] = set()
    for share, other in rated:
        urges = is_ruling(other.text) or _URGES.search(other.text)
        if not urges and _is_other(claim, other):
            continue
        if share >= (_RULE_FROM_RULE if urges else _RULE_FROM_ANY):
            return None
        if urges and share >= 0.2:
            pooled |= other.terms
    together = old.share(claim.terms, frozenset(pooled), is_strict=True)
    if together >= _RULE_FROM_ANY:
        return None
    return Doubt("rules", claim.text, "", 0, 0, f"{OWN_NOTE} ")


_BINDING: Final = re.compile(
    r"\b(?:never|always|must not|only|not allowed|forbidden|do not|don['’]t)\b|"
    r"不得|禁止|严禁|只能|一律|务必|切勿|不要",
    re.IGNORECASE,
)


def _replaced(check: Check, claim: Claim, source: Near) -> Doubt:
    instead = source.claim.text[:_MAX_SOURCE_CHARS]
    own = {v for n in claim.numbers for v in n.values[:1]} - source.claim.values
    if own or set(claim.names) - set(source.claim.names):
        instead = f'{instead} (the summary said: "{claim.text}")'
    return doubt(check, claim, source=source, instead=instead)


def doubt(
    check: Check,
    claim: Claim,
    *,
    instead: str,
    source: Near | None = None,
    place: Number | Name | Day | None = None,
) -> Doubt:
    """Return a doubt about a part of the claim.

    Args:
        check: which check found it.
        claim: of the summary.
        instead: what stands there then.
        source: the nearest old statement; None: there is none.
        place: the part; None: all of it.
    """
    told = source.claim.text[:_MAX_SOURCE_CHARS] if source else ""
    start, end = (place.start, place.end) if place else (0, len(claim.text))
    return Doubt(check, claim.text, told, start, end, instead)
