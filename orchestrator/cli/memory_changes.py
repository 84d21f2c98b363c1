"""What changes memory by hand: `memory forget|export|import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.memory_data import legible
from orchestrator.cli.memory_lookup import keys_named, topic_named
from orchestrator.cli.memory_scope import Scope
from orchestrator.cli.memory_text import one_line
from orchestrator.cli.output import cut, json_text, safe, terminal_width
from orchestrator.errors import SpecError
from orchestrator.events.phrases import count_phrase
from orchestrator.memory.entries import folded_key
from orchestrator.memory.exchange import read_records, record_of
from orchestrator.memory.keeping import Outcome
from orchestrator.memory.memory import Known, Memory
from orchestrator.store.disk import write_beside, write_new

__all__ = ["export_to", "forget_keys", "import_from", "to_forget"]

MOST_SHOWN = 20
"""Entries that are shown before they are forgotten."""
STDIN = "-"
_WORDS = {
    "new": "added",
    "updated": "updated",
    "kept": "kept as they were",
    "refused": "refused",
}


def to_forget(memory: Memory, keys: Sequence[str], topic: str | None) -> list[Known]:
    """Return the entries that are meant: of the keys, of a topic, else all.

    Raises:
        SpecError: a key or the topic is unknown.
    """
    if keys:
        return keys_named(memory, keys)
    if topic is not None:
        return memory.entries(topic_named(memory.topics(), topic).path)
    return memory.entries()


def forget_keys(
    memory: Memory, found: Sequence[Known], *, is_sure: bool, is_quiet: bool
) -> list[str]:
    """Forget entries, after a question where there is a terminal; return their keys.

    Args:
        memory: the scope.
        found: the entries.
        is_sure: without a question.
        is_quiet: do not say what went.

    Raises:
        SpecError: nobody can be asked.
    """
    if not found:
        print("there is nothing to forget", file=sys.stderr)
        return []
    if not is_sure and not _agreed(found):
        print("nothing was forgotten", file=sys.stderr)
        return []
    gone = memory.forget([each.entry.key for each in found])
    for key in () if is_quiet else gone:
        print(f"forgotten: {safe(key)}")
    return list(gone)


def _agreed(found: Sequence[Known]) -> bool:
    what = count_phrase(len(found), "entry")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SpecError(
            f"{what} would be forgotten for good, and there is no terminal to ask at; "
            "--yes does it"
        )
    for each in found[:MOST_SHOWN]:
        whose = " (a person's)" if each.entry.is_by_a_person else ""
        line = f"  {safe(each.entry.key)}{whose}: {one_line(each.entry.value)}"
        print(cut(line, terminal_width()), file=sys.stderr)
    if len(found) > MOST_SHOWN:
        print(f"  and {len(found) - MOST_SHOWN} more", file=sys.stderr)
    return click.confirm(f"Forget {what} for good?", default=False, err=True)


def export_to(file: Path | None, scope: Scope, *, is_forced: bool) -> None:
    """Write all entries as JSON lines.

    Args:
        file: a new file; None: stdout.
        scope: whose; one that is not there yet has no entries.
        is_forced: the file may be there.

    Raises:
        SpecError: the file is there already, or cannot be written.
    """
    if file is not None and file.exists() and not is_forced:
        raise SpecError("is there already; --force writes over it", str(file))
    if file is not None and file.exists() and not file.is_file():
        raise SpecError("is no ordinary file; leave it out for stdout", str(file))
    lines = _lines(scope)
    if file is None:
        for line in lines:
            print(line)
        return
    count, data = 0, bytearray()
    for line in lines:
        data += f"{line}\n".encode()
        count += 1
    try:
        _write(file, bytes(data), is_forced=is_forced)
    except FileExistsError as error:
        message = "is there already; --force writes over it"
        raise SpecError(message, str(file)) from error
    except OSError as error:
        raise SpecError(f"cannot be written: {error.strerror}", str(file)) from error
    print(f"wrote {count_phrase(count, 'entry')} to {safe(str(file))}", file=sys.stderr)


def _lines(scope: Scope) -> Iterator[str]:
    if not scope.is_there:
        return
    store = scope.memory(evidence=False)
    about = {each.path: each for each in store.topics()}
    written: set[str] = set()
    for known in store.entries():
        key = folded_key(known.entry.key)
        if key in written or not known.entry.value.strip():
            # By hand; `import` would refuse the whole file for it.
            why = "its key is there twice" if key in written else "it has no value"
            where = f"{safe(known.entry.key)} in {safe(known.topic)}"
            print(f"left out: {where}: {why}", file=sys.stderr)
            continue
        written.add(key)
        topic = about.get(known.topic)
        title, description = (topic.title, topic.description) if topic else ("", "")
        record = record_of(known.topic, title, description, known.entry)
        yield json_text(legible(record), is_line=True)


def _write(file: Path, data: bytes, *, is_forced: bool) -> None:
    if is_forced:
        write_beside(file, data).replace(file)
    else:
        write_new(file, data, then=lambda _handle: None)


def import_from(file: Path, scope: Scope) -> list[dict[str, Any]]:
    """Take in entries from JSON lines, all of them or none; return what became of them.

    Args:
        file: `-`: stdin.
        scope: made if it is not there yet.

    Raises:
        SpecError: the file cannot be read, or a line of it is no entry.
        StoreError: memory cannot be written.
    """
    data = _read(file)
    name = "stdin" if str(file) == STDIN else str(file)
    taken = scope.memory().take_in(read_records(data, name))
    _tell(taken)
    return [
        {"key": each.key, "topic": each.topic, "what": _what(each), "why": each.why}
        for each in taken
    ]


def _what(outcome: Outcome) -> str:
    return "kept" if outcome.what == "same" else outcome.what


def _read(file: Path) -> bytes:
    if str(file) == STDIN:
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", str(file)) from error


def _tell(taken: Sequence[Outcome]) -> None:
    """Say on stderr how many came in, and which did not and why."""
    counts = Counter(_what(each) for each in taken)
    told = [f"{counts[what]:,} {word}" for what, word in _WORDS.items() if counts[what]]
    print(", ".join(told) or "nothing to take in", file=sys.stderr)
    for each in taken:
        if each.why:
            line = f"{_what(each)}: {safe(each.key)}: {safe(each.why)}"
            print(line, file=sys.stderr)
