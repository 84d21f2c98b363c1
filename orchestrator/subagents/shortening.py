"""Bring findings within their size, mechanically: whole items only, best first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from orchestrator.findings import Findings, Item
from orchestrator.subagents.render import as_body

__all__ = ["Shortened", "cut", "fits", "share_out", "shorten"]

SUMMARY_SHARE = 0.4
"""Of the limit; what the summary may take where items compete with it."""
MAX_ITEMS_TRIED = 500

# Stands for any agent while measuring: as long as an id may get.
_AGENT = "a999999"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Shortened:
    """What is left within the limit, and what is not.

    Attributes:
        findings: as they may be delivered.
        kept: numbers, from 1, that the items left had before, in order.
        dropped: the items that are gone.
        was_cut: anything was left out, even words of the summary.
    """

    findings: Findings
    kept: tuple[int, ...]
    dropped: tuple[Item, ...]
    was_cut: bool

    def renumbered(self, unsupported: Collection[int]) -> tuple[int, ...]:
        """Return the new numbers of the items that had the numbers `unsupported`."""
        return tuple(
            new for new, old in enumerate(self.kept, 1) if old in set(unsupported)
        )


def fits(
    findings: Findings,
    max_tokens: int,
    count: Count,
    *,
    unsupported: Collection[int] = (),
) -> bool:
    """Tell whether findings, as the lead would read them, are within `max_tokens`."""
    body = as_body(findings, agent=_AGENT, unsupported=unsupported)
    return count(body) <= max_tokens


def shorten(
    findings: Findings,
    max_tokens: int,
    count: Count,
    *,
    unsupported: Collection[int] = (),
    pointer: str = "",
) -> Shortened:
    """Return `findings` within `max_tokens`: summary first, then the surest items.

    Items stay in their order; those that do not fit as a whole are left out. Questions,
    failed attempts and references follow where there is room.

    Args:
        findings: as accepted.
        max_tokens: limit of the text the lead reads, frame not counted; 40 or more.
        count: tokens of a text; more text never counts less.
        unsupported: numbers of items that will be marked.
        pointer: reference of the whole findings; kept whatever else must go.
    """
    everything = tuple(range(1, len(findings.items) + 1))
    if fits(findings, max_tokens, count, unsupported=unsupported):
        return Shortened(findings, everything, (), was_cut=False)
    pick = _Pick(findings, max_tokens, count, frozenset(unsupported), pointer)
    pick.add_items()
    pick.add_others()
    dropped = tuple(
        item
        for number, item in enumerate(findings.items, 1)
        if number not in pick.numbers
    )
    return Shortened(pick.findings(), tuple(pick.numbers), dropped, was_cut=True)


class _Pick:
    """What has been chosen so far; always within the limit."""

    def __init__(
        self,
        whole: Findings,
        max_tokens: int,
        count: Count,
        unsupported: frozenset[int],
        pointer: str,
    ) -> None:
        self._whole, self._max, self._count = whole, max_tokens, count
        self._unsupported = unsupported
        self.numbers: list[int] = []
        self._questions: tuple[str, ...] = ()
        self._artifacts: tuple[str, ...] = (pointer,) if pointer else ()
        self._attempts = 0
        self._summary = "…"
        share = max_tokens * SUMMARY_SHARE if whole.items else max_tokens
        self._summary = self._cut_summary(int(share))

    def findings(self, *, summary: str = "", numbers: Sequence[int] = ()) -> Findings:
        """Return the choice as findings, with these changes."""
        chosen = numbers or self.numbers
        return self._whole.model_copy(
            update={
                "summary": summary or self._summary,
                "items": tuple(self._whole.items[number - 1] for number in chosen),
                "open_questions": self._questions,
                "failed_attempts": self._whole.failed_attempts[: self._attempts],
                "artifacts": self._artifacts,
            }
        )

    def _tokens(self, findings: Findings, numbers: Sequence[int]) -> int:
        marked = [new for new, old in enumerate(numbers, 1) if old in self._unsupported]
        return self._count(as_body(findings, agent=_AGENT, unsupported=marked))

    def _has_room(self) -> bool:
        return self._tokens(self.findings(), self.numbers) <= self._max

    def _cut_summary(self, share: int) -> str:
        """Return as much of the summary as its share holds, cut between words."""
        text = self._whole.summary.strip() or "…"
        bare = self._count(as_body(self.findings(), agent=_AGENT))
        limit = min(max(share, bare), self._max)

        def is_within(length: int) -> bool:
            tried = self.findings(summary=cut(text, length))
            return self._count(as_body(tried, agent=_AGENT)) <= limit

        if is_within(len(text)):
            return text
        low, high = 0, len(text)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_within(middle) else (low, middle)
        return cut(text, low)

    def add_items(self) -> None:
        """Add whole items, the surest first, as long as they fit."""
        items = self._whole.items
        order = sorted(
            range(1, len(items) + 1),
            key=lambda number: (
                number in self._unsupported,
                -items[number - 1].confidence,
                number,
            ),
        )
        for number in order[:MAX_ITEMS_TRIED]:
            numbers = sorted([*self.numbers, number])
            if self._tokens(self.findings(numbers=numbers), numbers) <= self._max:
                self.numbers = numbers

    def add_others(self) -> None:
        """Add references, questions and failed attempts, whole ones, where they fit."""
        for reference in self._whole.artifacts:
            before = self._artifacts
            self._artifacts = (*before, reference)
            if reference in before or not self._has_room():
                self._artifacts = before
        for question in self._whole.open_questions[:MAX_ITEMS_TRIED]:
            self._questions = (*self._questions, question)
            if not self._has_room():
                self._questions = self._questions[:-1]
                break
        for _ in self._whole.failed_attempts[:MAX_ITEMS_TRIED]:
            self._attempts += 1
            if not self._has_room():
                self._attempts -= 1
                break


def cut(text: str, length: int) -> str:
    """Return the first `length` characters of `text`, back to a gap between words."""
    if length >= len(text):
        return text
    head = text[:length]
    gap = max(head.rfind(" "), head.rfind("\n"))
    if gap > length * 0.8:
        head = head[:gap]
    return head.rstrip() + "…"


def share_out(sizes: Sequence[int], total: int) -> list[int]:
    """Return how much each of several results may take of `total`.

    Small ones get what they ask for; the others share the rest evenly.

    Args:
        sizes: what each would take, in tokens, 0 or more.
        total: what all may take together, 0 or more.
    """
    shares = [0] * len(sizes)
    left = total
    for rank, index in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[index] = min(sizes[index], left // (len(sizes) - rank))
        left -= shares[index]
    return shares
