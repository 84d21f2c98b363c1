"""Take entries out for good, with all that quotes them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.memory.batch import Batch
from orchestrator.memory.entries import Entry, folded, folded_key
from orchestrator.memory.folder import Folder, Lease
from orchestrator.memory.tombstones import FORGOTTEN_FILE, Tombstones
from orchestrator.memory.writing import shortened

__all__ = ["forget", "forgetting_is_done", "forgotten_in"]

_WAS: Final = re.compile(r"[-*][ \t]+was[ \t]*:[ \t]*(.*?)(?:[ \t]*\([\d-]{10}\))?\s*")


def forgotten_in(folder: Folder) -> Tombstones:
    """Return what was forgotten in a scope."""
    return Tombstones.parse(folder.read(FORGOTTEN_FILE).text)


def forget(batch: Batch, wanted: Collection[str]) -> list[str]:
    """Take entries out in a batch, and write down that they must not come back.

    What must not come back is written before anything is taken out, so that it holds
    wherever the work ends.

    Args:
        batch: of all files.
        wanted: folded keys.

    Returns:
        The keys that were there, as they were spelled.

    Raises:
        Changed: somebody changed the list of what was forgotten.
        StoreError: it cannot be written.
    """
    gone = [
        entry
        for path in batch.listing.files
        for entry in batch.topic(path).entries
        if folded_key(entry.key) in wanted
    ]
    if not gone:
        return []
    values = [entry.value for entry in gone]
    values += [each.value for entry in gone for each in entry.was]
    quotes = {folded(value) for value in values}
    quotes |= {shortened(value) for value in values}
    for path in batch.listing.files:
        before = batch.topic(path).entries
        after = tuple(
            _without_quotes(entry, quotes)
            for entry in before
            if folded_key(entry.key) not in wanted
        )
        if after != before and (why := batch.why_cut(path)):
            raise StoreError(f"nothing was forgotten: {why}")
        batch.set_entries(path, after)
    _write_down(batch, [entry.key for entry in gone], values)
    return [entry.key for entry in gone]


def forgetting_is_done(folder: Folder, lease: Lease) -> None:
    """Write down that nothing of what was forgotten is left anywhere.

    Raises:
        Changed: somebody changed the list meanwhile.
        StoreError: it cannot be written.
    """
    before = folder.read(FORGOTTEN_FILE)
    stones = Tombstones.parse(before.text)
    if stones.is_under_way:
        text = replace(stones, is_under_way=False).text()
        folder.write(lease, FORGOTTEN_FILE, text, before=before)


def _write_down(batch: Batch, keys: list[str], values: list[str]) -> None:
    before = batch.folder.read(FORGOTTEN_FILE)
    stones = Tombstones.parse(before.text).with_more(keys, values, is_under_way=True)
    batch.folder.write(batch.lease, FORGOTTEN_FILE, stones.text(), before=before)


def _without_quotes(entry: Entry, quotes: Collection[str]) -> Entry:
    """Return an entry without earlier values that are forgotten; the rest as it was."""
    if not any(each.value in quotes for each in entry.was):
        return entry
    lines = [
        line
        for line in entry.raw.split("\n")
        if not ((match := _WAS.fullmatch(line)) and match[1] in quotes)
    ]
    was = tuple(each for each in entry.was if each.value not in quotes)
    return replace(entry, was=was, raw="\n".join(lines))
