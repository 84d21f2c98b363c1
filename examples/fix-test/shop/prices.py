"""Prices in whole cents."""

from __future__ import annotations


def discount(cents: int, percent: int) -> int:
    """Return the discount on a price, in cents, rounded half up."""
    return int(cents * percent / 100)


def total(prices: list[int], percent: int = 0) -> int:
    """Return what is to be paid for some articles."""
    amount = sum(prices)
    return amount - discount(amount, percent)
