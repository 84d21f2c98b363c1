"""One compaction of an agent as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.cli.output import (
    Style,
    cut,
    dollars,
    fill,
    pad,
    safe,
    safe_lines,
    terminal_width,
)
from orchestrator.events.phrases import (
    call_phrase,
    count_phrase,
    duration,
    number,
    tokens,
)
from orchestrator.inspection.compactions import Compaction, Step
from orchestrator.inspection.edit_sentences import why_edited

__all__ = ["compaction_lines"]

_LABEL = 12
_HOW = {
    "model": "the model wrote a summary",
    "mechanical": "a summary was made without the model",
    "none": "without a summary",
}


def compaction_lines(found: Compaction, *, style: Style) -> Iterator[str]:
    """Yield everything about a compaction: figures, steps, text, checks."""
    told = found.told
    head = f"{found.agent}: compaction {found.nth} of {found.count}"
    yield style(safe(f"{head}, before turn {told.turn}"), "bold")
    yield _row("why", f"{why_edited(told.why)}; {_HOW.get(told.how, told.how)}")
    before, after = tokens(told.tokens_before), tokens(told.tokens_after)
    gone = f", {count_phrase(told.thinking, 'block')} of thinking left out"
    yield _row("size", f"{before} → {after} tokens{gone if told.thinking else ''}")
    if told.how != "none":
        yield _row("price", _price(found))
    for at, failure in enumerate(told.failures):
        yield _row("" if at else "failures", f"{at + 1}. {failure}")
    yield _row("kept", _kept(found))
    yield _row("dropped", _dropped(found))
    yield from _steps("dropped", found.dropped, style)
    yield from _steps("kept whole", found.kept, style)
    yield from _text(found, style)
    yield from _checks(found, style)
    yield from _list("put back by the checks", told.added, style)
    yield from _list("rules that the summary made up", told.own_rules, style)
    yield from _list("files shown afresh", told.reopened, style)


def _row(label: str, text: str) -> str:
    return fill(safe(text), indent=" " * _LABEL, first=pad(label, _LABEL))


def _price(found: Compaction) -> str:
    told = found.told
    asked = f" in {count_phrase(len(found.asides), 'request')}" if found.asides else ""
    return (
        f"${dollars(told.usd)}, {duration(told.seconds)}; "
        f"{tokens(told.tokens_in)} in, {tokens(told.tokens_out)} out{asked}"
    )


def _kept(found: Compaction) -> str:
    messages = count_phrase(found.told.kept_messages, "message")
    if not found.kept:
        return f"the task, and the last {messages}"
    return f"the task, and {_span(found.kept)} whole ({messages})"


def _dropped(found: Compaction) -> str:
    if not found.dropped:
        first, last = found.told.first_dropped, found.told.last_dropped
        return f"steps {first} to {last}"
    calls = sum(len(step.calls) for step in found.dropped)
    size = sum(step.tokens for step in found.dropped)
    return (
        f"{_span(found.dropped)}: {count_phrase(calls, 'call')}, results of "
        f"{tokens(size)} tokens"
    )


def _span(steps: Sequence[Step]) -> str:
    first, last = steps[0].number, steps[-1].number
    return f"step {first}" if first == last else f"steps {first} to {last}"


def _steps(title: str, steps: Sequence[Step], style: Style) -> Iterator[str]:
    if steps:
        yield ""
        yield style(f"{title}: reference, tokens of results, what it did", "bold")
    for step in steps:
        did = [f"“{step.said}”"] if step.said else []
        if len(step.calls) == 1:
            did = [call_phrase(step.calls[0].name, step.calls[0].input)]
        yield _line(step.ref, step.tokens, " ".join(did))
        for call in step.calls if len(step.calls) > 1 else ():
            did_it = call_phrase(call.name, call.input)
            yield _line(f"  {call.ref}", call.tokens, did_it)


def _line(ref: str, size: int, text: str) -> str:
    figure = tokens(size) if size else "-"
    return cut(
        f"  {pad(ref, 9)} {pad(figure, 6, right=True)}  {safe(text)}", terminal_width()
    )


def _text(found: Compaction, style: Style) -> Iterator[str]:
    told = found.told
    yield ""
    parts = ", ".join(
        f"{name} {tokens(number(size))}" for name, size in told.parts.items()
    )
    yield style(
        safe("in their place" + (f" ({parts} tokens)" if parts else "")), "bold"
    )
    for line in safe_lines(told.text or "(nothing)").split("\n"):
        yield f"  {line}" if line else ""


def _checks(found: Compaction, style: Style) -> Iterator[str]:
    if not found.told.checks:
        return
    yield ""
    yield style("checks: what had to be there, and what was lost", "bold")
    for check in found.told.checks:
        lost = check.get("lost")
        texts = [str(each) for each in lost] if isinstance(lost, list) else []
        verdict = f"{len(texts)} lost: {'; '.join(texts)}" if texts else "nothing lost"
        found_ = int(number(check.get("found")))
        name = pad(safe(str(check.get("check", ""))), 10)
        line = fill(
            safe(f"{found_} found, {verdict}"), indent=" " * 13, first=f"  {name} "
        )
        yield style(line, "yellow" if texts else "")


def _list(title: str, texts: Sequence[str], style: Style) -> Iterator[str]:
    if texts:
        yield ""
        yield style(title, "bold")
    for text in texts:
        yield fill(safe(str(text)), indent="    ", first="  - ")
