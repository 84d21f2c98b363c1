"""What memory holds as lines for a model: bounded, whole entries only, never markup.

The form is read by the offline model, too (`models/offline/remembered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.earlier_runs import FromRun
from orchestrator.memory.entries import place_text
from orchestrator.memory.memory import About, Known
from orchestrator.messages import clean_text
from orchestrator.security.untrusted import defused

__all__ = [
    "Bounded",
    "bounded",
    "entry_line",
    "run_line",
    "topic_line",
]

MAX_VALUE_CHARS: Final = 600
MAX_PLACES: Final = 4
TOPICS_SHARE: Final = 0.4
"""Most of the room that the list of topics may have, so that entries have the rest."""
_STATES: Final = {
    "unchanged": " unchanged",
    "moved": " unchanged, moved there since",
    "changed": " STALE: changed since; read it again",
    "gone": " STALE: the file is gone",
    "unknown": "",
}


@dataclass(frozen=True, slots=True)
class Bounded:
    """What of memory fits.

    Attributes:
        text: as it is shown; "": nothing.
        found: the entries in it, best first.
        runs: what earlier runs have, likewise.
    """

    text: str
    found: tuple[Known, ...] = ()
    runs: tuple[FromRun, ...] = ()


def topic_line(topic: About) -> str:
    """Return one topic file in a line: how many entries, how new, what about."""
    newest = f", newest {topic.newest}" if topic.newest else ""
    about = _one_line(topic.description or topic.title, 200)
    return f"- `{_one_line(topic.path, 120)}` ({topic.entries}{newest}): {about}"


def entry_line(known: Known) -> str:
    """Return one entry in a line: topic, key, value, date, confidence, evidence."""
    entry = known.entry
    value = _one_line(" / ".join(_lines(entry.value)), MAX_VALUE_CHARS)
    told = [entry.when] if entry.when else []
    if entry.is_by_a_person:
        told.append("by a person")
    elif entry.confidence is not None:
        told.append(f"confidence {entry.confidence:g}")
    if entry.evidence:
        told.append(_evidence(known))
    also = f" ({', '.join(told)})" if told else ""
    key = _one_line(entry.key, 120)
    return f"- `{_one_line(known.topic, 120)}` › {key}: {value}{also}"


def run_line(found: FromRun) -> str:
    """Return what an earlier run has, in a line: which run, what, where from."""
    told = [found.what, found.when]
    if found.places:
        places = ", ".join(f"`{_one_line(place_text(p), 200)}`" for p in found.places)
        told.append(places + _STATES[found.state])
    text = _one_line(" / ".join(_lines(found.text)), MAX_VALUE_CHARS)
    title = _one_line(found.title, 120)
    return f"- run `{found.run}` › {title}: {text} ({', '.join(filter(None, told))})"


def bounded(
    topics: Sequence[About],
    found: Sequence[Known],
    runs: Sequence[FromRun] = (),
    *,
    limit_tokens: int,
    heading: str,
    count: Callable[[str], int],
    redact: Callable[[str], str],
) -> Bounded:
    """Return topics, then what was found under `heading`, as far as it fits.

    Args:
        topics: of the whole memory; those that do not fit are counted.
        found: entries, best first; one that does not fit is passed over.
        runs: what earlier runs have, likewise, behind them.
        limit_tokens: of the whole text.
        heading: of what was found.
        count: estimates the tokens of a text.
        redact: replaces secrets, which people may have written into the files.
    """
    listed = redact(_topics(topics, int(limit_tokens * TOPICS_SHARE), count))
    left = limit_tokens - count(listed) - count(heading)
    lines: list[str] = []
    shown: list[Known | FromRun] = []
    every: list[Known | FromRun] = [*found, *runs]
    for each in every:
        line = redact(entry_line(each) if isinstance(each, Known) else run_line(each))
        if (tokens := count(line) + 1) <= left:
            left -= tokens
            lines.append(line)
            shown.append(each)
    entries = "\n".join([heading, "", *lines]) if lines else ""
    return Bounded(
        "\n\n".join(filter(None, [listed, entries])),
        tuple(each for each in shown if isinstance(each, Known)),
        tuple(each for each in shown if isinstance(each, FromRun)),
    )


def _topics(
    topics: Sequence[About], limit_tokens: int, count: Callable[[str], int]
) -> str:
    if not topics:
        return ""
    lines = ["Topics in memory:", ""]
    left = limit_tokens - count(lines[0])
    for number, topic in enumerate(topics):
        line = topic_line(topic)
        left -= count(line) + 1
        if left < 0:
            lines.append(f"- and {len(topics) - number} more")
            break
        lines.append(line)
    return "\n".join(lines)


def _evidence(known: Known) -> str:
    places = known.entry.evidence
    texts = (_one_line(place_text(each), 200) for each in places[:MAX_PLACES])
    shown = ", ".join(f"`{text}`" for text in texts)
    more = f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else ""
    return f"{shown}{more}{_STATES[known.state]}"


def _lines(text: str) -> Iterable[str]:
    return (line.strip() for line in text.split("\n") if line.strip())


def _one_line(text: str, most: int) -> str:
    """Return a text in one line, cut, and so that nothing in it passes for ours.

    What is no UTF-8 in a file of a person's is in it as what cannot be sent.
    """
    plain = defused(" ".join(clean_text(text).split()), beside_ours=True)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"
