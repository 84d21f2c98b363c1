"""Text for a terminal: safe, in columns, coloured only where that is wanted.

Whatever comes from a run is data. Before it is printed, everything that a terminal
would obey or that reorders text is replaced by something visible.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from contextlib import suppress
from datetime import datetime
from typing import Any, TextIO

import orjson

__all__ = [
    "LABEL_COLUMNS",
    "Style",
    "age",
    "clock_time",
    "cut",
    "dollars",
    "fill",
    "is_terminal",
    "json_text",
    "label",
    "pad",
    "print_json",
    "row",
    "safe",
    "safe_lines",
    "silence",
    "state_color",
    "terminal_width",
    "uses_color",
    "width",
]

MAX_WIDTH = 120
LABEL_COLUMNS = 12
"""Of what stands before each row of a summary."""

# C0 and C1 controls (ESC, BEL, CSI, OSC …), line and paragraph separators, bidi marks,
# overrides and isolates, interlinear marks, tag characters, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# Takes one column a character: the common case, found out at once.
_NARROW = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u03ff\u0400-\u0482\u2010-\u2027"
    "\u2030-\u205e\u2190-\u21ff\u2400-\u2426\u2500-\u25fc\u2713\u2717]*"
)
# Zero-width marks and joiners, selectors of a variant, skin tones, keycaps, fillers:
# terminals do not agree on what room a text takes with them.
_MERGING = re.compile(
    "[\u00ad\u034f\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200d\u20dd-\u20e4"
    "\u2060-\u2065\u3164\ufe00-\ufe0f\ufeff\uffa0\U0001f3fb-\U0001f3ff"
    "\U000e0100-\U000e01ef]"
)
MAX_MARKS = 2
"""Marks that stand on one letter; more are there to spill over the lines around."""
MAX_LABEL_CHARS = 500
_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_STATE_COLORS = {
    "complete": "green",
    "done": "green",
    "running": "cyan",
    "submitted": "green",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "limit": "yellow",
    "none found": "yellow",
    "parked": "yellow",
    "partial": "yellow",
    "paused": "yellow",
    "stalled": "yellow",
    "unvalidated": "yellow",
    "crashed": "red",
    "failed": "red",
    "unreadable": "red",
    "waiting": "dim",
}


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def safe_lines(text: str) -> str:
    """Return `text` with line ends and tabs kept and all else made harmless.

    Control characters become their pictures (ESC: `␛`), marks that reorder text become
    `<U+202E>`.
    """
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def safe(text: str) -> str:
    """Return `text` on one line, harmless: blanks folded, see `safe_lines`."""
    return safe_lines(" ".join(text.split()))


@functools.lru_cache(maxsize=4096)
def label(text: str) -> str:
    """Return `text` as `safe` does, for a place in a picture that must not be moved.

    What terminals give different room is left out: joiners, variants, heaps of marks.
    """
    plain = safe(text[:MAX_LABEL_CHARS])
    if _NARROW.fullmatch(plain):
        return plain
    kept: list[str] = []
    marks = 0
    for char in _MERGING.sub("", plain):
        is_mark = unicodedata.category(char) in ("Mn", "Me", "Cf")
        marks = marks + 1 if is_mark else 0
        if marks <= MAX_MARKS and (kept or not is_mark):
            kept.append(char)
    return "".join(kept)


def is_terminal(stream: TextIO | None = None) -> bool:
    """Return whether `stream` (default: stdout) is a terminal."""
    target = sys.stdout if stream is None else stream
    return target.isatty()


def uses_color(stream: TextIO | None = None) -> bool:
    """Return whether to colour what goes to `stream`: a terminal, no `NO_COLOR`."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


class Style:
    """Colours, or none: `style("text", "red", "bold")`."""

    def __init__(self, is_on: bool | None = None) -> None:
        self.is_on = uses_color() if is_on is None else is_on

    def __call__(self, text: str, *names: str) -> str:
        """Return `text` in the given colours; names of "" are passed over."""
        codes = ";".join(_CODES[name] for name in names if name)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.is_on and codes and text else text


def state_color(word: str) -> str:
    """Return the colour of a state of a run or an agent, or ""."""
    return _STATE_COLORS.get(word, "")


def terminal_width() -> int:
    """Return the columns to fill: the terminal's, from 40 to 120; 80 elsewhere."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, 40), MAX_WIDTH)


def width(text: str) -> int:
    """Return the columns that `text` takes; wide characters count two."""
    if _NARROW.fullmatch(text):
        return len(text)
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def cut(text: str, columns: int) -> str:
    """Return `text` in at most `columns` columns; a cut one ends with `…`."""
    if width(text) <= columns:
        return text
    if columns <= 0:
        return ""
    used, kept = 0, []
    for char in text:
        used += width(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Return `text` in exactly `columns` columns; `right` aligns it there."""
    shown = cut(text, columns)
    blanks = " " * (columns - width(shown))
    return blanks + shown if right else shown + blanks


def fill(text: str, *, indent: str = "", first: str | None = None) -> str:
    """Return `text` wrapped to the terminal, later lines indented.

    Args:
        text: one paragraph, already safe.
        indent: before every line but the first.
        first: before the first line; None: as `indent`.
    """
    start = indent if first is None else first
    columns = terminal_width()
    if text.isascii():
        return textwrap.fill(
            text,
            columns,
            initial_indent=start,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    lines, line, is_empty = [], start, True
    for word in text.split(" "):
        for piece in _pieces(word, columns - width(indent)):
            gap = "" if is_empty else " "
            if not is_empty and width(line) + width(gap + piece) > columns:
                lines.append(line)
                line, gap = indent, ""
            line, is_empty = line + gap + piece, False
    return "\n".join([*lines, line])


def _pieces(word: str, columns: int) -> list[str]:
    """Split a word that is longer than a line, as Chinese sentences are."""
    pieces, piece = [], ""
    for char in word:
        if piece and width(piece + char) > max(columns, 8):
            pieces.append(piece)
            piece = ""
        piece += char
    return [*pieces, piece]


def row(label: str, text: str) -> str:
    """Return `text`, already safe, wrapped to the terminal beside its label."""
    return fill(text, indent=" " * LABEL_COLUMNS, first=pad(label, LABEL_COLUMNS))


def dollars(usd: float | None) -> str:
    """Return dollars in a short form: `0`, `0.0003`, `0.031`, `1.24`; `?`: unknown."""
    if usd is None:
        return "?"
    digits = 0 if usd == 0 else 4 if usd < 0.001 else 3 if usd < 0.0995 else 2
    return f"{usd:.{digits}f}"


def age(since: datetime, now: datetime) -> str:
    """Return how long ago `since` was: `just now`, `3 min`, `2 h`, `5 d`."""
    seconds = (now - since).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "just now"


def clock_time(at: datetime | None, *, with_date: bool = False) -> str:
    """Return a time as the clock on the wall shows it here."""
    if at is None:
        return "--:--:--"
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S" if with_date else "%H:%M:%S")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def json_text(value: Any, *, is_line: bool = False) -> str:  # noqa: ANN401 - any JSON value
    """Return `value` as JSON in which everything that a terminal would obey is escaped.

    Args:
        value: what JSON can hold.
        is_line: all on one line, for streams of them.
    """
    text = orjson.dumps(value, option=0 if is_line else orjson.OPT_INDENT_2).decode()
    # Line ends stand only between JSON tokens here, since those inside are escaped.
    return "\n".join(_UNSAFE.sub(_escaped, part) for part in text.split("\n"))


def print_json(value: Any, *, is_line: bool = False) -> None:  # noqa: ANN401 - any JSON value
    """Print `value` on stdout, see `json_text`; lines of a stream go out at once."""
    print(json_text(value, is_line=is_line), flush=is_line)


def silence(stream: TextIO) -> None:
    """Let further output to `stream` vanish: whoever read it has gone."""
    with suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, stream.fileno())
        os.close(handle)
