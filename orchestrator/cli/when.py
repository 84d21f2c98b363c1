"""Moments as people write them on a command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from orchestrator.errors import SpecError

__all__ = ["event_number", "moment_of"]

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SPAN_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_NUMBER = re.compile(r"#?(\d{1,18})")


def moment_of(text: str, *, field: str, also: str = "") -> datetime:
    """Return the moment that `text` means: `10m` ago, `20:15`, `2026-11-29 20:15`.

    Args:
        text: as written; a time without a zone is of this machine's.
        field: the option, for the error.
        also: what else is allowed there.

    Raises:
        SpecError: it is none of these.
    """
    now = datetime.now(UTC)
    try:
        if span := _SPAN.fullmatch(text):
            return now - timedelta(**{_SPAN_UNITS[span[2]]: float(span[1])})
        if clock := _CLOCK.fullmatch(text):
            found = now.astimezone().replace(
                hour=int(clock[1]),
                minute=int(clock[2]),
                second=int(clock[3] or 0),
                microsecond=0,
            )
            return found if found <= now else found - timedelta(days=1)
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise SpecError(
            f"found `{text[:60]}`, allowed are a span (`10m`, `2h`), a time of day "
            f"(`20:15`), a date and time (`2026-11-29 20:15`){also}",
            field=field,
        ) from error


def event_number(text: str, *, field: str) -> int:
    """Return the number of an event: `120`, or `#120` as it is shown.

    Raises:
        SpecError: it is none.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise SpecError(
            f"found `{text[:60]}`, allowed is the number of an event, as in `#120`",
            field=field,
        )
    return int(match[1])
