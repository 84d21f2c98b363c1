"""Text of others between tags of ours."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["kept_inside"]


def kept_inside(text: str, tags: Iterable[str]) -> str:
    """Return `text` so that nothing in it ends a frame: `</result` loses its force.

    Args:
        text: any.
        tags: names of the tags that it may stand between.
    """
    for name in tags:
        if f"</{name}" in text:
            text = text.replace(f"</{name}", f"<\\/{name}")
    return text
