"""The tree of agents and the summary of a run, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from orchestrator.cli.branches import Branch, branches
from orchestrator.cli.insight_text import events_named, insight_rows
from orchestrator.cli.output import (
    LABEL_COLUMNS,
    Style,
    clock_time,
    cut,
    dollars,
    fill,
    pad,
    row,
    safe,
    state_color,
    terminal_width,
    width,
)
from orchestrator.cli.usage_text import usage_rows
from orchestrator.errors import RAISABLE
from orchestrator.events.phrases import (
    count_phrase,
    duration,
    generous,
    quoted,
    tokens,
)
from orchestrator.ids import LEAD
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.limits import LimitUse
from orchestrator.inspection.run import RunView
from orchestrator.inspection.sentences import why_missed
from orchestrator.inspection.states import AT_REST
from orchestrator.inspection.tokens import Cost
from orchestrator.inspection.waits import waits_phrase

__all__ = ["agent_table", "limit_words", "next_step", "summary_lines"]

_INDENT = " " * LABEL_COLUMNS

# Heading and columns of each figure in the table of agents.
_FIGURES = (
    ("turns", 5),
    ("in", 6),
    ("out", 6),
    ("cache", 5),
    ("explored", 8),
    ("back", 5),
    ("usd", 6),
    ("time", 6),
)
_FIRST_TO_GO = ("out", "back", "explored", "turns", "cache", "in", "time")
"""Of the figures, where the terminal is narrow."""
_LEAST_NAME = 12
_STATE_COLUMNS = 10
_DEEP_NAME_COLUMNS = 30
"""Of the names: with fewer, a tree of several levels is drawn closer."""
_MOST_OPEN = 200
_LEAST_TITLE = 6
"""Columns of a title below which it goes on a line of its own."""


def agent_table(
    view: RunView,
    *,
    now: datetime | None,
    style: Style,
    only: str | None = None,
) -> Iterator[str]:
    """Yield the tree of agents, each with its figures and, below, what is wrong.

    Args:
        view: the run.
        now: ends what is under way.
        style: of the terminal.
        only: this agent; None: all.
    """
    shown, name_columns = _columns(is_cached=bool(view.tokens.cache_read))
    headings = "".join(" " + pad(name, n, right=True) for name, n in shown)
    yield style(
        f"{pad('agent', name_columns)} {pad('state', _STATE_COLUMNS)}{headings}", "bold"
    )
    rows = [each for each in view.tree() if only in (None, each[0].id)]
    rows = rows if only is None else [(agent, 0) for agent, _ in rows]
    until = now or view.last_at
    depths = [depth for _agent, depth in rows]
    is_deep = max(depths, default=0) > 1 and name_columns < _DEEP_NAME_COLUMNS
    for (agent, _depth), branch in zip(
        rows, branches(depths, step=2 if is_deep else 3), strict=True
    ):
        name, whole = _name(agent, branch, name_columns)
        label = view.label(agent)
        state = style(pad(safe(label), _STATE_COLUMNS), state_color(label))
        yield f"{name} {state}{_figures(agent, until, shown)}"
        for note in [*whole, *_notes(agent, view, now)]:
            yield style(fill(safe(note), indent=branch.under), "dim")


def _columns(*, is_cached: bool) -> tuple[list[tuple[str, int]], int]:
    """Return the figures that there is room for, and the columns of the names.

    Args:
        is_cached: something came from the cache; else its column goes to the titles.
    """
    shown = [each for each in _FIGURES if each[0] != "cache" or is_cached]
    for name in ("", *_FIRST_TO_GO):
        shown = [each for each in shown if each[0] != name]
        figures = sum(columns + 1 for _name, columns in shown)
        name_columns = terminal_width() - figures - _STATE_COLUMNS - 1
        if name_columns >= _LEAST_NAME:
            break
    return shown, max(name_columns, _LEAST_NAME)


def _name(agent: AgentView, branch: Branch, columns: int) -> tuple[str, list[str]]:
    """Return the cell that names an agent, and its title where there is no room."""
    who, title = safe(agent.id), safe(agent.title)
    room = columns - width(branch.stem) - width(who) - 1
    stem = branch.stem
    if room < -1:  # so deep that the end of the lines must do
        stem = "…" + stem[len(stem) - (columns - width(who) - 1) :]
    if room >= min(_LEAST_TITLE, width(title)):
        return pad(f"{stem}{who} {title}", columns), []
    return pad(f"{stem}{who}", columns), [title]


def _figures(
    agent: AgentView, now: datetime | None, columns: Sequence[tuple[str, int]]
) -> str:
    is_child = agent.role == "subagent"
    price = agent.cost.to_dict()
    texts = {
        "turns": str(agent.turns),
        "in": tokens(agent.tokens.sent),
        "out": tokens(agent.tokens.output),
        "cache": f"{agent.tokens.cache_share:.0%}",
        "explored": tokens(agent.explored_tokens),
        "back": tokens(agent.returned_tokens)
        if is_child and agent.state == "ended"
        else "-",
        "usd": dollars(price["usd"]),
        "time": duration(agent.seconds(now)) if agent.started_at else "-",
    }
    return "".join(" " + pad(texts[name], n, right=True) for name, n in columns)


def _notes(agent: AgentView, view: RunView, now: datetime | None) -> Iterator[str]:
    """Yield what a person must know of an agent besides its figures, a line each."""
    doing = view.doing(agent, now)
    if doing and agent.state != "waiting":
        yield f"now: {doing}"
    is_told = any(agent.reason in each for each in view.missing)
    if agent.reason and view.label(agent) not in ("complete", "done"):
        yield from () if is_told else (agent.reason,)
    elif agent.status == "partial" and (unread := agent.answers.brief.open_questions):
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        yield f"open: {cut(unread[0], _MOST_OPEN)}{more}"
    if wrapped := agent.usage.wrapped_up:
        yield f"was told to wrap up (#{wrapped[1]}): {wrapped[0]} nearly used up"
    for model in agent.refused_by:
        yield f"{model} refused; {agent.model} went on in its place"
    if len(agent.by_model) > 1:
        costs = ((model, each.to_dict()) for model, each in agent.by_model.items())
        yield "usd by model: " + ", ".join(
            f"{model} {dollars(cost['usd'])}" for model, cost in costs
        )
    if edited := _edited(agent):
        yield edited
    if agent.unsupported:
        what = count_phrase(agent.unsupported, "finding")
        claims = agent.unsupported_claims
        told = ": " + "; ".join(quoted(claim) for claim in claims) if claims else ""
        yield f"{what} unsupported (the quote was not found){told}"
    goes_on = view.is_running or view.state in AT_REST
    yield from agent.answers.further_phrases(goes_on=goes_on)
    for title in agent.reused_for:
        yield f"its findings also answer the brief {quoted(title)}"
    yield from _undelivered(agent, view)


def _edited(agent: AgentView) -> str:
    """Return how often its context was cut down and how to see what went, or ""."""
    counts = (("clear", agent.clears), ("compaction", agent.compactions))
    named = [count_phrase(count, noun) for noun, count in counts if count]
    told = f"context: {', '.join(named)}" if named else ""
    if agent.compactions:
        last = agent.compactions
        which = "1" if last == 1 else f"N`, N from 1 to {last}"
        told += f"; what went: `orchestrate diff RUN {agent.id} {which}"
        told += "`" if last == 1 else ""
    return told


def _undelivered(agent: AgentView, view: RunView) -> Iterator[str]:
    """Yield why findings have not reached who asked for them, if so."""
    lost = view.undelivered(agent)
    if not lost:
        return
    parent = view.agents.get(agent.parent)
    is_cut_off = view.is_resumable and view.state != "partial"
    why = "the run was cut off" if is_cut_off else "the run ended first"
    why = f"the run is {view.state}" if view.state in AT_REST else why
    if parent and parent.is_over:
        why = f"{agent.parent} ended first"
    what = "" if len(agent.answers.all) == 1 else f" ({', '.join(lost)})"
    yield f"findings not delivered{what}: {why}"


def limit_words(use: LimitUse) -> str:
    """Return `0.41 of 2 usd` and the like."""
    if use.name == "tokens":
        return f"{tokens(use.used)} of {tokens(use.allowed)} tokens"
    if use.name == "usd":
        return f"{dollars(use.used)} of {use.allowed:g} usd"
    if use.name == "turns":
        return f"{int(use.used)} of {use.allowed:g} turns (busiest agent)"
    shown = f"{use.used:.1f}" if use.used != int(use.used) else str(int(use.used))
    return f"{shown} of {use.allowed:g} {use.name}"


def _cut_part(use: LimitUse, cost: Cost) -> str:
    """Return what of a limit is for calls that were cut off, if that is most of it."""
    part = {"usd": cost.cut_usd, "tokens": cost.cut_tokens}.get(use.name, 0)
    if part * 2 <= use.used or not part:
        return ""
    amount = dollars(part) if use.name == "usd" else tokens(part)
    calls = count_phrase(cost.cut, "call")
    return f" ({amount} of it for {calls} cut off)"


def summary_lines(
    view: RunView, *, handle: str, now: datetime | None, style: Style
) -> Iterator[str]:
    """Yield the head of `show`: what was asked, how it stands and why.

    Args:
        view: the run.
        handle: what commands call it.
        now: ends what is under way.
        style: of the terminal.
    """
    yield pad("run", LABEL_COLUMNS) + style(safe(view.id), "bold")
    if view.objective:
        yield row("objective", cut(safe(view.objective), 400))
    for question in view.questions:
        yield row("asked", cut(safe(question), 400))
    yield pad("state", LABEL_COLUMNS) + _state(view, handle, style)
    reasons = view.reasons
    for index, each in enumerate(reasons if view.missing else ()):
        label = pad("" if index else "missing", LABEL_COLUMNS)
        text = safe(each.text) + events_named(each.seqs)
        yield fill(text, indent=_INDENT + "  ", first=label + "- ")
    known = [seq for each in reasons for seq in each.seqs[-1:]]
    if known:
        # On one line, to be copied.
        command = f"orchestrate logs {safe(handle)} --around {known[0]}"
        yield pad("look there", LABEL_COLUMNS) + command
    yield row("time", _times(view, now))
    yield row("tokens", _tokens(view))
    if missed := _cache_misses(view):
        yield row("cache", missed)
    if waited := waits_phrase({n: each.waits for n, each in view.agents.items()}):
        yield row("waits", safe(waited))
    subagents = view.subagents
    if subagents:
        explored = sum(each.explored_tokens for each in subagents)
        returned = sum(each.returned_tokens for each in subagents)
        yield row(
            "isolation",
            f"subagents explored {tokens(explored)} tokens and handed back "
            f"{tokens(returned)}",
        )
    yield from (row(label, text) for label, text in insight_rows(view))
    yield from (row(label, text) for label, text in usage_rows(view))
    cost = view.cost
    uses = "; ".join(
        limit_words(use) + _cut_part(use, cost) for use in view.limit_use(now)
    )
    if uses:
        yield row("limits", uses)
    if view.models:
        names = ", ".join(
            f"{role} {name}" for role, name in view.models.items() if name
        )
        yield row("models", safe(names))


def _state(view: RunView, handle: str, style: Style) -> str:
    state, told = safe(view.state), view.reason
    if told in view.missing:  # each is said below
        count = len(view.missing)
        told = f"{count_phrase(count, 'thing')} missing or wrong"
    reason = safe(told) or {
        "crashed": "its process is gone without saying why",
        "running": "at work",
    }.get(view.state, "")
    text = f"{state}: {reason}" if reason else state
    shown = fill(text, indent=_INDENT, first=_INDENT).lstrip()
    colored = style(state, state_color(view.state), "bold") + shown[len(state) :]
    step = next_step(view, handle)
    is_new = step and f"`{step}`" not in reason  # a parked run's reason has it
    return f"{colored}\n{_INDENT}go on with: {step}" if is_new else colored


def next_step(view: RunView, handle: str) -> str:
    """Return the command that has done what a run lacks, or ""."""
    if not view.is_resumable:
        is_partial = view.state == "partial"
        return f'orchestrate ask {safe(handle)} "TEXT"' if is_partial else ""
    reached = [
        limit
        for agent, limit in view.limits_reached
        if agent == LEAD or _is_of_the_task(agent, limit, view)
    ]
    is_limit = view.state == "partial" and reached
    if is_limit and reached[-1] not in RAISABLE:
        return ""  # there is no more of a context window
    more = f" --set limits.{_raised(view, reached[-1])}" if is_limit else ""
    return f"orchestrate resume {safe(handle)}{more}"


def _raised(view: RunView, limit: str) -> str:
    """Return a limit that was reached with a figure that gives as much again."""
    now = [max(u.used, u.allowed) for u in view.limit_use() if u.name == limit]
    return f"{safe(limit)}={generous(now[0]) if now and now[0] > 0 else '…'}"


def _is_of_the_task(agent: str, limit: str, view: RunView) -> bool:
    """Tell whether a limit that a subagent reached is the task's, not its own."""
    if limit == "turns":
        reached = view.agents.get(agent)
        return reached is not None and reached.turns >= view.limits.get("turns", 0)
    if limit == "minutes":
        return any(u.name == limit and u.used >= u.allowed for u in view.limit_use())
    return limit in ("usd", "tokens")


def _times(view: RunView, now: datetime | None) -> str:
    started = clock_time(view.started_at, with_date=True)
    took = duration(view.seconds(now))
    resumed = f", resumed {count_phrase(view.resumes, 'time')}" if view.resumes else ""
    verb = "so far" if view.is_running else "took"
    return f"started {started}, {verb} {took}{resumed}"


def _cache_misses(view: RunView) -> str:
    """Return how often a request read less from the cache than it should, or ""."""
    counts: dict[str, int] = {}
    for agent in view.agents.values():
        for cause, count in agent.cache_misses.items():
            counts[cause] = counts.get(cause, 0) + count
    is_without = counts.pop("not_cached", 0)
    named = [f"{count} {safe(why_missed(cause))}" for cause, count in counts.items()]
    times = count_phrase(sum(counts.values()), "time")
    fell = f"read less than it should {times}: {', '.join(named)}" if named else ""
    told = "the endpoint tells of none" if is_without else ""
    return "; ".join(each for each in (fell, told) if each)


def _tokens(view: RunView) -> str:
    total = view.tokens
    cached = f" ({total.cache_share:.0%} read from cache)" if total.cache_read else ""
    thought = f" ({tokens(total.thinking)} thinking)" if total.thinking else ""
    return f"{tokens(total.sent)} in{cached}, {tokens(total.output)} out{thought}"
