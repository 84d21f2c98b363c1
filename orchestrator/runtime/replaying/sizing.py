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

__all__ = ["Sized", "sized"]

PAGES: Final = frozenset({"read_file", "read_ref"})
"""Tools whose results come in pages."""
STUB_TOKENS: Final = 40
"""Of a stub without its digest, about."""
LEAST_FACTOR, MOST_FACTOR = 0.2, 5.0
"""What was counted for an estimated token; beyond that, something else has happened."""
LEAST_STUB_FACTOR, MOST_STUB_FACTOR = 0.5, 4.0
"""The same of stubs, which are short: what stands around them weighs more."""
LEAST_PLAIN = 3
"""Turns that must be known before it is told by them how long stubs are."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A conversation, and what a policy made of its results on entry.

    Attributes:
        conversation: sizes as the service counts them.
        texts: call → what is shown of its result, where that is not as it was.
        shorter: results that are cut shorter than they were.
        longer: results of which more is shown.
        factor: tokens that the service counts for an estimated one, on the whole.
        stub_factor: the same of stubs.
    """

    conversation: Conversation
    texts: Mapping[str, str] = field(default_factory=dict)
    shorter: int = 0
    longer: int = 0
    factor: float = 1.0
    stub_factor: float = 1.0

    def stub_tokens(self, estimated: int | None) -> int | None:
        """Return how long the service counts a stub; None: nobody knows."""
        if estimated is None:
            return None
        return round(estimated * self.stub_factor)


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
    factors, usual, of_stubs = _factors(agent)
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
        factor=usual,
        stub_factor=of_stubs,
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


def _factors(agent: RecordedAgent) -> tuple[list[float], float, float]:
    """Return what is counted for an estimated token: in each turn, usually, in stubs.

    Of a turn it is known where the next request was counted too, less what a clear took
    out of that; for the others, what is known of all together is taken.
    """
    plain = {
        at: _grown(*pair) / _tokens(pair[0])
        for at, pair in enumerate(pairwise(agent.turns))
        if _is_counted(*pair) and not pair[1].edits and _grown(*pair) > 0
    }
    of_stubs = _stub_factor(agent, plain)
    known: dict[int, float] = {}
    sizes: dict[str, float] = {}
    counted = estimated = 0.0
    for at, (turn, following) in enumerate(pairwise(agent.turns)):
        if _is_counted(turn, following) and _is_known(following, sizes):
            went = _freed(following, sizes) - of_stubs * _stubs(following)
            grown = _grown(turn, following) + went
            if grown > 0:
                known[at] = _bounded(grown / _tokens(turn))
                counted += known[at] * _tokens(turn)
                estimated += _tokens(turn)
        factor = known.get(at) or (counted / estimated if estimated else 1.0)
        sizes |= {each.call: each.tokens * factor for each in turn.results}
    usual = _bounded(counted / estimated) if estimated else 1.0
    return [known.get(at, usual) for at in range(len(agent.turns))], usual, of_stubs


def _stub_factor(agent: RecordedAgent, plain: Mapping[int, float]) -> float:
    """Return what is counted for an estimated token of a stub.

    That is what is left when turns before clears are as long as others were, which are
    known: those behind which nothing went.
    """
    if len(plain) < LEAST_PLAIN:
        return 1.0
    turns = agent.turns
    whole = sum(factor * _tokens(turns[at]) for at, factor in plain.items())
    usual = _bounded(whole / sum(_tokens(turns[at]) for at in plain))
    sizes = {
        each.call: each.tokens * _bounded(plain.get(at, usual))
        for at, turn in enumerate(turns)
        for each in turn.results
    }
    counted = estimated = 0.0
    for turn, following in pairwise(turns):
        if _stubs(following) and _is_counted(turn, following):
            left = _freed(following, sizes) - usual * _tokens(turn)
            counted += _grown(turn, following) + left
            estimated += _stubs(following)
    found = counted / estimated if estimated else 1.0
    return min(max(found, LEAST_STUB_FACTOR), MOST_STUB_FACTOR)


def _is_counted(turn: Took, following: Took) -> bool:
    """Return whether the service counted both requests, and steps stayed between."""
    usage, then = turn.asked.usage, following.asked.usage
    is_same = turn.asked.model == following.asked.model
    is_known = usage.known and then.known and usage.context_tokens > 0
    stays = not any(each.is_compaction for each in following.edits)
    return is_same and is_known and stays and _tokens(turn) > 0


def _is_known(following: Took, sizes: Mapping[str, float]) -> bool:
    """Return whether the sizes of all results are known that went before a turn."""
    return all(each.stubs.keys() <= sizes.keys() for each in following.edits)


def _grown(turn: Took, following: Took) -> int:
    """Return by how many tokens the next request is longer."""
    return following.asked.usage.context_tokens - turn.asked.usage.context_tokens


def _freed(following: Took, sizes: Mapping[str, float]) -> float:
    """Return the tokens of the results that went before a turn."""
    gone = {call for edit in following.edits for call in edit.stubs}
    return sum(sizes.get(call, 0.0) for call in gone)


def _stubs(following: Took) -> int:
    """Return the estimated tokens of the stubs that came before a turn."""
    stubs: dict[str, str] = {}
    for edit in following.edits:
        stubs |= edit.stubs
    return sum(map(estimate, stubs.values()))


def _bounded(factor: float) -> float:
    return min(max(factor, LEAST_FACTOR), MOST_FACTOR)


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
