"""Diagnostics: what the program says about itself, to people and to machines.

Readable lines on a terminal, JSON lines elsewhere, always on stderr. The run's events
are not diagnostics: they have a log of their own. Only a command that runs something
imports this, since structlog takes longer to load than a reading command may last.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import suppress
from typing import Any

import structlog

__all__ = ["CurrentStderr", "configure"]

LEVEL_VARIABLE = "ORCHESTRATE_LOG"
_DEFAULT_LEVEL = "warning"


class CurrentStderr(io.TextIOBase):
    """Writes to whatever `sys.stderr` is now, so that a live display can catch it.

    Where that goes to a full disk or to nobody, a run must not end of it.
    """

    def write(self, text: str, /) -> int:
        """Write a text and return its length."""
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Let go of what was written."""
        with suppress(OSError):
            sys.stderr.flush()


def configure(*, as_json: bool | None = None) -> None:
    """Set up structlog for this process; a later call replaces an earlier one.

    `ORCHESTRATE_LOG` is the least level that is told: `debug`, `info`, `warning` (also
    for an unknown name) or `error`.

    Args:
        as_json: JSON lines in place of readable ones; None: unless stderr is a
            terminal.
    """
    name = (os.environ.get(LEVEL_VARIABLE) or _DEFAULT_LEVEL).upper()
    number = logging.getLevelNamesMapping().get(name, logging.WARNING)
    is_terminal = sys.stderr.isatty()
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if not is_terminal if as_json is None else as_json:
        tail: list[Any] = [
            structlog.processors.dict_tracebacks,
            structlog.processors.JSONRenderer(),
        ]
    else:
        colors = is_terminal and not os.environ.get("NO_COLOR")
        tail = [structlog.dev.ConsoleRenderer(colors=colors)]
    structlog.configure(
        processors=[*shared, *tail],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=CurrentStderr()),  # type: ignore[arg-type]  # needs write and flush only
        cache_logger_on_first_use=False,
    )
