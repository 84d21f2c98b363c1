"""What memory holds, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.cli.output import (
    LABEL_COLUMNS,
    Style,
    cut,
    fill,
    pad,
    row,
    safe,
    safe_lines,
    terminal_width,
    width,
)
from orchestrator.events.phrases import count_phrase
from orchestrator.memory.entries import Entry, place_text
from orchestrator.memory.memory import About, Known

__all__ = [
    "counted",
    "entry_lines",
    "entry_table",
    "found_lines",
    "one_line",
    "topic_table",
    "who_wrote",
]

_LEAST_KEY = 12
_STATE_COLORS = {
    "unchanged": "green",
    "moved": "green",
    "changed": "yellow",
    "gone": "red",
}
_STATE_WORDS = {
    "moved": "moved: the same lines stand elsewhere in the file",
    "changed": "changed since: check before use",
    "gone": "the file is gone: check before use",
    "unknown": "",
}


def topic_table(topics: Sequence[About], *, style: Style) -> Iterator[str]:
    """Yield the topics of a scope, a heading first.

    Args:
        topics: in the order wanted.
        style: of the terminal.
    """
    columns = min(
        max(width(text) for text in ("topic", *(safe(each.path) for each in topics))),
        terminal_width() // 2,
    )

    def line(topic: str, entries: str, newest: str, about: str) -> str:
        head = f"{pad(topic, columns)}  {pad(entries, 7, right=True)}  "
        head += pad(newest, 10) + "  "
        return (head + cut(about, terminal_width() - width(head))).rstrip()

    yield style(line("topic", "entries", "newest", "about"), "bold")
    for each in topics:
        about = safe(each.description or each.title)
        yield line(safe(each.path), str(each.entries), safe(each.newest), about)


def entry_table(found: Sequence[Known], *, style: Style) -> Iterator[str]:
    """Yield the entries of a topic in a line or two each, a heading first.

    Args:
        found: in the order wanted.
        style: of the terminal.
    """
    columns = min(
        max(width(text) for text in ("key", *(safe(k.entry.key) for k in found))),
        max(terminal_width() // 3, _LEAST_KEY),
    )
    figures = f"{pad('when', 10)}  {pad('conf', 4)}  {pad('evidence', 9)}  value"
    yield style(f"{pad('key', columns)}  {figures}", "bold")
    for each in found:
        entry = each.entry
        state = each.state if entry.evidence else "-"
        head = f"{pad(safe(entry.key), columns)}  {pad(safe(entry.when or '-'), 10)}  "
        head += f"{pad(_confidence(entry), 4)}  "
        shown = style(pad(state, 9), _STATE_COLORS.get(state, ""))
        room = terminal_width() - width(head) - 11
        value = cut(one_line(entry.value), max(room, 8))
        yield f"{head}{shown}  {value}"
        yield style(f"  {cut(who_wrote(entry), terminal_width() - 2)}", "dim")


def entry_lines(known: Known, *, path: str, style: Style) -> Iterator[str]:
    """Yield an entry whole, with its history and what has become of its evidence.

    Args:
        known: the entry.
        path: of its topic file.
        style: of the terminal.
    """
    entry = known.entry
    yield style(fill(safe(entry.key)), "bold")
    yield ""
    yield safe_lines(entry.value)
    yield ""
    yield row("topic", safe(known.topic))
    yield row("written", f"{safe(entry.when) or 'no date'}, {who_wrote(entry)}")
    if entry.confidence is not None:
        yield row("confidence", f"{entry.confidence:g}")
    for number, (place, state) in enumerate(
        zip(entry.evidence, known.states, strict=True)
    ):
        label = pad("" if number else "evidence", LABEL_COLUMNS)
        shown = style(_STATE_WORDS.get(state, state), _STATE_COLORS.get(state, ""))
        yield f"{label}{safe(place_text(place))}  {shown}".rstrip()
    if entry.used:
        yield row("last used", safe(entry.used))
    for number, earlier in enumerate(entry.was):
        when = f"{safe(earlier.when)}: " if earlier.when else ""
        yield row("" if number else "before", when + safe(earlier.value))
    yield pad("file", LABEL_COLUMNS) + safe(path)


def found_lines(found: Sequence[Known], *, style: Style) -> Iterator[str]:
    """Yield what a search found, best first, a paragraph each.

    Args:
        found: best first.
        style: of the terminal.
    """
    for number, each in enumerate(found):
        entry = each.entry
        if number:
            yield ""
        yield style(safe(entry.key), "bold") + style(f"  {safe(each.topic)}", "dim")
        for line in entry.value.split("\n"):
            yield fill(safe(line), indent="  ") if line.strip() else ""
        told = [safe(entry.when) or "no date", who_wrote(entry)]
        if entry.confidence is not None:
            told.insert(1, f"confidence {entry.confidence:g}")
        yield style(fill(", ".join(told), indent="  "), "dim")
        if entry.evidence:
            places = ", ".join(safe(place_text(place)) for place in entry.evidence)
            state = _STATE_WORDS.get(each.state, each.state)
            told_state = f"{places}  {state}".rstrip()
            color = _STATE_COLORS.get(each.state, "")
            yield style(fill(told_state, indent="  "), color or "dim")


def who_wrote(entry: Entry) -> str:
    """Return who wrote an entry, in a few words: a person, or an agent of a run."""
    if not entry.is_by_a_person:
        return f"by {safe(entry.source)}"
    if entry.source:
        return f"by a person, over what {safe(entry.source)} wrote"
    return "by a person"


def one_line(text: str) -> str:
    """Return the first line of a text that says something, harmless."""
    lines = [line for line in text.split("\n") if line.strip()]
    more = " …" if len(lines) > 1 else ""
    return safe(lines[0]) + more if lines else ""


def counted(topics: Sequence[About]) -> str:
    """Return how many topics and entries there are."""
    entries = sum(each.entries for each in topics)
    topic = count_phrase(len(topics), "topic")
    return f"{topic}, {count_phrase(entries, 'entry')}"


def _confidence(entry: Entry) -> str:
    return "-" if entry.confidence is None else f"{entry.confidence:g}"
