"""Names that no agent may write: what runs code later, and what only looks like a path.

What git keeps in `.git` names programs that run outside of any sandbox as soon as
somebody calls git there. File systems take more than one spelling for that name.
"""

from __future__ import annotations

import unicodedata

__all__ = ["why_guarded", "why_no_name"]

_GIT = frozenset({".git", "git~1"})  # the second is its short name on Windows disks
_FORMAT = "Cf"
"""Category of characters without a width, which some file systems pass over."""


def why_guarded(relative: str) -> str:
    """Return why a file must stay as it is, or "".

    Args:
        relative: to the workspace, resolved, with forward slashes.
    """
    if any(_bare(name) in _GIT for name in relative.split("/")):
        return (
            "`.git` holds hooks and settings that run outside of any sandbox the next "
            "time somebody uses git; no tool changes it"
        )
    return ""


def why_no_name(relative: str) -> str:
    """Return why a new file may not have this path, or "".

    Such a path was meant otherwise: written for another system, or to be expanded.
    """
    first, _, rest = relative.partition("/")
    is_home = first == "~" or (first.startswith("~") and rest)
    if is_home or first.lower() == "file:":
        return f"`{first}` has no meaning here; write the path relative to the root"
    if "\\" in relative:
        return "write `/` between folders, not a backslash"
    if not relative.isprintable() or any(
        name != name.strip() for name in relative.split("/")
    ):
        return "it holds a character that cannot be seen, or a blank at the end of one"
    return ""


def _bare(name: str) -> str:
    """Return a name as the least strict file system compares it."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(char for char in folded if unicodedata.category(char) != _FORMAT)
    # Windows disks drop these at the end, and take what follows a colon for a stream.
    return seen.partition(":")[0].rstrip(". ")
