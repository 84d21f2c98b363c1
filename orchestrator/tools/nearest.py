"""Say why a text is not found in a file, so that the next try can be right.

All of it works on the lines as the agent was shown them, so that nothing else is told.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.events.diffs import same_start
from orchestrator.evidence import split_lines

__all__ = ["why_not_found"]

_SHOWN_LINES = 8
_SHOWN_CHARS = 160
_MOST_CANDIDATES = 200
_COMPARED_CHARS = 400
_LEAST_LIKENESS = 0.5
_NUMBER = re.compile(r"[ ]*\d{1,9}(?:\t|[:|] ?)|\S[^\t\n:]*[:-]\d{1,9}[:-]")
_WORD = re.compile(r"\w+")
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"'\\]")
_LOOK_ALIKES = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad")
)


@dataclass(frozen=True, slots=True)
class _Fold:
    """One way in which two texts may be the same after all."""

    reason: str
    line: Callable[[str], str]


def _blanks(line: str) -> str:
    return " ".join(line.split())


def _alike(line: str) -> str:
    return _blanks(unicodedata.normalize("NFKC", line.translate(_LOOK_ALIKES)))


def _letters(line: str) -> str:
    return "".join(_alike(line).casefold().split())


_FOLDS = (
    _Fold("white space differs", _blanks),
    _Fold("characters differ that look alike", _alike),
    _Fold("capitals or blanks within the line differ", _letters),
)


def why_not_found(lines: Sequence[str], old: str) -> str:
    """Return where the nearest place is and how it differs, in a few lines.

    Args:
        lines: of the file, as shown.
        old: what was to be found, as the model wrote it.
    """
    wanted = split_lines(old)
    if at := _find(lines, wanted):
        return (
            f"{_where(at, wanted)} read like it, but are not what is in the file: they "
            "hold characters that cannot be shown. Choose a piece without them"
        )
    numbered = [_NUMBER.sub("", line, count=1) for line in wanted]
    if numbered != wanted and (at := _find(lines, numbered)):
        return (
            f"it holds the line numbers of what was shown, which are not in the file. "
            f"Without them it is {_where(at, wanted)}"
        )
    unescaped = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], old)
    if unescaped != old and (at := _find(lines, split_lines(unescaped))):
        return (
            'it is escaped once too often (`\\n` or `\\"` as two characters); without '
            f"that it is {_where(at, split_lines(unescaped))}"
        )
    for fold in _FOLDS:
        if at := _find([fold.line(line) for line in lines], _folded(wanted, fold)):
            return f"{fold.reason}.{_differences(lines, wanted, at)}"
    closest = _closest(lines, wanted)
    if not closest:
        return "nothing in the file is like it; read the file again"
    return f"the closest is this.{_differences(lines, wanted, closest)}"


def _folded(wanted: Sequence[str], fold: _Fold) -> list[str]:
    """Return the folded lines without empty ones at the ends."""
    folded = [fold.line(line) for line in wanted]
    while folded and not folded[-1]:
        folded.pop()
    return folded


def _find(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the line, from 1, in which `wanted` begins; 0: nowhere."""
    text = "\n".join(wanted)
    if not text.strip():
        return 0
    whole = "\n".join(lines)
    at = whole.find(text)
    return whole.count("\n", 0, at) + 1 if at >= 0 else 0


def _where(first: int, wanted: Sequence[str]) -> str:
    last = first + len(wanted) - 1
    return f"lines {first}-{last}" if last > first else f"line {first}"


def _closest(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the line, from 1, at which `wanted` would begin; 0: nothing is like it."""
    anchor = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    line = wanted[anchor].strip()[:_COMPARED_CHARS]
    words = set(_WORD.findall(line))
    shared = [
        (len(words.intersection(_WORD.findall(each[:_COMPARED_CHARS]))), -at)
        for at, each in enumerate(lines)
    ]
    likely = [-at for common, at in sorted(shared, reverse=True) if common]
    matcher = difflib.SequenceMatcher(None, "", line, autojunk=False)
    best, found = _LEAST_LIKENESS, 0
    for at in likely[:_MOST_CANDIDATES]:
        matcher.set_seq1(lines[at].strip()[:_COMPARED_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, found = ratio, at + 1
    return max(found - anchor, 1) if found else 0


def _differences(lines: Sequence[str], wanted: Sequence[str], first: int) -> str:
    """Return the lines of the file, and the first that is not as it was written."""
    there = lines[first - 1 : first - 1 + max(len(wanted), 1)]
    rows = [
        f"{number}\t{_cut(line, 0)}"
        for number, line in enumerate(there[:_SHOWN_LINES], first)
    ]
    pairs = zip(there, wanted, strict=False)
    for number, (line, written) in enumerate(pairs, first):
        if written not in line:
            part = _part_like(line, written) if number == first else line
            at = same_start(part, written)
            rows += [
                f"Line {number} has {_visible(part, at)}{_named(part, at)},",
                f"not {_visible(written, at)}{_named(written, at)}.",
            ]
            break
    return "\n".join([" In the file (number, tab, line):", *rows])


def _part_like(line: str, written: str) -> str:
    """Return the line from where `written` would begin in it."""
    matcher = difflib.SequenceMatcher(
        None, line[:_COMPARED_CHARS], written[:_COMPARED_CHARS], autojunk=False
    )
    longest = matcher.find_longest_match()
    moved = line[max(longest.a - longest.b, 0) :]
    return max((line, moved), key=lambda part: same_start(part, written))


def _cut(line: str, at: int) -> str:
    start = max(at - _SHOWN_CHARS // 2, 0)
    part = line[start : start + _SHOWN_CHARS]
    left, right = "…" if start else "", "…" if start + len(part) < len(line) else ""
    return f"{left}{part}{right}"


def _visible(line: str, at: int) -> str:
    """Return a line in quotes, with everything escaped that looks like a blank."""
    shown = "".join(
        char
        if char == " " or (char.isprintable() and not unicodedata.combining(char))
        else "\\t"
        if char == "\t"
        else f"\\u{ord(char):04x}"
        for char in _cut(line, at)
    )
    return f"“{shown}”"


def _named(line: str, at: int) -> str:
    """Return the name of the character that differs, where it is not plain."""
    char = line[at : at + 1]
    if not char or (char.isascii() and char.isprintable() and char != " "):
        return ""
    name = unicodedata.name(char, "a control character")
    return f" (character {at + 1}: U+{ord(char):04X}, {name.lower()})"
