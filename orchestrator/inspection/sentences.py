"""What an event says, as one plain sentence for somebody new to the program.

Texts of the run are passed on as they are, on one line; whoever shows them must make
them safe for a terminal first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.errors import LimitReached
from orchestrator.events import Event, ModelFailed
from orchestrator.events.phrases import (
    call_phrase,
    count_phrase,
    delivery_phrase,
    duration,
    number,
    one_line,
    quoted,
    tokens,
)
from orchestrator.inspection.edit_sentences import asked_for, cleared, compacted
from orchestrator.inspection.memory_sentences import memory_kept, memory_recalled

__all__ = ["describe", "why_missed"]

MIN_QUEUED_S = 1.0
"""A wait that is worth a word."""

Data = dict[str, Any]


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


def _run_parked(data: Data) -> str:
    under_way = int(number(data.get("under_way")))
    waits = f"; waits for {count_phrase(under_way, 'answer')} under way"
    return (
        f"run is being parked: {one_line(data.get('error'))}: "
        f"{one_line(data.get('message'))}{waits if under_way else ''}"
    )


def _agent_started(data: Data) -> str:
    return (
        f"starts {quoted(data.get('title'))} (profile {one_line(data.get('profile'))},"
        f" {one_line(data.get('model'))})"
    )


def _agent_ended(data: Data) -> str:
    reason = f": {one_line(data.get('reason'))}" if data.get("reason") else ""
    turns = count_phrase(int(number(data.get("turns"))), "turn")
    return f"ends after {turns}, {one_line(data.get('outcome'))}{reason}"


def _requested(data: Data) -> str:
    size = tokens(number(data.get("estimated_tokens")))
    purpose = asked_for(data)
    if purpose:
        whom = one_line(data.get("model")) or "the model"
        return f"asks {whom} for {purpose}, about {size} tokens"
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
    who = "model"
    if purpose := asked_for(data):
        who = one_line(data.get("model")) or who
        wants = f"is asked for {purpose} and {wants}"
    cached = number(usage.get("cache_read_tokens"))
    sent = cached + sum(
        number(usage.get(name))
        for name in ("input_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    )
    size = f"{tokens(sent)} in, {tokens(number(usage.get('output_tokens')))} out"
    usd = data.get("usd")
    price = f", ${usd:.4f}" if isinstance(usd, (int, float)) and usd else ""
    is_kept = data.get("kept", True) or data.get("purpose")
    dropped = "" if is_kept else "; not kept, asked again"
    took = duration(number(data.get("seconds")))
    queued_s = number(data.get("queued_s"))
    if queued_s >= MIN_QUEUED_S:
        took += f" after {duration(queued_s)} in line for a rate limit"
    return f"{who} {wants} ({size}{price}, {took}){dropped}"


_MISSES = {
    "expired": "too long after the request before",
    "prefix_changed": "not begun like the request before",
    "resumed": "after another process",
    "unknown": "for reasons unknown",
}


def why_missed(cause: str) -> str:
    """Return why a request read less from the cache than it should, in words.

    Args:
        cause: as in the event; one of later versions stays as it is.
    """
    return _MISSES.get(cause, cause)


def _cache_missed(data: Data) -> str:
    cause, reported = one_line(data.get("cause")), one_line(data.get("reported"))
    if cause == "not_cached":
        return "the endpoint does not tell of any prompt cache; all input costs in full"
    read = tokens(number(data.get("read")))
    expected = tokens(number(data.get("expected")))
    why = one_line(data.get("detail")) or why_missed(cause)
    also = f" (the service says: {reported})" if reported else ""
    return f"read {read} of {expected} tokens from the prompt cache: {why}{also}"


def _retried(data: Data) -> str:
    # After the wait it may have to stand in line behind others.
    return (
        f"try {one_line(data.get('attempt'))} failed, next in "
        f"{duration(number(data.get('wait_s')))} or later: "
        f"{one_line(data.get('error'))}: {one_line(data.get('message'))}"
    )


def _model_failed(data: Data) -> str:
    if data.get("error") == ModelFailed.NOT_SENT:
        return f"request is held back: {one_line(data.get('message'))}"
    asked = f" when asked for {purpose}" if (purpose := asked_for(data)) else ""
    return (
        f"model gave no answer{asked}: {one_line(data.get('error'))}: "
        f"{one_line(data.get('message'))}"
    )


def _adapted(data: Data) -> str:
    found = data.get("without")
    lacking = found if isinstance(found, list) else []
    named = ", ".join(one_line(each) for each in lacking)
    told = one_line(data.get("message"))
    why = f": {told}" if told else ", as others have found out"
    return f"asks {one_line(data.get('model'))} without {named} from now on{why}"


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
    # What a line with a colon announces is on the next one.
    first = 2 if lines and lines[0].endswith(":") else 1
    return one_line(" ".join(lines[:first]))


def _tool_ended(data: Data) -> str:
    name, took = one_line(data.get("name")), duration(number(data.get("seconds")))
    brought = _delivers(data)
    also = f", with the {brought}" if brought else ""
    if data.get("is_error"):
        return f"{name} failed: {_first_line(data.get('content'))}{also}"
    shown, full = number(data.get("tokens")), number(data.get("full_tokens"))
    clipped = f" of {tokens(full)}" if full > shown * 1.05 + 8 else ""
    return f"{name} gave {tokens(shown)}{clipped} tokens in {took}{also}"


def _delivers(data: Data) -> str:
    ids = data.get("delivers")
    return delivery_phrase(ids) if isinstance(ids, list) else ""


def _added(data: Data) -> str:
    brought = _delivers(data)
    if brought:
        return f"is handed the {brought}"
    if data.get("reason") == "steer":
        said = data.get("words") or _last_part(data.get("text"))
        return f"is told what a person said: {one_line(said)}"
    return f"is told ({one_line(data.get('reason'))}): {one_line(data.get('text'))}"


def _last_part(text: object) -> str:
    """Return a person's words without those that the program puts before them."""
    return str(text).partition("\n\n")[2] or str(text)


def _refused(data: Data) -> str:
    problems = data.get("problems")
    texts = problems if isinstance(problems, list) else []
    why = "; ".join(one_line(problem) for problem in texts)
    return f"brief {quoted(data.get('title'))} refused: {why}"


def _accepted(data: Data) -> str:
    title, profile = quoted(data.get("title")), one_line(data.get("profile"))
    return f"{one_line(data.get('id'))} takes {title} ({profile})"


def _subagent_ended(data: Data) -> str:
    explored = tokens(number(data.get("explored_tokens")))
    returned = tokens(number(data.get("returned_tokens")))
    unsupported = int(number(data.get("unsupported")))
    status = one_line(data.get("status")).replace("_", " ")
    if data.get("outcome") == "cancelled":
        status = f"cancelled, {status}"
    question = one_line(data.get("question"))
    if question:
        status = f"answers {quoted(question)}, {status}"
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
    told = "; ".join([*(one_line(text) for text in texts), *_unfinished(data)])
    return f"findings sent back: {told}"


def _unfinished(data: Data) -> list[str]:
    """Return which subagents an agent had not heard of when it handed in."""
    agents = data.get("unfinished")
    if not isinstance(agents, list) or not agents:
        return []
    return [f"without {delivery_phrase(agents)}"]


def _report(data: Data) -> str:
    wrong = data.get("wrong")
    bad = wrong if isinstance(wrong, list) else []
    verdict = "report accepted" if data.get("accepted") else "report sent back"
    cited = count_phrase(int(number(data.get("citations"))), "citation")
    wrongs = ", ".join(one_line(each) for each in bad)
    also = [f"{len(bad)} wrong: {wrongs}"] if bad else []
    if data.get("unheard"):
        return f"{verdict}: a person had said something that the lead did not know"
    return f"{verdict}: {', '.join([cited, *also, *_unfinished(data)])}"


def _limit(data: Data) -> str:
    used, allowed = number(data.get("used")), number(data.get("allowed"))
    kept = data.get("set_aside")
    set_aside = None if kept is None else number(kept)
    reached = LimitReached(one_line(data.get("limit")), used, allowed, set_aside)
    return f"limit {reached}"


def _controlled(data: Data) -> str:
    whom = one_line(data.get("to")) or "the run"
    who = one_line(data.get("by")) or "a person"
    action, why = one_line(data.get("action")), one_line(data.get("reason"))
    if action == "steer":
        return f"{who} says to the lead: {one_line(data.get('text'))}"
    if action == "go_on":
        return f"{who} let {whom} go on"
    told = f"{who} asked to {action} {whom}"
    return f"{told}: {why}" if why else told


def _permission_asked(data: Data) -> str:
    named = data.get("permissions")
    what = ", ".join(map(one_line, named)) if isinstance(named, list) else ""
    tool = one_line(data.get("tool"))
    return f"{tool} needs {what}, and asks: {one_line(data.get('effect'))}"


def _permission_answered(data: Data) -> str:
    tool = one_line(data.get("tool"))
    if data.get("by") != "person":
        return f"nobody is there to be asked about {tool}: no"
    words = {"once": "yes", "always": "yes, always in this run"}
    answer = words.get(one_line(data.get("answer")), "no")
    return f"a person answers about {tool}: {answer}"


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
    "run.parked": _run_parked,
    "run.ended": _run_ended,
    "agent.started": _agent_started,
    "agent.ended": _agent_ended,
    "model.requested": _requested,
    "model.answered": _answered,
    "model.retried": _retried,
    "model.failed": _model_failed,
    "model.adapted": _adapted,
    "model.replaced": lambda data: (
        f"goes on with {one_line(data.get('instead'))}: "
        f"{one_line(data.get('model'))} refused ({one_line(data.get('reason'))})"
    ),
    "cache.missed": _cache_missed,
    "context.cleared": cleared,
    "context.compacted": compacted,
    "tool.started": _tool_started,
    "tool.ended": _tool_ended,
    "thinking.dropped": lambda data: (
        f"thinking is left out from here on back: {one_line(data.get('why'))}"
    ),
    "result.replaced": lambda data: (
        "a result is not sent any more, and this is in its place: "
        f"{one_line(data.get('content'))}"
    ),
    "text.added": _added,
    "brief.refused": _refused,
    "brief.reused": lambda data: (
        f"brief {quoted(data.get('title'))} is answered by the findings of "
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
    "notes.edited": lambda data: (
        f"a person changes the notes, {one_line(data.get('section'))}: "
        f"{one_line(data.get('text')) or 'emptied'}"
    ),
    "memory.recalled": memory_recalled,
    "memory.kept": memory_kept,
    "limit.reached": _limit,
    "permission.asked": _permission_asked,
    "permission.answered": _permission_answered,
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
    if event.kind == "control.received" and event.data.get("by") == event.agent:
        return text.removeprefix(f"{event.agent} ")
    child = one_line(event.data.get("id"))
    is_told_of_another = event.kind == "subagent.ended" and child != event.agent
    return f"{child} {text}" if is_told_of_another else text
