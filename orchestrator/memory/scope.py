"""What all changes to one scope have in common: lock, batch, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.memory.batch import Batch
from orchestrator.memory.catalog import Catalog
from orchestrator.memory.folder import LOCK_S, Changed, Folder
from orchestrator.memory.forgetting import forgetting_is_done
from orchestrator.memory.seals import Seals

__all__ = ["BUSY", "TRIES", "Scope"]

TRIES: Final = 6
"""How often a change is made anew where a person saves the same file meanwhile."""
BUSY: Final = "somebody else keeps changing this file; try again"
PAGE_S: Final = 0.2
"""How long a search waits to bring the index page up to date."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope, as its readers and writers share it.

    Attributes:
        disk: its folder.
        catalog: what is known of it.
        workspace: what evidence is relative to, or None.
        redact: replaces secrets.
        today: the day, `YYYY-MM-DD`.
    """

    disk: Folder
    catalog: Catalog
    workspace: Path | None
    redact: Callable[[str], str]
    today: Callable[[], str]

    def seals(self) -> Seals:
        """Return what reads evidence, for one look."""
        return Seals(self.workspace)

    def refresh(self) -> None:
        """Bring the index up to date, and the page as far as that is possible now.

        Raises:
            StoreError: the folder or the index cannot be read.
        """
        self.catalog.refresh()
        told = self.catalog.told()
        if not told:
            return
        try:
            with self.disk.lock(limit_s=PAGE_S) as lease:
                listing = self.catalog.prepare(lease)
                Batch(self.disk, self.catalog, lease, listing).write_page(dict(told))
        except (StoreError, Changed):
            self.catalog.tell(told)

    @contextmanager
    def batch(self, *, limit_s: float = LOCK_S) -> Iterator[Batch]:
        """Give a batch under the lock; the index follows when the lock is free.

        Args:
            limit_s: longest wait for the lock.

        Raises:
            StoreError: nothing can be written.
        """
        with self.disk.lock(limit_s=limit_s) as lease:
            batch = Batch(self.disk, self.catalog, lease, self.catalog.prepare(lease))
            yield batch
            told = self.catalog.told()
            try:
                batch.write_page(dict(told))
            except (StoreError, Changed):
                self.catalog.tell(told)
        self.catalog.index_written(batch.written)

    def erase(self) -> None:
        """Leave nothing of what was forgotten in the index.

        Raises:
            StoreError: it cannot be written.
        """
        self.catalog.compact()
        with self.disk.lock() as lease, suppress(Changed):
            forgetting_is_done(self.disk, lease)
