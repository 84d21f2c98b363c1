"""How near the rule for clearing comes to the best schedule in hindsight.

    python tests/benchmarks/hindsight.py [CONVERSATIONS [FIRST_SEED]]

Output, which is the same for all, is left out, and so are conversations in which clears
are not enough and steps would be compacted. The best
schedule knows all sizes and the end of the conversation (`best_schedule.py`). Results
are constant, uniform, lognormal, Pareto, mixed or small; a fourth of the conversations
has parallel calls.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence

from best_schedule import (
    AT_100K,
    LONG_HAUL,
    NUMBERS,
    PRICES,
    WINDOW,
    Compared,
    compared,
    generated,
)
from stopwatch import print_table

from orchestrator.context.whatif import LADDER, NEVER, what_if

CONVERSATIONS = 800
HEAD = ("", "conversations", "mean", "worst", "over 1.10")


def main(conversations: int = CONVERSATIONS, first_seed: int = 0) -> None:
    """Print the ratios, and what the long haul costs."""
    found: list[tuple[str, Compared]] = []
    seed = first_seed
    while len(found) < conversations:
        price = list(PRICES)[seed % len(PRICES)]
        ratios = compared(generated(seed), PRICES[price])
        seed += 1
        if ratios.ours < math.inf:  # else clears are not enough
            found.append((price, ratios))
    rows = [
        (
            f"{way}, {price}",
            *_row([getattr(r, name) for p, r in found if price in (p, "all")]),
        )
        for way, name in (("ours", "ours"), ("clear at 100k, keep 3", "at_100k"))
        for price in (*PRICES, "all")
    ]
    print_table("Bill of the input as a multiple of the best in hindsight", HEAD, rows)
    print_table(
        f"Long haul: 150 reads of 3k, window {WINDOW // 1000}k, 3 and 15 dollars",
        ("", "USD", "of the best", "peak", "clears", "compactions"),
        _long_haul(),
    )


def _row(ratios: Sequence[float]) -> tuple[str, ...]:
    fitting = [each for each in ratios if each < math.inf]
    if not fitting:
        return ("0", "-", "-", "-")
    return (
        str(len(fitting)),
        f"{statistics.mean(fitting):.3f}",
        f"{max(fitting):.3f}",
        str(sum(each > 1.1 for each in fitting)),
    )


def _long_haul() -> list[tuple[str, ...]]:
    price = PRICES["3/15"]
    ratios = compared(LONG_HAUL, price)
    rows: list[tuple[str, ...]] = []
    for name, policy, ratio in (
        ("ours", LADDER, ratios.ours),
        ("clear at 100k, keep 3", AT_100K, ratios.at_100k),
        ("never cleared, too long", NEVER, math.nan),
    ):
        made = what_if(LONG_HAUL, NUMBERS, price=price, policy=policy)
        of_best = "-" if math.isnan(ratio) else f"{ratio:.3f}"
        edits = str(made.clears), str(made.compactions)
        rows.append((name, f"{made.usd:.2f}", of_best, f"{made.peak_tokens:,}", *edits))
    return rows


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
