"""One compaction of an agent: what went, what stayed, what took its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.events import ContextCompacted, parse
from orchestrator.ids import reference_of
from orchestrator.inspection.context import AgentContext, Aside, Call

__all__ = ["Compaction", "Step", "compaction_of"]

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One assistant message and the results of its calls."""

    number: int
    said: str
    """The start of its text."""
    calls: tuple[Call, ...]

    @property
    def ref(self) -> str:
        """Return what opens it."""
        return reference_of(self.number)

    @property
    def tokens(self) -> int:
        """Return the tokens of its results as they came."""
        return sum(call.tokens for call in self.calls)

    def to_dict(self) -> Data:
        """Return everything by name."""
        calls = [{**call.to_dict(), "input": call.input} for call in self.calls]
        named = {"step": self.number, "ref": self.ref, "said": self.said}
        return {**named, "tokens": self.tokens, "calls": calls}


@dataclass(frozen=True, slots=True)
class Compaction:
    """The N-th compaction of an agent."""

    agent: str
    nth: int
    """From 1, of so many."""
    count: int
    told: ContextCompacted
    dropped: tuple[Step, ...]
    kept: tuple[Step, ...]
    """Whole, behind the text."""
    asides: tuple[Aside, ...]
    """Requests of the program that led to it."""

    def to_dict(self) -> Data:
        """Return everything by name."""
        names = [name for name in ContextCompacted.__slots__ if name != "KIND"]
        return {
            "agent": self.agent,
            "n": self.nth,
            "of": self.count,
            **{name: getattr(self.told, name) for name in names},
            "dropped": [step.to_dict() for step in self.dropped],
            "kept": [step.to_dict() for step in self.kept],
            "asides": [asdict(each) for each in self.asides],
        }


def compaction_of(context: AgentContext, nth: int) -> Compaction:
    """Return the N-th compaction of an agent.

    Args:
        context: of the agent, from events with full data.
        nth: from 1.

    Raises:
        SpecError: there is none of that number, or its record is damaged.
    """
    found = context.compactions
    if not 1 <= nth <= len(found):
        there = f"there are: 1 to {len(found)}" if len(found) > 1 else "there is one: 1"
        if not found:
            there = "nothing of it was ever compacted"
        raise SpecError(f"no compaction {nth} of `{context.id}`; {there}", field="N")
    edit = found[nth - 1]
    try:
        told = parse(edit.event, ContextCompacted)
    except TypeError as error:
        raise SpecError(f"the record is damaged: {error}", field="N") from error
    last = edit.steps[-1] if edit.steps else 0
    earlier = found[nth - 2].event.seq if nth > 1 else 0
    return Compaction(
        agent=context.id,
        nth=nth,
        count=len(found),
        told=told,
        dropped=_steps(context, edit.steps),
        kept=_steps(context, range(last + 1, edit.step + 1)),
        asides=tuple(
            each for each in context.asides if earlier < each.seq < edit.event.seq
        ),
    )


def _steps(context: AgentContext, numbers: Sequence[int]) -> tuple[Step, ...]:
    calls: dict[int, list[Call]] = {}
    for call in context.calls.values():
        calls.setdefault(call.step, []).append(call)
    there = sorted(set(calls) | set(context.said))
    return tuple(
        Step(n, context.said.get(n, ""), tuple(calls.get(n, [])))
        for n in there
        if n in numbers
    )
