"""Whether the requests of an agent find in the cache what they should; why, if not.

What the request before had read or written must be found by the next one. Where clearly
less is, the cause is one that is known here, or what the service says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from orchestrator.context.view import Head
from orchestrator.events import Event
from orchestrator.models.base import CacheMiss, Usage
from orchestrator.models.caching import LIFETIME_S

__all__ = [
    "CLEARED",
    "COMPACTED",
    "NOT_CACHED",
    "RESULT_REPLACED",
    "CacheUse",
    "CacheWatch",
    "Missed",
    "start_of",
]

NOT_CACHED: Final = "not_cached"
RESULT_REPLACED: Final = "a result is replaced"
CLEARED: Final = "results are cleared"
COMPACTED: Final = "steps are compacted"
THINKING_LEFT_OUT: Final = "thinking is left out"
OTHER_HEAD: Final = "another model, or other fields"
MIN_MISSED_TOKENS: Final = 512
MIN_MISSED_SHARE: Final = 0.1
"""Less than these is no fall: counts of the service may differ a little."""
SILENT_ANSWERS: Final = 2
"""So many long requests without any use of the cache tell that there is none."""
_OURS: Final = frozenset(
    {"model_changed", "system_changed", "tools_changed", "messages_changed"}
)
"""What the service says where requests of ours do not begin alike."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A request that did not find what it should.

    Attributes:
        expected: tokens that it should have read.
        read: tokens that it did read.
        cause: `expired`, `prefix_changed`, `resumed`, `not_cached` or `unknown`.
        detail: what changed, in plain words, or "".
        reported: what the service says, or "".
    """

    expected: int
    read: int
    cause: str
    detail: str = ""
    reported: str = ""


@dataclass(slots=True)
class CacheUse:
    """Which models have a cache, as their answers tell; one for all agents of a run.

    Attributes:
        without: models that have none; it is told once.
    """

    without: set[str] = field(default_factory=set)
    _having: set[str] = field(default_factory=set)
    _silent: dict[str, int] = field(default_factory=dict)

    def is_found_without(self, model: str, usage: Usage, shortest: int) -> bool:
        """Take in one answer; return whether it is what shows that there is no cache.

        Args:
            model: bare id.
            usage: of an answer to a request with marks.
            shortest: start of a request that is cached, in tokens.
        """
        if _cached(usage):
            self._having.add(model)
        if not usage.known or model in self._having | self.without:
            return False
        if usage.context_tokens < 2 * shortest:  # what is short may not be cached
            return False
        self._silent[model] = self._silent.get(model, 0) + 1
        if self._silent[model] < SILENT_ANSWERS:
            return False
        self.without.add(model)
        return True


@dataclass(slots=True)
class CacheWatch:
    """Follows the requests of one agent; all of it can be rebuilt from the log.

    Attributes:
        expected: tokens that the next request finds in the cache, if nothing happens.
        began: when the newest request left that was answered; None: nobody knows.
        changed: what has changed of what that request held, or "".
        is_resumed: another process made it.
        without: models that it was told of that they have no cache.
    """

    expected: int = 0
    began: datetime | None = None
    changed: str = ""
    is_resumed: bool = False
    without: set[str] = field(default_factory=set)
    _head: bytes = b""
    _rewritten: int = 0
    _due: int | None = None
    """What the request that is out should find; None: none is out."""

    def sent(
        self, rewritten: int, *, head: Head | None = None, shared_tokens: int = 0
    ) -> None:
        """Take note of a request that leaves.

        Args:
            rewritten: how often its conversation was changed up to now.
            head: how it begins; None: as the one before.
            shared_tokens: of the head that others have put into the cache, where it is
                an agent's first; an estimate, so that half of it will do.
        """
        if rewritten != self._rewritten:
            self.changed = self.changed or THINKING_LEFT_OUT
            self._rewritten = rewritten
        if head is not None:
            if self._head and head.data != self._head:
                self.changed = OTHER_HEAD
            if head.shortest is None:
                self.expected = 0
            self._head = head.data
        self._due = self.expected or shared_tokens // 2

    def readable(self, at: datetime) -> int:
        """Return how much of a request at `at` the cache should hold, in tokens."""
        return 0 if self.changed or self._is_expired(at) else self._due or 0

    def answered(
        self, began: datetime | None, usage: Usage, told: CacheMiss | None = None
    ) -> Missed | None:
        """Take in the answer to that request.

        Args:
            began: when the request left, the try that was answered; None: unknown.
            usage: what the answer reports.
            told: what the service says of a miss.

        Returns:
            What was missed; None if nothing was, or nobody knows.
        """
        missed = None
        is_ours = self.changed in (CLEARED, COMPACTED)  # and has an event of its own
        if usage.known and self._due is not None and not is_ours:
            read = usage.cache_read_tokens
            expected = max(self._due, read + told.tokens if told else 0)
            if expected - read >= max(MIN_MISSED_TOKENS, expected * MIN_MISSED_SHARE):
                reported = told.reason if told else ""
                cause = self._cause(began, reported)
                missed = Missed(expected, read, cause, self.changed, reported)
        self.expected = _cached(usage) if usage.known else 0
        self.began, self.changed, self.is_resumed = began, "", False
        self._due = None
        return missed

    def _cause(self, began: datetime | None, reported: str) -> str:
        if self.changed:
            return "prefix_changed"
        if began is not None and self._is_expired(began):
            return "expired"
        if reported in _OURS:
            return "prefix_changed"
        return "resumed" if self.is_resumed else "unknown"

    def _is_expired(self, at: datetime) -> bool:
        return self.began is not None and (at - self.began).total_seconds() > LIFETIME_S


def start_of(answered: Event) -> datetime | None:
    """Return when the request left that `answered` tells of; None: nobody knows."""
    try:
        at = datetime.fromisoformat(answered.at)
        return at - timedelta(seconds=answered.data["seconds"])
    except (ValueError, TypeError, OverflowError):
        return None


def _cached(usage: Usage) -> int:
    written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    return usage.cache_read_tokens + written
