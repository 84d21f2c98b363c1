"""Bound a text on its way into a context: head and tail stay, the middle is named.

Cuts are made at line ends, and within a line only where the line alone is too long;
never inside what a reader sees as one character.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.context.tokens import Count

__all__ = ["REF", "Clipped", "clip", "clip_text", "safe_end", "safe_start"]

REF: Final = "{ref}"
"""Stands in the marker for the reference of the whole text."""

HEAD_SHARE, ERROR_HEAD_SHARE = 0.6, 0.25
"""Share of the head; the end of a failed command says why it failed."""
LINE_SHARE = 0.25
"""Most that one of many lines may take, as a share of the limit."""

_SAMPLE_REF: Final = "art_0123456789ab"
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Clipped:
    """What is shown of a text.

    Attributes:
        text: the text itself, or head, marker and tail; the marker holds `{ref}`.
        was_clipped: whether anything is missing.
        full_tokens: tokens of the whole text.
        marker: where in `text` the marker is: first and one after last character.
    """

    text: str
    was_clipped: bool
    full_tokens: int
    marker: tuple[int, int] = (0, 0)

    def with_ref(self, ref: str) -> str:
        """Return the text with `ref` in the marker; braces elsewhere stay."""
        first, end = self.marker
        filled = self.text[first:end].replace(REF, ref)
        return self.text[:first] + filled + self.text[end:]


def clip(text: str, *, limit_tokens: int, is_error: bool, count: Count) -> Clipped:
    """Return `text`, or as much of its head and tail as the limit allows.

    The time is linear in the length of `text`.

    Args:
        text: any text.
        limit_tokens: most that the result may have by `count`, 0 or more; a reference
            of 16 characters in the marker is counted in.
        is_error: the tail weighs more than the head.
        count: tokens of a text; never fewer for a longer one.

    Returns:
        What is shown. Where even the marker is over the limit, that is nothing.
    """
    full = count(text)
    if full <= limit_tokens:
        return Clipped(text, was_clipped=False, full_tokens=full)
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    marker = _marker(len(lines), full)
    room = limit_tokens - _sample_count("", marker, "", count)
    share = ERROR_HEAD_SHARE if is_error else HEAD_SHARE
    for _ in range(_TRIES):
        if room <= 0:
            break
        head, tail, dropped = _ends(lines, room, share, count)
        marker = _marker(dropped, full - count(head + tail))
        if not dropped:
            head, tail = head + tail, ""
        if head and not head.endswith("\n"):
            head += "\n"
        if _sample_count(head, marker, tail, count) <= limit_tokens:
            at = len(head)
            shown = head + marker + tail
            return Clipped(shown, True, full, (at, at + len(marker)))
        # Tokens at the joints: rare, and a little less room is enough.
        room -= max(room // 8, 1)
    for marker in (_marker(len(lines), full), f"[… {REF} …]"):
        if _sample_count("", marker, "", count) <= limit_tokens:
            return Clipped(marker, True, full, (0, len(marker)))
    return Clipped("", was_clipped=True, full_tokens=full)


def clip_text(
    text: str, *, limit_tokens: int, is_error: bool, ref: str, count: Count
) -> str:
    """Return `text` clipped as by `clip`, with `ref` in its marker."""
    clipped = clip(text, limit_tokens=limit_tokens, is_error=is_error, count=count)
    return clipped.with_ref(ref)


def _marker(lines: int, tokens: int) -> str:
    what = f"{lines:,} lines" if lines else "parts of long lines"
    return f"[… {what}, about {tokens:,} tokens, left out; all of it: {REF} …]\n"


def _sample_count(head: str, marker: str, tail: str, count: Count) -> int:
    return count(head + marker.replace(REF, _SAMPLE_REF) + tail)


def _ends(
    lines: Sequence[str], room: int, share: float, count: Count
) -> tuple[str, str, int]:
    """Return head, tail, and the number of whole lines between them."""
    if len(lines) == 1:
        return _shortened(lines[0], room, count), "", 0
    head_room = int(room * share)
    tail_room = room - head_room
    line_share = max(LINE_SHARE, 1 / len(lines))
    line_room = min(int(room * line_share), head_room, tail_room)
    head = _fitting(lines, head_room, line_room, count)
    rest = lines[len(head) :]
    tail = _fitting(rest[::-1], tail_room, line_room, count)[::-1]
    return "".join(head), "".join(tail), len(rest) - len(tail)


def _fitting(
    lines: Sequence[str], room: int, line_room: int, count: Count
) -> list[str]:
    """Return the first lines that fit into `room`, long ones shortened."""
    taken: list[str] = []
    fits = 0
    while fits == len(taken) < len(lines):
        more = lines[len(taken) : 2 * len(taken) + 8]
        taken.extend(_shortened(line, line_room, count) for line in more)
        # Doubling keeps the sum of all counts linear in what is taken.
        fits = bisect_right(
            range(len(taken) + 1),
            room,
            lo=fits,
            key=lambda number: count("".join(taken[:number])),
        )
        fits = max(fits - 1, 0)
    return taken[:fits]


def _shortened(line: str, room: int, count: Count) -> str:
    """Return `line`, or its two ends where it has more than `room` tokens."""
    if 2 * len(line) <= room:
        return line
    total = count(line)
    if total <= room:
        return line
    end = "\n" if line.endswith("\n") else ""
    kept = len(line) * room // total
    while kept > 0:
        first = safe_end(line, kept * 3 // 5)
        last = safe_start(line, len(line) - len(end) - (kept - kept * 3 // 5))
        gap = f" …[{last - first:,} characters left out]… "
        shown = line[:first] + gap + line[last:]
        tokens = count(shown)
        if tokens <= room:
            return shown
        kept = min(kept * room // tokens, kept - 1)
    return end


def safe_end(text: str, at: int) -> int:
    """Return the last place, not after `at`, where `text` may be cut."""
    while 0 < at < len(text) and _is_inside(text, at):
        at -= 1
    return at


def safe_start(text: str, at: int) -> int:
    """Return the first place, not before `at`, where `text` may be cut."""
    while 0 < at < len(text) and _is_inside(text, at):
        at += 1
    return at


_JOINER = "\u200d"
_VIRAMA_CLASS = 9


def _is_inside(text: str, at: int) -> bool:
    """Return whether a cut at `at` would be inside one visible character."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        # Most text, and the only pair below: a line end of two characters.
        return before == "\r" and after == "\n"
    if _JOINER in (before, after) or _extends(after):
        return True
    if _is_flag_half(after) and _is_flag_half(before):
        return _flag_halves_before(text, at) % 2 == 1
    return _is_syllable_part(before, after)


def _extends(char: str) -> bool:
    """Return whether `char` only changes the one before it."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags, as in flags of regions
        or "\udc00" <= char <= "\udfff"  # second half of a character
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    first = at
    while first > 0 and _is_flag_half(text[first - 1]):
        first -= 1
    return at - first


def _is_syllable_part(before: str, after: str) -> bool:
    """Return whether both belong to one syllable: Korean letters, Indic conjuncts."""
    if unicodedata.combining(before) == _VIRAMA_CLASS:
        return unicodedata.category(after) == "Lo"
    is_korean = "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return is_korean and "\u1160" <= after <= "\u11ff"
