"""What other agents of a run wrote in it, left out of what one of them is shown.

What an agent read or wrote reaches another through findings alone; memory is for the
runs that come.
"""

from __future__ import annotations

from typing import Final

from orchestrator.memory.entries import Entry, parse_topic
from orchestrator.memory.keeping import Author

__all__ = ["is_of_others", "without_others"]

_LEFT_OUT: Final = "[an entry that another agent of this run wrote; later runs see it]"


def is_of_others(entry: Entry, author: Author) -> bool:
    """Return whether another agent of the author's run wrote an entry."""
    run, _, agent = entry.source.partition("/")
    is_of_run = run == author.run and not entry.is_by_a_person
    return is_of_run and agent != author.agent


def without_others(text: str, path: str, author: Author) -> str:
    """Return the text of a topic file as its author may see it; lines keep their place.

    Args:
        text: all of the file.
        path: of it, in the scope.
        author: who is shown it.
    """
    topic = parse_topic(text, path)
    if not any(is_of_others(entry, author) for entry in topic.entries):
        return text
    parts = [
        _left_out(entry.raw) if is_of_others(entry, author) else entry.raw
        for entry in topic.entries
    ]
    return "".join([topic.head or "", *parts])


def _left_out(raw: str) -> str:
    return _LEFT_OUT + "\n" * raw.count("\n")
