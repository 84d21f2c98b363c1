"""The best clears in hindsight, and conversations to compare with them.

A schedule says before which requests all results but the newest are cleared. The best
one is found by dynamic programming over the request of the latest clear; it knows all
sizes and the end, may leave the newest block unwritten before a clear or the end, and
stays below the window.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from context_samples import numbers_of

from orchestrator.context.numbers import Numbers
from orchestrator.context.recorded import Conversation, Result, Turn
from orchestrator.context.whatif import LADDER, Policy, clear_at, what_if
from orchestrator.models.pricing import Price, Rates

__all__ = [
    "AT_100K",
    "KINDS",
    "LONG_HAUL",
    "NUMBERS",
    "PRICES",
    "WINDOW",
    "Compared",
    "best_usd",
    "compared",
    "generated",
    "input_usd",
    "steady",
]

WINDOW: Final = 200_000
KEEP: Final = 3
STUB_TOKENS: Final = 90
NUMBERS: Final = numbers_of(
    window_tokens=WINDOW, output_tokens=8192, hard_tokens=143_856, soft_tokens=115_084
)
AT_100K: Final = clear_at(100_000, keep_results=KEEP)

# Anthropic's price page, November 2026.
PRICES: Final = {
    "Sonnet 5.5": Price("", (Rates(2.0, 10.0, 2.5, 4.0, 0.1),), ""),
    "Opus 5.5": Price("", (Rates(4.0, 20.0, 5.0, 8.0, 0.2),), ""),
    "Haiku 5.5": Price(
        "",
        (
            Rates(0.1, 0.5, 0.125, 0.2, 0.01),
            Rates(0.5, 2.5, 0.625, 1.0, 0.05, over_tokens=100_000),
        ),
        "",
    ),
    "3/15": Price("", (Rates(3.0, 15.0, 3.75, 6.0, 0.3),), ""),
}


def input_usd(
    conversation: Conversation, price: Price, *, policy: Policy, numbers: Numbers
) -> float:
    """Return the bill of a policy without the output, which is the same for all.

    It is infinite where clears are not enough: a request would not have fitted the
    window, or steps would have been compacted.
    """
    outcome = what_if(conversation, numbers, price=price, policy=policy)
    if outcome.too_long or outcome.compactions:
        return math.inf
    return sum(outcome.usd_by.values()) - outcome.usd_by.get("output", 0.0)


def best_usd(
    conversation: Conversation, price: Price, *, window: int, keep: int = KEEP
) -> float:
    """Return the input's bill of the best schedule; infinite where none fits."""
    sums = _Sums.of(conversation, keep)
    count = len(conversation.turns)
    # Cheapest bill up to request `at`, before which results were cleared last, with
    # its newest block written, and with it left out.
    written, left_out = [math.inf] * count, [math.inf] * count
    best = math.inf
    for since in range(-1, count):
        spent = 0.0 if since < 0 else written[since]
        before = math.inf if since < 0 else left_out[since]
        if spent == before == math.inf:
            continue
        for at in range(since + 1, count):
            # Cleared before this one; the one before left its newest block out.
            after = sums.size(at, at)
            takes_away = sums.freed[at] > sums.freed[since]
            if before < math.inf and takes_away and after <= window:
                rates = _rates(price, after)
                grown, kept = sums.grown[at], sums.kept(since)
                again = after - grown - kept
                usd = kept * rates.cache_read + again * rates.cache_write_5m
                usd = before + usd / 1e6
                with_it = usd + grown * rates.cache_write_5m / 1e6
                without = usd + grown * rates.input / 1e6
                written[at] = min(written[at], with_it)
                left_out[at] = min(left_out[at], without)
            # Not cleared.
            size = sums.size(since, at)
            if size > window:
                spent = before = math.inf
                break
            rates = _rates(price, size)
            grown = sums.grown[at]
            spent += (size - grown) * rates.cache_read / 1e6
            before = spent + grown * rates.input / 1e6
            spent += grown * rates.cache_write_5m / 1e6
        # Nobody reads what the last request would write.
        best = min(best, before)
    return best


@dataclass(frozen=True)
class _Sums:
    """Sizes of requests by the clear before them: that before request -1 is none."""

    shown: list[int]
    """Of each request, had nothing been cleared."""
    grown: list[int]
    """By how much each is longer than the one before it."""
    freed: list[int]
    """By a clear before each request; the last stands for none."""
    start: list[int]
    """Step of the first result that the clear after it takes away."""
    freed_before: list[list[int]]
    """By a clear before each request, from the steps before each step."""

    @classmethod
    def of(cls, conversation: Conversation, keep: int) -> _Sums:
        turns = conversation.turns
        grown = [conversation.first_tokens, *(turn.tokens for turn in turns[:-1])]
        results = [(at, each) for at, turn in enumerate(turns) for each in turn.results]
        could = [max(each.tokens - each.stub_tokens, 0) for _, each in results]
        counts = [0, *accumulate(len(turn.results) for turn in turns)]
        freed, start, freed_before = [], [], []
        for at in [*range(len(turns)), 0]:
            unseen = len(turns[at - 1].results) if at else 0
            gone = max(counts[at] - max(keep, unseen), 0)
            of_step = [0] * len(turns)
            for (step, _), free in zip(results[:gone], could, strict=False):
                of_step[step] += free
            before = [0, *accumulate(of_step)]
            left = zip(results[gone:], could[gone:], strict=True)
            start.append(next((step for (step, _), free in left if free), len(turns)))
            freed.append(before[-1])
            freed_before.append(before)
        return cls(list(accumulate(grown)), grown, freed, start, freed_before)

    def size(self, since: int, at: int) -> int:
        return self.shown[at] - self.freed[since]

    def kept(self, since: int) -> int:
        """Return what stands before the first result that the next clear changes."""
        step = self.start[since]
        return self.shown[step] - self.freed_before[since][step]


def _rates(price: Price, size: int) -> Rates:
    bands = price.bands
    return bands[-1] if size > bands[-1].over_tokens else bands[0]


Sizes = Callable[[random.Random, int], int]
KINDS: Final[dict[str, Sizes]] = {
    "constant": lambda rng, size: size,
    "uniform": lambda rng, size: rng.randint(size // 5, 2 * size),
    "lognormal": lambda rng, size: int(
        min(max(rng.lognormvariate(0, 1) * size, 30), 30_000)
    ),
    "Pareto 1.2": lambda rng, size: int(min(rng.paretovariate(1.2) * size / 4, 30_000)),
    "mixed": lambda rng, size: rng.choice([100, 300, size, 8000]),
    "small": lambda rng, size: rng.randint(50, 600),
    "one in ten is a page": lambda rng, size: 8000 if rng.random() < 0.1 else 150,
}


def generated(seed: int, *, kind: str = "", longest: int = 300) -> Conversation:
    """Return a conversation of 10 to `longest` turns, made up from `seed`."""
    rng = random.Random(seed)
    turns = rng.randint(10, longest)
    sizes = KINDS[kind or rng.choice(list(KINDS))]
    size = rng.choice([500, 1000, 2000, 3000, 5000])
    most = rng.choice([1, 1, 1, 3])
    said = rng.choice([60, 150, 300])
    first = rng.choice([3000, 6000, 12_000])
    results = [
        [sizes(rng, size) for _ in range(rng.randint(1, most))] for _ in range(turns)
    ]
    return Conversation(
        first,
        tuple(
            _turn(at, rng.randint(said // 2, 2 * said), group)
            for at, group in enumerate(results, 1)
        ),
    )


def steady(
    *,
    turns: int,
    result_tokens: int,
    said_tokens: int,
    first_tokens: int,
    stub_tokens: int = STUB_TOKENS,
) -> Conversation:
    """Return a conversation of equal turns and an answer that ends it."""
    made = [
        _turn(at, said_tokens, [result_tokens], stub_tokens)
        for at in range(1, turns + 1)
    ]
    return Conversation(first_tokens, (*made, Turn(said_tokens, (), 0, 500)))


def _turn(number: int, said: int, sizes: list[int], stub: int = STUB_TOKENS) -> Turn:
    results = tuple(
        Result(f"c{number}.{at}", size, stub) for at, size in enumerate(sizes, 1)
    )
    return Turn(said, results, output_tokens=said)


LONG_HAUL: Final = steady(
    turns=150, result_tokens=3000, said_tokens=50, first_tokens=3000, stub_tokens=70
)
"""150 reads of 3,000 tokens; a call and its stub as long as the simulator counts."""


@dataclass(frozen=True)
class Compared:
    """Bills of one conversation as multiples of the best.

    `ours` is infinite where clears are not enough; then nothing can be compared.
    """

    best_usd: float
    ours: float
    at_100k: float


def compared(
    conversation: Conversation, price: Price, *, numbers: Numbers = NUMBERS
) -> Compared:
    """Return what our rule and a clear at 100k cost beside the best schedule."""
    ours, at_100k = (
        input_usd(conversation, price, policy=policy, numbers=numbers)
        for policy in (LADDER, AT_100K)
    )
    if ours == math.inf:
        return Compared(math.nan, ours, at_100k)
    # A request must leave room for the longest answer.
    assert numbers.window_tokens is not None
    room = numbers.window_tokens - numbers.output_tokens
    best = best_usd(conversation, price, window=room)
    return Compared(best, ours / best, at_100k / best)
