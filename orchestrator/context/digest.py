"""What stays of a long text: a few of its own lines, those that look like no others.

A fact that matters later (an id, an error, a path, an amount, a rule) is mostly written
in words of a form that is rare where it stands. So lines are weighed by how rare the
shapes of their words are in that text; the time is linear in its length.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from orchestrator.context.tokens import Count

__all__ = ["digest"]

_CHARS_PER_TOKEN = 8  # no text is so cheap
_MOST = 64  # lines that are weighed against each other
_PIECE_SHARE = 0.8
# What occurs so often says nothing of one line.
_MOST_SIGNS = 40
_TELLING = 0.5
_LEAST = 0.1
_FORM = 0.5  # what it tells that a whole line looks like no other
_NEXT = 4.0  # how much less the next feature of a line tells
_TOLD = 0.3  # what a feature still tells once a line that has it is taken

# Before the text of a line that `read_file` or `grep` shows.
_PLACE = re.compile(r"\d+\t|[^\s:]{1,200}:\d+:")
# What they say of themselves, above and below.
_FRAME = re.compile(
    r".{1,300}: (?:all \d+ lines|lines \d+-\d+ of \d+|its only line|matching lines).*"
    r"|\[.* go on with first_line=\d+\]"
)
_WORD = re.compile(
    rb"[#$/\\~]?[aA09]+(?:[-._/\\@:+'&]+[aA09]+|(?<=[09]),(?=[09])[09]+)*|\$[aA09]*"
)
# They are everywhere in logs, and no two have one shape.
_HASH = re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}\b")
# Signs that are no words.
_FORMS: Final = {
    "amount": re.compile(
        r"[$€£¥₩] ?\d"
        r"|\d ?(?:EUR|USD|CNY|RMB|GBP|JPY|CHF|[KMGT]i?B|元|万|亿|%)(?![A-Za-z])"
    ),
    "fault": re.compile(
        r"\b(?:ERR[-_]\w|[A-Z][a-z0-9]+[A-Z]\w{0,60}(?:Error|Exception)\b)"
    ),
}
_PIECE_END = r"[.!?;,}\]>。！？；，、]"

_SIGNS: Final[dict[str, float]] = {
    **dict.fromkeys(
        [
            "error", "fail", "exception", "traceback", "fatal", "panic",
            "timeout", "refused", "denied", "abort", "critical", "错误", "失败", "异常",
            "报错", "超时", "拒绝",
        ],
        1.0,
    ),
    **dict.fromkeys(
        [
            "must not", "do not", "never ", "not allowed", "forbidden", "cannot",
            "don't", "no longer", "must ", "不得", "禁止", "不要", "不能", "严禁",
            "切勿", "不再", "务必", "必须", "不可",
        ],
        0.9,
    ),
    **dict.fromkeys(
        [
            "at most", "at least", "no more than", "limit", "maximum", "minimum",
            "exceed", "不超过", "上限", "下限", "至多", "最多", "至少", "限制",
        ],
        0.9,
    ),
    **dict.fromkeys(
        [
            "codeword", "code name", "ticket", "total", "in all", "deadline",
            "decided", "warning", "todo", "fixme", "deprecated", "password",
            "口令", "代号", "工单", "总计", "合计", "决定", "截止", "警告",
        ],
        0.6,
    ),
    "amount": 1.0,
    "fault": 1.0,
}  # fmt: skip
"""Words that point at a fact, and what one of them weighs where it is rare."""


def _classes() -> bytes:
    """Return the table from the first byte of a character to its class."""
    table = bytearray(b" " * 256)
    table[:128] = bytes(range(128))
    for first, last, name in (
        (ord("0"), ord("9"), "0"),
        (ord("A"), ord("Z"), "A"),
        (ord("a"), ord("z"), "a"),
        (0xC2, 0xC2, "$"),  # signs of currencies among them
        (0xC3, 0xDF, "a"),
        (0xE2, 0xE2, "$"),
        (0xE0, 0xE1, "h"),
        (0xE3, 0xFF, "h"),
    ):
        table[first : last + 1] = name.encode() * (last - first + 1)
    table[ord("_")] = ord("_")
    return bytes(table)


_CLASSES: Final = _classes()
_CONTINUATION: Final = bytes(range(0x80, 0xC0))


class _Line(NamedTuple):
    """A line, or a piece of a long one, and the features that it has."""

    at: int
    text: str
    features: set[bytes]


def digest(text: str, *, limit_tokens: int, count: Count) -> str:
    """Return the most telling lines of `text`, in its order, joined by line ends.

    Lines are whole and as they stand. Of lines that are too long, pieces between blanks
    or signs are taken, marked by `…` where something is left out, and only where no
    whole line is as telling.

    Args:
        text: what a tool returned; numbers that `read_file` puts before lines, and what
            it says above and below them, weigh nothing.
        limit_tokens: most that is returned, by `count`.
        count: tokens of a text.

    Returns:
        The lines; "" where none fits or the text is blank.
    """
    rows = text.split("\n")
    lines = _featured(
        [
            (at, row)
            for at, row in enumerate(rows)
            if row and not row.isspace() and not _is_frame(row, at, len(rows))
        ]
    )
    weights = _weights(lines)
    ranked = sorted(lines, key=lambda line: _value(line, weights), reverse=True)
    fitting = _priced(ranked[:_MOST], limit_tokens, count)
    best = _value(ranked[0], weights) if ranked else 0.0
    if fitting and _value(fitting[0][0], weights) >= _TELLING * best:
        return _chosen(fitting, weights, limit_tokens)
    pieces = _featured(
        _pieces([(line.at, line.text) for line in lines], limit_tokens, count)
    )
    weights = _weights(pieces)
    ranked = sorted(pieces, key=lambda line: _value(line, weights), reverse=True)
    return _chosen(_priced(ranked[:_MOST], limit_tokens, count), weights, limit_tokens)


def _featured(rows: Sequence[tuple[int, str]]) -> list[_Line]:
    """Return rows with the shapes of their words and the signs that are in them."""
    if not rows:
        return []
    texts = [text for _, text in rows]
    raw = _HASH.sub("ffffffff", "\n".join(map(_said, texts)))
    shapes = raw.encode("utf-8", "replace").translate(_CLASSES, _CONTINUATION)
    # Three digits or less are one thing, four and more another.
    shapes = shapes.replace(b"0000", b"9").replace(b"90", b"9")
    for kind in (b"9", b"0", b"a", b"A"):
        shapes = _collapsed(shapes, kind)
    shapes = shapes.replace(b"90", b"9")
    forms = shapes.split(b"\n")
    found = [set(_WORD.findall(form)) for form in forms]
    for features, form in zip(found, forms, strict=True):
        features.add(b"=" + form)
    for sign, at in _signs(raw):
        found[at].add(sign)
    return [
        _Line(at, text, features)
        for (at, text), features in zip(rows, found, strict=True)
    ]


def _is_frame(row: str, at: int, rows: int) -> bool:
    """Return whether a tool says here where the page is in its source."""
    is_edge = at == 0 or at >= rows - 2
    return is_edge and len(row) < 400 and _FRAME.fullmatch(row) is not None


def _said(row: str) -> str:
    place = _PLACE.match(row)
    return row[place.end() :] if place else row


def _collapsed(shapes: bytes, kind: bytes) -> bytes:
    """Return `shapes` with one byte for each run of `kind`."""
    for size in (16, 4, 3, 2):
        run = kind * size
        while run in shapes:
            shapes = shapes.replace(run, kind)
    return shapes


def _signs(raw: str) -> Iterable[tuple[bytes, int]]:
    """Yield the signs that are not everywhere, with the indices of their lines."""
    low = raw.lower()
    # Lowering may change lengths; such letters are not worth a slower way.
    if len(low) != len(raw):
        low = raw
    ends: list[int] = []
    for sign in _SIGNS:
        at = low.find(sign)
        if at < 0 or low.count(sign) > _MOST_SIGNS:
            continue
        ends = ends or _ends(low)
        while at >= 0:
            if _is_word(low, at, at + len(sign)):
                yield b"!" + sign.encode(), bisect_right(ends, at)
            at = low.find(sign, at + len(sign))
    for sign, form in _FORMS.items():
        for match in form.finditer(raw):
            ends = ends or _ends(low)
            yield b"!" + sign.encode(), bisect_right(ends, match.start())


def _ends(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


def _is_word(text: str, first: int, end: int) -> bool:
    """Return whether a sign is said there, and is no part of a name in code."""
    before, after = text[first - 1 : first], text[end : end + 1]
    if not text[first].isascii():
        return True
    return not (before.isalnum() or before in ("_", ".")) and after not in (
        "_",
        "(",
        "=",
    )


def _weights(lines: Sequence[_Line]) -> dict[bytes, float]:
    """Return what each feature tells, 0 to 1: the less, the more lines have it."""
    among = Counter(feature for line in lines for feature in line.features)
    scale = math.log(len(lines) + 1) or 1.0
    # A line of a form of its own tells something where others share theirs.
    forms = sum(feature.startswith(b"=") for feature in among)
    form = _FORM * (1 - forms / max(len(lines), 1))
    return {
        feature: (form if feature.startswith(b"=") else _worth(feature))
        * (1 - math.log(number) / scale) ** 3
        for feature, number in among.items()
    }


def _worth(feature: bytes) -> float:
    """Return what a feature would tell if no other line had it."""
    if feature.startswith(b"!"):
        return _SIGNS[feature[1:].decode()]
    letters = feature.count(b"a") + feature.count(b"A")
    if b"9" in feature or b"0" in feature:
        return _worth_of_digits(feature, letters)
    if b"/" in feature or b":\\" in feature:
        return 1.0 if letters > 2 else 0.5
    return (0.4 if b"A" in feature else 0.2) if letters > 1 else 0.05


def _worth_of_digits(feature: bytes, letters: int) -> float:
    if feature.startswith((b"#", b"$")):
        return 0.9
    if letters:
        return 1.0 if b"9" in feature else 0.8
    return 0.9 if b"9" in feature or len(feature) > 1 else 0.3


def _value(line: _Line, weights: Mapping[bytes, float]) -> float:
    best = second = 0.0
    for each in map(weights.__getitem__, line.features):
        if each > best:
            best, second = each, best
        elif each > second:
            second = each
    return best + second / _NEXT


def _priced(
    lines: Sequence[_Line], limit_tokens: int, count: Count
) -> list[tuple[_Line, int]]:
    """Return the lines that fit, each with its tokens."""
    short = [
        line for line in lines if len(line.text) <= limit_tokens * _CHARS_PER_TOKEN
    ]
    priced = [(line, count(line.text + "\n")) for line in short]
    return [each for each in priced if each[1] <= limit_tokens]


def _chosen(
    pool: Sequence[tuple[_Line, int]], weights: dict[bytes, float], limit_tokens: int
) -> str:
    """Return the lines of `pool` that tell most for their size, in order."""
    left = list(pool)
    taken: list[_Line] = []
    room = limit_tokens

    def density(each: tuple[_Line, int]) -> float:
        return _value(each[0], weights) / math.pow(each[1], 0.3)

    while left := [each for each in left if each[1] <= room]:
        best = max(left, key=density)
        if taken and _value(best[0], weights) <= _LEAST:
            break
        left.remove(best)
        taken.append(best[0])
        room -= best[1]
        for feature in best[0].features:
            weights[feature] *= _TOLD
    taken.sort(key=lambda line: line.at)
    return "\n".join(line.text for line in taken)


def _pieces(
    rows: Sequence[tuple[int, str]], limit_tokens: int, count: Count
) -> list[tuple[int, str]]:
    """Return long rows in pieces of less than the limit, cut at blanks and signs."""
    found: list[tuple[int, str]] = []
    for at, row in rows:
        if len(row) <= limit_tokens // 2:
            found.append((at, row))
            continue
        sample = row[:2000]
        size = int(len(sample) * limit_tokens * _PIECE_SHARE / max(count(sample), 1))
        cut = _cut(max(size - size % 4, 8))
        for match in cut.finditer(row):
            if piece := match[0].strip():
                head = "…" if match.start() else ""
                tail = "…" if match.end() < len(row) else ""
                found.append((at, f"{head}{piece}{tail}"))
    return found


@lru_cache(maxsize=64)
def _cut(most: int) -> re.Pattern[str]:
    """Return what finds pieces of at most so many characters."""
    least = max(most // 4, 4)
    return re.compile(
        rf"[^\n]{{{least},{most}}}?(?:(?<={_PIECE_END})(?=\s|[^\x00-\x7f])|$)"
        rf"|[^\n]{{1,{most}}}(?=\s|$)|[^\n]{{1,{most}}}"
    )
