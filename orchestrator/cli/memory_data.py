"""What memory holds, as JSON."""

from __future__ import annotations

from typing import Any

from orchestrator.memory.memory import About, Known

__all__ = ["entry_dict", "legible", "topic_dict"]


def legible(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return `value` with the replacement character for bytes that are no UTF-8.

    Files that people write may hold such; they are read so that they can be written
    back as they were.
    """
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, list):
        return [legible(each) for each in value]
    if isinstance(value, dict):
        return {name: legible(each) for name, each in value.items()}
    return value


def topic_dict(about: About) -> dict[str, Any]:
    """Return a topic file in figures."""
    return {
        "topic": about.path,
        "title": about.title,
        "description": about.description,
        "entries": about.entries,
        "newest": about.newest,
    }


def entry_dict(known: Known) -> dict[str, Any]:
    """Return an entry whole.

    Args:
        known: the entry.
    """
    entry = known.entry
    return {
        "topic": known.topic,
        "key": entry.key,
        "value": entry.value,
        "when": entry.when,
        "confidence": entry.confidence,
        "source": entry.source,
        "by_a_person": entry.is_by_a_person,
        "evidence": [
            {"path": p.path, "first": p.first, "last": p.last, "state": state}
            for p, state in zip(entry.evidence, known.states, strict=True)
        ],
        "state": known.state,
        "used": entry.used,
        "was": [{"value": each.value, "when": each.when} for each in entry.was],
    }
