"""What requests came to, as they were and as a policy would have had them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.context.outcome import Outcome
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price
from orchestrator.runtime.replaying.recorded_agent import RecordedAgent
from orchestrator.runtime.replaying.used_facts import NOTHING_USED, Sight

__all__ = ["Figures", "computed", "recorded", "total"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What an agent, or a run, sent and paid; tokens by class, each class once.

    Attributes:
        requests: that were answered, those for summaries included.
        turns: of those, the ones that entered a conversation.
        input_tokens: uncached.
        cache_write_tokens: written to the cache.
        cache_read_tokens: read from it.
        output_tokens: thinking included.
        usd: of all of them; None: the price of one is unknown.
        clears: how often results gave way to stubs.
        compactions: how often steps gave way to one text.
        peak_tokens: of the longest request of a turn.
        sent_tokens: of the requests of all turns together.
        too_long: turns whose request and longest reply did not fit the window
            together, from 1; of a run only how many is told.
        sight: whether what was used could be read.
    """

    requests: int = 0
    turns: int = 0
    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    clears: int = 0
    compactions: int = 0
    peak_tokens: int = 0
    sent_tokens: int = 0
    too_long: tuple[int, ...] = ()
    too_long_count: int = 0
    sight: Sight = NOTHING_USED

    @property
    def mean_tokens(self) -> float:
        """Return the size of a turn's request, on average."""
        return self.sent_tokens / self.turns if self.turns else 0.0

    @property
    def billed_tokens(self) -> int:
        """Return all tokens that were paid for, each class once."""
        sent = self.input_tokens + self.cache_write_tokens + self.cache_read_tokens
        return sent + self.output_tokens

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        data = asdict(self)
        usd = self.usd
        data["usd"] = None if usd is None else round(usd, 6)
        data["mean_tokens"] = round(self.mean_tokens)
        data["too_long"] = list(self.too_long)
        return data


def recorded(agent: RecordedAgent, sight: Sight) -> Figures:
    """Return what an agent sent and paid, as its log has it."""
    usages = [each.usage for each in agent.asked]
    sizes = [each.asked.usage.context_tokens for each in agent.turns]
    forced = [
        each.turn + 1 for each in agent.edits if each.why in ("too_long", "exceeded")
    ]
    return _figures(
        usages,
        usd=_sum(each.usd for each in agent.asked),
        sizes=sizes,
        clears=sum(not each.is_compaction for each in agent.edits),
        compactions=sum(each.is_compaction for each in agent.edits),
        too_long=tuple(dict.fromkeys(forced)),
        sight=sight,
    )


def computed(
    agent: RecordedAgent,
    outcome: Outcome,
    sight: Sight,
    *,
    summaries: tuple[str, Price | None] | None,
) -> Figures:
    """Return what an agent would have sent and paid.

    What did not enter its conversation is counted as it was: no policy changes it.

    Args:
        agent: as recorded.
        outcome: of a policy.
        sight: likewise.
        summaries: another model that writes them, and its price; None: its own does.
    """
    usages: list[Usage] = []
    prices: list[float | None] = []
    is_cached = agent.is_cached
    for sent in outcome.sent:
        asked = agent.turns[sent.turn - 1].asked
        usage, price = sent.usage, asked.price
        is_summary = sent.done == "summary"
        if is_summary and summaries is not None:
            price = summaries[1]
        if not is_cached or (is_summary and summaries is not None):
            usage = Usage(
                input_tokens=usage.context_tokens, output_tokens=usage.output_tokens
            )
        usages.append(usage)
        prices.append(None if price is None else price.usd(usage))
    discarded = agent.discarded
    return _figures(
        [*usages, *(each.usage for each in discarded)],
        usd=_sum([*prices, *(each.usd for each in discarded)]),
        sizes=outcome.curve,
        clears=outcome.clears,
        compactions=outcome.compactions,
        too_long=tuple(
            each.turn
            for each in outcome.sent
            if each.is_too_long and each.done != "summary"
        ),
        sight=sight,
    )


def _figures(
    usages: Iterable[Usage],
    *,
    sizes: Iterable[int],
    too_long: tuple[int, ...],
    **more: Any,  # noqa: ANN401 - fields of `Figures`
) -> Figures:
    used, lengths = list(usages), list(sizes)
    return Figures(
        requests=len(used),
        turns=len(lengths),
        input_tokens=sum(each.input_tokens for each in used),
        cache_write_tokens=sum(
            each.cache_write_5m_tokens + each.cache_write_1h_tokens for each in used
        ),
        cache_read_tokens=sum(each.cache_read_tokens for each in used),
        output_tokens=sum(each.output_tokens for each in used),
        peak_tokens=max(lengths, default=0),
        sent_tokens=sum(lengths),
        too_long=too_long,
        too_long_count=len(too_long),
        **more,
    )


def total(figures: Iterable[Figures]) -> Figures:
    """Return the sums over agents; the peak is that of the longest request."""
    every = list(figures)
    sight = NOTHING_USED
    for each in every:
        sight += each.sight
    return Figures(
        requests=sum(each.requests for each in every),
        turns=sum(each.turns for each in every),
        input_tokens=sum(each.input_tokens for each in every),
        cache_write_tokens=sum(each.cache_write_tokens for each in every),
        cache_read_tokens=sum(each.cache_read_tokens for each in every),
        output_tokens=sum(each.output_tokens for each in every),
        usd=_sum(each.usd for each in every),
        clears=sum(each.clears for each in every),
        compactions=sum(each.compactions for each in every),
        peak_tokens=max((each.peak_tokens for each in every), default=0),
        sent_tokens=sum(each.sent_tokens for each in every),
        too_long_count=sum(each.too_long_count for each in every),
        sight=sight,
    )


def _sum(parts: Iterable[float | None]) -> float | None:
    """Return the sum; None where a part of it is unknown."""
    every = list(parts)
    known = [each for each in every if each is not None]
    return sum(known) if len(known) == len(every) else None
