"""Calls that must not run, because they did not arrive whole."""

from __future__ import annotations

from orchestrator.models.base import EXCEEDED, Reply
from orchestrator.tools.calls import Barred

__all__ = ["CUT", "barred_calls"]

CUT = (
    "This call was cut by the output limit before it was complete, so it was not run. "
    "The limit is now higher. Send the whole call again, or do the work in smaller "
    "parts."
)
NO_ROOM = (
    "This call was cut before it was complete, since the context is full, so it was "
    "not run."
)
BROKEN = "The input of this call is not a JSON object, so it was not run: {text}"


def barred_calls(reply: Reply) -> dict[str, Barred]:
    """Return what is known of the calls of a reply: some came to pieces."""
    barred = {
        call: Barred(BROKEN.format(text=text[:200]))
        for call, text in reply.broken_calls.items()
    }
    why = NO_ROOM if reply.stop_reason == EXCEEDED else CUT
    return {**barred, **dict.fromkeys(reply.cut_calls, Barred(why))}
