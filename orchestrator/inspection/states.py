"""What the states of runs mean for those who look at them."""

from __future__ import annotations

from typing import Final

__all__ = ["AT_REST", "ENDED", "RESUMABLE", "STATES"]

STATES: Final = (
    "running", "done", "partial", "failed",
    "parked", "paused", "interrupted", "crashed",
)  # fmt: skip
"""All there are, as a run is told of."""

ENDED: Final = frozenset(
    {"done", "failed", "interrupted", "parked", "partial", "paused"}
)
"""What the end of a run in its log may say."""
RESUMABLE: Final = frozenset({"crashed", "interrupted", "parked", "paused", "partial"})
"""`resume` takes such a run."""
AT_REST: Final = frozenset({"parked", "paused"})
"""It is to go on with all that was at work."""
