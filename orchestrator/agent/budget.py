"""Money and tokens: reserved before a call, booked after it, never passed.

Budgets form a tree: what an agent reserves, its run reserves too. Each live agent
holds back enough for one last call, so that nobody ends with empty hands.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.errors import LimitReached

__all__ = ["Amount", "Budget", "Reservation"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars and limited tokens (uncached input, cache writes, output)."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens)


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Reservation:
    """An amount set aside for one call, to be settled once."""

    owner: str
    amount: Amount


@dataclass(slots=True)
class Budget:
    """What may be used, what was, and what is set aside.

    Attributes:
        usd: limit in dollars, or None.
        tokens: limit in tokens, or None.
        parent: the budget this one is part of.
    """

    usd: float | None = None
    tokens: int | None = None
    parent: Budget | None = None
    spent: Amount = NOTHING
    reserved: Amount = NOTHING
    holds: dict[str, Amount] = field(default_factory=dict)

    def hold(self, owner: str, amount: Amount) -> None:
        """Keep `amount` back for the last call of `owner`, in place of its old hold."""
        self.holds[owner] = amount
        if self.parent:
            self.parent.hold(owner, amount)

    def release(self, owner: str) -> None:
        """Give back what was held for `owner`."""
        self.holds.pop(owner, None)
        if self.parent:
            self.parent.release(owner)

    def room(self, *, last_of: str = "") -> Amount:
        """Return what may still be reserved; infinite where there is no limit.

        Args:
            last_of: the agent whose last call it is for; its hold is not deducted.
        """
        held = sum(
            (amount for owner, amount in self.holds.items() if owner != last_of),
            NOTHING,
        )
        used = self.spent + self.reserved + held
        own = Amount(
            float("inf") if self.usd is None else self.usd - used.usd,
            2**62 if self.tokens is None else self.tokens - used.tokens,
        )
        if self.parent is None:
            return own
        above = self.parent.room(last_of=last_of)
        return Amount(min(own.usd, above.usd), min(own.tokens, above.tokens))

    def reserve(self, owner: str, amount: Amount, *, last: bool = False) -> Reservation:
        """Set `amount` aside for a call of `owner`.

        Raises:
            LimitReached: it does not fit, here or above.
        """
        room = self.room(last_of=owner if last else "")
        if amount.usd > room.usd or amount.tokens > room.tokens:
            raise self._reached(by_money=amount.usd > room.usd)
        self._move(amount)
        return Reservation(owner, amount)

    def settle(self, reservation: Reservation, used: Amount) -> None:
        """Book what a call really used in place of what was reserved for it."""
        self.reserved -= reservation.amount
        self.spent += used
        if self.parent:
            self.parent.settle(reservation, used)

    def book(self, used: Amount) -> None:
        """Book what was used in an earlier life of the run."""
        self.spent += used
        if self.parent:
            self.parent.book(used)

    def _move(self, amount: Amount) -> None:
        self.reserved += amount
        if self.parent:
            self.parent._move(amount)  # noqa: SLF001 - the same class

    def _reached(self, *, by_money: bool) -> LimitReached:
        budget: Budget | None = self
        tightest, smallest = self, float("inf")
        while budget is not None:
            limit = budget.usd if by_money else budget.tokens
            used = budget.spent.usd if by_money else budget.spent.tokens
            if limit is not None and limit - used < smallest:
                tightest, smallest = budget, limit - used
            budget = budget.parent
        if by_money:
            return LimitReached("usd", tightest.spent.usd, tightest.usd or 0)
        return LimitReached("tokens", tightest.spent.tokens, tightest.tokens or 0)
