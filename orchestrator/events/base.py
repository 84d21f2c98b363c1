"""What all kinds of events have in common, and one line of the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

__all__ = ["SCHEMA_VERSION", "Event", "Payload", "moment"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log.

    Attributes:
        seq: 1, 2, 3 …; the order in which things happened.
        at: time of day in UTC, RFC 3339 with milliseconds.
        run: the run's id.
        agent: `lead`, `a1`, … or "" for the run itself.
        kind: `noun.verb`.
        cause: `seq` of the event that led to this one, or 0.
        data: the fields of the kind's class, as they were written.
        v: version of the schema.
        worked_s: seconds that processes were at work on the run up to here, those of
            the machine's sleep and between processes left out; None in older logs.
    """

    seq: int
    at: str
    run: str
    agent: str
    kind: str
    cause: int
    data: dict[str, Any]
    v: int = SCHEMA_VERSION
    worked_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, in the order of the log; `data` is shared.

        What an older log does not have is left out.
        """
        names = ("v", "seq", "at", "run", "agent", "kind", "cause", "worked_s", "data")
        record = {name: getattr(self, name) for name in names}
        if self.worked_s is None:
            del record["worked_s"]
        return record


@dataclass(frozen=True, slots=True)
class Payload:
    """Base of all kinds."""

    KIND: ClassVar[str] = ""


def moment(at: str) -> datetime | None:
    """Return the time of an event, or None if it is not a time with a zone."""
    try:
        found = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else None
