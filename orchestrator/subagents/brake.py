"""The brake of one subagent: it stops that one, wherever it is, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

__all__ = ["BY_A_PERSON", "Brake"]

BY_A_PERSON = "a person stopped it with `orchestrate stop`"
"""Why, for parent and log."""


class Brake:
    """Cancels what its subagent does now and whatever that would begin later.

    Attributes:
        why: by whom and what for, once it was pulled; before that "".
    """

    def __init__(self) -> None:
        self.why = ""
        self._scope: anyio.CancelScope | None = None

    def pull(self, why: str) -> None:
        """Stop for good; the first reason counts."""
        self.why = self.why or why
        if self._scope is not None:
            self._scope.cancel()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Let what is inside be stopped; it ends without an error then.

        What was stopped is seen by `why`. A cancellation from outside goes through.
        """
        with anyio.CancelScope() as scope:
            self._scope = scope
            if self.why:
                scope.cancel()
            try:
                yield
            finally:
                self._scope = None
