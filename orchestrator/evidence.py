"""Where a claim comes from: sources, quotes and citations, checked by the program.

A quote that is found shows that the words stand there, not that the claim is true.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "MIN_LINE_CHARS",
    "MIN_QUOTE_CHARS",
    "NEAR_LINES",
    "Citation",
    "FoldedText",
    "Found",
    "Source",
    "citations",
    "find_quote",
    "fold",
    "parse_source",
    "quote_problem",
    "split_lines",
]

MIN_QUOTE_CHARS = 20
MIN_LINE_CHARS = 4
"""A quote shorter than `MIN_QUOTE_CHARS` must be one or more whole lines."""
NEAR_LINES = 3
"""A quote this close to the lines given is where it was said to be."""

MAX_ITEMS_OF_A_RANGE = 20

_LINES = re.compile(
    r"(?P<target>.+?)(?::|\uff1a|#(?=L))L?(?P<first>\d{1,9})"
    r"(?:\s?[-–—~]\s?L?(?P<last>\d{1,9}))?",
    re.DOTALL,
)
_HOST_OF = re.compile(r"[A-Za-z][\w+.-]*://[^/?#:]*(?:\[[^\]]*\])?")
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_CJK_CHAR = re.compile(f"[{_CJK}]")
_CJK_GAP = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")

# What `read_file` and `grep` put before a line; models copy it along.
_PREFIXES = (
    re.compile(r"[ ]*\d{1,9}(?:\t|:[ \t]?|\|[ ]?|[ ]{2,})"),
    re.compile(r"\S[^\t\n:]*[:-]\d{1,9}[:-]"),
)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BRACKET = re.compile(r"\[((?:[^\[\]\n]++|\[[^\[\]\n]*+\])++)\]")
_SEPARATOR = re.compile(r"\s*[,;\uff0c\uff1b、]\s*")
_FINDING = re.compile(r"(a[1-9]\d{0,5})#(\d{1,6})(?:-#?(\d{1,6}))?")
_MORE_LINES = re.compile(r"L?(\d{1,9})(?:[-–—]L?(\d{1,9}))?")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NAME = re.compile(r"[A-Z][A-Za-z_-]{3,}|art_[0-9a-f]{6,64}")
_HOST = re.compile(
    r"(?:[\w-]+\.)+(?:com|org|net|dev|cn|edu|gov|local|internal|localhost)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A place: a path, a URL or a reference, and perhaps its lines, from 1."""

    target: str
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        if self.first is None:
            return self.target
        if self.last is None or self.last == self.first:
            return f"{self.target}:{self.first}"
        return f"{self.target}:{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Found:
    """Lines, from 1, first and last included, where a quote stands."""

    first: int
    last: int

    def distance(self, lines: tuple[int, int]) -> int:
        """Return how many lines lie between this and `lines`; 0 where they meet."""
        return max(self.first - lines[1], lines[0] - self.last, 0)


@dataclass(frozen=True, slots=True)
class Citation:
    """One place that a report cites: lines of a file, or an item of findings.

    Attributes:
        text: as written, without the brackets.
        start: where the bracket opens in the report, from 0.
        end: just behind the closing bracket.
        target: path or reference; "" for an item of findings.
        first: first line, from 1; 0 for an item.
        last: last line; 0 for an item.
        agent: whose findings; "" for a path.
        item: number of the item, from 1; 0 for a path.
    """

    text: str
    start: int
    end: int
    target: str = ""
    first: int = 0
    last: int = 0
    agent: str = ""
    item: int = 0


def parse_source(source: str) -> Source:
    """Split `(path|art_…|URL)[:first[-last]]`, read from the right.

    Drive letters, ports and colons or dashes in names stay with the target. Quotes,
    back-quotes and square brackets around the whole are dropped; lines given
    backwards are turned.
    """
    bare = source.strip().strip("`'\"").strip()
    if bare.startswith("[") and bare.endswith("]"):
        bare = bare[1:-1].strip().strip("`")
    match = _LINES.fullmatch(bare)
    if match is None or (match["last"] is None and _HOST_OF.fullmatch(match["target"])):
        return Source(bare)  # a host and its port have no lines
    first = max(int(match["first"]), 1)
    last = max(int(match["last"] or first), 1)
    return Source(
        match["target"].rstrip().strip("`"), min(first, last), max(first, last)
    )


def fold(text: str) -> str:
    """Return `text` with white space folded to single spaces, and none at the ends.

    Beside Chinese, Japanese and Korean characters white space is dropped, since lines
    of such text are broken anywhere.
    """
    folded = " ".join(text.split())
    return folded if folded.isascii() else _CJK_GAP.sub("", folded)


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` as they are numbered for agents, without their ends.

    Only LF, CR LF and CR end a line, as in editors and in ripgrep.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


class FoldedText:
    """A text prepared for looking up many quotes, in time linear in its length."""

    def __init__(self, text: str) -> None:
        self._lines: list[str] = []
        self._numbers: list[int] = []
        self._starts: list[int] = []
        pieces: list[str] = []
        at, glued = 0, True
        for number, line in enumerate(split_lines(text), 1):
            folded = fold(line)
            if not folded:
                continue
            if not (glued or _CJK_CHAR.match(folded)):
                pieces.append(" ")
                at += 1
            self._lines.append(folded)
            self._numbers.append(number)
            self._starts.append(at)
            pieces.append(folded)
            at += len(folded)
            glued = bool(_CJK_CHAR.match(folded[-1]))
        self._text = "".join(pieces)
        self._reversed: str | None = None

    def find(self, quote: str, near: tuple[int, int] | None = None) -> Found | None:
        """Return where `quote` stands, the place closest to the lines `near`."""
        for form in _forms(quote):
            folded = fold(form)
            if len(folded) >= MIN_QUOTE_CHARS:
                found = self._find_long(folded, near)
            elif len(folded) >= MIN_LINE_CHARS:
                found = self._find_whole_lines(form, near)
            else:
                found = None
            if found is not None:
                return found
        return None

    def _find_long(self, folded: str, near: tuple[int, int] | None) -> Found | None:
        if near is None:
            at = self._text.find(folded)
            return None if at < 0 else self._place(at, len(folded))
        index = bisect_right(self._numbers, near[0] - 1)
        start = self._starts[index] if index < len(self._starts) else len(self._text)
        places = []
        after = self._text.find(folded, start)
        if after >= 0:
            places.append(self._place(after, len(folded)))
        before = self._last_before(folded, start)
        if before >= 0:
            places.append(self._place(before, len(folded)))
        return min(places, key=lambda place: place.distance(near), default=None)

    def _last_before(self, folded: str, start: int) -> int:
        # Searched in the reversed text: `str.find` is linear at worst, `str.rfind`
        # is not.
        if self._reversed is None:
            self._reversed = self._text[::-1]
        end = min(start + len(folded) - 1, len(self._text))
        at = self._reversed.find(folded[::-1], len(self._text) - end)
        return -1 if at < 0 else len(self._text) - at - len(folded)

    def _find_whole_lines(
        self, quote: str, near: tuple[int, int] | None
    ) -> Found | None:
        wanted = [line for line in map(fold, split_lines(quote)) if line]
        size = len(wanted)
        hits = [
            index
            for index, line in enumerate(self._lines)
            if line == wanted[0]
            and (size == 1 or self._lines[index : index + size] == wanted)
        ]
        if near is not None:
            after = bisect_left(hits, bisect_left(self._numbers, near[0]))
            hits = hits[max(after - 1, 0) : after + 1]
        places = [
            Found(self._numbers[index], self._numbers[index + size - 1])
            for index in hits[:2]
        ]
        if near is None:
            return places[0] if places else None
        return min(places, key=lambda place: place.distance(near), default=None)

    def _place(self, at: int, length: int) -> Found:
        first = bisect_right(self._starts, at) - 1
        last = bisect_right(self._starts, at + length - 1) - 1
        return Found(self._numbers[first], self._numbers[last])


def find_quote(
    quote: str, text: str | FoldedText, near: tuple[int, int] | None = None
) -> Found | None:
    """Return where `quote` stands in `text`, or None.

    White space is folded, and line numbers or paths that `read_file` and `grep` put
    before lines are forgiven. A quote under `MIN_QUOTE_CHARS` is found only where it
    is whole lines.

    Args:
        quote: as a model copied it.
        text: where to look; a `FoldedText` for many quotes.
        near: lines, from 1, that are preferred where the quote stands more than once.
    """
    folded = text if isinstance(text, FoldedText) else FoldedText(text)
    return folded.find(quote, near)


def quote_problem(quote: str, text: str | FoldedText) -> str:
    """Return why `quote` is too short to show anything, or "".

    Shorter than `MIN_QUOTE_CHARS` is right only for whole lines of `text` with
    `MIN_LINE_CHARS` or more.
    """
    lengths = [len(fold(form)) for form in _forms(quote)]
    # The bare form decides: a copied path or number does not make a quote longer.
    length = lengths[-1]
    if length >= MIN_QUOTE_CHARS:
        return ""
    if length == 0:
        return "the quote is empty"
    if length >= MIN_LINE_CHARS and find_quote(quote, text) is not None:
        return ""
    return (
        f"the quote has {length} characters; it needs at least {MIN_QUOTE_CHARS}, "
        f"or one whole line of {MIN_LINE_CHARS} or more"
    )


def _forms(quote: str) -> list[str]:
    """Return `quote` as it is, and without copied prefixes where all lines have one."""
    forms = [quote]
    lines = [line for line in split_lines(quote) if line.strip()]
    for prefix in _PREFIXES:
        matches = [prefix.match(line) for line in lines]
        if lines and all(matches):
            bare = [
                line[m.end() :] for line, m in zip(lines, matches, strict=True) if m
            ]
            if any(line.strip() for line in bare):
                forms.append("\n".join(bare))
    return forms


def citations(report: str) -> list[Citation]:
    """Return the places that `report` cites, in order.

    `[path:12-14]`, `[path:12]`, `[a2#3]`, and several in one bracket. Slices, times,
    ports and Markdown links are no citations, and nothing in a fenced block is.
    """
    found: list[Citation] = []
    for start, line in _prose(report):
        found.extend(_citations_of(line, start))
    return found


def _prose(report: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of each line outside fenced blocks."""
    fence, at = "", 0
    for line in report.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            yield at, line
        at += len(line) + 1


def _citations_of(line: str, offset: int) -> Iterator[Citation]:
    at = 0
    while (match := _BRACKET.search(line, at)) is not None:
        found = [] if _is_code_or_link(line, match) else list(_pieces(match, offset))
        yield from found
        at = match.end() if found or "[" not in match[1] else match.start() + 1


def _is_code_or_link(line: str, match: re.Match[str]) -> bool:
    if line[match.end() : match.end() + 1] == "(":
        return True
    before = line[match.start() - 1 : match.start()] if match.start() else ""
    if not (before.isascii() and (before.isalnum() or before == "_")):
        return False
    inner = _SEPARATOR.split(match[1])[0].strip()
    if _FINDING.fullmatch(inner):
        return False
    target = parse_source(inner).target
    return not ("/" in target or _EXTENSION.search(target))


def _pieces(match: re.Match[str], offset: int) -> Iterator[Citation]:
    start, end, path = offset + match.start(), offset + match.end(), ""
    for raw in _split(match[1].strip()):
        piece = raw.strip().strip("`")
        item = _FINDING.fullmatch(piece)
        if item is not None:
            low, high = int(item[2]), int(item[3] or item[2])
            for number in range(low, min(high, low + MAX_ITEMS_OF_A_RANGE) + 1):
                yield Citation(piece, start, end, agent=item[1], item=number)
            continue
        more = _MORE_LINES.fullmatch(piece)
        source = parse_source(f"{path}:{piece}" if more and path else piece)
        if source.first is None or not _is_target(source.target):
            continue
        path = source.target
        yield Citation(
            piece, start, end, path, source.first, source.last or source.first
        )


def _split(inside: str) -> list[str]:
    """Return the places in a bracket; a comma in an address is part of it."""
    first, *rest = re.split(f"({_SEPARATOR.pattern})", inside)
    pieces = [first]
    for between, piece in zip(rest[::2], rest[1::2], strict=True):
        is_open = "://" in pieces[-1] and parse_source(pieces[-1]).first is None
        if is_open and between in (",", ";"):
            pieces[-1] += between + piece
        else:
            pieces.append(piece)
    return pieces


def _is_target(target: str) -> bool:
    """Tell whether `target` looks like a file or reference, not a word or a time."""
    if not re.search(r"[^\W\d_]", target) or re.search(r"(?:^|\s)\d+$", target):
        return False
    if "/" in target:
        return True
    if _HOST.fullmatch(target):
        return False
    return bool(
        _EXTENSION.search(target) or target.startswith(".") or _NAME.fullmatch(target)
    )
