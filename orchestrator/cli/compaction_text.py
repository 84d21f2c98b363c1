"""One compaction of an agent as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TypeVar

from orchestrator.cli.output import (
    LABEL_COLUMNS,
    Style,
    cut,
    dollars,
    fill,
    pad,
    row,
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
from orchestrator.inspection.context import Aside
from orchestrator.inspection.edit_sentences import mended, why_edited

__all__ = ["compaction_lines"]

_HOW = {
    "mechanical": "a summary was made without the model",
    "none": "without a summary",
}
_FIRST, _LAST = 6, 3
"""Of a long list, what is shown; one that is a little longer stays whole."""
_SLACK = 3
_LINE_COLUMNS = 4000
_TEXT_TIMES = 8
"""Lines of the text that are shown, in those of a list."""
_FINE = {"length": "short enough"}
_MENDED = {"length": "shortened"}

T = TypeVar("T")


def compaction_lines(
    found: Compaction, *, style: Style, full: bool = False
) -> Iterator[str]:
    """Yield everything about a compaction: figures, checks, text, steps.

    Args:
        found: the compaction.
        style: colours.
        full: long lists and texts whole; else their first and last lines.
    """
    told = found.told
    head = f"{found.agent}: compaction {found.nth} of {found.count}"
    yield style(safe(f"{head}, before turn {told.turn}"), "bold")
    yield _row("why", f"{why_edited(told.why)}; {_how(found)}")
    before, after = tokens(told.tokens_before), tokens(told.tokens_after)
    gone = f", {count_phrase(told.thinking, 'block')} of thinking left out"
    yield _row("size", f"{before} → {after} tokens{gone if told.thinking else ''}")
    if told.how != "none":
        yield _row("price", _price(found))
    for at, failure in enumerate(told.failures):
        yield _row("" if at else "failures", f"{at + 1}. {failure}")
    if told.checks:
        verdict = mended(asdict(told)) or "all there"
        yield _row("checks", verdict)
    if judged := _judged(found):
        yield _row("judge", judged)
    yield _row("kept", _kept(found))
    yield _row("dropped", _dropped(found))
    most = 0 if full else 1
    yield from _checks(found, style)
    yield from _mended(found, style, most)
    yield from _list("put back by the checks", told.added, style, most)
    yield from _list("rules that the summary made up", told.own_rules, style, most)
    yield from _text(found, style, most * _TEXT_TIMES)
    yield from _steps("dropped", found.dropped, style, most)
    yield from _steps("kept whole", found.kept, style, most)
    yield from _list("files shown afresh", told.reopened, style, most)


def _folded(items: Sequence[T], times: int) -> Iterator[T | int]:
    """Yield items; of many the first, how many are left out, and the last.

    Args:
        items: in order.
        times: as many times the usual numbers are shown; 0: all.
    """
    first, last = _FIRST * times, _LAST * times
    if not times or len(items) <= first + last + _SLACK:
        yield from items
        return
    yield from items[:first]
    yield len(items) - first - last
    yield from items[len(items) - last :]


def _rest(count: int) -> str:
    return f"  … and {count:,} more; --full shows them"


def _of(found: Compaction, purpose: str) -> list[Aside]:
    return [each for each in found.asides if each.purpose == purpose]


def _how(found: Compaction) -> str:
    told, asked = found.told, _of(found, "summary")
    if told.how != "model":
        return _HOW.get(told.how, told.how)
    model = asked[-1].model if asked else ""
    return f"{model or 'the model'} wrote a summary"


def _judged(found: Compaction) -> str:
    """Return who judged the summary and what that one found, or ""."""
    asked = _of(found, "judge")
    if not asked:
        return ""
    judge = asked[-1]
    things = count_phrase(len(judge.found), "thing")
    said = (
        f"named {things} that the summary lacked"
        if judge.found
        else "found nothing lacking"
    )
    return f"{judge.model} {said}; ${dollars(judge.usd)}, {duration(judge.seconds)}"


def _row(label: str, text: str) -> str:
    return row(label, safe(text))


def _price(found: Compaction) -> str:
    told = found.told
    count = len(_of(found, "summary"))
    asked = f" in {count_phrase(count, 'request')}" if count else ""
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


def _steps(
    title: str, steps: Sequence[Step], style: Style, times: int
) -> Iterator[str]:
    if steps:
        yield ""
        yield style(f"{title}: reference, tokens of results, what it did", "bold")
    for step in _folded(steps, times):
        if isinstance(step, int):
            yield _rest(step)
            continue
        did = [f"“{step.said}”"] if step.said else []
        if len(step.calls) == 1:
            did = [call_phrase(step.calls[0].name, step.calls[0].input)]
        yield _line(step.ref, step.tokens, " ".join(did))
        for call in _folded(step.calls if len(step.calls) > 1 else (), times):
            if isinstance(call, int):
                yield f"  {_rest(call)}"
                continue
            did_it = call_phrase(call.name, call.input)
            yield _line(f"  {call.ref}", call.tokens, did_it)


def _line(ref: str, size: int, text: str) -> str:
    figure = tokens(size) if size else "-"
    return cut(
        f"  {pad(ref, 9)} {pad(figure, 6, right=True)}  {safe(text)}", terminal_width()
    )


def _text(found: Compaction, style: Style, times: int) -> Iterator[str]:
    told = found.told
    yield ""
    parts = ", ".join(
        f"{name} {tokens(number(size))}" for name, size in told.parts.items()
    )
    yield style(
        safe("in their place" + (f" ({parts} tokens)" if parts else "")), "bold"
    )
    for line in _folded(safe_lines(told.text or "(nothing)").split("\n"), times):
        if isinstance(line, int):
            yield _rest(line).replace("more;", "more lines;")
        elif line.strip():
            start = "  " + line[: len(line) - len(line.lstrip())]
            # A line beyond all reading is cut, unless all of it is wanted.
            shown = cut(line, _LINE_COLUMNS) if times else line
            yield fill(shown.strip(), indent=start[:LABEL_COLUMNS])
        else:
            yield ""


def _checks(found: Compaction, style: Style) -> Iterator[str]:
    if not found.told.checks:
        return
    yield ""
    yield style("checks: what of the summary was mended, or put back beside it", "bold")
    for check in found.told.checks:
        lost = check.get("lost")
        texts = [str(each) for each in lost] if isinstance(lost, list) else []
        count = int(number(check.get("found")))
        name = str(check.get("check", ""))
        if not count:
            verdict = _FINE.get(name, "all there")
        else:
            verdict = _MENDED.get(name, f"{count} mended")
            if texts:
                more = [f"and {count - len(texts)} more"] if count > len(texts) else []
                verdict += f": {'; '.join([*texts, *more])}"
        first = f"  {pad(safe(name), 10)} "
        line = fill(safe(verdict), indent=" " * 13, first=first)
        yield style(line, "yellow" if count else "")


_SIDES = {"said": "summary", "source": "source", "now": "now"}


def _mended(found: Compaction, style: Style, times: int) -> Iterator[str]:
    """Yield what the model wrote, what the source says, and what stands now."""
    told = found.told.mended
    if told:
        yield ""
        yield style(
            "what the summary said, what its source says, what stands now", "bold"
        )
    for each in _folded(told, times):
        if isinstance(each, int):
            yield _rest(each)
            continue
        for at, (side, name) in enumerate(_SIDES.items()):
            check = "" if at else safe(str(each.get("check", "")))
            text = str(each.get(side) or "") or "(none)"
            first = f"  {pad(check, 11)} {pad(name, 8)} "
            yield fill(safe(text), indent=" " * 23, first=first)


def _list(title: str, texts: Sequence[str], style: Style, times: int) -> Iterator[str]:
    if texts:
        yield ""
        yield style(title, "bold")
    for text in _folded(texts, times):
        if isinstance(text, int):
            yield _rest(text)
        else:
            yield fill(safe(str(text)), indent="    ", first="  - ")
