"""What an event says, as one plain sentence for somebody new to the program.

Texts of the run are passed on as they are, on one line; whoever shows them must make
them safe for a terminal first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.events import Event
from orchestrator.inspection.tokens import number

__all__ = ["call_phrase", "count_phrase", "describe", "duration", "one_line", "tokens"]

Data = dict[str, Any]

MAX_INLINE_CHARS = 2000


def one_line(value: object) -> str:
    """Return `value` as text without line ends; long ones are cut."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return " ".join(text[:MAX_INLINE_CHARS].split())


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


def count_phrase(count: int, noun: str) -> str:
    """Return `1 item` or `3 items`."""
    return f"{count} {noun if count == 1 else noun + 's'}"


def _amount(limit: str, value: object) -> str:
    amount = number(value)
    if limit == "usd":
        return f"${amount:.2f}"
    if limit == "tokens":
        return tokens(amount)
    return f"{amount:.3g}" if amount != int(amount) else str(int(amount))


def _quoted(value: object) -> str:
    return f"“{one_line(value)}”"


def _read_file(given: Data) -> str:
    first = given.get("first_line")
    place = f" from line {first}" if isinstance(first, int) and first > 1 else ""
    return f"reads {one_line(given.get('path'))}{place}"


def _grep(given: Data) -> str:
    where = given.get("path") or given.get("glob")
    place = f" in {one_line(where)}" if where else ""
    return f"searches for {_quoted(given.get('pattern'))}{place}"


def _delegate(given: Data) -> str:
    briefs = given.get("briefs")
    if not isinstance(briefs, list):
        return "delegates"
    titles = [
        _quoted(brief.get("title")) for brief in briefs if isinstance(brief, dict)
    ]
    return f"delegates {count_phrase(len(briefs), 'brief')}: {', '.join(titles)}"


_CALLS: dict[str, Callable[[Data], str]] = {
    "read_file": _read_file,
    "grep": _grep,
    "glob": lambda given: f"looks for files named {one_line(given.get('pattern'))}",
    "list_dir": lambda given: f"lists {one_line(given.get('path')) or 'the workspace'}",
    "read_ref": lambda given: f"opens {one_line(given.get('ref'))}",
    "update_notes": lambda given: f"writes notes: {one_line(given.get('section'))}",
    "delegate": _delegate,
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


def _run_started(data: Data) -> str:
    models = data.get("models")
    names = models if isinstance(models, dict) else {}
    using = ", ".join(f"{role} {one_line(name)}" for role, name in names.items())
    task, goal = one_line(data.get("task")), one_line(data.get("objective"))
    return f"run begins: {task}: {goal} ({using})"


def _run_ended(data: Data) -> str:
    missing = data.get("missing")
    lost = len(missing) if isinstance(missing, list) else 0
    reason = f": {one_line(data.get('reason'))}" if data.get("reason") else ""
    also = f"; {count_phrase(lost, 'thing')} missing" if lost else ""
    return f"run ends as {one_line(data.get('state'))}{reason}{also}"


def _agent_started(data: Data) -> str:
    return (
        f"starts {_quoted(data.get('title'))} (profile {one_line(data.get('profile'))},"
        f" {one_line(data.get('model'))})"
    )


def _agent_ended(data: Data) -> str:
    reason = f": {one_line(data.get('reason'))}" if data.get("reason") else ""
    turns = count_phrase(int(number(data.get("turns"))), "turn")
    return f"ends after {turns}, {one_line(data.get('outcome'))}{reason}"


def _requested(data: Data) -> str:
    size = tokens(number(data.get("estimated_tokens")))
    return f"asks the model, turn {one_line(data.get('turn'))}, about {size} tokens"


def _answered(data: Data) -> str:
    found = data.get("usage")
    usage: Data = found if isinstance(found, dict) else {}
    content = data.get("content")
    calls: dict[str, int] = {}
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            name = one_line(block.get("name"))
            calls[name] = calls.get(name, 0) + 1
    named = [f"{name} ×{count}" if count > 1 else name for name, count in calls.items()]
    wants = f"calls {', '.join(named)}" if calls else "writes text"
    cached = number(usage.get("cache_read_tokens"))
    sent = cached + sum(
        number(usage.get(name))
        for name in ("input_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    )
    size = f"{tokens(sent)} in, {tokens(number(usage.get('output_tokens')))} out"
    usd = data.get("usd")
    price = f", ${usd:.4f}" if isinstance(usd, (int, float)) and usd else ""
    dropped = "" if data.get("kept", True) else "; not kept, asked again"
    took = duration(number(data.get("seconds")))
    return f"model {wants} ({size}{price}, {took}){dropped}"


def _retried(data: Data) -> str:
    return (
        f"try {one_line(data.get('attempt'))} failed, next in "
        f"{duration(number(data.get('wait_s')))}: {one_line(data.get('error'))}: "
        f"{one_line(data.get('message'))}"
    )


def _model_failed(data: Data) -> str:
    return (
        f"model gave no answer: {one_line(data.get('error'))}: "
        f"{one_line(data.get('message'))}"
    )


def _tool_started(data: Data) -> str:
    given = data.get("input")
    return call_phrase(
        one_line(data.get("name")), given if isinstance(given, dict) else {}
    )


def _first_line(content: object) -> str:
    if isinstance(content, list):
        content = next(
            (block.get("text") for block in content if isinstance(block, dict)), ""
        )
    lines = content.strip().splitlines() if isinstance(content, str) else []
    return one_line(lines[0]) if lines else ""


def _tool_ended(data: Data) -> str:
    name, took = one_line(data.get("name")), duration(number(data.get("seconds")))
    if data.get("is_error"):
        return f"{name} failed: {_first_line(data.get('content'))}"
    shown, full = number(data.get("tokens")), number(data.get("full_tokens"))
    clipped = f" of {tokens(full)}" if full > shown * 1.05 + 8 else ""
    return f"{name} gave {tokens(shown)}{clipped} tokens in {took}"


def _refused(data: Data) -> str:
    problems = data.get("problems")
    texts = problems if isinstance(problems, list) else []
    why = "; ".join(one_line(problem) for problem in texts)
    return f"brief {_quoted(data.get('title'))} refused: {why}"


def _accepted(data: Data) -> str:
    title, profile = _quoted(data.get("title")), one_line(data.get("profile"))
    return f"{one_line(data.get('id'))} takes {title} ({profile})"


def _subagent_ended(data: Data) -> str:
    explored = tokens(number(data.get("explored_tokens")))
    returned = tokens(number(data.get("returned_tokens")))
    unsupported = int(number(data.get("unsupported")))
    status = one_line(data.get("status")).replace("_", " ")
    parts = [
        one_line(data.get("reason")),
        f"{count_phrase(unsupported, 'item')} unsupported" if unsupported else "",
        f"explored {explored} tokens, returned {returned}",
    ]
    told = "; ".join(part for part in parts if part)
    return f"{status}: {told}"


def _submitted(data: Data) -> str:
    if data.get("accepted"):
        found = data.get("findings")
        items = found.get("items") if isinstance(found, dict) else None
        size = f" with {count_phrase(len(items), 'item')}" if items else ""
        return f"findings accepted{size}"
    problems = data.get("problems")
    texts = problems if isinstance(problems, list) else []
    return f"findings sent back: {'; '.join(one_line(text) for text in texts)}"


def _report(data: Data) -> str:
    wrong = data.get("wrong")
    bad = wrong if isinstance(wrong, list) else []
    verdict = "report accepted" if data.get("accepted") else "report sent back"
    cited = count_phrase(int(number(data.get("citations"))), "citation")
    also = (
        f", {len(bad)} wrong: {', '.join(one_line(each) for each in bad)}"
        if bad
        else ""
    )
    return f"{verdict}: {cited}{also}"


def _limit(data: Data) -> str:
    name = one_line(data.get("limit"))
    used, allowed = _amount(name, data.get("used")), _amount(name, data.get("allowed"))
    return f"limit `{name}` reached: {used} of {allowed}"


def _controlled(data: Data) -> str:
    whom = one_line(data.get("to")) or "the run"
    who = one_line(data.get("by")) or "a person"
    why = one_line(data.get("reason"))
    told = f"{who} asked to {one_line(data.get('action'))} {whom}"
    return f"{told}: {why}" if why else told


_SENTENCES: dict[str, Callable[[Data], str]] = {
    "run.started": _run_started,
    "run.resumed": lambda data: (
        f"run goes on after event {one_line(data.get('after'))}"
    ),
    "run.reopened": lambda data: (
        f"asked: {question}"
        if (question := one_line(data.get("question")))
        else "the lead is asked to do what is missing"
    ),
    "control.received": _controlled,
    "run.ended": _run_ended,
    "agent.started": _agent_started,
    "agent.ended": _agent_ended,
    "model.requested": _requested,
    "model.answered": _answered,
    "model.retried": _retried,
    "model.failed": _model_failed,
    "tool.started": _tool_started,
    "tool.ended": _tool_ended,
    "thinking.dropped": lambda data: (
        f"thinking is left out from here on back: {one_line(data.get('why'))}"
    ),
    "result.replaced": lambda data: (
        "a result is lost, and this is sent in its place: "
        f"{one_line(data.get('content'))}"
    ),
    "text.added": lambda data: (
        f"is told ({one_line(data.get('reason'))}): {one_line(data.get('text'))}"
    ),
    "brief.refused": _refused,
    "brief.reused": lambda data: (
        f"brief {_quoted(data.get('title'))} is answered by the findings of "
        f"{one_line(data.get('id'))}; nothing changed since"
    ),
    "subagent.accepted": _accepted,
    "subagent.asked": lambda data: f"is asked: {one_line(data.get('question'))}",
    "subagent.ended": _subagent_ended,
    "findings.submitted": _submitted,
    "report.submitted": _report,
    "notes.updated": lambda data: (
        f"notes, {one_line(data.get('section'))}: {one_line(data.get('text'))}"
    ),
    "limit.reached": _limit,
    "log.damaged": lambda _data: "a damaged line of the log was passed over",
}


def describe(event: Event) -> str:
    """Return what happened, as one sentence without line ends.

    A kind that this version does not know is shown by its fields.
    """
    sentence = _SENTENCES.get(event.kind)
    if sentence is None:
        fields = event.data.items()
        return ", ".join(f"{key}={one_line(value)}" for key, value in fields)
    text = sentence(event.data)
    child = one_line(event.data.get("id"))
    is_told_of_another = event.kind == "subagent.ended" and child != event.agent
    return f"{child} {text}" if is_told_of_another else text
