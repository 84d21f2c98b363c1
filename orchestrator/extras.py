"""Packages that only some tasks need, and how a user gets them."""

from __future__ import annotations

__all__ = ["how_to_install"]


def how_to_install(extra: str) -> str:
    """Return what to do for an extra that is not installed.

    Not by the name of this package: on the public index another one has it.
    """
    return f"in the folder of orchestrator: pip install -e '.[{extra}]'"
