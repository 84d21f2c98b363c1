"""What a policy made of a conversation: sizes, bill, and what could be read when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.context.recorded import Conversation
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price

__all__ = ["Outcome", "Sent", "Visibility", "bill_of", "visible"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request that would have been made.

    Attributes:
        turn: from 1.
        usage: by class of token.
        done: `clear: rent`, `compact: hard`, …, or "" where nothing was done before it;
            `summary` for the request of a summary.
        is_too_long: with the longest answer it would not have fitted the window.
    """

    turn: int
    usage: Usage
    done: str = ""
    is_too_long: bool = False

    @property
    def tokens(self) -> int:
        """Return the size of the request."""
        return self.usage.context_tokens


@dataclass(frozen=True, slots=True)
class Visibility:
    """Where a fact could be read, word for word.

    Attributes:
        turns: whose request held it.
        at_end: whether the last one did.
        is_reachable: whether it is there or can be opened at the end.
    """

    turns: tuple[int, ...]
    at_end: bool
    is_reachable: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy would have made of a conversation.

    `usd` and `usd_by` (by class of token) are None and {} where the price is unknown.
    `cleared` has the turn from which on the result of a call is a stub; `dropped`, for
    each compaction, its turn and the number of the newest step that is gone then.
    """

    sent: tuple[Sent, ...] = field(repr=False)
    usd: float | None
    usd_by: dict[str, float]
    facts: dict[str, Visibility]
    cleared: dict[str, int] = field(default_factory=dict, repr=False)
    dropped: tuple[tuple[int, int], ...] = ()

    @property
    def curve(self) -> tuple[int, ...]:
        """Return the size of each turn's request."""
        return tuple(each.tokens for each in self.sent if each.done != "summary")

    @property
    def peak_tokens(self) -> int:
        """Return the size of the longest request."""
        return max((each.tokens for each in self.sent), default=0)

    @property
    def input_tokens(self) -> int:
        """Return the sum of the sizes of all requests."""
        return sum(each.tokens for each in self.sent)

    @property
    def cache_share(self) -> float:
        """Return the share of the input that was read from the cache, 0 to 1."""
        read = sum(each.usage.cache_read_tokens for each in self.sent)
        return read / self.input_tokens if read else 0.0

    @property
    def clears(self) -> int:
        """Return how often results were cleared."""
        return sum(each.done.startswith("clear") for each in self.sent)

    @property
    def compactions(self) -> int:
        """Return how often steps were compacted."""
        return sum(each.done.startswith("compact") for each in self.sent)

    @property
    def too_long(self) -> tuple[int, ...]:
        """Return the turns whose requests the service would have refused."""
        return tuple(each.turn for each in self.sent if each.is_too_long)


def bill_of(sent: Sequence[Sent], price: Price | None) -> dict[str, float]:
    """Return the dollars of requests by class of token; {} where no price is known."""
    bill: dict[str, float] = {}
    for each in sent:
        for name, usd in (price.parts(each.usage) if price else {}).items():
            bill[name] = bill.get(name, 0.0) + usd
    return bill


def visible(
    conversation: Conversation,
    seen: Mapping[str, Sequence[int]],
    *,
    has_references: bool,
) -> dict[str, Visibility]:
    """Return what is known of each fact at the end.

    Args:
        conversation: as recorded.
        seen: fact → the turns whose request held it, in order.
        has_references: what was taken away can be opened again.
    """
    # What the last turn brought has not been in any request.
    turns = conversation.turns[:-1]
    parts = [conversation.first_text, *(each.text for each in turns)]
    parts += [result.text for each in turns for result in each.results]
    facts = {}
    for fact, at in seen.items():
        at_end = bool(at) and at[-1] == len(conversation.turns)
        can_open = has_references and any(fact in each for each in parts)
        facts[fact] = Visibility(tuple(at), at_end, at_end or can_open)
    return facts
