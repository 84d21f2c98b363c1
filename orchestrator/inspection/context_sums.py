"""What took the most room, what edits cost an agent, and how good the estimates are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from orchestrator.context.factor import LEARNS_FROM_TOKENS
from orchestrator.events.phrases import number
from orchestrator.ids import HISTORY_REFERENCE
from orchestrator.inspection.context import AgentContext, Call, Edit, Turn

__all__ = [
    "EstimateError",
    "Health",
    "ToolSum",
    "estimate_error",
    "health_of",
    "largest",
    "tool_sums",
]

AGAIN_TURNS = 3
"""Turns after an edit in which what is called or opened again counts as missed."""
ERROR_TURNS = 5
"""Turns before and after an edit whose tool errors are compared."""

Data = dict[str, Any]


@dataclass(slots=True)
class ToolSum:
    """What one tool brought into a context."""

    name: str
    calls: int = 0
    errors: int = 0
    tokens: int = 0
    """Of its results as shown."""
    full_tokens: int = 0
    carried: int = 0
    """Of all requests that held them whole."""

    def to_dict(self) -> Data:
        """Return everything by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(slots=True)
class Health:
    """What an agent did after something was no longer sent: was it missed?"""

    edit: Edit
    again: list[Call] = field(default_factory=list)
    """Calls like one whose result had gone, within three turns."""
    opened: list[Call] = field(default_factory=list)
    """Calls of `read_ref` that opened what had gone, within three turns."""
    searched: list[Call] = field(default_factory=list)
    """Searches of the own history, within three turns."""
    errors_before: int = 0
    """Tool errors in the five turns before, of so many calls, and in those after."""
    calls_before: int = 0
    errors_after: int = 0
    calls_after: int = 0

    @property
    def is_worth_a_look(self) -> bool:
        """Return whether something was missed, or more went wrong than before."""
        is_missed = bool(self.again or self.opened or self.searched)
        return is_missed or self.errors_after > self.errors_before

    def to_dict(self) -> Data:
        """Return everything by name; the edit as its figures."""
        data = self.edit.event.data
        names = ("errors_before", "calls_before", "errors_after", "calls_after")
        return {
            "kind": self.edit.kind,
            "turn": self.edit.turn,
            "nth": self.edit.nth,
            "why": data.get("why"),
            "tokens_before": number(data.get("tokens_before")),
            "tokens_after": number(data.get("tokens_after")),
            "results": len(self.edit.calls),
            "steps": [self.edit.steps[0], self.edit.steps[-1]]
            if self.edit.steps
            else [],
            "called_again": [call.to_dict() for call in self.again],
            "opened_again": [call.to_dict() for call in self.opened],
            "searched": [call.to_dict() for call in self.searched],
            **{name: getattr(self, name) for name in names},
        }


@dataclass(frozen=True, slots=True)
class EstimateError:
    """How far estimates were from what the service counted, as a share of that."""

    requests: int
    """That are large enough to tell."""
    first: float
    """Of the first such request, with its sign: 0.1 is a tenth too much."""
    total: float
    """Of all of them together, with its sign."""
    worst: float
    """The largest one, with its sign."""

    def to_dict(self) -> Data:
        """Return everything by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def largest(context: AgentContext, *, most: int = 5) -> list[Call]:
    """Return the calls whose results took most of all requests together.

    Args:
        context: of one agent.
        most: that many at most.
    """
    over = [call for call in context.calls.values() if call.is_over and call.tokens]
    return sorted(over, key=lambda call: (-call.carried, -call.tokens))[:most]


def tool_sums(context: AgentContext) -> list[ToolSum]:
    """Return what each tool brought, the one that took most first."""
    sums: dict[str, ToolSum] = {}
    for call in context.calls.values():
        if call.is_over:
            tool = sums.setdefault(call.name, ToolSum(call.name))
            tool.calls += 1
            tool.errors += call.is_error
            tool.tokens += call.tokens
            tool.full_tokens += call.full_tokens
            tool.carried += call.carried
    return sorted(sums.values(), key=lambda tool: (-tool.carried, -tool.tokens))


def health_of(context: AgentContext) -> list[Health]:
    """Return what followed each clear and each compaction, oldest first."""
    made: dict[int, list[Call]] = {}
    for call in context.calls.values():
        made.setdefault(call.turn, []).append(call)
    return [_health(context, edit, made) for edit in context.edits]


def estimate_error(context: AgentContext) -> EstimateError | None:
    """Return how good the estimates were; None: no request is large enough to tell."""
    known = [
        (each.estimated, each.reported, each.error)
        for each in context.turns.values()
        if each.reported and each.reported >= LEARNS_FROM_TOKENS
    ]
    errors = [error for _, _, error in known if error is not None]
    if not errors:
        return None
    counted = sum(reported for _, reported, _ in known)
    return EstimateError(
        len(errors),
        errors[0],
        sum(estimated for estimated, _, _ in known) / counted - 1,
        max(errors, key=abs),
    )


def _health(context: AgentContext, edit: Edit, made: dict[int, list[Call]]) -> Health:
    health = Health(edit)
    gone = {_identity(call) for call in edit.calls}
    for at in range(edit.turn, edit.turn + AGAIN_TURNS):
        for call in made.get(at, []):
            if call.name == "read_ref":
                health.opened += [call] if _opens(call, edit) else []
            elif call.name == "recall":
                health.searched += [call] if _searches_history(call) else []
            elif _identity(call) in gone:
                health.again.append(call)
    before = range(edit.turn - ERROR_TURNS, edit.turn)
    after = range(edit.turn, edit.turn + ERROR_TURNS)
    for turn in _turns(context, before):
        health.calls_before += turn.calls
        health.errors_before += turn.errors
    for turn in _turns(context, after):
        health.calls_after += turn.calls
        health.errors_after += turn.errors
    return health


def _turns(context: AgentContext, numbers: Iterable[int]) -> Iterator[Turn]:
    return (context.turns[n] for n in numbers if n in context.turns)


def _identity(call: Call) -> tuple[str, bytes]:
    return call.name, orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS)


def _opens(call: Call, edit: Edit) -> bool:
    """Return whether a call of `read_ref` names something that went with the edit."""
    ref = str(call.input.get("ref", "")).strip().strip("`\"'[]()")
    match = HISTORY_REFERENCE.fullmatch(ref)
    if match is None:
        return bool(ref) and any(each.artifact == ref for each in edit.calls)
    step, place = int(match[1]), match[2]
    if step in edit.steps:
        return True
    return any(
        each.step == step and (place is None or each.place == int(place))
        for each in edit.calls
    )


def _searches_history(call: Call) -> bool:
    return "history" in str(call.input.get("where", ""))
