"""The figures of a run by tool, by model and by what was waited for, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from orchestrator.cli.output import Style, dollars, pad, safe, terminal_width
from orchestrator.events.phrases import duration, tokens
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.breakdown import by_model, by_tool, waits_of
from orchestrator.inspection.usage import WAITS, ModelUse, ToolUse

__all__ = ["BREAKDOWNS", "tool_table"]

_LEAST_NAME = 12

_TOOL_COLUMNS = (
    ("calls", 6), ("failed", 6), ("again", 6), ("time", 7), ("brought", 8),
    ("share", 6), ("whole", 7), ("kept", 5),
)  # fmt: skip
_MODEL_COLUMNS = (
    ("asked", 5), ("again", 5), ("failed", 6), ("time", 6), ("waited", 6),
    ("in", 5), ("cache", 5), ("out", 5), ("usd", 6),
)  # fmt: skip
_WAIT_COLUMNS = (
    ("at work", 8), ("service", 12), ("subagents", 12), ("place", 12), ("person", 12),
)  # fmt: skip


def tool_table(
    agents: Sequence[AgentView], *, style: Style, now: datetime | None = None
) -> Iterator[str]:
    """Yield what each tool was called for and brought in, a heading first."""
    del now
    uses = by_tool(agents)
    total = ToolUse()
    for use in uses.values():
        total.add(use)

    def row(use: ToolUse) -> Sequence[str]:
        return (
            str(use.calls),
            str(use.errors) if use.errors else "-",
            str(use.repeats) if use.repeats else "-",
            duration(use.seconds),
            tokens(use.tokens),
            _share(use.tokens, total.tokens),
            tokens(use.full_tokens),
            str(use.artifacts) if use.artifacts else "-",
        )

    rows = [(name, row(use)) for name, use in uses.items()]
    rows += [("all", row(total))] if len(rows) > 1 else []
    yield from _table("tool", _TOOL_COLUMNS, rows, style)


def model_table(
    agents: Sequence[AgentView], *, style: Style, now: datetime | None = None
) -> Iterator[str]:
    """Yield what each model was asked, took and cost, a heading first."""
    del now
    uses = by_model(agents)
    total = ModelUse()
    for use in uses.values():
        total.add(use)

    def row(use: ModelUse) -> Sequence[str]:
        return (
            str(use.requests),
            str(use.retries) if use.retries else "-",
            str(use.failures) if use.failures else "-",
            duration(use.seconds),
            duration(use.waited_s),
            tokens(use.tokens.sent),
            f"{use.tokens.cache_share:.0%}",
            tokens(use.tokens.output),
            dollars(use.cost.known_usd),
        )

    rows = [(name, row(use)) for name, use in uses.items()]
    rows += [("all", row(total))] if len(rows) > 1 else []
    yield from _table("model", _MODEL_COLUMNS, rows, style)


def wait_table(
    agents: Sequence[AgentView], *, style: Style, now: datetime | None = None
) -> Iterator[str]:
    """Yield what each agent waited for, in time and as a share, a heading first."""

    def row(found: dict[str, float], at_work: float) -> Sequence[str]:
        whole = at_work + found["room"]
        return (
            duration(at_work),
            *(
                f"{duration(found[what])} {_share(found[what], whole):>4}"
                if found[what] >= 0.05
                else "-"
                for what in WAITS
            ),
        )

    rows = [(each.id, row(each.usage.waits(now), each.seconds(now))) for each in agents]
    whole = sum(each.seconds(now) for each in agents)
    rows += [("all", row(waits_of(agents, now), whole))] if len(rows) > 1 else []
    yield from _table("agent", _WAIT_COLUMNS, rows, style)


BREAKDOWNS: dict[str, Callable[..., Iterator[str]]] = {
    "tool": tool_table,
    "model": model_table,
    "wait": wait_table,
}
"""What `--by` can say besides `agent`."""


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _table(
    title: str,
    columns: Sequence[tuple[str, int]],
    rows: Sequence[tuple[str, Sequence[str]]],
    style: Style,
) -> Iterator[str]:
    room = terminal_width() - sum(width + 1 for _, width in columns)
    widest = max([len(title), *(len(safe(name)) for name, _ in rows)])
    names = min(max(room, _LEAST_NAME), widest + 1)
    heading = "".join(" " + pad(name, width, right=True) for name, width in columns)
    yield style(pad(title, names) + heading, "bold")
    for name, texts in rows:
        figures = "".join(
            " " + pad(text, width, right=True)
            for text, (_, width) in zip(texts, columns, strict=True)
        )
        yield pad(safe(name), names) + figures
    if not rows:
        yield "nothing yet"
