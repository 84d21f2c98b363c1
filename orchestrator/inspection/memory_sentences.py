"""What an event says about memory, as a plain sentence."""

from __future__ import annotations

from collections import Counter
from typing import Any

from orchestrator.events.phrases import count_phrase, one_line

__all__ = ["memory_kept", "memory_recalled"]

Data = dict[str, Any]

_WHYS = {
    "objective": "for the objective",
    "compaction": "for what is still open",
    "end": "before it is brought up to date",
}
_WHATS = ("new", "updated", "merged", "dropped", "same", "refused")
_BY = {"model": "the model", "extractor": "the program"}


def memory_recalled(data: Data) -> str:
    """Return what `memory.recalled` with this data says."""
    entries = _dicts(data.get("entries"))
    stale = sum(each.get("state") in ("changed", "gone") for each in entries)
    why = one_line(data.get("why"))
    found = count_phrase(len(entries), "entry")
    also = f", {stale} of them stale" if stale else ""
    return f"memory, {_WHYS.get(why, why)}: {found}{also}{_failure(data)}"


def memory_kept(data: Data) -> str:
    """Return what `memory.kept` with this data says."""
    counts = Counter(
        one_line(each.get("what")) for each in _dicts(data.get("outcomes"))
    )
    told = [f"{counts[what]} {what}" for what in _WHATS if counts[what]]
    if not told and (failure := one_line(data.get("failure"))):
        return f"memory is not brought up to date: {failure}"
    by = one_line(data.get("by"))
    kept = ", ".join(told) or "nothing"
    return f"memory is brought up to date by {_BY.get(by, by)}: {kept}{_failure(data)}"


def _failure(data: Data) -> str:
    failure = one_line(data.get("failure"))
    return f"; not all of it: {failure}" if failure else ""


def _dicts(value: object) -> list[Data]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, dict)]
