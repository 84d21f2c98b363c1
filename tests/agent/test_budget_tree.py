"""Whatever is done to a tree of budgets in whatever order, its limits hold."""

from __future__ import annotations

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.errors import LimitReached

DUST = 1e-9
AGENTS = ("lead", "a1", "a2", "a3", "a4")
PARENT = {"a3": "a1", "a4": "a1"}
"""Subagents of subagents; the others are the run's own."""

agents = st.sampled_from(AGENTS)
amounts = st.builds(Amount, st.floats(0, 0.4), st.integers(0, 400))
shares = st.floats(0, 1)


class BudgetTree(RuleBasedStateMachine):
    """Five agents on three levels, each with its own limits."""

    def __init__(self) -> None:
        super().__init__()
        self.run = Budget(1.0, 1000)
        self.of: dict[str, Budget] = {}
        for place, agent in enumerate(AGENTS):
            above = self.of[PARENT[agent]] if agent in PARENT else self.run
            usd = 0.3 if place % 2 else None
            self.of[agent] = Budget(usd, 700 if place > 2 else None, above)
        self.under_way: dict[str, list[Reservation]] = {each: [] for each in AGENTS}

    @rule(agent=agents, amount=amounts)
    def hold(self, agent: str, amount: Amount) -> None:
        self.of[agent].hold(agent, amount)

    @rule(agent=agents, amount=amounts)
    def hold_above(self, agent: str, amount: Amount) -> None:
        """What is kept for a subagent that has not begun stands on its parent's."""
        parent = self.of[agent].parent
        assert parent is not None
        if agent not in self.of[agent].holds:
            parent.hold(agent, amount)

    @rule(agent=agents, amount=amounts)
    def begin(self, agent: str, amount: Amount) -> None:
        """The next in line: what is set aside is for it."""
        parent = self.of[agent].parent
        assert parent is not None
        if agent not in self.of[agent].holds:
            parent.hold(agent, amount, is_next=True)

    @rule(agent=agents, amount=amounts)
    def set_aside(self, agent: str, amount: Amount) -> None:
        self.of[agent].set_aside(agent, amount)

    @rule(agent=agents, amount=amounts)
    def keep(self, agent: str, amount: Amount) -> None:
        fits = amount.fits(self.of[agent].room(agent))
        try:
            self.of[agent].keep(agent, amount)
        except LimitReached:
            assert not fits
        else:
            assert fits

    @rule(agent=agents, amount=amounts, last=amounts)
    def reserve(self, agent: str, amount: Amount, last: Amount) -> None:
        with contextlib.suppress(LimitReached):
            made = self.of[agent].reserve(agent, amount, keep=last)
            self.under_way[agent].append(made)

    @rule(agent=agents)
    def repeat(self, agent: str) -> None:
        for reservation in self.under_way[agent]:
            with contextlib.suppress(LimitReached):
                self.of[agent].repeat(reservation)

    @rule(agent=agents, share=shares)
    def settle(self, agent: str, share: float) -> None:
        if self.under_way[agent]:
            reservation = self.under_way[agent].pop()
            most = reservation.amount
            used = Amount(most.usd * share, int(most.tokens * share))
            self.of[agent].settle(reservation, used)

    @rule(agent=agents)
    def release(self, agent: str) -> None:
        self.of[agent].release(agent)

    @rule(usd=st.floats(0, 1), tokens=st.integers(0, 500))
    def raise_the_limits(self, usd: float, tokens: int) -> None:
        self.run.usd = (self.run.usd or 0.0) + usd
        self.run.tokens = (self.run.tokens or 0) + tokens

    @invariant()
    def no_limit_is_passed(self) -> None:
        for budget in (self.run, *self.of.values()):
            taken = budget.spent + budget.reserved + budget.held
            assert budget.usd is None or taken.usd <= budget.usd + DUST
            assert budget.tokens is None or taken.tokens <= budget.tokens

    @invariant()
    def what_is_set_aside_touches_no_hold(self) -> None:
        for agent, budget in self.of.items():
            own, room = budget.holds.get(agent, NOTHING), budget.room(agent)
            assert own.usd <= room.usd + DUST
            assert own.tokens <= room.tokens

    @invariant()
    def nothing_is_negative(self) -> None:
        for budget in (self.run, *self.of.values()):
            for part in (budget.spent, budget.reserved, budget.held):
                assert part.usd >= -DUST
                assert part.tokens >= 0

    @invariant()
    def what_is_above_is_the_sum_of_what_is_below(self) -> None:
        for name in ("spent", "reserved"):
            below = [
                getattr(budget, name)
                for budget in self.of.values()
                if budget.parent is self.run
            ]
            total = sum(below, NOTHING)
            assert abs(getattr(self.run, name).usd - total.usd) < DUST
            assert getattr(self.run, name).tokens == total.tokens

    def teardown(self) -> None:
        for agent in reversed(AGENTS):
            while self.under_way[agent]:
                self.settle(agent, 0.5)
            self.release(agent)
            self.of[agent].set_aside(agent, NOTHING)
        for budget in (self.run, *self.of.values()):
            assert budget.reserved == budget.held == NOTHING
            assert budget.holds == budget.asides == {}


TestBudgetTree = BudgetTree.TestCase
TestBudgetTree.settings = settings(max_examples=40, stateful_step_count=35)
