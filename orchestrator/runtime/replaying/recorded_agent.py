"""One agent of a recorded run: its turns, what came back on them, and its edits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any

from orchestrator.context.layout import Label
from orchestrator.context.tokens import estimate
from orchestrator.messages import Block, encode, text_of, tool_calls
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price
from orchestrator.spec.profiles import DELEGATION
from orchestrator.store.records import REF

__all__ = [
    "Asked",
    "Came",
    "Edited",
    "RecordedAgent",
    "Took",
    "blocks_of",
    "is_apart",
]


@dataclass(slots=True)
class Came:
    """The result of a call as the agent was shown it; sizes in estimated tokens."""

    call: str
    name: str
    text: str
    tokens: int
    full_tokens: int
    artifact: str
    label: Label
    is_error: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer that was paid for.

    Attributes:
        usage: as the service counted it.
        usd: what was booked for it; None: its price is unknown.
        price: of its model then.
        model: bare id.
        purpose: `summary`, `judge`, or "" for one of the conversation.
    """

    usage: Usage
    usd: float | None
    price: Price | None
    model: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """Something that was no longer sent from a turn on.

    Attributes:
        turn: place of the first turn without it, from 0.
        why: as in the event.
        stubs: call → what stands in the place of its result.
        dropped: steps that are gone; 0: this is a clear.
        text: what stands in the place of the steps.
        parts: estimated tokens of that, by what it is.
        gone_tokens: of the steps that went.
        by_summary: a summary is in it.
    """

    turn: int
    why: str
    stubs: dict[str, str] = field(default_factory=dict)
    dropped: int = 0
    text: str = ""
    parts: dict[str, int] = field(default_factory=dict)
    gone_tokens: int = 0
    by_summary: bool = False

    @property
    def is_compaction(self) -> bool:
        """Return whether steps went, and not single results."""
        return not self.stubs


@dataclass(slots=True)
class Took:
    """One turn: an answer that entered the conversation, and what came back on it.

    Attributes:
        asked: the answer.
        calls: its calls in order.
        said: its text.
        said_tokens: of all of it.
        results: of its calls, those of delegation left out, in the order they came.
        told: texts of the program behind it, and what came of delegation.
        told_tokens: of these.
        found: those of them that bring findings.
        waited_s: seconds from the request before to this one.
        edits: what was cleared or compacted since the request before.
        at_break: work came to a natural break with it.
    """

    asked: Asked
    calls: list[Block]
    said: str
    said_tokens: int
    results: list[Came] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    told_tokens: int = 0
    found: list[str] = field(default_factory=list)
    waited_s: float = 0.0
    edits: tuple[Edited, ...] = ()
    at_break: bool = False

    @property
    def pairs(self) -> Iterator[tuple[Block, Came]]:
        """Yield each call that has a result, with that."""
        calls = {str(each.get("id")): each for each in self.calls}
        for came in self.results:
            if came.call in calls:
                yield calls[came.call], came


@dataclass(slots=True)
class RecordedAgent:
    """One agent of a run.

    Attributes:
        id: like `lead`, `a1`.
        model: bare id, as it began.
        first_text: of its first message.
        fixed_tokens: system prompt, tools and first message, estimated; 0: not known.
        output_tokens: longest reply at its start; None: its start is lost.
        most_output_tokens: what limits allowed for that, whatever the window.
        allowed: tools it might call.
        turns: that entered its conversation, oldest first.
        discarded: answers that did not.
        asides: answers to what the program asked for itself.
        edits: oldest first.
    """

    id: str
    parent: str = ""
    profile: str = ""
    title: str = ""
    model: str = ""
    first_text: str = ""
    fixed_tokens: int = 0
    output_tokens: int | None = None
    most_output_tokens: int | None = None
    allowed: frozenset[str] = frozenset()
    turns: list[Took] = field(default_factory=list)
    discarded: list[Asked] = field(default_factory=list)
    asides: list[Asked] = field(default_factory=list)
    edits: list[Edited] = field(default_factory=list)
    _requested: datetime | None = None
    _before: datetime | None = None
    _places: dict[str, int] = field(default_factory=dict)
    """Call → place of the turn that made it."""

    @property
    def asked(self) -> list[Asked]:
        """Return all that was paid for."""
        turns = [each.asked for each in self.turns]
        return [*turns, *self.discarded, *self.asides]

    @property
    def base_tokens(self) -> int:
        """Return the size of what never goes: as counted, where that is more."""
        if self.turns and not self.turns[0].edits:
            usage = self.turns[0].asked.usage
            if usage.known:
                return max(self.fixed_tokens, usage.context_tokens)
        return self.fixed_tokens

    def turn_of(self, call: str) -> tuple[int, Took]:
        """Return the number, from 1, of the turn that made a call, and that turn."""
        place = self._places[call]
        return place + 1, self.turns[place]

    @property
    def is_cached(self) -> bool:
        """Return whether the service told of any use of its cache."""
        usages = [each.usage for each in self.asked]
        return any(u.context_tokens > u.input_tokens for u in usages)

    def answered(self, data: dict[str, Any], asked: Asked) -> None:
        """Take in an answer."""
        if asked.purpose:
            self.asides.append(asked)
            return
        content = blocks_of(data["content"])
        if not (data.get("kept", True) and (content or is_apart(data["content"]))):
            self.discarded.append(asked)
            return
        said = asked.usage.output_tokens or estimate(encode(content).decode())
        turn = Took(asked, tool_calls(content), text_of(content), said)
        if self._requested and self._before:
            waited = (self._requested - self._before).total_seconds()
            turn.waited_s = max(waited, 0.0)
        at = len(self.turns)
        turn.edits = tuple(takewhile(lambda e: e.turn == at, reversed(self.edits)))
        self._before = self._requested
        for call in turn.calls:
            self._places[str(call.get("id"))] = len(self.turns)
        self.turns.append(turn)

    def requested(self, at: datetime | None, composition: dict[str, int]) -> None:
        """Take in a request of the conversation."""
        self._requested = at
        if not self.turns and not self.fixed_tokens:
            self.fixed_tokens = sum(composition.values())

    def came(self, result: Came, *, delivers: bool) -> None:
        """Take in the result of a call."""
        if not self.turns:
            return
        turn = self.turns[self._places.setdefault(result.call, len(self.turns) - 1)]
        if result.name in DELEGATION:
            self.told(result.text, result.tokens, is_finding=delivers, turn=turn)
        else:
            turn.results.append(result)

    def told(
        self,
        text: str,
        tokens: int,
        *,
        is_finding: bool = False,
        turn: Took | None = None,
    ) -> None:
        """Take in what stands behind the results of a turn, by default the newest."""
        turn = turn or (self.turns[-1] if self.turns else None)
        if turn is None:
            self.fixed_tokens += tokens
            self.first_text += f"\n{text}"
            return
        turn.told_tokens += tokens
        (turn.found if is_finding else turn.told).append(text)

    def replaced(self, call: str, content: str) -> None:
        """Take in what stands in the place of a result from now on."""
        place = self._places.get(call)
        for each in self.turns[place].results if place is not None else ():
            if each.call == call:
                each.text, each.tokens = content, estimate(content)

    def dropped(self, data: dict[str, Any]) -> None:
        """Take in a compaction: steps are counted from the end, whatever is lost."""
        kept = (data["kept_messages"] + 1) // 2
        parts = {name: int(size) for name, size in data.get("parts", {}).items()}
        before, after = data.get("tokens_before", 0), data.get("tokens_after", 0)
        self.edits.append(
            Edited(
                turn=len(self.turns),
                why=data["why"],
                dropped=max(len(self.turns) - kept, 0),
                text=data["text"] if isinstance(data["text"], str) else "",
                parts=parts,
                gone_tokens=max(before - after + sum(parts.values()), 0),
                by_summary=data["how"] != "none",
            )
        )


def is_apart(value: object) -> bool:
    """Return whether a field is stored apart."""
    return type(value) is dict and REF in value


def blocks_of(value: object) -> list[Block]:
    """Return the blocks of a content as a log has it; none where it is lost."""
    listed = value if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, dict)]
