"""Calls and figures of a run in words, for whoever shows them.

Texts of the run are passed on as they are, on one line; whoever shows them must make
them safe first. Nothing here fails on a field of a wrong type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "call_phrase",
    "count_phrase",
    "delivery_phrase",
    "duration",
    "generous",
    "names_phrase",
    "number",
    "one_line",
    "quoted",
    "tokens",
]

Data = dict[str, Any]

MAX_INLINE_CHARS = 2000
MAX_NAMES = 4


def number(value: object) -> float:
    """Return `value` if it is a finite number, else 0."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if math.isfinite(value) else 0
    return 0


def one_line(value: object) -> str:
    """Return `value` as text without line ends; long ones are cut."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return " ".join(text[:MAX_INLINE_CHARS].split())


def quoted(value: object) -> str:
    """Return `value` as text on one line, in quotation marks."""
    return f"“{one_line(value)}”"


def tokens(count: float) -> str:
    """Return a number of tokens in at most five characters: `940`, `12.3k`, `3.1M`."""
    if count < 1000:
        return str(int(count))
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        scaled = count / size
        if scaled < 99.95:
            return f"{scaled:.1f}".removesuffix(".0") + unit
        if scaled < 999.5:
            return f"{scaled:.0f}{unit}"
    return f"{count:.0e}"


def duration(seconds: float) -> str:
    """Return a time span in at most six characters: `0.4s`, `41s`, `2m12s`, `3h05m`."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 48 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d"


def generous(amount: float) -> str:
    """Return a limit that gives `amount` once more, in round figures: `0.3` for 0.14.

    Args:
        amount: above 0: what was allowed, or used if that is more.
    """
    wanted = 2 * amount
    step = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return f"{math.ceil(round(wanted / step, 6)) * step:.10g}"


def count_phrase(count: int, noun: str) -> str:
    """Return `1 item` or `3 items`."""
    if count == 1:
        return f"1 {noun}"
    ends_in_ies = noun.endswith("y") and noun[-2:-1] not in tuple("aeiou")
    return f"{count:,} {f'{noun[:-1]}ies' if ends_in_ies else f'{noun}s'}"


def names_phrase(names: Sequence[str], *, most: int = MAX_NAMES) -> str:
    """Return `a1, a2, a3`; of many the first ones, and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def delivery_phrase(ids: Sequence[object]) -> str:
    """Return what deliveries bring: `findings of a1, a3; further answer 1 of a2`."""
    briefs, answers = [], []
    for each in ids:
        agent, _, nth = one_line(each).partition("/")
        if nth:
            answers.append(f"further answer {nth} of {agent}")
        else:
            briefs.append(agent)
    found = [f"findings of {names_phrase(briefs)}"] if briefs else []
    return "; ".join([*found, *answers])


def _read_file(given: Data) -> str:
    first = given.get("first_line")
    place = f" from line {first}" if isinstance(first, int) and first > 1 else ""
    return f"reads {one_line(given.get('path'))}{place}"


def _grep(given: Data) -> str:
    where = given.get("path") or given.get("glob")
    place = f" in {one_line(where)}" if where else ""
    return f"searches for {quoted(given.get('pattern'))}{place}"


def _delegate(given: Data) -> str:
    briefs = given.get("briefs")
    if not isinstance(briefs, list):
        return "delegates"
    titles = [quoted(brief.get("title")) for brief in briefs if isinstance(brief, dict)]
    then = {"first": ", waits for the first", "none": " and goes on"}
    waits = given.get("wait")
    after = then.get(waits, "") if isinstance(waits, str) else ""
    return f"delegates {count_phrase(len(briefs), 'brief')}{after}: {', '.join(titles)}"


def _wait_for(given: Data) -> str:
    agents = given.get("agents")
    named = agents if isinstance(agents, list) else []
    names = names_phrase([one_line(each) for each in named])
    if given.get("timeout_s") == 0:
        return f"looks how {names or 'its subagents'} stand"
    if given.get("mode") == "all":
        return f"waits for {names or 'all of its subagents'}"
    if len(named) == 1:
        return f"waits for {names}"
    return f"waits for the next of {names or 'all'}"


def _cancel(given: Data) -> str:
    why = one_line(given.get("reason"))
    return f"cancels {one_line(given.get('agent'))}" + (f": {why}" if why else "")


_IN_MEMORY = {
    "view": "looks into memory",
    "create": "writes into memory",
    "str_replace": "changes memory",
    "insert": "adds to memory",
    "delete": "takes out of memory",
    "rename": "moves in memory",
}


def _memory(given: Data) -> str:
    command = one_line(given.get("command"))
    path = one_line(given.get("path") or given.get("old_path"))
    to = one_line(given.get("new_path"))
    what = path.removeprefix("/memories").strip("/")
    does = _IN_MEMORY.get(command, f"memory {command}".strip())
    also = f" to {to.removeprefix('/memories').strip('/')}" if to else ""
    return (f"{does}: {what}" if what else does) + also


_CALLS: dict[str, Callable[[Data], str]] = {
    "read_file": _read_file,
    "grep": _grep,
    "glob": lambda given: f"looks for files named {one_line(given.get('pattern'))}",
    "list_dir": lambda given: f"lists {one_line(given.get('path')) or 'the workspace'}",
    "write_file": lambda given: f"writes {one_line(given.get('path'))}",
    "edit_file": lambda given: f"edits {one_line(given.get('path'))}",
    "bash": lambda given: f"runs {quoted(given.get('command'))}",
    "fetch_url": lambda given: f"fetches {one_line(given.get('url'))}",
    "read_ref": lambda given: f"opens {one_line(given.get('ref'))}",
    "recall": lambda given: f"looks back for {quoted(given.get('query'))}",
    "memory": _memory,
    "update_notes": lambda given: f"writes notes: {one_line(given.get('section'))}",
    "delegate": _delegate,
    "wait_for": _wait_for,
    "follow_up": lambda given: (
        f"asks {one_line(given.get('agent'))}: {one_line(given.get('question'))}"
    ),
    "cancel": _cancel,
    "finish": lambda _given: "hands in the report",
    "submit_findings": lambda _given: "hands in findings",
}


def call_phrase(name: str, given: Data) -> str:
    """Return what a tool call does, as in `searches for “token” in src`."""
    phrase = _CALLS.get(name)
    if phrase is not None:
        return phrase(given)
    inside = ", ".join(f"{key}={one_line(value)}" for key, value in given.items())
    return f"{one_line(name)}({inside})"
