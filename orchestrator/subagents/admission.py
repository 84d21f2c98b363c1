"""What of a fan-out fits the budget, judged by what subagents have used so far.

The estimate of a subagent is the mean of those of its kind that have ended. A fan-out
costs the sum of its parts, and the sum of means is the best guess at that; a high
quantile, added up, would set aside many times what is used and refuse work that fits.
One that runs above the mean is no danger: no call is made that the budget cannot pay,
and the lead's own reserve is not part of the room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.messages import one_line
from orchestrator.spec.limits import AgentLimits

__all__ = ["Admission", "Verdict", "Wanted", "admit"]

SHRINK_TO = 0.5
"""Of the mean: with less a subagent would hardly hand in anything."""
TELL_FROM = 0.75
"""Share of what is left from which the lead is told, though all of it fits."""
MIN_TOKENS = 1000
"""The smallest limit that an agent can have."""
SHOWN_KINDS = 3
SHOWN_KIND_CHARS = 40

_UNLIMITED_TOKENS = 2**61
_ENDLESS = float("inf")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One brief that asks for a subagent.

    Attributes:
        kind: subagents that cost alike, as the lead knows them: the profile.
        floor: what it must have to begin: a first call and a last one, at the most that
            they can use. No dollars where the price is not known; then they do not
            count at all.
        limits: its own, of brief and profile.
        least: what it will use of the floor; None: all of it.
    """

    kind: str
    floor: Amount
    limits: AgentLimits = field(default_factory=AgentLimits)
    least: Amount | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one brief.

    Attributes:
        counted: what it will probably use; nothing if it is refused.
        limits: caps to narrow its own limits with; None: it is taken as it is.
        refused: why it is not taken, for the lead; "" if it is.
    """

    counted: Amount = NOTHING
    limits: AgentLimits | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of a fan-out.

    Attributes:
        verdicts: one per brief, in their order.
        told: the figures, for the lead; "" where everything fits easily.
    """

    verdicts: tuple[Verdict, ...]
    told: str = ""


@dataclass(frozen=True, slots=True)
class _Need:
    """What one brief will probably use, and the least that is worth a try."""

    likely: Amount
    least: Amount
    floor: Amount


def admit(
    briefs: Sequence[Wanted],
    *,
    measured: Mapping[str, Sequence[Amount]],
    room: Amount,
    outstanding: Amount = NOTHING,
) -> Admission:
    """Decide which briefs of one call are taken, and with how much each.

    Where the likely costs do not fit, all are cut by the same part of what lies between
    the mean and half of it; where that is not enough, the last are refused until the
    rest fit. Nothing is refused on a guess: where nothing was measured only the floor
    counts, and the first brief is taken whenever its floor fits, with all that is left.

    Args:
        briefs: in the lead's order.
        measured: kind → what each ended subagent of it used; those that used nothing
            do not count.
        room: what the run may still use, without the lead's reserve; infinite or
            2**62 where there is no limit.
        outstanding: what those accepted already will probably still use.
    """
    free = Amount(
        max(room.usd - outstanding.usd, 0.0), max(room.tokens - outstanding.tokens, 0)
    )
    means = {kind: mean for kind in measured if (mean := _mean(measured[kind]))}
    needs = [_need(brief, means.get(brief.kind)) for brief in briefs]
    taken = _how_many(needs, free)
    verdicts = _shared_out(needs[:taken], free)
    left = _left(free)
    for brief, need in zip(briefs[taken:], needs[taken:], strict=True):
        verdicts.append(Verdict(refused=_refusal(brief, need, means, left)))
    return Admission(tuple(verdicts), _told(briefs, verdicts, means, free))


@dataclass(frozen=True, slots=True)
class _Mean:
    """What ended subagents of one kind used, and how many they were."""

    amount: Amount
    of: int


def _mean(used: Sequence[Amount]) -> _Mean | None:
    some = [each for each in used if each != NOTHING]
    if not some:
        return None
    total = sum(some, NOTHING)
    return _Mean(Amount(total.usd / len(some), total.tokens // len(some)), len(some))


def _need(brief: Wanted, measured: _Mean | None) -> _Need:
    limits = brief.limits
    own = Amount(
        _ENDLESS if limits.usd is None else limits.usd,
        2**62 if limits.tokens is None else limits.tokens,
    )
    floor = _least(brief.floor.or_more(Amount(0.0, MIN_TOKENS)), own)
    some = floor if brief.least is None else _least(brief.least, floor)
    if measured is None:
        return _Need(some, some, floor)
    mean = measured.amount
    if not floor.usd:
        mean = Amount(0.0, mean.tokens)
    # Nobody gets a cap below the floor; but who uses less does not count as more.
    least = mean.part(SHRINK_TO).or_more(_least(mean, floor)).or_more(some)
    return _Need(_least(mean.or_more(some), own), _least(least, own), floor)


def _how_many(needs: Sequence[_Need], free: Amount) -> int:
    """Return how many briefs, from the first on, are taken."""
    total, taken = NOTHING, 0
    for need in needs:
        if not _fits(total + need.least.or_more(need.floor), free):
            break
        total += need.least
        taken += 1
    if not taken and needs and _fits(needs[0].floor, free):
        return 1
    return taken


def _shared_out(needs: Sequence[_Need], free: Amount) -> list[Verdict]:
    """Return the verdicts on what is taken."""
    likely = sum((need.likely for need in needs), NOTHING)
    if _fits(likely, free):
        return [Verdict(need.likely) for need in needs]
    least = sum((need.least for need in needs), NOTHING)
    usd = _part(free.usd, least.usd, likely.usd)
    tokens = _part(free.tokens, least.tokens, likely.tokens)
    verdicts: list[Verdict] = []
    for need in needs:
        share = Amount(
            min(_between(need.least.usd, need.likely.usd, usd), free.usd),
            min(
                int(_between(need.least.tokens, need.likely.tokens, tokens)),
                free.tokens,
            ),
        )
        verdicts.append(Verdict(share, _caps(share, need.likely)))
    return verdicts


def _part(free: float, least: float, likely: float) -> float:
    """Return which part of what lies between `least` and `likely` there is room for."""
    if likely <= free:
        return 1.0
    if likely <= least:
        return 0.0
    return max(min((free - least) / (likely - least), 1.0), 0.0)


def _between(least: float, likely: float, part: float) -> float:
    return likely if part >= 1 else least + (likely - least) * part


def _caps(share: Amount, likely: Amount) -> AgentLimits | None:
    caps: dict[str, float | int] = {}
    if share.usd < likely.usd:
        caps["usd"] = share.usd
    if share.tokens < likely.tokens:
        caps["tokens"] = share.tokens
    return AgentLimits.model_validate(caps) if caps else None


def _fits(amount: Amount, free: Amount) -> bool:
    """Tell whether there is room; without a price dollars do not count."""
    return amount.tokens <= free.tokens and (not amount.usd or amount.usd <= free.usd)


def _least(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.usd, other.usd), min(one.tokens, other.tokens))


def _told(
    briefs: Sequence[Wanted],
    verdicts: Sequence[Verdict],
    means: Mapping[str, _Mean],
    free: Amount,
) -> str:
    """Return the figures in one line, or "" where all fits easily."""
    taken = [each for each in verdicts if not each.refused]
    caps = [each.limits for each in taken if each.limits]
    total = sum((each.counted for each in taken), NOTHING)
    is_tight = (
        total.usd > TELL_FROM * free.usd or total.tokens > TELL_FROM * free.tokens
    )
    kinds = list(dict.fromkeys(each.kind for each in briefs if each.kind in means))
    if len(taken) == len(briefs) and not caps and not (is_tight and kinds):
        return ""
    if caps or len(taken) < len(briefs):
        what = f"{len(taken)} of {_briefs(len(briefs))} taken"
        what += f", {_at_most(caps, len(taken))}" if caps else ""
        refused = len(briefs) - len(taken)
        what += f"; {refused} refused" if refused else ""
    else:
        what = f"these {_briefs(len(briefs))} will probably use {_amount(total)}"
    figures = f"Budget: {_left(free)} left for the briefs of this call; {what}."
    return f"{figures} {_used(kinds, means)}".rstrip()


def _used(kinds: Sequence[str], means: Mapping[str, _Mean]) -> str:
    parts = [
        f"{_amount(means[kind].amount)} (`{_kind(kind)}`, mean of {means[kind].of})"
        for kind in kinds[:SHOWN_KINDS]
    ]
    if not parts:
        return ""
    return f"A subagent of this run has used so far: {', '.join(parts)}."


def _refusal(brief: Wanted, need: _Need, means: Mapping[str, _Mean], left: str) -> str:
    kind, mean = _kind(brief.kind), means.get(brief.kind)
    if mean is None:
        needs = f"a subagent needs at least {_amount(need.floor)}"
    else:
        used = _amount(mean.amount)
        needs = f"`{kind}` has used {used} so far (mean of {mean.of})"
    return (
        f"there is no budget for it: {needs}, and all briefs of this call together "
        f"have {left}, not enough for this one as well; put the most important ones "
        "first, or write the report with what you have"
    )


def _at_most(caps: Sequence[AgentLimits], taken: int) -> str:
    who = "each" if len(caps) == taken else f"{len(caps)} of them"
    usd = [each.usd for each in caps if each.usd is not None]
    tokens = [each.tokens for each in caps if each.tokens is not None]
    parts = [_span(_dollars(min(usd)), _dollars(max(usd)))] if usd else []
    if tokens:
        parts.append(_span(_count(min(tokens)), _count(max(tokens))) + " tokens")
    return f"{who} with at most {' and '.join(parts)}"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _left(free: Amount) -> str:
    """Return what is left, of what has a limit."""
    parts = [] if free.usd == _ENDLESS else [_dollars(free.usd)]
    if free.tokens < _UNLIMITED_TOKENS:
        parts.append(f"{_count(free.tokens)} tokens")
    return " and ".join(parts) or "enough"


def _amount(amount: Amount) -> str:
    tokens = f"{_count(amount.tokens)} tokens"
    return f"{tokens} and {_dollars(amount.usd)}" if amount.usd else tokens


def _dollars(usd: float) -> str:
    if 0 < usd < 0.0001:
        return "under $0.0001"
    return f"${usd:,.2f}" if usd >= 0.0995 or not usd else f"${usd:.2g}"


def _count(tokens: int) -> str:
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens // 1000:,}k" if tokens < 10**6 else f"{tokens / 10**6:.1f}M"


def _briefs(number: int) -> str:
    return "1 brief" if number == 1 else f"{number} briefs"


def _kind(kind: str) -> str:
    return one_line(kind, SHOWN_KIND_CHARS)
