"""Another context policy on a recorded run, as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from orchestrator.cli.output import Style, dollars, pad, safe
from orchestrator.events.phrases import count_phrase, names_phrase, tokens
from orchestrator.runtime.replaying.figures import Figures
from orchestrator.runtime.replaying.policy_comparison import (
    AgentComparison,
    Columns,
    PolicyComparison,
)

__all__ = ["policy_lines"]

_NAMES = (
    ("was", "as it was"),
    ("own", "run's, computed"),
    ("other", "other, computed"),
)
_NAME_COLUMNS = 15
_MOST_TURNS = 8
"""That are named where requests would not have fitted."""
_SMALL = 0.0005
"""Of a share: less is told as no difference."""


def _share(figures: Figures) -> str:
    sight = figures.sight
    return f"{sight.visible / sight.uses:.0%}" if sight.uses else "-"


_MANY = 2.0
"""Above that a change is told as a factor."""

_Cell = Callable[[Figures], str]
_CELLS: tuple[tuple[str, int, _Cell], ...] = (
    ("asked", 5, lambda each: f"{each.requests}"),
    ("input", 6, lambda each: tokens(each.input_tokens)),
    ("written", 7, lambda each: tokens(each.cache_write_tokens)),
    ("read", 6, lambda each: tokens(each.cache_read_tokens)),
    ("out", 6, lambda each: tokens(each.output_tokens)),
    ("usd", 6, lambda each: dollars(each.usd)),
    ("edits", 6, lambda each: f"{each.clears}+{each.compactions}"),
    ("peak", 5, lambda each: tokens(each.peak_tokens)),
    ("mean", 5, lambda each: tokens(each.mean_tokens)),
    ("sight", 5, _share),
)
_FIRST_TO_GO = ("mean", "asked", "out", "peak", "written", "read", "input")
"""Where the terminal is narrow."""
_LEGEND = (
    ("asked", "requests, those for summaries included"),
    ("input", "tokens neither written to the cache nor read from it"),
    ("written", "to the cache"),
    ("read", "from it"),
    ("edits", "clears + compactions"),
    ("peak", "longest request of a turn"),
    ("mean", "of them"),
    ("sight", "uses of what a result had told, with that in the request"),
)


def policy_lines(comparison: PolicyComparison, columns: int, style: Style) -> list[str]:
    """Return a comparison as lines, the whole run first.

    Args:
        comparison: of two policies.
        columns: of the terminal.
        style: colours.
    """
    return list(_lines(comparison, max(columns, 40), style))


def _lines(comparison: PolicyComparison, columns: int, style: Style) -> Iterator[str]:
    changed = [
        f"{each.name} {_value(each.own)} → {_value(each.other)}"
        for each in comparison.changes
    ]
    told = ", ".join(changed) or "no field differs"
    yield from _filled(f"policy      {safe(told)}", columns, indent=12)
    yield ""
    cells = _cells(comparison, columns)
    yield from _block(f"run {comparison.run}", comparison.total, cells, columns, style)
    yield from _sums(comparison.total, columns)
    alike: list[str] = []
    for agent in comparison.agents:
        if len(comparison.agents) > 1 and _is_alike(agent):
            alike.append(agent.id)
            continue
        yield ""
        yield from _agent(agent, cells, columns, style)
    if alike:
        yield ""
        verb = "is" if len(alike) == 1 else "are"
        yield from _filled(
            f"the same under both: {safe(names_phrase(alike))} {verb} not shown",
            columns,
        )
    yield ""
    shown = {name for name, _, _ in cells}
    legend = "; ".join(f"{name}: {text}" for name, text in _LEGEND if name in shown)
    yield from (style(line, "dim") for line in _filled(legend, columns))
    if comparison.unpriced:
        models = names_phrase([f"`{each}`" for each in comparison.unpriced])
        yield from _filled(
            f"Nobody told the price of {safe(models)}: dollars are unknown, and only "
            "tokens are compared.",
            columns,
        )
    for each in comparison.caveats:
        yield from _filled(f"- {safe(each)}", columns, indent=2)


def _cells(comparison: PolicyComparison, columns: int) -> list[tuple[str, int, _Cell]]:
    """Return the columns that say something and fit."""
    figures = [getattr(comparison.total, name) for name, _ in _NAMES]
    dropped = set()
    if not any(each.cache_write_tokens or each.cache_read_tokens for each in figures):
        dropped |= {"written", "read"}
    if all(each.usd is None for each in figures):
        dropped.add("usd")
    told = [comparison.total, *(each.columns for each in comparison.agents)]
    every = [getattr(each, name) for each in told for name, _ in _NAMES]
    sized = [
        (name, max(size, *(len(cell(each)) for each in every)), cell)
        for name, size, cell in _CELLS
    ]
    kept = sized
    for name in ("", *_FIRST_TO_GO):
        dropped.add(name)
        kept = [each for each in sized if each[0] not in dropped]
        if _NAME_COLUMNS + sum(size + 1 for _, size, _ in kept) <= columns:
            break
    return kept


def _block(
    title: str,
    columns_of: Columns,
    cells: Sequence[tuple[str, int, _Cell]],
    columns: int,
    style: Style,
) -> Iterator[str]:
    """Yield a title and three lines of figures."""
    yield style(pad(safe(title), columns).rstrip(), "bold")
    heading = "".join(" " + pad(name, size, right=True) for name, size, _ in cells)
    yield style(pad("", _NAME_COLUMNS) + heading, "dim")
    for name, label in _NAMES:
        figures: Figures = getattr(columns_of, name)
        shown = "".join(
            " " + pad(cell(figures), size, right=True) for _, size, cell in cells
        )
        yield pad(label, _NAME_COLUMNS) + shown


def _agent(
    agent: AgentComparison,
    cells: Sequence[tuple[str, int, _Cell]],
    columns: int,
    style: Style,
) -> Iterator[str]:
    model = f" ({agent.model})" if agent.model else ""
    title = f"{agent.id} {agent.title}{model}"
    yield from _block(title, agent.columns, cells, columns, style)
    sights = [getattr(agent.columns, name).sight for name, _ in _NAMES]
    used = sights[0]
    for label in ("reachable", "gone"):
        counts = [getattr(each, label) for each in sights]
        if any(counts):
            what = "two calls away" if label == "reachable" else "out of reach"
            text = (
                f"of {count_phrase(used.uses, 'use')} of "
                f"{count_phrase(used.facts, 'fact')}, {what}: {counts[0]} as it was, "
                f"{counts[1]} computed for the run's policy, {counts[2]} for the other"
            )
            yield from _filled(text, columns, indent=2, first=2)
    for name, whose in (("own", "run's"), ("other", "other")):
        figures = getattr(agent.columns, name)
        if figures.too_long:
            window = getattr(agent, name).window_tokens
            turns = names_phrase([str(n) for n in figures.too_long], most=_MOST_TURNS)
            text = (
                f"{whose} policy: {count_phrase(len(figures.too_long), 'request')} and "
                f"the longest reply would not have fitted {tokens(window)} tokens "
                f"together: turn {turns}"
            )
            yield from _filled(text, columns, indent=2, first=2)


def _sums(total: Columns, columns: int) -> Iterator[str]:
    """Yield how far both policies are apart, and how far off the computation is."""
    apart = ", ".join(_apart(total.own, total.other))
    off = ", ".join(_apart(total.was, total.own))
    yield from _filled(
        f"other against run's, both computed: {apart}", columns, indent=2
    )
    yield from _filled(f"error of computing, on the run's: {off}", columns, indent=2)


def _apart(one: Figures, two: Figures) -> Iterator[str]:
    if one.usd and two.usd is not None:
        yield f"dollars {_percent(one.usd, two.usd)}"
    sent = one.billed_tokens, two.billed_tokens
    yield f"tokens {_percent(*sent)}" if sent[0] else "no tokens"
    yield f"peak {_percent(one.peak_tokens, two.peak_tokens)}"
    yield f"in sight {_share(one)} → {_share(two)}"


def _percent(one: float, two: float) -> str:
    if not one:
        return "±0%" if not two else f"from 0 to {tokens(two)}"
    change = two / one - 1
    if change > _MANY:
        return f"×{two / one:.3g}"
    return "±0%" if abs(change) < _SMALL else f"{change:+.1%}"


def _is_alike(agent: AgentComparison) -> bool:
    """Return whether both policies come to the same, and the computation is right."""
    was, own, other = (getattr(agent.columns, name) for name, _ in _NAMES)
    is_right = (was.clears, was.compactions) == (own.clears, own.compactions)
    return bool(own == other and is_right)


def _value(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _filled(
    text: str, columns: int, *, indent: int = 0, first: int = 0
) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        columns,
        initial_indent=" " * first,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
