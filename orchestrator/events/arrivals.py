"""Which findings an event brings into the conversation of who wants them."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.events.base import Event
from orchestrator.events.of_agent import ResultReplaced, TextAdded, ToolEnded

__all__ = ["Arrivals", "arrivals"]

_DELIVERING = frozenset((ToolEnded.KIND, TextAdded.KIND, ResultReplaced.KIND))


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Findings that are in a conversation from one event on.

    Attributes:
        ids: their deliveries: `a3`, or `a3/1` for its first follow-up.
        call: a `delegate` call of an older log: it brought the findings of all that it
            had sent, and does not name them. "" otherwise.
    """

    ids: tuple[str, ...] = ()
    call: str = ""


_NONE = Arrivals()


def arrivals(event: Event) -> Arrivals:
    """Return what an event of any kind delivers; fields of a wrong type say nothing."""
    if event.kind not in _DELIVERING:
        return _NONE
    delivers = event.data.get("delivers")
    if isinstance(delivers, list):
        return Arrivals(tuple(map(str, delivers))) if delivers else _NONE
    if delivers is None and event.data.get("name") == "delegate":
        return Arrivals(call=str(event.data.get("call", "")))
    return _NONE
