"""The live tree of agents as lines of text that fit a window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from orchestrator.cli.branches import branches
from orchestrator.cli.output import Style, cut, dollars, pad, safe, state_color, width
from orchestrator.events.phrases import count_phrase, duration, quoted, tokens
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.limits import LimitUse
from orchestrator.inspection.run import RunView

__all__ = ["budget_bar", "live_lines"]

MIN_ROWS = 8
BAR_CELLS = 16
_TITLE_COLUMNS = 36
# state 10, tokens 6, usd 6, time 6, and the blanks between them
_FIGURES_COLUMNS = 32


def budget_bar(use: LimitUse | None, style: Style) -> str:
    """Return how much of a limit is used, as a bar: `━━━━──── 41% of 2 usd`."""
    if use is None or use.allowed <= 0:
        return ""
    share = min(max(use.used / use.allowed, 0.0), 1.0)
    full = round(share * BAR_CELLS)
    color = "red" if share >= 0.85 else "yellow" if share >= 0.6 else "green"
    bar = style("━" * full, color) + style("─" * (BAR_CELLS - full), "dim")
    return f"{bar} {share:.0%} of {_amount(use.allowed)} {use.name}"


def _amount(value: float) -> str:
    return tokens(int(value)) if value >= 10_000 else f"{value:g}"


def live_lines(
    view: RunView, *, now: datetime, columns: int, rows: int, style: Style
) -> list[str]:
    """Return the tree in at most `rows` lines of at most `columns` columns.

    Where not all agents fit, those at work are shown first and the others counted.
    """
    lines = [_head(view, now, columns, style), _columns(columns, style)]
    agents = list(view.tree())
    room = max(rows, MIN_ROWS) - 5
    shown = agents if len(agents) <= room else _most_telling(agents, room - 1)
    joints = branches([depth for _agent, depth in shown], step=2)
    for (agent, _depth), branch in zip(shown, joints, strict=True):
        lines.append(_agent_line(agent, branch.stem, view, now, columns, style))
    hidden = [agent for agent, _depth in agents if not _is_in(agent, shown)]
    if hidden:
        lines.append(style(cut(f"  {_counted(hidden)}", columns), "dim"))
    lines.append(_totals(view, now, style))
    return lines


def _columns(columns: int, style: Style) -> str:
    """Return the names of the columns of the tree."""
    title_columns, room = _widths(columns)
    heads = pad("agent", title_columns) + pad(" step", room - title_columns)
    figures = " ".join(pad(name, 6, right=True) for name in ("tokens", "usd", "time"))
    return style(f"{heads} {pad('state', 10)} {figures}", "dim")


def _widths(columns: int) -> tuple[int, int]:
    """Return the columns of the titles, and of titles and steps together."""
    room = max(columns - _FIGURES_COLUMNS - 1, 12)
    return min(_TITLE_COLUMNS, room // 2), room


def _is_in(agent: AgentView, rows: Sequence[tuple[AgentView, int]]) -> bool:
    return any(agent is other for other, _depth in rows)


def _most_telling(
    rows: Sequence[tuple[AgentView, int]], room: int
) -> list[tuple[AgentView, int]]:
    order = {"running": 0, "ended": 1, "waiting": 2}
    ranked = sorted(
        enumerate(rows),
        key=lambda each: (
            each[1][1] > 0,
            order.get(each[1][0].state, 3),
            # Of those that ended, the newest say most.
            -each[0] if each[1][0].state == "ended" else each[0],
        ),
    )
    kept = sorted(index for index, _row in ranked[:room])
    return [rows[index] for index in kept]


def _counted(agents: Sequence[AgentView]) -> str:
    counts: dict[str, int] = {}
    for agent in agents:
        counts[agent.state] = counts.get(agent.state, 0) + 1
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"… and {count_phrase(len(agents), 'more agent')}: {parts}"


def _head(view: RunView, now: datetime, columns: int, style: Style) -> str:
    state, right = safe(view.state) or "starting", duration(view.seconds(now))
    name = cut(safe(view.id), columns - len(state) - len(right) - 4)
    gap = " " * max(columns - width(name) - len(state) - len(right) - 3, 2)
    return f"{style(name, 'bold')}  {style(state, state_color(state))}{gap}{right}"


def _agent_line(
    agent: AgentView,
    stem: str,
    view: RunView,
    now: datetime,
    columns: int,
    style: Style,
) -> str:
    title_columns, room = _widths(columns)
    title = pad(f"{stem}{agent.id} {safe(agent.title)}", title_columns)
    activity = pad(" " + _activity(agent, view, now), room - title_columns)
    label = view.label(agent)
    price = agent.cost.to_dict()["usd"]
    took = duration(agent.seconds(now)) if agent.started_at else "-"
    figures = (
        f" {pad(tokens(agent.tokens.sent + agent.tokens.output), 6, right=True)}"
        f" {pad(dollars(price), 6, right=True)}"
        f" {pad(took, 6, right=True)}"
    )
    state = style(pad(safe(label), 10), state_color(label))
    return f"{title}{style(activity, 'dim')} {state}{figures}"


def _activity(agent: AgentView, view: RunView, now: datetime) -> str:
    if not view.is_running:
        return ""
    if agent.state != "ended":
        asked = agent.answers.newest.question if agent.state == "waiting" else ""
        told = f", asked further {quoted(asked)}" if asked else ""
        by = f" ({agent.model} in its model's place)" if agent.refused_by else ""
        return safe(view.doing(agent, now) + by + told)
    return safe(agent.answers.newest.why or agent.reason)


def _totals(view: RunView, now: datetime, style: Style) -> str:
    total, cost = view.tokens, view.cost.to_dict()
    # The limit that is closest: it is the one that will stop the run.
    shared = [
        use
        for use in view.limit_use(now)
        if use.name in ("usd", "tokens", "minutes") and use.allowed > 0
    ]
    closest = max(shared, key=lambda use: use.used / use.allowed, default=None)
    bar = budget_bar(closest, style)
    cached = f", {total.cache_share:.0%} from cache" if total.cache_read else ""
    used = f"{tokens(total.sent)} in{cached}, {tokens(total.output)} out"
    return f"{used}   {dollars(cost['usd'])} usd  {bar}".rstrip()
