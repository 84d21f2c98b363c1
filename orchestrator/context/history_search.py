"""Find again, by words, what was said, called or answered in a conversation.

Nothing is indexed beforehand: the texts are kept in small letters, and each word of a
query is counted in them, which is fast enough for a few hundred steps. Ranked as by
BM25; ids, numbers and paths that stand there exactly come first. Chinese, Japanese and
Korean are compared by overlapping pairs of characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.context.clipping import safe_end, safe_start
from orchestrator.context.history import Step, steps
from orchestrator.context.stubs import short_call
from orchestrator.context.tokens import Count
from orchestrator.messages import Block, Message, encode, text_of

__all__ = ["Found", "HistoryIndex", "search"]

SNIPPET_TOKENS: Final = 90
"""Most that is shown of one item."""
# Its results repeat the query, so that they would be found first.
_LEFT_OUT: Final = frozenset({"recall"})
# What these look for is no find: it comes after all that was read or said.
_QUESTIONS: Final = frozenset({"grep", "glob", "read_ref"})
_ASKED: Final = -1.0
_LINE_CHARS: Final = 240
_MOST_LINES: Final = 8
_MOST_TERMS: Final = 24
_MOST_HITS: Final = 12
_QUERY_CHARS: Final = 2000
# BM25: how soon more of the same word adds little; how much long items are held back.
_K, _B = 1.2, 0.4
_EXACT, _PART, _INSIDE = 3.0, 0.4, 0.25

_WIDE: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN: Final = re.compile(
    rf"([{_WIDE}]+)|((?:(?![{_WIDE}])\w)(?:(?:(?![{_WIDE}])[\w./:@\\+#-])*"
    rf"(?:(?![{_WIDE}])\w))?)"
)
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
# The number of a line, as `read_ref` shows it.
_NUMBERED: Final = re.compile(r"^\d+\t")
_STOP: Final = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "for",
        "from", "has", "have", "how", "i", "in", "is", "it", "its", "of", "on", "or",
        "that", "the", "this", "to", "was", "we", "were", "what", "when", "where",
        "which", "who", "why", "will", "with",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """One item that fits a query.

    Attributes:
        ref: opens it.
        step: its number.
        what: the call in short, or what kind of text it is.
        snippet: lines of it around what fits, in order; long ones cut.
        score: more is better; comparable within one search.
    """

    ref: str
    step: int
    what: str
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class _Text:
    """One item as text; `low` is the same in small letters, and as long.

    The first `asked` characters of it only say what was looked for.
    """

    ref: str
    step: int
    what: str
    text: str
    low: str
    asked: int = 0

    def found(self, snippet: str, score: float) -> Found:
        return Found(self.ref, self.step, self.what, snippet, round(score, 4))

    def hits(self, terms: Sequence[_Term]) -> tuple[list[float], bool]:
        """Return how often each term is there, and whether only in a question."""
        found = _hits(self.low[self.asked :], terms)
        if any(found) or not self.asked:
            return found, False
        return _hits(self.low[: self.asked], terms), True


@dataclass(frozen=True, slots=True)
class _Term:
    """What is looked for: `whole` where nothing may go on at either side of it."""

    text: str
    weight: float
    whole: bool = False
    inside: bool = False
    """It counts, less, in the middle of a word too."""


@dataclass(slots=True)
class HistoryIndex:
    """A conversation made ready for searches. Grows with it."""

    _texts: list[_Text] = field(default_factory=list)
    _steps: int = 0
    """Number of the newest step taken in; it may have grown since."""

    def extend(self, messages: Sequence[Message]) -> None:
        """Take in what is new.

        Args:
            messages: the whole transcript, oldest first; what was taken in before is
                not looked at again, but for the newest step.
        """
        while self._texts and self._texts[-1].step >= self._steps:
            self._texts.pop()
        for step in steps(messages, first=self._steps):
            self._texts += _texts(step)
            self._steps = step.number

    def search(
        self, query: str, *, max_items: int, count: Count, before: int | None = None
    ) -> list[Found]:
        """Return the items that fit best, the best first, newer ones among equals.

        Args:
            query: words in any language; names, numbers and paths as they stand.
            max_items: at most so many.
            count: tokens of a text, for the bound of a snippet.
            before: only of steps below this number.
        """
        texts = [each for each in self._texts if before is None or each.step < before]
        terms = _terms(query[:_QUERY_CHARS])
        if not texts or not terms:
            return []
        counted = [each.hits(terms) for each in texts]
        hits = [found for found, _ in counted]
        rarity = _rarity(terms, hits)
        sizes = [len(each.low) for each in texts]
        usual = sum(sizes) / len(sizes) or 1.0
        phrase = " ".join(query.lower().split())
        ranked = []
        for text, (found, is_asked), size in zip(texts, counted, sizes, strict=True):
            if not any(found):
                continue
            score = _score(terms, found, rarity, size / usual)
            if len(phrase) > 3 and phrase in text.low:
                score *= 1.5
            sure = sum(
                rarity[n] for n, term in enumerate(terms) if found[n] and _is_sure(term)
            )
            if is_asked:
                sure = _ASKED
            ranked.append((sure, score, text.step, text))
        ranked.sort(key=lambda each: each[:3], reverse=True)
        weights = [term.weight * rare for term, rare in zip(terms, rarity, strict=True)]
        best = (
            text.found(_snippet(text, terms, weights, count), sure * 100 + score)
            for sure, score, _, text in ranked
        )
        return _without_copies(best, max_items)


def search(
    messages: Sequence[Message],
    query: str,
    *,
    max_items: int,
    count: Count,
    before: int | None = None,
) -> list[Found]:
    """Search a conversation once; see `HistoryIndex.search`."""
    index = HistoryIndex()
    index.extend(messages)
    return index.search(query, max_items=max_items, count=count, before=before)


def _without_copies(best: Iterator[Found], max_items: int) -> list[Found]:
    """Return the first items; those that only show again what others do come last."""
    chosen: list[Found] = []
    copies: list[Found] = []
    shown: set[str] = set()
    for found in best:
        lines = {_NUMBERED.sub("", line) for line in found.snippet.split("\n")}
        (copies if lines <= shown else chosen).append(found)
        shown |= lines
        if len(chosen) == max_items:
            break
    return [*chosen, *copies][:max_items]


def _texts(step: Step) -> Iterator[_Text]:
    """Yield what of a step can be found: its own words, then each call."""
    own = [_words_of(block) for block in [*step.said, *step.told]]
    text = "\n".join(part for part in own if part)
    if text:
        what = "what was said" if step.number else "the first message"
        yield _Text(step.ref, step.number, what, text, _lowered(text))
    for place, call in enumerate(step.calls, 1):
        name = str(call.get("name"))
        if name in _LEFT_OUT:
            continue
        given = call.get("input")
        given = given if isinstance(given, Mapping) else {}
        result = step.result_of(place)
        answer = text_of(result.get("content") or "") if result else ""
        asked = _given(name, given)
        text = "\n".join([asked, answer])
        what, ref = short_call(name, given), f"{step.ref}.{place}"
        length = len(asked) if name in _QUESTIONS else 0
        yield _Text(ref, step.number, what, text, _lowered(text), length)


def _words_of(block: Block) -> str:
    return str(block.get("text") or block.get("thinking") or "")


def _given(name: str, given: Mapping[str, Any]) -> str:
    rows = [name]
    for key, value in given.items():
        said = value if isinstance(value, str) else encode(value).decode()
        rows.append(f"{key}: {said}")
    return "\n".join(rows)


def _lowered(text: str) -> str:
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _terms(query: str) -> list[_Term]:
    """Return what to look for, each once, the weightiest first."""
    found: dict[str, _Term] = {}
    plain: list[str] = []
    for match in _RUN.finditer(query):
        if match[1]:
            for term in _wide_terms(match[1]):
                found.setdefault(term.text, term)
        elif _is_name(match[2]):
            low = match[2].lower()
            found.setdefault(low, _Term(low, _EXACT, whole=True))
            plain += [] if low.isdigit() else _PARTS.findall(match[2])
        else:
            plain.append(match[2])
    wanted = [word for word in plain if word.lower() not in _STOP] or plain
    for word in wanted:
        stem = _stem(word.lower())
        is_part = len(wanted) > 1 and word not in query.split()
        if len(stem) > 1 or not found:
            weight = _PART if is_part else 1.0
            found.setdefault(stem, _Term(stem, weight, inside=len(stem) > 3))
    return sorted(found.values(), key=lambda term: -term.weight)[:_MOST_TERMS]


def _wide_terms(run: str) -> Iterator[_Term]:
    if len(run) == 1:
        yield _Term(run, 1.0)
        return
    if len(run) > 2:
        yield _Term(run, 1.5)
    for at in range(len(run) - 1):
        yield _Term(run[at : at + 2], 1.0)


def _is_name(word: str) -> bool:
    """Return whether a word is an id, a number, a path or a name of code."""
    return (
        any(char.isdigit() for char in word)
        or not word.isalnum()
        or re.search(r"[a-z][A-Z]", word) is not None
    )


def _is_sure(term: _Term) -> bool:
    """Return whether a term names one thing: where it stands, that is meant."""
    text = term.text
    if not term.whole:
        return False
    if text.isdigit():
        return len(text) > 2
    return any(char.isdigit() for char in text) or not text.replace("-", "").isalpha()


def _stem(word: str) -> str:
    """Return a word without an ending that another form of it may not have."""
    for ending, least in (("ies", 6), ("ing", 7), ("ed", 6), ("es", 6), ("s", 5)):
        if len(word) >= least and word.endswith(ending):
            return word[: -len(ending)]
    return word


def _hits(low: str, terms: Sequence[_Term]) -> list[float]:
    """Return how often each term is there; in part, where it is inside a word."""
    return [_count(low, term) for term in terms]


def _count(low: str, term: _Term) -> float:
    at = low.find(term.text)
    if at < 0:
        return 0.0
    if not (term.whole or term.text[0].isascii()):
        return float(min(low.count(term.text), _MOST_HITS))
    size, length = len(term.text), len(low)
    found = 0.0
    for _ in range(_MOST_HITS):
        end = at + size
        goes_on = term.whole and end < length and _is_same_word(low[end])
        if at and _is_same_word(low[at - 1]):
            found += _INSIDE if term.inside else 0.0
        elif not goes_on:
            found += 1.0
        at = low.find(term.text, end)
        if at < 0:
            break
    return found


def _is_same_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _rarity(terms: Sequence[_Term], hits: Sequence[Sequence[float]]) -> list[float]:
    total = len(hits)
    having = [sum(found[n] > 0 for found in hits) for n in range(len(terms))]
    return [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in having]


def _score(
    terms: Sequence[_Term],
    found: Sequence[float],
    rarity: Sequence[float],
    length: float,
) -> float:
    """Return the BM25 of an item, held back by the share of terms that it lacks."""
    score = there = 0.0
    norm = _K * (1 - _B + _B * length)
    for term, times, rare in zip(terms, found, rarity, strict=True):
        if times:
            score += term.weight * rare * times * (_K + 1) / (times + norm)
            there += term.weight
    return score * (0.4 + 0.6 * there / sum(term.weight for term in terms))


def _snippet(
    text: _Text, terms: Sequence[_Term], weights: Sequence[float], count: Count
) -> str:
    """Return the lines with most of what is looked for, in order."""
    lows, lines = text.low.split("\n"), text.text.split("\n")
    scored = []
    for at, low in enumerate(lows):
        score = sum(
            weight
            for term, weight in zip(terms, weights, strict=True)
            if term.text in low and _count(low, term)
        )
        if score:
            scored.append((-score, at))
    taken: dict[int, str] = {}
    left = SNIPPET_TOKENS
    for _, at in sorted(scored)[:_MOST_LINES]:
        chars = _LINE_CHARS
        line = _around(lines[at].strip(), terms, chars)
        while (cost := count(line + "\n")) > left and not taken and chars > 1:
            chars //= 2
            line = _around(lines[at].strip(), terms, chars)
        if cost <= left and line not in taken.values():
            taken[at] = line
            left -= cost
    return "\n".join(taken[at] for at in sorted(taken))


def _around(line: str, terms: Sequence[_Term], chars: int) -> str:
    """Return `line`, or what is around the weightiest term where it is longer."""
    if len(line) <= chars:
        return line
    low = _lowered(line)
    at = next((at for term in terms if (at := low.find(term.text)) >= 0), 0)
    first = safe_start(line, max(at - chars // 3, 0))
    last = safe_end(line, min(first + chars, len(line)))
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"
