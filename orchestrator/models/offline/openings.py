"""Texts of the program that open a new chapter, or let the newest one go on."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Opening", "opening_in"]

_HEADING = re.compile(r"^#{1,3}\s+(Further question|Missing)\s*$", re.MULTILINE)
_LIMITS = re.compile(r"^#{1,3}\s+Limits from now on\s*$", re.MULTILINE)
_MARK = re.compile(r"^\s*[-*•]\s+")


@dataclass(frozen=True, slots=True)
class Opening:
    """What was said to an agent that had ended.

    Attributes:
        turn: assistant messages before it.
        question: what is asked from here on; "" where the work goes on.
        missing: what was asked for and is not there, a line each.
        limits: those from now on, in words.
    """

    turn: int
    question: str = ""
    missing: tuple[str, ...] = ()
    limits: str = ""


def opening_in(text: str, turn: int) -> Opening | None:
    """Return what one text of the program opens, or None for any other text."""
    heading = _HEADING.search(text)
    if heading is None:
        return None
    rest = text[heading.end() :]
    if heading.group(1) != "Missing":
        question = rest.strip()
        return Opening(turn, question) if question else None
    limits = _LIMITS.search(rest)
    if limits is None:
        return None
    lines = [_MARK.sub("", line).strip() for line in rest[: limits.start()].split("\n")]
    missing = tuple(line for line in lines if line)
    return Opening(turn, missing=missing, limits=rest[limits.end() :].strip())
