"""From a question to search terms, and from a line of text to what it holds.

Works on English, on Chinese without a dictionary (overlapping pairs of characters),
and on identifiers of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from orchestrator.models.offline import lexicon

__all__ = [
    "Bag",
    "Concept",
    "Kind",
    "concepts",
    "is_han",
    "is_question",
    "stem",
]

Kind = Literal["exact", "number", "word", "han"]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_RUN = re.compile(f"[{_HAN}]+")
# Letters of any script but Han, with the marks that some scripts set apart.
_LETTER = (
    f"(?:[^\\W\\d_{_HAN}]"
    "|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e00-\u0e7f])"
)
_WORD = re.compile(rf"{_LETTER}(?:{_LETTER}|\d|'(?=\w{{1,2}}\b))*|\d+(?:[.,]\d+)*")
# Endings of words that are not English, as their letters show; cut as a whole.
_ENDING = re.compile(r"(?:(?:en|er|es|e|n|s)|[аеёиоуыэюяйьмхв]{1,2})$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”")
# INC-2041, BP-540, read_file, limits.usd, RunLock, v2.1: one thing, not two words.
_IDENTIFIER = re.compile(
    r"[A-Za-z]+-\d[\w-]*|[A-Za-z]\w*(?:[._]\w+)+|[A-Za-z]+[a-z]\w*[A-Z]\w*|[A-Z]\d+\b"
)
# Carrier Two, Android 9: a name of several words, not at the start.
_NAME = re.compile(
    r"(?<=[a-z0-9,;:\u3400-\u9fff] )(?:[A-Z]\w+ )+(?:[A-Z]\w*|\d+)\b"
    r"|(?:^|(?<=[\u3400-\u9fff]))(?:[A-Z]\w+ )+(?:[A-Z]\w*|\d+)(?= ?[\u3400-\u9fff])"
)
# Tried in this order.
_SUFFIXES = lexicon.SUFFIXES
_SOFT_CUT = re.compile(rf"(?<=[{_HAN}]{{2}})[{lexicon.CUT_HAN}](?=[{_HAN}]{{2}})")
_ASKED = re.compile("[?？][\"'”’)）*_`\\s]*(?:</\\w+>)?\\s*$")
_MIN_STEM = 4
# How much a word of the same meaning counts: in the same language, in the other.
RELATED = 0.9
ABROAD = 0.75


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return `word` in lower case without its ending; a prefix of the word.

    Short words stay whole, so that `port` and `report` or `bus` and `business` do
    not meet.
    """
    low = word.lower()
    low = low[:-2] if low.endswith("'s") else low.replace("'", "")
    if not low.isascii():
        bare = _ENDING.sub("", low)
        return bare if len(bare) >= _MIN_STEM else low
    for suffix in _SUFFIXES:
        if low.endswith(suffix) and len(low) - len(suffix) >= _MIN_STEM:
            if low.endswith(("ss", "eed")) and suffix in ("s", "ed"):
                continue
            low = low[: -len(suffix)]
            break
    else:
        if low.endswith("s") and not low.endswith("ss") and len(low) == _MIN_STEM:
            return low[:-1]
    if low.endswith("y") and len(low) >= _MIN_STEM:
        low = low[:-1] + "i"
    if low.endswith("i") and len(low) > _MIN_STEM:
        low = low[:-1]
    if len(low) > _MIN_STEM and low[-1] == low[-2] and low[-1] not in "slf":
        return low[:-1]
    return low


@dataclass(frozen=True, slots=True)
class Bag:
    """What a stretch of text holds, ready to be asked."""

    stems: frozenset[str]
    lower: str

    @classmethod
    def of(cls, text: str) -> Bag:
        """Return the bag of `text`; names like `readFile` also count by their parts."""
        found: set[str] = set()
        for word in _WORD.findall(text.replace("_", " ")):
            found.add(stem(word))
            if not word.islower():
                parts = _HUMP.split(word)
                if len(parts) > 1:
                    found.update(stem(part) for part in parts)
        return cls(frozenset(found), text.lower())


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that a question is about."""

    label: str
    kind: Kind
    weight: float
    """0.3 for a word that says little, 1 for a word, more for exact names."""
    words: tuple[tuple[str, ...], ...] = ()
    """Stems; every stem of one entry must be there."""
    texts: tuple[str, ...] = ()
    """Lower-case substrings: exact names, Chinese words."""
    related: int = 0
    """How many of `words` and `texts`, from the end, are only related."""

    @property
    def is_weak(self) -> bool:
        """Whether it is too general to decide anything."""
        return self.weight < 0.5

    def match(self, bag: Bag) -> float:
        """Return how far `bag` holds this, from 0 to 1."""
        if self.kind in ("exact", "number"):
            alone = any(_stands_alone(text, bag.lower) for text in self.texts)
            return float(alone or any(bag.stems.issuperset(e) for e in self.words))
        is_han = self.kind == "han"
        best = _han_share(self.label, bag.lower) if is_han else 0.0
        for place, entry in enumerate(self.words):
            if bag.stems.issuperset(entry):
                best = max(best, ABROAD if is_han else RELATED if place else 1.0)
                break
        for place, text in enumerate(self.texts):
            if text in bag.lower:
                share = 1.0 if is_han and not place else RELATED if is_han else ABROAD
                return max(best, share)
        return best


def _stands_alone(text: str, lower: str) -> bool:
    at = lower.find(text)
    while at >= 0:
        before = lower[at - 1] if at else " "
        after = lower[at + len(text)] if at + len(text) < len(lower) else " "
        glued = (before.isascii() and before.isalnum() and text[0].isalnum()) or (
            after.isascii() and after.isalnum() and text[-1].isalnum()
        )
        if not glued:
            return True
        at = lower.find(text, at + 1)
    return False


def _han_share(label: str, lower: str) -> float:
    """Return the share of the characters of `label` that pairs of it cover."""
    covered = [False] * len(label)
    for at in range(len(label) - 1):
        if label[at : at + 2] in lower:
            covered[at] = covered[at + 1] = True
    hit = sum(covered)
    missed = sum(
        not here and char not in lexicon.SOFT_HAN
        for here, char in zip(covered, label, strict=True)
    )
    return hit / (hit + missed) if hit else 0.0


# ---- questions --------------------------------------------------------------------


def is_question(text: str) -> bool:
    """Return whether a line asks something, so that it is no answer."""
    return bool(_ASKED.search(text))


def is_han(text: str) -> bool:
    """Return whether a text is Chinese rather than Latin; names may be mixed in."""
    han = sum(len(run) for run in _HAN_RUN.findall(text))
    return 3 * han > sum(char.isascii() and char.isalpha() for char in text)


def concepts(question: str) -> tuple[Concept, ...]:
    """Return what `question` is about, in its order, each once."""
    found: list[Concept] = []
    rest = question
    for match in _QUOTED.finditer(question):
        text = next(group for group in match.groups() if group)
        found.append(Concept(text, "exact", 1.5, texts=(text.lower(),)))
        rest = rest.replace(match.group(0), " ")
    for match in _IDENTIFIER.finditer(rest):
        text = match.group(0)
        parts = tuple(stem(part) for part in _parts(text))
        entries = (parts,) if len(parts) > 1 and not {"-", "."} & set(text) else ()
        found.append(Concept(text, "exact", 1.4, entries, (text.lower(),)))
    rest = _IDENTIFIER.sub(" ", rest)
    for match in _NAME.finditer(rest):
        text = match.group(0)
        found.append(Concept(text, "exact", 1.3, texts=(text.lower(),)))
    rest = _NAME.sub(" ", rest)
    rest, phrases = _phrases(rest)
    found += phrases
    found += _latin(rest)
    found += _han(rest)
    return _unique(found)


def _parts(name: str) -> list[str]:
    return [
        part
        for piece in re.split(r"[._\-]", name)
        for part in _HUMP.split(piece)
        if len(part) > 1
    ]


def _unique(found: Iterable[Concept]) -> tuple[Concept, ...]:
    seen: dict[object, Concept] = {}
    for concept in found:
        key = concept.words[:1] or concept.texts[:1] or concept.label
        if key not in seen:
            seen[key] = concept
    return tuple(seen.values())


@lru_cache(maxsize=1)
def _synonyms() -> dict[tuple[str, ...], list[str]]:
    table: dict[tuple[str, ...], list[str]] = {}
    for group in lexicon.SYNONYMS:
        for form in group:
            key = _key(form)
            table.setdefault(key, []).extend(other for other in group if other != form)
    return table


def _key(form: str) -> tuple[str, ...]:
    if _HAN_RUN.search(form):
        return (form,)
    return tuple(stem(word) for word in form.split())


def _concept(label: str, kind: Kind, weight: float, key: tuple[str, ...]) -> Concept:
    related = _synonyms().get(key, [])
    words: list[tuple[str, ...]] = [] if kind == "han" else [key]
    texts: list[str] = [label] if kind == "han" else []
    for form in related:
        other = _key(form)
        if _HAN_RUN.search(form):
            texts.append(form)
        elif other not in words:
            words.append(other)
    return Concept(label, kind, weight, tuple(words), tuple(texts), len(related))


def _phrases(text: str) -> tuple[str, list[Concept]]:
    """Cut the expressions of several words that the table knows out of `text`."""
    found: list[Concept] = []
    words = list(_WORD.finditer(text))
    stems = [stem(word.group(0)) for word in words]
    at = 0
    cut = list(text)
    while at < len(words):
        for size in (3, 2):
            key = tuple(stems[at : at + size])
            if len(key) == size and key in _synonyms():
                start, end = words[at].start(), words[at + size - 1].end()
                says_little = _stems_of("STOP_WORDS") | _stems_of("WEAK_WORDS")
                weight = 0.3 if says_little.issuperset(key) else 1.1
                found.append(_concept(text[start:end], "word", weight, key))
                cut[start:end] = " " * (end - start)
                at += size - 1
                break
        at += 1
    return "".join(cut), found


@lru_cache(maxsize=2)
def _stems_of(name: Literal["STOP_WORDS", "WEAK_WORDS"]) -> frozenset[str]:
    words = lexicon.STOP_WORDS if name == "STOP_WORDS" else lexicon.WEAK_WORDS
    return frozenset(stem(word) for word in words)


def _latin(text: str) -> list[Concept]:
    found: list[Concept] = []
    weak = _stems_of("WEAK_WORDS")
    for match in _WORD.finditer(text):
        word = match.group(0)
        low = word.lower()
        if word[0].isdigit():
            found.append(Concept(word, "number", 1.1, texts=(low,)))
            continue
        if len(low) < 2 or stem(low) in _stems_of("STOP_WORDS"):
            continue
        is_name = word[0].isupper() and bool(text[: match.start()].strip())
        weight = 0.3 if stem(low) in weak else 1.15 if is_name else 1.0
        found.append(_concept(word, "word", weight, (stem(low),)))
    return found


def _han(text: str) -> list[Concept]:
    found: list[Concept] = []
    for run in _HAN_RUN.findall(text):
        left = run
        for stop in lexicon.STOP_HAN:
            left = left.replace(stop, " ")
        for piece in _SOFT_CUT.sub(" ", left).split():
            bare = _without_soft_ends(piece)
            for part in _han_parts(bare) if bare else ():
                found += _han_concept(part)
    return found


def _without_soft_ends(piece: str) -> str:
    """Return `piece` without soft characters at its ends, but with its words whole."""
    known = _known_han()
    while len(piece) > 2 and piece[-1] in lexicon.SOFT_HAN and piece[-2:] not in known:
        piece = piece[:-1]
    while len(piece) > 2 and piece[0] in lexicon.SOFT_HAN and piece[:2] not in known:
        piece = piece[1:]
    is_soft = all(char in lexicon.SOFT_HAN for char in piece)
    return "" if is_soft and piece not in known else piece


def _han_parts(piece: str) -> list[str]:
    """Return `piece`, or its parts where a known word leaves whole words beside it."""
    if piece in _known_han():
        return [piece]
    for word in _known_han():
        at = piece.find(word)
        before, after = piece[:at], piece[at + len(word) :]
        is_kind = len(before) == 1 and before in lexicon.KINDS_HAN
        if at < 0 or len(after) == 1 or (len(before) == 1 and not is_kind):
            continue
        return [
            *(_han_parts(before) if before else ()),
            word,
            *(_han_parts(after) if after else ()),
        ]
    return [piece]


def _han_concept(piece: str) -> list[Concept]:
    if len(piece) == 1:
        if piece in lexicon.SOFT_HAN:
            return []
        return [_concept(piece, "han", 0.8 if piece in _known_han() else 0.3, (piece,))]
    weight = min(0.5 + 0.25 * len(piece), 1.8)
    is_doubtful = len(piece) == 2 and not lexicon.SOFT_HAN.isdisjoint(piece)
    if piece in lexicon.WEAK_HAN or (is_doubtful and piece not in _known_han()):
        weight = 0.35
    return [_concept(piece, "han", weight, (piece,))]


@lru_cache(maxsize=1)
def _known_han() -> dict[str, None]:
    """Return the Chinese words of the lists, the longest first."""
    known = {form for group in lexicon.SYNONYMS for form in group}
    known = {form for form in known if _HAN_RUN.fullmatch(form)} | lexicon.WEAK_HAN
    return dict.fromkeys(sorted(known, key=lambda word: (-len(word), word)))
