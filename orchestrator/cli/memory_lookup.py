"""Find what a person names in memory: entries by key, topics by their file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from orchestrator.errors import SpecError
from orchestrator.memory.entries import folded_key
from orchestrator.memory.memory import About, Known, Memory

__all__ = ["entry_named", "keys_named", "topic_named"]

MOST_NEAREST = 3
_SHOWN_CHARS = 80


def topic_named(topics: Sequence[About], name: str) -> About:
    """Return the topic of a name: `auth.md`, `auth`, or a path of the folder's.

    Raises:
        SpecError: there is none.
    """
    if (found := _topic(topics, name)) is not None:
        return found
    near = _nearest(name, (each.path for each in topics))
    raise SpecError(f"no topic `{name[:_SHOWN_CHARS]}`{near}")


def entry_named(memory: Memory, name: str) -> Known | About:
    """Return the entry of a key, else the topic of a name.

    Raises:
        SpecError: there is neither.
    """
    is_file = name.strip().lower().endswith(".md")
    known = None if is_file else memory.with_key(name)
    if known is not None:
        return known
    topics = memory.topics()
    if (topic := _topic(topics, name)) is not None:
        return topic
    if is_file and (known := memory.with_key(name)) is not None:
        return known
    names = (*(each.entry.key for each in memory.entries()), *(t.path for t in topics))
    raise SpecError(f"no entry or topic `{name[:_SHOWN_CHARS]}`{_nearest(name, names)}")


def keys_named(memory: Memory, names: Sequence[str]) -> list[Known]:
    """Return the entries of some keys, each once, in the order of the names.

    Raises:
        SpecError: a key is unknown; all that are, are named.
    """
    # By hand a key may have been written into two files: all of them are meant.
    by_key: dict[str, list[Known]] = {}
    for each in memory.entries():
        by_key.setdefault(folded_key(each.entry.key), []).append(each)
    wanted = dict.fromkeys(folded_key(name) for name in names)
    unknown = [name for name in names if folded_key(name) not in by_key]
    if unknown:
        keys = [each[0].entry.key for each in by_key.values()]
        told = "; ".join(
            f"no entry `{name[:_SHOWN_CHARS]}`{_nearest(name, keys)}"
            for name in unknown
        )
        raise SpecError(f"{told}; nothing was forgotten")
    return [known for key in wanted for known in by_key[key]]


def _topic(topics: Sequence[About], name: str) -> About | None:
    plain = name.strip().removeprefix("./").removeprefix("/memories/")
    for wanted in (plain, f"{plain}.md"):
        for each in topics:
            if each.path == wanted:
                return each
    for each in topics:
        if each.path.casefold() in (plain.casefold(), f"{plain}.md".casefold()):
            return each
    return None


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the names nearest to one, as the end of a message."""
    by_key = {folded_key(each): each for each in names}
    wanted = folded_key(name)[:_SHOWN_CHARS]
    near = difflib.get_close_matches(wanted, by_key, n=MOST_NEAREST, cutoff=0.5)
    parts = [key for key in by_key if wanted and wanted in key and key not in near]
    found = [by_key[key] for key in [*near, *sorted(parts, key=len)]][:MOST_NEAREST]
    if found:
        return f"; nearest: {', '.join(f'`{each[:_SHOWN_CHARS]}`' for each in found)}"
    return "; `orchestrate memory list` shows what there is" if by_key else ""
