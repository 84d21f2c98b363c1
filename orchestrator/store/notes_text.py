"""Markdown of notes: made so that it can be told from the file around it."""

from __future__ import annotations

import hashlib
import re

__all__ = ["as_checklist", "as_lines", "flat", "tidy", "version_of"]

_HEADING = re.compile(r"^ {0,3}#{1,2}(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<rest>\S.*)")
_TICK = re.compile(
    r"\[(?P<mark>[ xX✓✔]?)\]\s*(?P<rest>.*)|(?P<sign>[✓✔✅])\s*(?P<done>.*)"
)


def version_of(text: str) -> str:
    """Return the short name of a text, by its content: 8 hex digits."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def as_lines(text: str) -> list[str]:
    """Return the lines of a text, whatever ends them, without blanks at their ends."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return [line.rstrip() for line in unified.split("\n")]


def flat(text: str) -> str:
    """Return `text` on one line, without comments."""
    return " ".join(text.replace("<!--", "&lt;!--").split())


def tidy(text: str) -> str:
    """Return Markdown that cannot be taken for a part of the file around it.

    Big headings become small ones, comments show as text, an open code block is closed.
    """
    lines: list[str] = []
    fence = ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("<!--", "&lt;!--")
    for line in text.strip("\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _UNDERLINE.fullmatch(line) and lines and lines[-1]:
            lines.append("")  # or the line above would become a heading
        lines.append(line.rstrip() if fence else _HEADING.sub("###", line.rstrip(), 1))
    if fence:
        lines.append(fence)
    return "\n".join(lines).strip("\n")


def as_checklist(before: str, text: str) -> str:
    """Return a plan with every item as `- [ ]` or `- [x]`."""
    lines = before.split("\n") if before else []
    places = {
        line.split("]", 1)[-1].strip().casefold(): n for n, line in enumerate(lines)
    }
    for raw in text.split("\n"):
        if not raw.strip() or raw.startswith("#"):
            lines.append(raw)
            continue
        item = _item(raw)
        key = item.split("]", 1)[-1].strip().casefold()
        if key and key in places:
            lines[places[key]] = item
        elif key:
            places[key] = len(lines)
            lines.append(item)
    return "\n".join(lines).strip("\n")


def _item(line: str) -> str:
    bullet = _BULLET.fullmatch(line)
    indent, rest = (bullet["indent"], bullet["rest"]) if bullet else ("", line.strip())
    tick = _TICK.fullmatch(rest)
    if tick is None:
        return f"{indent}- [ ] {rest}"
    is_done = bool(tick["sign"]) or (tick["mark"] or " ") != " "
    words = tick["done"] if tick["sign"] else tick["rest"]
    return f"{indent}- [{'x' if is_done else ' '}] {words}"
