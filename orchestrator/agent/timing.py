"""How an agent's minutes are shared out: for its work, and for its last call."""

from __future__ import annotations

from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.errors import LimitReached

__all__ = ["last_call_s", "left_s", "out_of_time"]

LAST_CALL_S = 120.0
LAST_CALL_SHARE = 0.2
"""Most of an agent's time that is kept for its last call."""


def last_call_s(spec: AgentSpec) -> float:
    """Return the seconds that are kept for the last call."""
    longest = min(LAST_CALL_S, spec.call_s, spec.stall_s or LAST_CALL_S)
    minutes = spec.limits.minutes
    if minutes is None:
        return longest
    return min(longest, minutes * 60 * LAST_CALL_SHARE)


def left_s(spec: AgentSpec, state: AgentState) -> float:
    """Return the seconds left before the last call; infinite without a limit."""
    minutes = spec.limits.minutes
    if minutes is None:
        return float("inf")
    return minutes * 60 - last_call_s(spec) - state.seconds


def out_of_time(spec: AgentSpec, state: AgentState) -> LimitReached:
    """Return the limit that an agent has reached whose time is up."""
    return LimitReached("minutes", state.seconds / 60, spec.limits.minutes or 0)
