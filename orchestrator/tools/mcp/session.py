"""What a live connection to a server offers, whatever carries it, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["Json", "Lost", "Refused", "Session", "leaf"]

Json = dict[str, Any]


class Lost(Exception):
    """The connection is gone: the server ended, or lost the session."""


class Refused(Exception):
    """The server answered with an error, or with what is no answer."""


class Session(Protocol):
    """An open session with one server."""

    @property
    def has_resources(self) -> bool:
        """Return whether it offers resources."""
        ...

    async def tools(self) -> list[Json]:
        """Return all tools as the server describes them: name, inputSchema, ….

        Raises:
            Lost: the connection is gone.
            Refused: it does not list them, or lists without end.
        """
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Return the result of a call: content, structuredContent, isError.

        Cancelling tells the server.

        Raises:
            Lost: the connection is gone.
            Refused: the server answered with an error.
        """
        ...

    async def resources(self) -> list[Json]:
        """Return what resources it lists: uri, name, mimeType, ….

        Raises:
            Lost: the connection is gone.
            Refused: the server answered with an error.
        """
        ...

    async def read(self, uri: str) -> list[Json]:
        """Return the contents of a resource: uri, mimeType, and text or blob.

        Raises:
            Lost: the connection is gone.
            Refused: the server answered with an error.
        """
        ...


def leaf(error: BaseException) -> BaseException:
    """Return the first error in a group of groups: the one that began it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
