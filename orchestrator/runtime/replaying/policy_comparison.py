"""Two context policies on one run, side by side: what is told of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.context.numbers import Numbers
from orchestrator.runtime.replaying.figures import Figures
from orchestrator.spec.policy import ContextPolicy

__all__ = ["AgentComparison", "Change", "Columns", "PolicyComparison", "changes"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Three columns of figures.

    Attributes:
        was: as the log has it.
        own: of the run's own policy, computed.
        other: of the other one, computed likewise.
    """

    was: Figures
    own: Figures
    other: Figures

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {name: getattr(self, name).to_dict() for name in ("was", "own", "other")}


@dataclass(frozen=True, slots=True)
class AgentComparison:
    """One agent of the run.

    Attributes:
        id: like `lead`, `a1`.
        parent: who sent it, or "".
        title: of its task.
        profile: its name.
        model: bare id, as it began.
        columns: what it comes to.
        own: numbers of the run's policy for it.
        other: those of the other policy.
        shorter: results that the other policy cuts shorter on entry.
        longer: results of which it shows more.
    """

    id: str
    parent: str
    title: str
    profile: str
    model: str
    columns: Columns
    own: Numbers
    other: Numbers
    shorter: int = 0
    longer: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name; of the numbers the window and the marks."""
        names = ("id", "parent", "title", "profile", "model", "shorter", "longer")
        return {
            **{name: getattr(self, name) for name in names},
            **self.columns.to_dict(),
            "marks": {"own": _marks(self.own), "other": _marks(self.other)},
        }


@dataclass(frozen=True, slots=True)
class Change:
    """A field of `context_policy` in which two policies differ."""

    name: str
    own: object
    other: object


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """What another policy would have made of a run.

    Attributes:
        run: its id.
        changes: fields in which the other policy differs from the run's.
        agents: in the order of their start.
        total: over all of them.
        caveats: what is not computed, and what it rests on, a sentence each.
        unpriced: models whose price nobody told; there are only tokens then.
    """

    run: str
    changes: tuple[Change, ...]
    agents: tuple[AgentComparison, ...]
    total: Columns
    caveats: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, as plain data."""
        return {
            "run": self.run,
            "changes": [
                {"field": each.name, "own": each.own, "other": each.other}
                for each in self.changes
            ],
            "agents": [each.to_dict() for each in self.agents],
            "total": self.total.to_dict(),
            "caveats": list(self.caveats),
            "unpriced": list(self.unpriced),
        }


def changes(own: ContextPolicy, other: ContextPolicy) -> tuple[Change, ...]:
    """Return the fields in which two policies differ, in their order."""
    before, after = _flat(own), _flat(other)
    return tuple(
        Change(name, before[name], after[name])
        for name in before
        if before[name] != after[name]
    )


def _flat(policy: ContextPolicy) -> dict[str, object]:
    data = policy.model_dump(mode="json")
    shares = data.pop("shares")
    return data | {f"shares.{name}": share for name, share in shares.items()}


def _marks(numbers: Numbers) -> dict[str, int | None]:
    names = ("window_tokens", "soft_tokens", "hard_tokens", "output_tokens")
    return {name: getattr(numbers, name) for name in names}
