"""Tell what will be wrong by the next time it is read."""

from __future__ import annotations


def why_volatile(text: str) -> str:
    """Return why a value is true only for a moment, or ""."""
    return ""
