"""Money and tokens: reserved before a call, booked after it, never passed.

Budgets form a tree: what an agent reserves, its run reserves too. Each agent at work
holds back enough for one last call, so that nobody ends with empty hands. What is set
aside for those who wait in line is a claim on what is free only: those at work get no
more of it, and what they hold is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio

from orchestrator.errors import LimitReached
from orchestrator.spec.limits import AgentLimits

__all__ = ["NOTHING", "Amount", "Budget", "Reservation"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars and limited tokens (uncached input, cache writes, output)."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens)

    def or_more(self, other: Amount) -> Amount:
        """Return the larger of both, in dollars and in tokens."""
        return Amount(max(self.usd, other.usd), max(self.tokens, other.tokens))

    def part(self, part: float) -> Amount:
        """Return a part of it, 0 to 1."""
        return Amount(self.usd * part, int(self.tokens * part))

    def fits(self, room: Amount) -> bool:
        """Return whether there is room for this."""
        return self.usd <= room.usd and self.tokens <= room.tokens


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
        spent: booked up to now.
        reserved: set aside for calls that are under way.
        holds: what each agent keeps back for its last call.
        asides: what is wanted for those who wait in line, by who sent them.
    """

    usd: float | None = None
    tokens: int | None = None
    parent: Budget | None = None
    spent: Amount = NOTHING
    reserved: Amount = NOTHING
    holds: dict[str, Amount] = field(default_factory=dict)
    asides: dict[str, Amount] = field(default_factory=dict)
    _held: Amount = NOTHING
    _aside: Amount = NOTHING
    _under_way: int = 0
    _change: anyio.Event | None = None

    def hold(self, owner: str, amount: Amount, *, is_next: bool = False) -> None:
        """Keep `amount` back for the last call of `owner`, in place of its old hold.

        At most what there is room for: holds that nobody can pay would only keep
        others from using what is left.

        Args:
            owner: an agent.
            amount: the most that it needs.
            is_next: it was the next in line, and what is set aside is for it too.
        """
        room = self.room(owner, is_next=is_next)
        usd, tokens = min(amount.usd, room.usd), min(amount.tokens, room.tokens)
        self._hold(owner, Amount(max(usd, 0.0), max(tokens, 0)))

    def keep(self, owner: str, amount: Amount) -> None:
        """Keep all of `amount` back for the last call of `owner`.

        Raises:
            LimitReached: it does not fit, here or above; nothing was changed.
        """
        room = self.room(owner)
        if not amount.fits(room):
            raise self._reached(by_money=amount.usd > room.usd)
        self._hold(owner, amount)

    def release(self, owner: str) -> None:
        """Give back what was held for `owner`."""
        self._held -= self.holds.pop(owner, NOTHING)
        if not self.holds:
            self._held = NOTHING  # no dust of adding and taking away
        self.tell()
        if self.parent:
            self.parent.release(owner)

    def set_aside(self, sender: str, amount: Amount) -> None:
        """Want `amount` for those whom `sender` has in line, in place of what was."""
        self.asides[sender] = amount
        if amount == NOTHING:
            del self.asides[sender]
        self._aside = sum(self.asides.values(), NOTHING)
        if self.parent:
            self.parent.set_aside(sender, amount)

    @property
    def held(self) -> Amount:
        """Return what is kept back: for last calls, and for those in line."""
        if self._aside == NOTHING:
            return self._held
        used = self.spent + self.reserved + self._held
        usd, tokens = self._aside.usd, self._aside.tokens
        if self.usd is not None:
            usd = min(usd, max(self.usd - used.usd, 0.0))
        if self.tokens is not None:
            tokens = min(tokens, max(self.tokens - used.tokens, 0))
        return self._held + Amount(usd, tokens)

    def holds_for(self, owner: str) -> bool:
        """Return whether anything is kept back for `owner`, here or above."""
        return any(owner in budget.holds for budget in self.levels())

    def levels(self) -> Iterator[Budget]:
        """Yield this budget, then each that it is part of."""
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget.parent

    def tightest(self) -> Amount:
        """Return the smallest limits, here and above; infinite where there is none."""
        usd, tokens = float("inf"), 2**62
        budget: Budget | None = self
        while budget is not None:
            usd = usd if budget.usd is None else min(usd, budget.usd)
            tokens = tokens if budget.tokens is None else min(tokens, budget.tokens)
            budget = budget.parent
        return Amount(usd, tokens)

    @property
    def taken(self) -> Amount:
        """Return what is spent, reserved or held back."""
        return self.spent + self.reserved + self.held

    def room(
        self, owner: str, *, when_settled: bool = False, is_next: bool = False
    ) -> Amount:
        """Return what `owner` may still use, its own hold included.

        It is infinite where there is no limit, and may be below zero.

        Args:
            owner: an agent.
            when_settled: as if the calls under way had cost nothing.
            is_next: as if nothing were set aside for those in line.
        """
        usd, tokens = float("inf"), 2**62
        budget: Budget | None = self
        while budget is not None:  # in plain numbers: it is asked for at every turn
            spent, held = budget.spent, budget._held  # noqa: SLF001 - the same class
            own = budget.holds.get(owner, NOTHING)
            reserved = NOTHING if when_settled else budget.reserved
            aside = NOTHING if is_next else budget._aside  # noqa: SLF001 - the same class
            if budget.usd is not None:
                used = spent.usd + held.usd - own.usd + reserved.usd
                left = budget.usd - used
                usd = min(usd, left - min(aside.usd, max(left - own.usd, 0.0)))
            if budget.tokens is not None:
                taken = spent.tokens + held.tokens - own.tokens + reserved.tokens
                rest = budget.tokens - taken
                rest -= min(aside.tokens, max(rest - own.tokens, 0))
                tokens = min(tokens, rest)
            budget = budget.parent
        return Amount(usd, tokens)

    def reserve(
        self, owner: str, amount: Amount, *, keep: Amount = NOTHING
    ) -> Reservation:
        """Set `amount` aside for a call of `owner`, and hold `keep` for its last one.

        Args:
            owner: an agent.
            amount: the most that the call can use.
            keep: the most that a last call after this one can use; nothing for the
                last call itself.

        Raises:
            LimitReached: both do not fit, here or above; nothing was changed.
        """
        room = self.room(owner)
        wanted = amount + keep
        if not wanted.fits(room):
            raise self._reached(by_money=wanted.usd > room.usd)
        self._move(amount, 1)
        self._hold(owner, keep)
        return Reservation(owner, amount)

    def repeat(self, reservation: Reservation) -> None:
        """Book a try of unknown usage as reserved; the same is set aside again.

        Raises:
            LimitReached: another try does not fit; nothing was changed.
        """
        wanted = reservation.amount + self.holds.get(reservation.owner, NOTHING)
        room = self.room(reservation.owner)
        if not wanted.fits(room):
            raise self._reached(by_money=wanted.usd > room.usd)
        self.book(reservation.amount)

    def settle(self, reservation: Reservation, used: Amount) -> None:
        """Book what a call really used in place of what was reserved for it."""
        self._move(NOTHING - reservation.amount, -1)
        self.book(used)

    def book(self, used: Amount) -> None:
        """Book what was used, here and above."""
        self.spent += used
        self.tell()
        if self.parent:
            self.parent.book(used)

    def may_fit_later(self, owner: str, wanted: Amount) -> bool:
        """Return whether `wanted` may fit once calls under way are settled."""
        return wanted.fits(self.room(owner, when_settled=True))

    async def changed(self) -> None:
        """Wait until a call of the whole tree is settled or an agent has ended."""
        if self.parent is not None:
            await self.parent.changed()
            return
        if self._change is None:
            self._change = anyio.Event()
        await self._change.wait()

    def is_raised(self, reached: LimitReached, limits: AgentLimits) -> bool:
        """Return whether a limit that was reached is higher, or gone, by now.

        Args:
            reached: as it was.
            limits: the agent's own, as they are now.
        """
        tightest = self.tightest()
        now: dict[str, float | None] = {
            "turns": limits.turns,
            "minutes": limits.minutes,
            "usd": tightest.usd,
            "tokens": tightest.tokens,
        }
        if reached.limit not in now:
            return False
        allowed = now[reached.limit]
        return allowed is None or allowed > reached.allowed

    def _hold(self, owner: str, amount: Amount) -> None:
        self._held += amount - self.holds.get(owner, NOTHING)
        self.holds[owner] = amount
        if self.parent:
            self.parent._hold(owner, amount)  # noqa: SLF001 - the same class

    def tell(self) -> None:
        """Let those who wait for room here look again."""
        if self._change is not None:
            self._change.set()
            self._change = None

    def _move(self, amount: Amount, calls: int) -> None:
        self.reserved += amount
        self._under_way += calls
        if self._under_way == 0:
            self.reserved = NOTHING
        if self.parent:
            self.parent._move(amount, calls)  # noqa: SLF001 - the same class

    def _reached(self, *, by_money: bool) -> LimitReached:
        tightest, smallest = self, float("inf")
        for budget in self.levels():
            limit = budget.usd if by_money else budget.tokens
            used = budget.taken.usd if by_money else budget.taken.tokens
            if limit is not None and limit - used < smallest:
                tightest, smallest = budget, limit - used
        taken, spent = tightest.taken, tightest.spent
        if by_money:
            kept = taken.usd - spent.usd
            return LimitReached("usd", taken.usd, tightest.usd or 0, kept)
        more = taken.tokens - spent.tokens
        return LimitReached("tokens", taken.tokens, tightest.tokens or 0, more)
