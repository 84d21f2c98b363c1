"""Take a topic file as a model wrote it: stamp what is new, refuse what may not be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.errors import ToolError
from orchestrator.memory.batch import Batch
from orchestrator.memory.entries import (
    Entry,
    Topic,
    entry_starts,
    folded_key,
    parse_topic,
)
from orchestrator.memory.fences import open_fence
from orchestrator.memory.keeping import Put
from orchestrator.memory.rules import PERSONS, clean_text, same_value, why_no_entry
from orchestrator.memory.scope import Scope
from orchestrator.memory.seals import Seals
from orchestrator.memory.tombstones import Tombstones
from orchestrator.memory.volatile import why_volatile
from orchestrator.memory.writing import earlier_values, fresh_entry, prepared
from orchestrator.security.placeholders import PLACEHOLDER

__all__ = ["FORM", "Edit", "is_title_alone", "with_inserted"]

MAX_HEAD_CHARS: Final = 2_000
FORM: Final = (
    "an entry is `## key`, an empty line and its value; behind it may stand lines as "
    "`- evidence: path:12-14` and `- confidence: 0.9`"
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text for a topic file, to be taken apart.

    Attributes:
        scope: of the file.
        batch: under the lock.
        forgotten: what must not come back.
        source: who writes.
        seals: for the evidence that is named.
        entries_alone: what stands above the entries stays as it is.
    """

    scope: Scope
    batch: Batch
    forgotten: Tombstones
    source: str
    seals: Seals
    entries_alone: bool = False

    def topic(self, before: Topic, text: str) -> Topic:
        """Return the topic that a text makes of the one before.

        Args:
            before: as it is on disk.
            text: all of the new one.

        Raises:
            ToolError: something in it may not be written, or a person's entry would
                change; it names the entry.
        """
        after = parse_topic(text, before.path)
        _refuse_twice(before, after)
        untouched = Counter(_plain(entry) for entry in before.entries)
        old = {folded_key(entry.key): entry for entry in reversed(before.entries)}
        entries: list[Entry] = []
        for entry in after.entries:
            if untouched[_plain(entry)] > 0:
                untouched[_plain(entry)] -= 1
                entries.append(entry)
            else:
                was = old.get(folded_key(entry.key))
                entries.append(self._stamped(entry, was, before.path))
        _refuse_lost(before, untouched)
        head = self._head(before, after)
        told = after if head is None else parse_topic(head, after.path)
        return replace(
            after,
            title=told.title,
            description=told.description,
            entries=tuple(entries),
            head=head,
        )

    def _stamped(self, entry: Entry, was: Entry | None, path: str) -> Entry:
        if was is not None and was.is_by_a_person:
            raise _refused(was.key, PERSONS)
        found = None if was is not None else self.batch.find(entry.key)
        if found is not None and found[0] != path:
            raise _refused(
                entry.key, f"it is in `/memories/{found[0]}`; update it there"
            )
        asked = Put(path, entry.key, entry.value, entry.evidence, entry.confidence)
        put = prepared(asked, self.scope.redact, self.seals)
        assert isinstance(put, Put)  # noqa: S101 - it was one
        if why := why_no_entry(put.key, put.value, self.forgotten):
            raise _refused(entry.key, why)
        today = self.scope.today()
        if was is None:
            return fresh_entry(put, self.source, today, ())
        is_same = same_value(was, put.value)
        history = was.was if is_same else earlier_values(was)
        return replace(fresh_entry(put, self.source, today, history), used=was.used)

    def _head(self, before: Topic, after: Topic) -> str | None:
        """Return the text above the first entry; None: from title and description."""
        head = after.head or ""
        if before.head is not None and head.strip() == before.head.strip():
            return head
        if self.entries_alone and head.strip():
            raise ToolError(
                "nothing was written: title and text above the first entry are for the "
                f"lead to write; write entries alone: {FORM}"
            )
        head = clean_text(self.scope.redact(head))
        if PLACEHOLDER.search(head):
            raise ToolError("nothing was written: its first lines hold a secret")
        if why := why_volatile(head):
            raise ToolError(f"nothing was written: in its first lines, {why}")
        if open_fence(head.replace("\r", "").split("\n")):
            raise ToolError(
                "nothing was written: in its first lines, a block of code is not closed"
            )
        is_long = len(head) > MAX_HEAD_CHARS
        if is_long or (not after.entries and not is_title_alone(head)):
            raise ToolError(
                "nothing was written: there is text that belongs to no entry. Above "
                f"the first one stand `# title` and one paragraph; {FORM}"
            )
        return head if head.strip() else None


def with_inserted(text: str, at: int, inserted: str) -> str:
    """Return a text with lines inserted; whole entries never split another one.

    Args:
        text: of a topic file.
        at: the number of lines that stand before; what holds an entry goes behind the
            head, or behind the entry that it would split.
        inserted: whole lines.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text)
    more = [line.removesuffix("\r") for line in _lines(inserted)]
    if entry_starts(more):
        starts = [*entry_starts(lines), len(lines)]
        at = next(start for start in starts if start >= at)
    whole = [line.removesuffix("\r") for line in lines]
    if end == "\n":
        whole = lines
    return end.join([*whole[:at], *more, *whole[at:]]) + end


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _plain(entry: Entry) -> str:
    return entry.raw.replace("\r\n", "\n").strip()


def _refuse_twice(before: Topic, after: Topic) -> None:
    """Refuse a text that has a key twice, unless it was so by hand."""
    counts = Counter(folded_key(entry.key) for entry in after.entries)
    were = Counter(folded_key(entry.key) for entry in before.entries)
    for entry in after.entries:
        key = folded_key(entry.key)
        if counts[key] > max(were[key], 1):
            raise _refused(entry.key, "it is there twice; one entry for each key")


def _refuse_lost(before: Topic, left: Counter[str]) -> None:
    """Refuse a text in which an entry of a person changed or went."""
    for entry in before.entries:
        if left[_plain(entry)] > 0 and entry.is_by_a_person:
            raise _refused(entry.key, PERSONS)


def is_title_alone(head: str) -> bool:
    """Return whether a text is `# title` and at most a paragraph about the topic."""
    blocks = [block for block in head.replace("\r", "").split("\n\n") if block.strip()]
    if not blocks or len(blocks) > 2:
        return not blocks
    first, *rest = (
        line.strip().lstrip("\ufeff") for line in "\n".join(blocks).split("\n")
    )
    is_plain = not any(line.startswith(("- ", "* ", "#", "1.", "|")) for line in rest)
    return first.startswith("# ") and is_plain and sum(map(len, rest)) <= 400


def _refused(key: str, why: str) -> ToolError:
    return ToolError(f"nothing was written: `{key}`: {why}")
