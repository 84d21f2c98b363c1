"""A recorded agent as a conversation of sizes, its results cut as a policy would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from orchestrator.context.clipping import clip_text
from orchestrator.context.numbers import Numbers
from orchestrator.context.recorded import Conversation, Result, Turn
from orchestrator.context.tokens import estimate
from orchestrator.runtime.replaying.recorded_agent import Came, RecordedAgent, Took

__all__ = ["PAGES", "STUB_TOKENS", "Sized", "sized"]

PAGES: Final = frozenset({"read_file", "read_ref"})
"""Tools whose results come in pages."""
STUB_TOKENS: Final = 40
"""Of a stub without its digest, about."""
LEAST_FACTOR, MOST_FACTOR = 0.2, 5.0
"""What was counted for an estimated token; beyond that, something else has happened."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A conversation, and what a policy made of its results on entry.

    Attributes:
        conversation: sizes as the service counts them.
        texts: call → what is shown of its result, where that is not as it was.
        shorter: results that are cut shorter than they were.
        longer: results of which more is shown.
    """

    conversation: Conversation
    texts: Mapping[str, str] = field(default_factory=dict)
    shorter: int = 0
    longer: int = 0


def sized(
    agent: RecordedAgent,
    numbers: Numbers,
    *,
    before: Numbers | None = None,
    whole: Callable[[str], str] = lambda _artifact: "",
) -> Sized:
    """Return the conversation that an agent would have had under other numbers.

    Args:
        agent: as recorded.
        numbers: of the policy that is tried.
        before: those that it had; None: results stay as they came.
        whole: artifact → all of the text of a result, or "".
    """
    cut: dict[str, tuple[int, str]] = {}
    for turn in agent.turns if before is not None else ():
        for came in turn.results:
            shown = _shown(came, numbers, before or numbers, whole)
            if shown is not None:
                cut[came.call] = shown
    factors = _factors(agent)
    turns = [
        _turn(took, factor, numbers, cut)
        for took, factor in zip(agent.turns, factors, strict=True)
    ]
    was = {each.call: each.tokens for took in agent.turns for each in took.results}
    return Sized(
        Conversation(
            _first_tokens(agent),
            tuple(turns),
            cached_tokens=_cached(agent.turns),
        ),
        {call: text for call, (_, text) in cut.items()},
        shorter=sum(tokens < was[call] for call, (tokens, _) in cut.items()),
        longer=sum(tokens > was[call] for call, (tokens, _) in cut.items()),
    )


def _first_tokens(agent: RecordedAgent) -> int:
    """Return the size of system prompt, tools and first message."""
    if agent.turns and not agent.turns[0].edits:
        usage = agent.turns[0].asked.usage
        if usage.known and usage.context_tokens:
            return usage.context_tokens
    return agent.fixed_tokens


def _cached(turns: Sequence[Took]) -> int:
    """Return what of the first request others had put into the cache."""
    return turns[0].asked.usage.cache_read_tokens if turns else 0


def _factors(agent: RecordedAgent) -> list[float]:
    """Return for each turn what the service counts for an estimated token of it.

    It is known where the next request was counted too, less what a clear took out of
    that; for the others, what is known of all together is taken.
    """
    known: dict[int, float] = {}
    sizes: dict[str, float] = {}
    """Of results, as the service counts them."""
    counted = estimated = 0.0
    for at, (turn, following) in enumerate(pairwise(agent.turns)):
        tokens = _tokens(turn)
        grown = _grown(turn, following, sizes)
        if grown > 0 and tokens:
            known[at] = min(max(grown / tokens, LEAST_FACTOR), MOST_FACTOR)
            counted, estimated = counted + grown, estimated + tokens
        factor = known.get(at) or (counted / estimated if estimated else 1.0)
        sizes |= {each.call: each.tokens * factor for each in turn.results}
    usual = counted / estimated if estimated else 1.0
    usual = min(max(usual, LEAST_FACTOR), MOST_FACTOR)
    return [known.get(at, usual) for at in range(len(agent.turns))]


def _grown(turn: Took, following: Took, sizes: Mapping[str, float]) -> float:
    """Return by how many tokens a turn made the next request longer; 0: unknown."""
    usage, then = turn.asked.usage, following.asked.usage
    is_same = turn.asked.model == following.asked.model
    if not (usage.known and then.known and is_same and usage.context_tokens):
        return 0
    stubs: dict[str, str] = {}
    for edit in following.edits:
        if edit.is_compaction or not edit.stubs.keys() <= sizes.keys():
            return 0
        stubs |= edit.stubs
    freed = sum(sizes[call] - estimate(stub) for call, stub in stubs.items())
    return then.context_tokens - usage.context_tokens + freed


def _tokens(turn: Took) -> int:
    of_results = sum(each.tokens for each in turn.results)
    return turn.said_tokens + turn.told_tokens + of_results


def _turn(
    took: Took,
    factor: float,
    numbers: Numbers,
    cut: Mapping[str, tuple[int, str]],
) -> Turn:
    stub = STUB_TOKENS + numbers.digest_tokens
    results = []
    estimated = took.said_tokens + took.told_tokens
    for came in took.results:
        tokens, _ = cut.get(came.call, (came.tokens, ""))
        estimated += tokens
        results.append(
            Result(
                came.call,
                round(tokens * factor),
                min(stub, tokens),
                came.label,
                estimated_tokens=tokens,
            )
        )
    return Turn(
        said_tokens=round(took.said_tokens * factor),
        results=tuple(results),
        added_tokens=round(took.told_tokens * factor),
        output_tokens=took.asked.usage.output_tokens,
        at_break=took.at_break,
        waited_s=took.waited_s,
        estimated_tokens=estimated,
    )


def _shown(
    came: Came, numbers: Numbers, before: Numbers, whole: Callable[[str], str]
) -> tuple[int, str] | None:
    """Return size and text of a result under other numbers; None: as it was."""
    if came.name in PAGES:
        if came.tokens <= numbers.read_tokens:
            return None
        return numbers.read_tokens, _page(came.text, numbers.read_tokens, came.tokens)
    limit = numbers.clip_tokens
    if came.tokens > limit:
        return limit, _clipped(came, came.text, limit)
    was_clipped = came.artifact and came.full_tokens > came.tokens
    if was_clipped and limit > before.clip_tokens:
        text = whole(came.artifact)
        shown = _clipped(came, text, limit) if text else came.text
        return min(came.full_tokens, limit), shown
    return None


def _clipped(came: Came, text: str, limit: int) -> str:
    return clip_text(
        text,
        limit_tokens=limit,
        is_error=came.is_error,
        ref=came.artifact or "art_000000000000",
        count=estimate,
    )


def _page(text: str, limit: int, tokens: int) -> str:
    """Return the first lines of a page, as far as a shorter one goes."""
    room = len(text) * limit // tokens
    end = text.rfind("\n", 0, room)
    return text[: end + 1 if end > 0 else room]
