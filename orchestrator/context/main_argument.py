"""What a call is about: the one argument that tells most of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["main_argument", "named_argument"]

# Names that tools of this program and of others have for it, the most telling first.
_NAMES: Final = (
    "path", "file_path", "file", "pattern", "query", "ref", "command", "url", "agent",
    "agents", "section", "question", "title", "name",
)  # fmt: skip


def named_argument(given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return the argument whose name says that a call is about it, or None."""
    return next((given[name] for name in _NAMES if given.get(name)), None)


def main_argument(given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return the argument that says what a call is about, or None if it has none.

    Where none has a name that says so, it is the first that is not empty.

    Args:
        given: the arguments of a call, as the model wrote them.
    """
    named = named_argument(given)
    if named is not None:
        return named
    return next((value for value in given.values() if value not in (None, "")), None)
