"""Numbers and layouts to decide about, with every size given or usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from orchestrator.context.layout import Item, Layout
from orchestrator.context.numbers import Numbers

__all__ = ["NUMBERS", "STUB", "layout_of", "numbers_of", "with_items"]

STUB: Final = 90
SAID: Final = 100
FIXED: Final = 1000
NUMBERS: Final = Numbers(
    policy="ladder",
    window_tokens=200_000,
    output_tokens=8192,
    soft_tokens=115_000,
    hard_tokens=143_000,
    read_tokens=8000,
    clip_tokens=4000,
    keep_results=3,
    digest_tokens=60,
    tail_steps=3,
    tail_tokens=48_000,
    summary_tokens=20_000,
    state_tokens=10_000,
    memory_tokens=0,
    reopen_files=5,
    reopen_tokens=5000,
    reminder_turns=5,
    reminder_tokens=150,
    last_steps=20,
    every_turns=None,
)


def numbers_of(**changes: Any) -> Numbers:
    """Return the usual numbers with some changed."""
    return replace(NUMBERS, **changes)


def layout_of(*results: int | Sequence[int], **changes: Any) -> Layout:
    """Return the layout in which each step has these results; the last is not seen.

    Calls are named `c1`, `c2`, … or, in a parallel group, `c3.1`, `c3.2`.
    """
    items: list[Item] = []
    steps: list[int] = []
    for step, sizes in enumerate(results, 1):
        group = [sizes] if isinstance(sizes, int) else list(sizes)
        for at, size in enumerate(group, 1):
            call = f"c{step}" if isinstance(sizes, int) else f"c{step}.{at}"
            items.append(Item(call, step, size, STUB, is_seen=step < len(results)))
        steps.append(SAID + sum(group))
    layout = Layout(FIXED, tuple(items), FIXED + sum(steps), tuple(steps))
    return replace(layout, **changes)


def with_items(layout: Layout, **changes: dict[str, Any]) -> Layout:
    """Return `layout` with the items of these calls changed."""
    items = [
        replace(each, **changes[each.call]) if each.call in changes else each
        for each in layout.items
    ]
    return replace(layout, items=tuple(items))
