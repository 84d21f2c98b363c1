"""What another policy would have made of a recorded conversation: no model is asked.

It runs the same decisions as live, on the sizes that were recorded, and keeps account
of what the service's cache would have held: what starts like the request before and was
written is read; the rest is written, but for the newest block before a clear that was
foreseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from orchestrator.context import ladder
from orchestrator.context.ladder import Clear, Compact, Nothing
from orchestrator.context.layout import Item, Layout
from orchestrator.context.numbers import Numbers
from orchestrator.context.outcome import Outcome, Sent, bill_of, visible
from orchestrator.context.recorded import Conversation
from orchestrator.context.schedule import best_clear, rates_at
from orchestrator.context.tokens import estimate
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price, Rates

__all__ = [
    "LADDER",
    "NEVER",
    "Decide",
    "Leaves",
    "Policy",
    "clear_at",
    "what_if",
]

SUMMARY_SHARE: Final = 0.25
"""Of what it replaces: how long a summary is taken to be, up to its bound."""
ASK_TOKENS: Final = 500
"""The message that asks for a summary."""
POINTER_TOKENS: Final = 100
"""What the plain policies put in the place of the steps they drop."""


class Decide(Protocol):
    """What `ladder.decide` is."""

    def __call__(
        self,
        layout: Layout,
        numbers: Numbers,
        *,
        rates: Rates | None,
        bands: Sequence[Rates] = (),
        rent_usd: float,
    ) -> Nothing | Clear | Compact:
        """Return what is done before the request that `layout` describes."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """How a context is kept small."""

    decide: Decide
    has_references: bool = True
    """What it takes away can be opened again."""


LADDER: Final = Policy(ladder.decide)
"""Ours; with `window` and `budget` in the numbers, those."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """What stands in the place of what goes.

    Attributes:
        summary_share: of what goes, that a summary has, up to its bound.
        beside_tokens: what stands beside it: state, table of subagents, files.
        stub_tokens: of a stub, once it is made; None: as long as was foreseen.
    """

    summary_share: float = SUMMARY_SHARE
    beside_tokens: int = 0
    stub_tokens: int | None = None


USUAL_LEAVES: Final = Leaves()


def what_if(  # noqa: PLR0913 - all by name
    conversation: Conversation,
    numbers: Numbers,
    *,
    price: Price | None,
    policy: Policy = LADDER,
    facts: Sequence[str] = (),
    summary_of: Callable[[str], str] | None = None,
    lifetime_s: float | None = None,
    leaves: Leaves = USUAL_LEAVES,
) -> Outcome:
    """Return what `policy` would have made of `conversation`.

    Args:
        conversation: as recorded.
        numbers: of the policy.
        price: of the model; None: the usual ratios decide, and there is no bill.
        policy: decides before each request.
        facts: texts to look for in each request.
        summary_of: makes the summary of a text; without it one of the usual length is
            taken, in which no fact is found.
        lifetime_s: how long the cache keeps what was not used; None: for ever.
        leaves: what clears and compactions leave, where `summary_of` does not say.
    """
    run = _Run(conversation, numbers, price, policy, tuple(facts), leaves)
    run.cached = run.end = conversation.cached_tokens
    for at in range(len(conversation.turns)):
        run.expire(at, lifetime_s)
        done, is_foreseen = run.edit(at, summary_of)
        run.send(at, done, is_foreseen=is_foreseen)
        run.answered(at)
    return run.outcome()


@dataclass(slots=True)
class _Run:
    """A conversation on its way: what is shown, and what is cached of it."""

    conversation: Conversation
    numbers: Numbers
    price: Price | None
    policy: Policy
    facts: tuple[str, ...]
    leaves: Leaves
    sent: list[Sent] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    """Results that are shown whole, as decisions see them."""
    stubs: list[Item] = field(default_factory=list)
    """What stands in the place of others."""
    sizes: list[int] = field(default_factory=list)
    """Of each step that is shown."""
    seen_sizes: list[int] = field(default_factory=list)
    """The same, as decisions see them."""
    tokens_of: dict[str, int] = field(default_factory=dict)
    """Call → true size of its result."""
    dropped: int = 0
    """How many steps are not."""
    text: str = ""
    text_tokens: int = 0
    """What stands in their place."""
    cached: int = 0
    """How much of the start of what is shown the service has."""
    end: int = 0
    """Of the request before, as far as it is shown unchanged."""
    rent: float = 0.0
    compacted_to: int | None = None
    since: int = 0
    seen: dict[str, list[int]] = field(default_factory=dict)
    found: dict[str, frozenset[str]] = field(default_factory=dict)
    """Facts in each text that was looked through."""
    cleared: dict[str, int] = field(default_factory=dict)
    drops: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = {fact: [] for fact in self.facts}

    @property
    def total(self) -> int:
        return self.fixed + sum(self.sizes)

    @property
    def fixed(self) -> int:
        return self.conversation.first_tokens + self.text_tokens

    def expire(self, at: int, lifetime_s: float | None) -> None:
        waited = self.conversation.turns[at].waited_s
        if lifetime_s is not None and waited > lifetime_s:
            self.cached = 0

    def edit(
        self, at: int, summary_of: Callable[[str], str] | None
    ) -> tuple[str, bool]:
        """Do what the policy decides; return it, and whether a clear is foreseen."""
        turns = self.conversation.turns
        layout = Layout(
            self.fixed,
            tuple(self.items),
            self.total,
            tuple(self.seen_sizes),
            first_step=self.dropped + 1,
            at_break=at > 0 and turns[at - 1].at_break,
            turns_since_compaction=self.since,
            compacted_to_tokens=self.compacted_to,
        )
        bands = self.price.bands if self.price else ()
        rates = rates_at(bands, layout.total_tokens)
        found = self.policy.decide(
            layout, self.numbers, rates=rates, bands=bands, rent_usd=self.rent
        )
        self.since += 1
        if isinstance(found, Clear):
            self._clear(set(found.calls))
            self.cleared.update(dict.fromkeys(found.calls, at + 1))
            return f"clear: {found.why}", False
        if isinstance(found, Compact):
            self._compact(at, found.keep_steps, summary_of)
            return f"compact: {found.why}", False
        self.rent += ladder.rent_of(layout, self.numbers, rates)
        return "", found.predicts_clear

    def _clear(self, calls: set[str]) -> None:
        first: int | None = None
        made = self.leaves.stub_tokens
        for item in self.items:
            if item.call not in calls:
                continue
            at = item.step - self.dropped - 1
            first = at if first is None else min(first, at)
            tokens = item.stub_tokens if made is None else made
            whole = self.tokens_of[item.call]
            self.sizes[at] -= max(whole - tokens, 0)
            self.seen_sizes[at] -= max(item.tokens - tokens, 0)
            self.stubs.append(replace(item, tokens=tokens, is_cleared=True))
        self.items = [each for each in self.items if each.call not in calls]
        start = self.fixed + sum(self.sizes[:first])
        self.cached, self.end = min(self.cached, start), min(self.end, start)
        self.rent = 0.0

    def _compact(
        self, at: int, keep: int, summary_of: Callable[[str], str] | None
    ) -> None:
        gone = len(self.sizes) - keep
        old = self.text_tokens + sum(self.sizes[:gone])
        text = summary_of("\n".join(self._shown(gone))) if summary_of else ""
        share = self.leaves.summary_share
        tokens = estimate(text) if summary_of else int(old * share)
        if self.numbers.policy == "ladder":
            tokens = min(tokens, self.numbers.summary_tokens)
            fresh = self.total + ASK_TOKENS - self.cached
            usage = Usage(0, fresh, 0, self.cached, tokens)
            self.sent.append(self._request(at, usage, "summary"))
        else:
            text, tokens = "", POINTER_TOKENS
        self.dropped += gone
        self.drops.append((at + 1, self.dropped))
        self.text, self.text_tokens = text, tokens + self.leaves.beside_tokens
        self.sizes, self.seen_sizes = self.sizes[gone:], self.seen_sizes[gone:]
        self.items = [each for each in self.items if each.step > self.dropped]
        self.stubs = [each for each in self.stubs if each.step > self.dropped]
        first = self.conversation.first_tokens
        self.cached, self.end = min(self.cached, first), min(self.end, first)
        self.rent, self.since, self.compacted_to = 0.0, 1, self.total

    def _shown(self, steps: int) -> list[str]:
        """Return the texts that stand behind the fixed part, so many steps long."""
        last = self.dropped + steps
        parts = [self.text]
        parts += [each.text for each in self.conversation.turns[self.dropped : last]]
        items = (*self.stubs, *self.items)
        parts += [self._text_of(each) for each in items if each.step <= last]
        return parts

    def _facts_in(self, text: str) -> frozenset[str]:
        found = self.found.get(text)
        if found is None:
            found = frozenset(fact for fact in self.facts if fact in text)
            self.found[text] = found
        return found

    def _text_of(self, item: Item) -> str:
        results = self.conversation.turns[item.step - 1].results
        result = next(each for each in results if each.call == item.call)
        return result.stub if item.is_cleared else result.text

    def send(self, at: int, done: str, *, is_foreseen: bool) -> None:
        total = self.total
        marked = max(self.end, self.cached) if is_foreseen else total
        usage = Usage(
            input_tokens=total - marked,
            cache_write_5m_tokens=marked - self.cached,
            cache_write_1h_tokens=0,
            cache_read_tokens=self.cached,
            output_tokens=self.conversation.turns[at].output_tokens,
        )
        self.sent.append(self._request(at, usage, done))
        self.cached, self.end = marked, total
        if self.facts:
            shown = [self.conversation.first_text, *self._shown(len(self.sizes))]
            for fact in frozenset().union(*map(self._facts_in, shown)):
                self.seen[fact].append(at + 1)

    def _request(self, at: int, usage: Usage, done: str) -> Sent:
        window, output = self.numbers.window_tokens, self.numbers.output_tokens
        is_too_long = window is not None and usage.context_tokens + output > window
        return Sent(at + 1, usage, done, is_too_long)

    def answered(self, at: int) -> None:
        """Show what came of a request."""
        turn = self.conversation.turns[at]
        stale = {call for each in turn.results for call in each.supersedes}
        for place, item in enumerate(self.items):
            if not item.is_seen or item.call in stale:
                gone = item.is_superseded or item.call in stale
                self.items[place] = replace(item, is_seen=True, is_superseded=gone)
        self.items += [
            Item(
                each.call, at + 1, each.seen_tokens, each.stub_tokens, each.label, False
            )
            for each in turn.results
        ]
        self.tokens_of |= {each.call: each.tokens for each in turn.results}
        self.sizes.append(turn.tokens)
        self.seen_sizes.append(turn.seen_tokens)

    def outcome(self) -> Outcome:
        bill = bill_of(self.sent, self.price)
        return Outcome(
            tuple(self.sent),
            usd=sum(bill.values()) if self.price else None,
            usd_by=bill,
            facts=visible(
                self.conversation,
                self.seen,
                has_references=self.policy.has_references,
            ),
            cleared=self.cleared,
            dropped=tuple(self.drops),
        )


def clear_at(tokens: int, *, keep_results: int) -> Policy:
    """Return the plain policy: above a size all but the newest results are cleared.

    Nothing stands in their place by which they could be opened again.
    """

    def decide(
        layout: Layout,
        numbers: Numbers,  # noqa: ARG001 - has its own
        *,
        rates: Rates | None,  # noqa: ARG001 - does not look at prices
        bands: Sequence[Rates] = (),  # noqa: ARG001
        rent_usd: float,  # noqa: ARG001
    ) -> Nothing | Clear | Compact:
        clearing = best_clear(layout, keep_results=keep_results)
        if layout.total_tokens <= tokens or not clearing.calls:
            return Nothing()
        return Clear(clearing.calls, "mark", clearing.freed_tokens, 0.0, 0.0)

    return Policy(decide, has_references=False)


def _never(
    layout: Layout,  # noqa: ARG001 - whatever it is
    numbers: Numbers,  # noqa: ARG001
    *,
    rates: Rates | None,  # noqa: ARG001
    bands: Sequence[Rates] = (),  # noqa: ARG001
    rent_usd: float,  # noqa: ARG001
) -> Nothing | Clear | Compact:
    return Nothing()


NEVER: Final = Policy(_never)
"""Nothing is ever taken away."""
