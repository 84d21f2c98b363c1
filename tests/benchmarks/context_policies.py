"""What the policies make of the same conversations: sizes, bills, and what is left.

    python tests/benchmarks/context_policies.py [SHARE_PERCENT]

No model is asked (`orchestrator.context.whatif`). Each result holds one planted fact;
it is visible if the last request has it word for word, and reachable if it is visible
or under a reference. Where steps are compacted, the summary is a digest of them. Prices
are 3 and 15 dollars a million, writes 1.25 and reads 0.1 of the input's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from best_schedule import PRICES, steady
from context_workloads import HEAD_TOKENS, WORKLOADS, work
from stopwatch import print_table

from orchestrator.context import ladder
from orchestrator.context.digest import digest
from orchestrator.context.ladder import Clear, Compact, Nothing
from orchestrator.context.layout import Layout
from orchestrator.context.numbers import Numbers, resolve
from orchestrator.context.outcome import Outcome
from orchestrator.context.tokens import estimate
from orchestrator.context.whatif import LADDER, NEVER, Policy, clear_at, what_if
from orchestrator.messages import Block
from orchestrator.models.pricing import Rates
from orchestrator.spec.policy import ContextPolicy

WINDOWS = (200_000, 32_000)
PRICE = PRICES["3/15"]
SUMMARY_TOKENS = 1500
TURNS = (10, 100, 300)
TIMES = 200
HEAD = (
    "", "peak", "input", "cached", "USD", "visible", "reachable", "clears",
    "compactions", "too long",
)  # fmt: skip


def main(share_percent: int = 100) -> None:
    """Print a table for each window, and one of processor time."""
    for window in WINDOWS:
        rows = [
            (f"{name}: {policy}", *_row(outcome))
            for name, (_, turns) in WORKLOADS.items()
            for policy, outcome in tried(
                name, max(turns * share_percent // 100, 12), window
            ).items()
        ]
        print_table(f"Workload and policy, window {window:,} tokens", HEAD, rows)
    print_table(
        "Deciding about a request: µs of processor time",
        ("turn", *map(str, TURNS)),
        [("layout and decision", *(f"{each:.0f}" for each in decision_us()))],
    )


def numbers_for(policy: ContextPolicy, window: int) -> Numbers:
    """Return the numbers of an agent with a window."""
    return resolve(
        policy,
        window_tokens=window,
        fixed_tokens=HEAD_TOKENS + 100,
        max_output_tokens=8192,
    )


def tried(name: str, turns: int, window: int) -> dict[str, Outcome]:
    """Return what each policy makes of a workload."""
    made = work(name, turns)
    ours, bare = made.conversation(), made.conversation(_placeholder)
    plain = numbers_for(ContextPolicy(), window)
    half = min(100_000, window // 2)
    ways = {
        "ladder": (ours, plain, LADDER),
        "never": (ours, plain, NEVER),
        f"clear at {half // 1000}k, keep 3": (
            bare,
            plain,
            clear_at(half, keep_results=3),
        ),
        "window": (ours, numbers_for(ContextPolicy(policy="window"), window), LADDER),
        "budget": (ours, numbers_for(ContextPolicy(policy="budget"), window), LADDER),
    }
    return {
        way: what_if(
            conversation,
            numbers,
            price=PRICE,
            policy=policy,
            facts=made.facts,
            summary_of=_summary,
        )
        for way, (conversation, numbers, policy) in ways.items()
    }


def _placeholder(call: Block, ref: str, text: str) -> str:
    return "[Old tool result content cleared]"


def _summary(text: str) -> str:
    return digest(text, limit_tokens=SUMMARY_TOKENS, count=estimate)


def _row(outcome: Outcome) -> tuple[str, ...]:
    facts = outcome.facts.values()
    visible = sum(each.at_end for each in facts) / len(facts)
    reachable = sum(each.is_reachable for each in facts) / len(facts)
    return (
        f"{outcome.peak_tokens:,}",
        f"{outcome.input_tokens:,}",
        f"{outcome.cache_share:.0%}",
        f"{outcome.usd:.2f}",
        f"{visible:.0%}",
        f"{reachable:.0%}",
        str(outcome.clears),
        str(outcome.compactions),
        str(len(outcome.too_long)),
    )


def decision_us(turns: Sequence[int] = TURNS) -> list[float]:
    """Return what it takes to lay out and decide about the requests of these turns."""
    seen: list[Layout] = []

    def watch(
        layout: Layout,
        numbers: Numbers,
        *,
        rates: Rates | None,
        bands: Sequence[Rates] = (),
        rent_usd: float,
    ) -> Nothing | Clear | Compact:
        seen.append(layout)
        return ladder.decide(
            layout, numbers, rates=rates, bands=bands, rent_usd=rent_usd
        )

    numbers = numbers_for(ContextPolicy(), 1_000_000)
    conversation = steady(
        turns=max(turns), result_tokens=3000, said_tokens=100, first_tokens=4000
    )
    what_if(conversation, numbers, price=PRICE, policy=Policy(watch))
    return [_decided_us(seen[turn - 1], numbers) for turn in turns]


def _decided_us(layout: Layout, numbers: Numbers) -> float:
    items, steps, rates = list(layout.items), list(layout.steps), PRICE.bands[0]
    start = time.process_time()
    for _ in range(TIMES):
        made = replace(layout, items=tuple(items), steps=tuple(steps))
        ladder.decide(made, numbers, rates=rates, bands=PRICE.bands, rent_usd=0.0)
        ladder.rent_of(made, numbers, rates)
    return (time.process_time() - start) / TIMES * 1e6


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
