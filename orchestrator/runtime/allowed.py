"""What a task allows, as far as it can be had here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from orchestrator.security.permissions import Permission
from orchestrator.security.sandbox import available

__all__ = ["Allowed", "in_force", "permission_notices", "sandbox_notices"]

Allowed = Mapping[Permission, Literal["yes", "ask"]]
"""What is not in it is not allowed."""


def in_force(allowed: Allowed, *, can_ask: bool) -> frozenset[Permission]:
    """Return what may be had at all, asked for or not."""
    return frozenset(name for name, how in allowed.items() if how == "yes" or can_ask)


def permission_notices(allowed: Allowed, *, can_ask: bool) -> Iterator[str]:
    """Yield what a user should know of what the task allows."""
    unasked = [name for name, how in allowed.items() if how == "ask"]
    if unasked and not can_ask:
        names = ", ".join(unasked)
        yield f"nobody can be asked here (no terminal): this run goes without {names}"


def sandbox_notices(allowed: Allowed) -> Iterator[str]:
    """Yield a line if commands are allowed and this machine has no sandbox for them."""
    if "shell" in allowed and (why := available()):
        yield f"commands will be refused: {why}"
