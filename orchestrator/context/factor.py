"""How much dearer one model counts than we estimate: learned from what it reports."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["LEARNS_FROM_TOKENS", "Factor", "Factors"]

LEARNS_FROM_TOKENS = 500
"""What the service adds for itself outweighs the text of smaller additions."""
MEMORY_TOKENS = 4_000
"""After so many more, a report weighs 1/e of a new one: work has phases."""
START_TOKENS = 500
"""What the start, 1.0, weighs; the first report brings the service's own preamble."""
LEAST, MOST = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Factor:
    """Tokens that a model's service counts for one that is estimated.

    The mean over what was reported, by size, in which older reports fade. `counted` and
    `estimated` are the faded sums; whoever keeps these two can go on with it.
    """

    counted: float = START_TOKENS
    estimated: float = START_TOKENS

    @property
    def value(self) -> float:
        """Return the factor, from 0.5 to 2; 1.0 before any report."""
        return min(max(self.counted / self.estimated, LEAST), MOST)

    def learned(self, *, counted: int, estimated: int) -> Factor:
        """Return the factor after one more report.

        Args:
            counted: what the service counted for what was added since its last report,
                in tokens. What it counts for images and thinking is in it.
            estimated: our estimate of the same, without this factor. Below
                `LEARNS_FROM_TOKENS` it says nothing.
        """
        if estimated < LEARNS_FROM_TOKENS:
            return self
        counted_within = min(max(counted, LEAST * estimated), MOST * estimated)
        kept = math.exp(-estimated / MEMORY_TOKENS)
        return Factor(
            kept * self.counted + counted_within, kept * self.estimated + estimated
        )

    def of(self, estimated: int) -> int:
        """Return the tokens to expect for an estimate, rounded up."""
        return math.ceil(estimated * self.value)


class Factors:
    """The factor of each model; one for all agents of a run."""

    def __init__(self) -> None:
        self._known: dict[str, Factor] = {}

    def of(self, model: str) -> float:
        """Return the factor of a model, by its bare id; 1.0 before any report."""
        return self._known.get(model, Factor()).value

    def learn(self, model: str, *, counted: int, estimated: int) -> None:
        """Take in one report; as for `Factor.learned`."""
        before = self._known.get(model, Factor())
        self._known[model] = before.learned(counted=counted, estimated=estimated)
