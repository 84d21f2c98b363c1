"""Make several changes under one lock, each judged by itself on what is on disk now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.errors import StoreError
from orchestrator.memory.batch import Batch
from orchestrator.memory.folder import Changed
from orchestrator.memory.forgetting import forgotten_in
from orchestrator.memory.keeping import Outcome
from orchestrator.memory.scope import BUSY, TRIES, Scope
from orchestrator.memory.tombstones import Tombstones

__all__ = ["Make", "judged"]

Make = Callable[[Batch, Tombstones, int], Outcome]
"""Makes the change of a number in the batch, or refuses it."""


def judged(scope: Scope, keys: Sequence[str], make: Make) -> list[Outcome]:
    """Make changes, and those anew that a person came between.

    Args:
        scope: that is written.
        keys: of the changes.
        make: makes one of them, by its number.

    Returns:
        What became of each, in their order.

    Raises:
        StoreError: nothing can be written, or somebody holds the lock for long.
    """
    outcomes: dict[int, Outcome] = {}
    for _ in range(TRIES):
        left = [number for number in range(len(keys)) if number not in outcomes]
        with scope.batch() as batch:
            forgotten = forgotten_in(scope.disk)
            made = {n: _tried(make, batch, forgotten, n, keys[n]) for n in left}
            outcomes |= _committed(batch, made)
        if forgotten.is_under_way:
            scope.erase()
        if len(outcomes) == len(keys):
            break
    for number, key in enumerate(keys):
        outcomes.setdefault(number, Outcome(key, "", "refused", BUSY))
    return [outcomes[number] for number in range(len(keys))]


def _tried(
    make: Make, batch: Batch, forgotten: Tombstones, number: int, key: str
) -> Outcome:
    """Make one change; where its file cannot be read, the others are still made."""
    try:
        return make(batch, forgotten, number)
    except StoreError as error:
        return Outcome(key, "", "refused", str(error))


def _committed(batch: Batch, judged: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """Write what was judged, and return the outcomes that hold."""
    final = {n: each for n, each in judged.items() if each.what == "refused"}
    written: dict[str, str | None] = {}
    for number, outcome in judged.items():
        if number in final:
            continue
        path = outcome.topic
        if path not in written:
            try:
                batch.commit(path)
                written[path] = ""
            except Changed:  # by a person: it is judged again
                written[path] = None
            except StoreError as error:
                written[path] = str(error)
        why = written[path]
        if why is not None:
            final[number] = (
                replace(outcome, what="refused", why=why) if why else outcome
            )
    return final
