"""What two texts differ in, line by line, in a time that long texts do not blow up."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["NO_END", "Diff", "diff", "same_start"]

NO_END = "\\ No newline at end of file"
_CONTEXT = 3
# Beyond this the lines in between count as replaced as a whole: to compare them could
# take minutes.
_MOST_PAIRS = 4_000_000

_Code = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Diff:
    """The changed places, as in a unified diff without the names of the files.

    Attributes:
        rows: each place begins with its `@@` row; others begin with ` `, `-`, `+` or
            are `NO_END`.
        added: number of lines that are new.
        removed: number of lines that are gone.
    """

    rows: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0


def diff(before: str, after: str, *, context: int = _CONTEXT) -> Diff:
    """Return what has to be done with `before` to get `after`.

    Args:
        before: lines that end at LF or CR LF.
        after: likewise.
        context: lines around each place.
    """
    old, new = _lines(before), _lines(after)
    rows: list[str] = []
    added = removed = 0
    for group in _groups(old, new, context):
        (_, i, _, k, _), (_, _, j, _, m) = group[0], group[-1]
        rows.append(f"@@ -{_range(i, j)} +{_range(k, m)} @@")
        for tag, first, last, start, end in group:
            if tag == "equal":
                rows += [f" {line}" for line in old[first:last]]
                continue
            removed += last - first
            added += end - start
            rows += [f"-{line}" for line in old[first:last]]
            rows += [f"+{line}" for line in new[start:end]]
    return Diff(tuple(part for row in rows for part in row.split("\n")), added, removed)


def _lines(text: str) -> list[str]:
    """Return the lines of a text; the last one tells where it has no end."""
    *lines, rest = text.replace("\r\n", "\n").split("\n")
    return [*lines, f"{rest}\n{NO_END}"] if rest else lines


def _groups(
    old: Sequence[str], new: Sequence[str], context: int
) -> list[tuple[_Code, ...]]:
    """Return the changes as `difflib` does, near ones together with what is around."""
    head = same_start(old, new)
    tail = same_start(old[head:][::-1], new[head:][::-1])
    if head == len(old) == len(new):
        return []
    # What is the same at both ends is not compared again, but for what is shown of it.
    at = max(head - context, 0)
    cut = max(tail - context, 0)
    a, b = old[at : len(old) - cut], new[at : len(new) - cut]
    if len(a) * len(b) > _MOST_PAIRS:
        before, after = head - at, tail - cut
        whole: list[tuple[_Code, ...]] = [
            (
                ("equal", 0, before, 0, before),
                ("replace", before, len(a) - after, before, len(b) - after),
                ("equal", len(a) - after, len(a), len(b) - after, len(b)),
            )
        ]
    else:
        matcher = difflib.SequenceMatcher(None, a, b)
        whole = [tuple(group) for group in matcher.get_grouped_opcodes(context)]
    return [
        tuple((tag, i + at, j + at, k + at, m + at) for tag, i, j, k, m in group)
        for group in whole
    ]


def same_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines, or characters of texts, are the same from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next(
        (place for place, (left, right) in pairs if left != right),
        min(len(one), len(other)),
    )


def _range(start: int, end: int) -> str:
    """Return lines as a unified diff names them; of none, the one before them."""
    length = end - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"
