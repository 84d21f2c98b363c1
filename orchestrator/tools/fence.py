"""Tell what a tool let out: a failure of its own, or a cancellation from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType

import anyio

__all__ = ["Fence", "is_cancelled"]


@dataclass(slots=True)
class Fence:
    """Catches whatever a tool lets out, so that it can be told apart afterwards.

    Attributes:
        lets_out: what is for whoever runs this code, and not caught.
        error: what was caught.
    """

    lets_out: tuple[type[BaseException], ...] = (KeyboardInterrupt, GeneratorExit)
    error: BaseException | None = field(default=None)

    def __enter__(self) -> Fence:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return not isinstance(error, self.lets_out)


def is_cancelled() -> bool:
    """Return whether a scope around the current task was cancelled."""
    return anyio.current_effective_deadline() == float("-inf")
