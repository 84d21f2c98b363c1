"""What filled the context of an agent, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.cli.output import Style, cut, fill, pad, safe, terminal_width
from orchestrator.cli.stacked_chart import Column, chart_lines
from orchestrator.events.phrases import (
    call_phrase,
    count_phrase,
    duration,
    one_line,
    tokens,
)
from orchestrator.inspection.context import AgentContext, Aside, Call, Edit, Turn
from orchestrator.inspection.context_sums import (
    AGAIN_TURNS,
    ERROR_TURNS,
    Health,
    estimate_error,
    health_of,
    largest,
    tool_sums,
)
from orchestrator.inspection.edit_sentences import why_edited
from orchestrator.inspection.layers import by_group
from orchestrator.inspection.sentences import describe

__all__ = ["agent_lines", "overview_lines"]

_COLUMNS = (
    ("turn", 4), ("sent", 6), ("est", 5), ("cache", 5), ("first", 6),
    ("fixed", 6), ("kept", 6), ("results", 7), ("stubs", 6), ("said", 6), ("told", 6),
)  # fmt: skip
_FULL = ("full", 5)
"""Where the window is known."""
_MOST_TOOLS = 6
_MOST_MISSED = 3
_LEAST_RUN = 3
"""Clears of the same kind that share a line, from so many on."""
_NEAR_TURNS = 3
"""From one of them to the next, at most."""
_PURPOSES = {
    "summary": "summaries",
    "judge": "judgements of summaries",
    "memory": "what to remember",
}

_OVERVIEW = (
    ("turns", 5), ("peak", 6), ("last", 6), ("sent", 6), ("cache", 5), ("cleared", 7),
    ("compacted", 9),
)  # fmt: skip


def agent_lines(context: AgentContext, *, style: Style) -> Iterator[str]:
    """Yield everything about the context of one agent: turns, plot, sums, health."""
    title = safe(f"{context.id}: {context.title}")
    model = " " + safe(f"({context.model})") if context.model else ""
    yield style(title, "bold") + model
    if told := _window(context):
        yield told
    if not context.turns:
        yield "nothing was sent yet"
        return
    yield ""
    yield from _table(context, style)
    yield ""
    columns = [_column(context, turn) for turn in context.turns.values()]
    yield from chart_lines(columns, marks=_marks(context), style=style)
    yield from _asides(context)
    yield from _estimates(context)
    yield from _offenders(context, style)
    yield from _health(context, style)


def overview_lines(agents: Sequence[AgentContext], *, style: Style) -> Iterator[str]:
    """Yield one line an agent, a heading first."""
    names = terminal_width() - sum(columns + 1 for _, columns in _OVERVIEW)
    heading = "".join(" " + pad(name, n, right=True) for name, n in _OVERVIEW)
    yield style(pad("agent", names) + heading, "bold")
    for each in agents:
        newest = list(each.turns.values())[-1:]
        texts = (
            str(len(each.turns)),
            tokens(each.peak),
            tokens(newest[0].size) if newest else "-",
            tokens(each.sent),
            f"{each.cache_share:.0%}",
            str(len(each.edits) - len(each.compactions)),
            str(len(each.compactions)),
        )
        figures = "".join(
            " " + pad(text, n, right=True)
            for text, (_, n) in zip(texts, _OVERVIEW, strict=True)
        )
        yield pad(safe(f"{each.id} {each.title}"), names) + figures


def _window(context: AgentContext) -> str:
    known = (
        ("window", context.window_tokens),
        ("soft mark", context.soft_tokens),
        ("hard mark", context.hard_tokens),
    )
    return ", ".join(f"{name} {tokens(size)}" for name, size in known if size)


def _marks(context: AgentContext) -> dict[str, int]:
    known = (("soft", context.soft_tokens), ("hard", context.hard_tokens))
    return {name: size for name, size in known if size}


def _table(context: AgentContext, style: Style) -> Iterator[str]:
    columns = [*_COLUMNS, *([_FULL] if context.window_tokens else [])]
    heading = " ".join(pad(name, n, right=True) for name, n in columns)
    yield style(heading, "bold")
    lines: dict[int, list[str]] = {}
    for run in _runs(context.edits):
        lines.setdefault(run[0].turn, []).append(_edit_line(run, style))
    for turn in context.turns.values():
        yield from lines.pop(turn.turn, [])
        texts = _figures(turn, context.window_tokens)
        yield " ".join(
            pad(text, n, right=True)
            for text, (_, n) in zip(texts, columns, strict=True)
        )
    for rest in lines.values():  # no request has followed
        yield from rest


def _runs(edits: Sequence[Edit]) -> list[list[Edit]]:
    """Return edits, those together that one line tells of: clears of the same kind."""
    runs: list[list[Edit]] = []
    for edit in edits:
        if runs and _is_alike(runs[-1][-1], edit):
            runs[-1].append(edit)
        else:
            runs.append([edit])
    told: list[list[Edit]] = []
    for run in runs:
        told += [run] if len(run) >= _LEAST_RUN else [[edit] for edit in run]
    return told


def _is_alike(before: Edit, edit: Edit) -> bool:
    if before.is_compaction or edit.is_compaction:
        return False
    is_near = edit.turn - before.turn <= _NEAR_TURNS
    return is_near and before.event.data.get("why") == edit.event.data.get("why")


def _figures(turn: Turn, window: int | None) -> list[str]:
    groups = by_group(turn.composition)
    error = turn.error
    first = turn.first_token_s
    return [
        str(turn.turn),
        tokens(turn.reported) if turn.reported else f"~{tokens(turn.estimated)}",
        "-" if error is None else f"{error:+.0%}",
        f"{turn.cache_share:.0%}" if turn.reported else "-",
        "-" if first is None else duration(first),
        *(tokens(count) if count else "-" for count in groups.values()),
        *([f"{turn.size / window:.0%}"] if window else []),
    ]


def _edit_line(run: Sequence[Edit], style: Style) -> str:
    """Return the line of an edit, or of several clears that are alike."""
    edit, last = run[0], run[-1]
    letter = "C" if edit.is_compaction else "c"
    said = describe(edit.event)
    if len(run) > 1:
        results = count_phrase(sum(len(each.calls) for each in run), "result")
        why = why_edited(one_line(edit.event.data.get("why")))
        turns = f"turns {edit.turn}–{last.turn}"
        said = f"{len(run)} clears in {turns}, {results} no longer sent: {why}"
    text = f"{letter} {safe(said)}"
    return style(fill(text, indent="       ", first="   - "), "yellow")


def _column(context: AgentContext, turn: Turn) -> Column:
    came = [each for each in context.edits if each.turn == turn.turn]
    letter = "c" if came else ""
    letter = "C" if any(each.is_compaction for each in came) else letter
    known = turn.composition or {"text": turn.size}
    return Column(str(turn.turn), by_group(known), letter)


def _asides(context: AgentContext) -> Iterator[str]:
    if not context.asides:
        return
    asked: dict[tuple[str, str], list[Aside]] = {}
    for each in context.asides:
        asked.setdefault((each.purpose, each.model), []).append(each)
    told = []
    for (purpose, model), asides in asked.items():
        sent = sum(each.tokens_in for each in asides)
        out = sum(each.tokens_out for each in asides)
        count = count_phrase(len(asides), "request")
        what = f"{count} for {_PURPOSES.get(purpose, purpose)}"
        whom = f" to {model}" if model else ""
        told.append(f"{what}{whom}: {tokens(sent)} in, {tokens(out)} out")
    yield ""
    yield fill(safe(f"besides, {'; '.join(told)}"))


def _estimates(context: AgentContext) -> Iterator[str]:
    found = estimate_error(context)
    if found is None:
        return
    yield ""
    yield fill(
        f"estimates of {count_phrase(found.requests, 'request')} against what the "
        f"service counted: first {found.first:+.1%}, all together {found.total:+.1%}, "
        f"worst {found.worst:+.1%}"
    )


def _offenders(context: AgentContext, style: Style) -> Iterator[str]:
    tools = tool_sums(context)
    if not tools:
        return
    yield ""
    yield style(
        "by tool: calls, tokens of results, and what all requests carried", "bold"
    )
    for tool in tools[:_MOST_TOOLS]:
        whole = tool.full_tokens
        clipped = f" of {tokens(whole)}" if whole > tool.tokens * 1.05 + 8 else ""
        errors = f", {count_phrase(tool.errors, 'error')}" if tool.errors else ""
        yield (
            f"  {pad(safe(tool.name), 20)} {count_phrase(tool.calls, 'call')}{errors}, "
            f"{tokens(tool.tokens)}{clipped}, carried {tokens(tool.carried)}"
        )
    if len(tools) > _MOST_TOOLS:
        yield f"  and {count_phrase(len(tools) - _MOST_TOOLS, 'more tool')}"
    yield ""
    yield style("largest results", "bold")
    for call in largest(context):
        until = f", gone from turn {call.gone} on" if call.gone else ""
        text = (
            f"{pad(tokens(call.tokens), 6, right=True)} × "
            f"{count_phrase(call.sent, 'request')}  {_named(call)}{until}"
        )
        yield cut(f"  {text}", terminal_width())


def _named(call: Call) -> str:
    return safe(f"{call.ref} {call_phrase(call.name, call.input)}")


def _health(context: AgentContext, style: Style) -> Iterator[str]:
    found = health_of(context)
    if not found:
        return
    yield ""
    yield style(
        f"missed? within {AGAIN_TURNS} turns; and tool errors of {ERROR_TURNS} turns",
        "bold",
    )
    worth = [each for each in found if each.is_worth_a_look]
    for each in worth:
        yield fill(_health_line(each), indent="      ", first="  ")
        for verb, calls in (("called again", each.again), ("opened", each.opened)):
            for call in calls[:_MOST_MISSED]:
                text = f"      {verb} at turn {call.turn}: {_named(call)}"
                yield cut(text, terminal_width())
    if rest := len(found) - len(worth):
        named = "others" if worth else count_phrase(rest, "edit")
        count = f"{rest} {named}" if worth else named
        yield f"  {count}: nothing missed, and no more errors than before"


def _health_line(health: Health) -> str:
    edit = health.edit
    what = f"compaction {edit.nth}" if edit.is_compaction else f"clear {edit.nth}"
    errors = (
        f"errors {health.errors_before} of {health.calls_before} → "
        f"{health.errors_after} of {count_phrase(health.calls_after, 'call')}"
    )
    return (
        f"{what}, turn {edit.turn}: {count_phrase(len(edit.calls), 'result')}; "
        f"{len(health.again)} called again, {len(health.opened)} opened again, "
        f"{len(health.searched)} searched for; {errors}"
    )
