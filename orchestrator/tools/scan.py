"""Search one text in this process, where that provably finds what ripgrep finds.

A `grep` in a single small file is the most frequent search, and starting a process for
it costs many times the search itself. So patterns of a small common core of both regex
dialects are matched here, and everything else goes to ripgrep. The core leaves out
whatever the dialects read differently (braces that are no counts, possessive and
stacked quantifiers, nested classes, rarer escapes), whatever depends on Unicode tables
unless the text is ASCII, and whatever lets a backtracking engine take long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Hit", "Scan", "simple_scan"]

MAX_LITERAL_CHARS = 1_000_000
MAX_REGEX_CHARS = 48_000
_MAX_PATTERN_CHARS = 300
_MAX_COUNT = 20
_MAX_COUNTED = 2
_MAX_LINE_CHARS = 400  # where a quantifier without bound is used

_SPECIAL = frozenset("\\.^$|()[]{}*+?")
_ESCAPABLE = frozenset("\\.^$|()[]{}*+?-/#&~")
_COUNT = re.compile(r"\{(\d{1,2})(?:(,)(\d{1,2})?)?\}")
_CLASS_CHAR = re.compile(r"[^\[\]\\^&~\-\x00-\x1f\x7f]")
_SETS = {"d": r"\d", "w": r"\w", "s": r"[^\S\n]"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One line with a match, or a context line.

    Attributes:
        line: number of the line, from 1.
        at: index of the match in the line, in characters; -1 for a context line.
        text: the line, without its end.
    """

    line: int
    at: int
    text: str


class _NotSimple(Exception):
    """The pattern is outside the common core."""


@dataclass(slots=True)
class _Alternative:
    regex: str = ""
    literal: str | None = ""
    """The whole alternative, if it is nothing but text."""
    prefix: int = 0
    """Characters of text that it starts with."""
    unbounded: int = 0
    counted: int = 0


@dataclass(slots=True)
class _Parser:
    """Reads a pattern of the core and writes it for Python.

    No class of the written pattern matches a line end, so that a match stays in its
    line.
    """

    pattern: str
    at: int = 0
    needs_ascii: bool = False

    def alternatives(self, *, inside: bool = False) -> list[_Alternative]:
        found = [self._alternative(inside=inside)]
        while self._peek() == "|":
            self.at += 1
            found.append(self._alternative(inside=inside))
        if self.at < len(self.pattern) and not inside:
            raise _NotSimple
        return found

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _alternative(self, *, inside: bool) -> _Alternative:
        found = _Alternative()
        items = 0
        if self._peek() == "^":
            self.at += 1
            found.regex, found.literal = "^", None
        while (char := self._peek()) and char != "|" and not (inside and char == ")"):
            if char == "$":
                self.at += 1
                if self._peek() not in ("", "|", ")"):
                    raise _NotSimple
                found.regex += "$"
                found.literal = None
                break
            self._item(found, char, inside=inside)
            items += 1
        if not items:
            raise _NotSimple  # empty alternatives are rare and easy to get wrong
        return found

    def _item(self, found: _Alternative, char: str, *, inside: bool) -> None:
        if char == "(":
            if inside:
                raise _NotSimple
            self._group(found)
            return
        atom, text = self._atom(char)
        quantifier = "" if atom == r"\b" else self._quantifier(found)
        if quantifier or text is None:
            found.literal = None
        elif found.literal is not None:
            found.literal += text
            found.prefix = len(found.literal)
        found.regex += atom + quantifier

    def _group(self, found: _Alternative) -> None:
        self.at += 1
        if self.pattern.startswith("?:", self.at):
            self.at += 2
        inner = self.alternatives(inside=True)
        if self._peek() != ")" or any(part.unbounded for part in inner):
            raise _NotSimple
        self.at += 1
        if self._peek() and self._peek() in "?*+{":
            raise _NotSimple
        found.literal = None
        found.counted += sum(part.counted for part in inner)
        found.regex += f"(?:{'|'.join(part.regex for part in inner)})"

    def _atom(self, char: str) -> tuple[str, str | None]:
        """Return one atom for Python, and its text if it is a plain character."""
        self.at += 1
        if char == ".":
            return ".", None
        if char == "[":
            return self._class(), None
        if char == "\\":
            escaped = self._peek()
            self.at += 1
            if escaped in _ESCAPABLE and escaped:
                return re.escape(escaped), escaped
            self.needs_ascii = True
            if escaped == "b":
                return r"\b", None
            if escaped in _SETS and escaped:
                return _SETS[escaped], None
            raise _NotSimple
        if char in _SPECIAL or char < " " or char == "\x7f":
            raise _NotSimple
        return re.escape(char), char

    def _class(self) -> str:
        negated = self._peek() == "^"
        self.at += negated
        inside = ""
        while (char := self._peek()) != "]":
            if char == "\\":
                char = self.pattern[self.at + 1 : self.at + 2]
                if char in _SETS and char:
                    raise _NotSimple
                if char not in _ESCAPABLE or not char:
                    raise _NotSimple
                self.at += 2
            elif char and _CLASS_CHAR.fullmatch(char):
                self.at += 1
            else:
                raise _NotSimple
            inside += re.escape(char)
            inside += self._range(char)
        self.at += 1
        if not inside:
            raise _NotSimple
        return f"[^{inside}\\n]" if negated else f"[{inside}]"

    def _range(self, first: str) -> str:
        if self._peek() != "-":
            return ""
        last = self.pattern[self.at + 1 : self.at + 2]
        if not (first.isascii() and first.isalnum() and last.isascii()):
            raise _NotSimple
        if not last.isalnum() or last < first:
            raise _NotSimple
        self.at += 2
        if self._peek() == "-":
            raise _NotSimple
        return f"-{last}"

    def _quantifier(self, found: _Alternative) -> str:
        char = self._peek()
        if not char or char not in "?*+{":
            return ""
        if char == "{":
            match = _COUNT.match(self.pattern, self.at)
            if match is None:
                raise _NotSimple
            least, comma, most = match.groups()
            if int(most or least) > _MAX_COUNT or int(least) > int(most or least):
                raise _NotSimple
            quantifier = match[0]
            found.unbounded += bool(comma and not most)
            found.counted += 1
        else:
            quantifier = char
            found.unbounded += char != "?"
        self.at += len(quantifier)
        if self._peek() == "?":  # lazy: the same lines match
            self.at += 1
        if self._peek() and self._peek() in "?*+{":
            raise _NotSimple
        return quantifier


@dataclass(frozen=True, slots=True)
class Scan:
    """A pattern of the common core, ready to search texts."""

    literals: tuple[str, ...]
    regex: re.Pattern[str] = field(repr=False)
    needs_ascii: bool
    has_unbounded: bool
    folds_case: bool

    def fits(self, text: str) -> bool:
        """Return whether this finds in `text` what ripgrep finds, and as cheaply."""
        if "\0" in text or "\r" in text or "\ufffd" in text or "\ufeff" in text:
            return False
        if self.needs_ascii and not text.isascii():
            return False
        if self.literals:
            return len(text) <= MAX_LITERAL_CHARS
        return len(text) <= MAX_REGEX_CHARS and not (
            self.has_unbounded
            and max(map(len, text.split("\n")), default=0) > _MAX_LINE_CHARS
        )

    def hits(self, text: str, *, context_lines: int = 0) -> Iterator[Hit]:
        """Yield matching lines in order, with `context_lines` around each."""
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        found = self._by_text(text) if self.literals else self._by_regex(text)
        shown = 0  # lines up to this one are out already
        held: tuple[int, int] | None = None
        for line, at in [*found, (len(lines) + 1 + 2 * context_lines, -1)]:
            if held is not None:
                last = min(held[0] + context_lines, line - 1, len(lines))
                yield Hit(held[0], held[1], lines[held[0] - 1])
                yield from (
                    Hit(n, -1, lines[n - 1]) for n in range(held[0] + 1, last + 1)
                )
                shown = max(last, held[0])
            if line <= len(lines):
                first = max(line - context_lines, shown + 1)
                yield from (Hit(n, -1, lines[n - 1]) for n in range(first, line))
            held = (line, at)

    def _by_text(self, text: str) -> Iterator[tuple[int, int]]:
        searched = text.lower() if self.folds_case else text
        starts = [0]
        found: dict[int, int] = {}
        for literal in self.literals:
            at = searched.find(literal)
            while at >= 0:
                start = searched.rfind("\n", 0, at) + 1
                found[start] = min(found.get(start, at - start), at - start)
                end = searched.find("\n", at)
                if end < 0:
                    break
                at = searched.find(literal, end + 1)
        line = 1
        for start in sorted(found):
            line += text.count("\n", starts[0], start)
            starts[0] = start
            yield line, found[start]

    def _by_regex(self, text: str) -> Iterator[tuple[int, int]]:
        line, counted, position = 1, 0, 0
        end = len(text) - text.endswith("\n")
        while position <= end and (match := self.regex.search(text, position)):
            at = match.start()
            if at > end or not text:
                break
            start = text.rfind("\n", 0, at) + 1
            line += text.count("\n", counted, start)
            counted = start
            yield line, at - start
            after = text.find("\n", at)
            if after < 0:
                break
            position = after + 1


def simple_scan(pattern: str) -> Scan | None:
    """Return a scan for `pattern`, or None if only ripgrep may search it."""
    if len(pattern) > _MAX_PATTERN_CHARS:
        return None
    folds_case = pattern.startswith("(?i)")
    bare = pattern.removeprefix("(?i)")
    parser = _Parser(bare, needs_ascii=folds_case)
    try:
        found = parser.alternatives()
    except _NotSimple:
        return None
    if folds_case and not bare.isascii():
        return None
    has_unbounded = any(part.unbounded for part in found)
    for part in found:
        if part.unbounded > 1 or part.counted > _MAX_COUNTED:
            return None
        if part.unbounded and part.prefix < 2:
            return None  # it would be tried at every character
    literals = tuple(
        part.literal.lower() if folds_case else part.literal
        for part in found
        if part.literal
    )
    flags = re.MULTILINE
    flags |= re.ASCII if parser.needs_ascii else re.NOFLAG
    flags |= re.IGNORECASE if folds_case else re.NOFLAG
    return Scan(
        literals if len(literals) == len(found) else (),
        re.compile("|".join(part.regex for part in found), flags),
        parser.needs_ascii,
        has_unbounded,
        folds_case,
    )
