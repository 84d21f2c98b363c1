"""What the first process of a sandbox says about how a command went."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Report", "read_report"]

_MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Report:
    """How a command ended.

    Attributes:
        code: exit status, 128 and more for a signal.
        reason: why it was ended: `timeout`, `memory`, `processes`; "": it was not.
        left: command lines of what was still running then; as they call themselves.
        left_count: how many these were in all.
    """

    code: int
    reason: str = ""
    left: tuple[str, ...] = ()
    left_count: int = 0


def read_report(number: int) -> Report | None:
    """Return what was written to a pipe, None where nothing usable was.

    Args:
        number: the end to read from; whoever could write has ended.
    """
    os.set_blocking(number, False)
    try:
        told = os.read(number, _MOST_BYTES)
    except BlockingIOError:
        return None
    fields = told.split(b"\0")
    if len(fields) < 3:
        return None
    code, reason, count, *left = (each.decode("utf-8", "replace") for each in fields)
    return Report(int(code), reason, tuple(left), int(count))
