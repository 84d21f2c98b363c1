"""What a run will probably take, in tokens and dollars, and on which assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.models.base import Usage
from orchestrator.runtime.fixed import BRIEF_TOKENS
from orchestrator.runtime.prepare import Prepared
from orchestrator.settings import OFFLINE
from orchestrator.spec.profiles import asks_to_delegate

__all__ = ["Estimate", "Figures", "estimate_run"]

SUBAGENTS_WITHOUT_QUESTIONS = 4
OUTPUT_PER_CALL = 250
FINDINGS_TOKENS = 1200


@dataclass(frozen=True, slots=True)
class _Work:
    """How much an agent does.

    Attributes:
        subagent_calls: model calls of one subagent.
        lead_calls: of the lead.
        tokens_per_call: what a tool result adds to a context, on average.
    """

    subagent_calls: int
    lead_calls: int
    tokens_per_call: int


LITTLE, USUAL, MUCH = _Work(5, 3, 1000), _Work(12, 6, 2000), _Work(25, 12, 4000)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one course of a run takes."""

    calls: int
    tokens: int
    """What `limits.tokens` counts: uncached input, cache writes, output."""
    cache_read_tokens: int
    usd: float | None
    """None: the price of a model is not known."""
    lead_usd: float | None = None
    """Of `usd`, for the lead."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expectation, not a bound; the limits are the bound.

    Attributes:
        likely: what a run of this kind usually takes.
        least: where the agents find at once what they look for.
        most: where they look for long; the limits may end it before.
        uncached: the likely course where the endpoint keeps nothing in a cache.
    """

    subagents: int
    likely: Figures
    least: Figures
    most: Figures
    uncached: Figures
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Start:
    """What an agent begins with, and the model that it asks."""

    model: str
    tokens: int


def estimate_run(
    prepared: Prepared,
    *,
    usd_of: Callable[[str, Usage], float | None],
) -> Estimate:
    """Return what a run of `prepared` will probably take.

    Args:
        prepared: the task with all that it uses.
        usd_of: dollars of a usage of a model; None where the price is not known.
    """
    task, agents = prepared.task, list(prepared.profiles.subagents.values())
    wanted = len(task.questions) or SUBAGENTS_WITHOUT_QUESTIONS
    can_send = bool(agents and task.limits.depth)
    number = min(wanted, task.limits.subagents) if can_send else 0
    lead, workers = _starts(prepared, number)

    def course(work: _Work, *, is_cached: bool = True) -> Figures:
        usages = _usages(
            lead, workers, work, task.deliverable.max_tokens, is_cached=is_cached
        )
        return _figures(usages, usd_of)

    return Estimate(
        subagents=number,
        likely=course(USUAL),
        least=course(LITTLE),
        most=course(MUCH),
        uncached=course(USUAL, is_cached=False),
        assumptions=_assumptions(
            number,
            has_questions=bool(task.questions),
            nests=task.limits.depth > 1 and any(map(asks_to_delegate, agents)),
        ),
    )


def _starts(prepared: Prepared, number: int) -> tuple[_Start, list[_Start]]:
    """Return what the lead and each of `number` subagents begin with."""
    lead, *agents = (_Start(each.model, each.fixed_tokens) for each in prepared.numbers)
    return lead, [agents[place % len(agents)] for place in range(number)]


def _usages(
    lead: _Start,
    workers: Sequence[_Start],
    work: _Work,
    report_tokens: int,
    *,
    is_cached: bool,
) -> list[list[tuple[str, Usage]]]:
    """Return model and usage of each call of each agent, the lead's first."""
    own = _conversation(
        lead.tokens,
        calls=work.lead_calls,
        per_call=len(workers) * FINDINGS_TOKENS // 2,
        output=len(workers) * BRIEF_TOKENS + report_tokens // 2,
        is_cached=is_cached,
    )
    usages = [[(lead.model, usage) for usage in own]]
    for worker in workers:
        theirs = _conversation(
            worker.tokens,
            calls=work.subagent_calls,
            per_call=work.tokens_per_call,
            output=FINDINGS_TOKENS,
            is_cached=is_cached,
        )
        usages.append([(worker.model, usage) for usage in theirs])
    return usages


def _figures(
    usages: Sequence[Sequence[tuple[str, Usage]]],
    usd_of: Callable[[str, Usage], float | None],
) -> Figures:
    every = [usage for calls in usages for _model, usage in calls]
    dollars = [
        [0.0 if model == OFFLINE else usd_of(model, usage) for model, usage in calls]
        for calls in usages
    ]
    return Figures(
        calls=len(every),
        tokens=sum(usage.limited_tokens for usage in every),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in every),
        usd=_sum([usd for calls in dollars for usd in calls]),
        lead_usd=_sum(dollars[0]),
    )


def _sum(dollars: Sequence[float | None]) -> float | None:
    known = [usd for usd in dollars if usd is not None]
    return sum(known) if len(known) == len(dollars) else None


def _conversation(
    prefix: int, *, calls: int, per_call: int, output: int, is_cached: bool
) -> Iterator[Usage]:
    """Yield the usage of each call of an agent whose context only grows.

    Call by call, since the length of each prompt decides the band of its price.
    """
    new, before = prefix, 0
    for place in range(calls):
        is_last = place == calls - 1
        said = OUTPUT_PER_CALL + (output if is_last else 0)
        if is_cached:
            yield Usage(
                cache_write_5m_tokens=new, cache_read_tokens=before, output_tokens=said
            )
        else:
            yield Usage(input_tokens=new + before, output_tokens=said)
        before, new = before + new, per_call + OUTPUT_PER_CALL


def _assumptions(
    subagents: int, *, has_questions: bool, nests: bool
) -> tuple[str, ...]:
    why = "one a question" if has_questions else "no questions are given"
    deeper = "subagents of subagents are not counted: how many there are shows later"
    courses = (USUAL, LITTLE, MUCH)
    calls, own, added = (
        f"{usual:,} ({least:,} to {most:,})"
        for usual, least, most in (
            [work.subagent_calls for work in courses],
            [work.lead_calls for work in courses],
            [work.tokens_per_call for work in courses],
        )
    )
    return (
        f"{subagents} subagents ({why}), {calls} model calls each; "
        f"{own} calls of the lead",
        f"a call adds {added} tokens of results and {OUTPUT_PER_CALL} of output; "
        f"findings are {FINDINGS_TOKENS:,} tokens",
        "everything sent before is read from the cache; nothing fails",
        *([deeper] if nests else []),
    )
