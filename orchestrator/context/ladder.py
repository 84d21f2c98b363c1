"""What is done about a context before a request: nothing, a clear, or a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.context.layout import Item, Layout
from orchestrator.context.numbers import Numbers
from orchestrator.context.schedule import (
    USUAL,
    Clearing,
    best_clear,
    cost_usd,
    is_free,
    rent_usd,
)
from orchestrator.models.pricing import Rates

__all__ = ["Clear", "Compact", "Nothing", "decide", "rent_of", "tail_of"]

_LEAST_SHARE: Final = 0.05
"""Of the request: a clear at the soft mark, or a compaction, that gives less is not
worth the cache that it breaks."""
_SUMMARY_SHARE: Final = 0.25
"""Of what it replaces, that a summary has at most; it is bounded besides."""
_FRAME_TOKENS: Final = 250
"""What stands around the first summary; around later ones it stands already."""
_BAND_MARGIN: Final = 0.98
"""Sizes are estimates: a price band is taken to begin a little earlier."""
_KEPT_OF_WINDOW: Final = 0.75
"""Of the steps that the policy `window` allows, so many stay when some go: else each
turn would write the whole request anew."""
_SPARED: Final = 3
"""Newest results that stay in sight as long as no mark is reached."""
_GUESSED_FROM: Final = 3
"""The next step is taken to be as long as the shortest of so many: a clear that is
foreseen and does not come costs three times what a foreseen one saves."""
_SMALL_TOKENS: Final = 16_000
_SMALL_SHARE: Final = 0.25
"""Of the soft mark, if that is less. What is so small is cheap to carry, and work on it
is often over before a clear has paid: it would save less than what is at stake."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The request goes out as it is."""

    predicts_clear: bool = False
    """The next turn will clear: the newest block is left unwritten by the cache."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Results give way to stubs.

    Attributes:
        calls: whose results, oldest first.
        why: `rent`, `soft` or `band`.
        freed_tokens: by which the request becomes shorter, estimated.
        rent_usd: paid for carrying them since the last rewrite, this turn included.
        cost_usd: of writing again what stands behind them. Of unknown prices both are
            in a made-up unit and only their ratio means something.
    """

    calls: tuple[str, ...]
    why: str
    freed_tokens: int
    rent_usd: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Compact:
    """All but the newest steps give way to one text.

    Attributes:
        why: `hard`, `break`, `every_turns`, `window` or `budget`.
        keep_steps: how many of the newest steps stay whole, 1 or more.
    """

    why: str
    keep_steps: int


def decide(
    layout: Layout,
    numbers: Numbers,
    *,
    rates: Rates | None,
    bands: Sequence[Rates] = (),
    rent_usd: float,
) -> Nothing | Clear | Compact:
    """Return what is done before the request that `layout` describes.

    Args:
        layout: of the request if nothing is done.
        numbers: of the agent's policy.
        rates: of the band that this request is in (`schedule.rates_at`); None: nobody
            told prices, so that the usual ratios count. With rates of 0 only marks do.
        bands: of the model's price, shortest prompts first; those that begin above 0
            count as marks.
        rent_usd: sum of `rent_of` over the turns since the last clear, compaction or
            start, this turn not included.
    """
    if numbers.policy != "ladder":
        return _plain(layout, numbers)
    clearing = best_clear(layout, keep_results=numbers.keep_results)
    after = layout.total_tokens - clearing.freed_tokens
    why = _why_compact(layout, numbers, after)
    if why:
        return Compact(why, tail_of(layout, numbers))
    known = rates or USUAL
    found, rent = _clear(layout, numbers, rates=known, bands=bands, rent=rent_usd)
    if found is not None:
        return found
    next_one = _following(layout)
    found, _ = _clear(next_one, numbers, rates=known, bands=bands, rent=rent)
    return Nothing(predicts_clear=found is not None)


def rent_of(layout: Layout, numbers: Numbers, rates: Rates | None) -> float:
    """Return the dollars that stale results cost this turn if they are carried.

    Args:
        layout: of the request that goes out.
        numbers: of the agent's policy; only the ladder counts rent.
        rates: of the band that the request is in; None: unknown, in a made-up unit.
    """
    if numbers.policy != "ladder":
        return 0.0
    clearing = best_clear(layout, keep_results=numbers.keep_results)
    return rent_usd(_thrifty(layout, numbers, clearing), rates or USUAL)


def tail_of(layout: Layout, numbers: Numbers) -> int:
    """Return how many of the newest steps a compaction keeps, 1 or more.

    The largest number up to `tail_steps` whose steps fit `tail_tokens`.
    """
    return _fitting(layout.steps, numbers.tail_tokens, most=numbers.tail_steps)


def _clear(
    layout: Layout,
    numbers: Numbers,
    *,
    rates: Rates,
    bands: Sequence[Rates],
    rent: float,
) -> tuple[Clear | None, float]:
    """Return the clear that is due, or None, and the rent with this turn's."""
    clearing = best_clear(layout, keep_results=numbers.keep_results)
    thrifty = _thrifty(layout, numbers, clearing)
    rent += rent_usd(thrifty, rates)
    why = _why_marked(layout.total_tokens, clearing, numbers, bands=bands)
    is_worth_it = layout.total_tokens > _small_tokens(numbers) and not is_free(rates)
    if not why and thrifty.calls and is_worth_it:
        clearing = thrifty
        why = "rent" if rent >= cost_usd(thrifty, rates) else ""
    if not why:
        return None, rent
    cost = cost_usd(clearing, rates)
    return Clear(clearing.calls, why, clearing.freed_tokens, rent, cost), rent


def _small_tokens(numbers: Numbers) -> float:
    """Return up to which size a request is left alone, however long it is carried."""
    if numbers.soft_tokens is None:
        return _SMALL_TOKENS
    return min(_SMALL_TOKENS, _SMALL_SHARE * numbers.soft_tokens)


def _thrifty(layout: Layout, numbers: Numbers, clearing: Clearing) -> Clearing:
    """Return the clear that is made only to save money.

    It spares more than `clearing`, which spares `keep_results`, where those are few: up
    to three that fit the tail.
    """
    spared, used = 0, 0
    for item in reversed(layout.items):
        used += item.tokens
        if spared == _SPARED or used > numbers.tail_tokens:
            break
        spared += 1
    if spared <= numbers.keep_results:
        return clearing
    return best_clear(layout, keep_results=spared)


def _why_marked(
    total_tokens: int, clearing: Clearing, numbers: Numbers, *, bands: Sequence[Rates]
) -> str:
    """Return the mark at which the clear is due, whatever it costs; "" at none."""
    freed = clearing.freed_tokens
    if not freed:
        return ""
    soft, hard = numbers.soft_tokens, numbers.hard_tokens
    if soft is not None and total_tokens > soft:
        least = _LEAST_SHARE * total_tokens
        if hard is None or total_tokens <= hard:
            least = max(least, clearing.again_tokens)
        if freed >= least:
            return "soft"
    for band in bands:
        mark = band.over_tokens * _BAND_MARGIN
        if mark and total_tokens - freed <= mark < total_tokens:
            return "band"
    return ""


def _why_compact(layout: Layout, numbers: Numbers, after: int) -> str:
    """Return why the request is compacted, "" if it is not or that would be futile.

    Args:
        layout: of the request.
        numbers: of the policy.
        after: size that the best clear would leave.
    """
    every, soft, hard = numbers.every_turns, numbers.soft_tokens, numbers.hard_tokens
    why = ""
    if hard is not None and after > hard:
        why = "hard"
    elif layout.at_break and soft is not None and after > soft:
        why = "break"
    elif every is not None and layout.turns_since_compaction >= every:
        why = "every_turns"
    if not why or not _has_grown(layout):
        return ""
    dropped = sum(layout.steps[: -tail_of(layout, numbers)])
    summary = min(numbers.summary_tokens, int(dropped * _SUMMARY_SHARE))
    if layout.compacted_to_tokens is None:
        summary += _FRAME_TOKENS
    is_worth_it = dropped - summary >= _LEAST_SHARE * layout.total_tokens
    return why if dropped and is_worth_it else ""


def _has_grown(layout: Layout) -> bool:
    """Return whether a step's worth has come since compaction was last tried."""
    if layout.compacted_to_tokens is None or not layout.steps:
        return True
    step = sum(layout.steps) / len(layout.steps)
    return layout.total_tokens - layout.compacted_to_tokens >= step


def _plain(layout: Layout, numbers: Numbers) -> Nothing | Compact:
    """Decide for the policies `window` and `budget`, which only drop steps."""
    steps, keep = layout.steps, len(layout.steps)
    why = numbers.policy
    if why == "window" and len(steps) > numbers.last_steps:
        keep = max(int(numbers.last_steps * _KEPT_OF_WINDOW), 1)
    soft, hard = numbers.soft_tokens, numbers.hard_tokens
    dropped = sum(steps[: len(steps) - keep])
    if hard is not None and layout.total_tokens - dropped > hard:
        room = (hard if soft is None else soft) - (layout.total_tokens - sum(steps))
        keep = _fitting(steps, room, most=keep)
    dropped = sum(steps[: len(steps) - keep])
    if why == "budget" and dropped < _LEAST_SHARE * layout.total_tokens:
        return Nothing()
    return Compact(why, keep) if keep < len(steps) else Nothing()


def _fitting(steps: Sequence[int], room: int, *, most: int) -> int:
    """Return how many of the newest steps fit `room`, at most `most`, at least 1."""
    fitting = used = 0
    for tokens in reversed(steps):
        used += tokens
        if fitting == most or used > room:
            break
        fitting += 1
    return max(fitting, 1)


def _following(layout: Layout) -> Layout:
    """Return the least that the next request holds: all is seen, and one more step."""
    items, seen = layout.items, len(layout.items)
    while seen and not items[seen - 1].is_seen:
        seen -= 1
    size = min(layout.steps[-_GUESSED_FROM:], default=0)
    step = layout.first_step + len(layout.steps)
    new = Item("", step, size, 0, is_seen=False)
    arrived = (replace(each, is_seen=True) for each in items[seen:])
    return replace(
        layout,
        items=(*items[:seen], *arrived, new),
        total_tokens=layout.total_tokens + size,
        steps=(*layout.steps, size),
    )
