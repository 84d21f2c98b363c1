"""One try at a reply: what has arrived of it, how long it may take, how long it may be.

The bytes of an answer go in; one whole reply comes out, or one classified error. What
is half an answer is only counted and digested, never handed on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import anyio
import orjson

from orchestrator.errors import ModelError
from orchestrator.models.base import ModelRequest, Reply, Usage
from orchestrator.models.growing import digest
from orchestrator.models.sse import EventSplitter, broken
from orchestrator.models.stream import Accumulator, whole_reply

__all__ = ["BEGINS_S", "Reading"]

CLOSE_S = 2.0
"""How long an endpoint may keep the connection after the end of a reply."""
BYTES_PER_TOKEN = 3
"""Cautious, for endpoints that do not count."""
MAX_BYTES = 4_000_000
MAX_BYTES_PER_TOKEN = 1000
"""Of an answer: so much, and so much more for each token of output that was asked for.
A token that comes in an event of its own takes 150 bytes or so."""

BEGINS_S = 1.0
"""An endpoint that breaks off before it has said anything may have been at work on the
answer if it took so long; sooner, it has turned the connection away. Where answers of
this endpoint have begun sooner, it is half of the least that one took."""
_WORDLESS: Final = frozenset(
    {
        "bad_json",
        "connection",
        "empty_answer",
        "http_502",
        "http_504",
        "http_520",
        "http_524",
        "not_json",
        "stream_cut",
        "timeout",
        "timeout_error",
    }
)
"""Details of errors that say nothing of what became of the request: what stands before
the service lost its answer, or what came is none."""

# What a message holds and an error does not, where an answer is no stream.
_OF_MESSAGE: Final = b'"content"'


class Reading:
    """What one try has brought up to now.

    Attributes:
        scope: ends the try when it takes too long.
    """

    def __init__(
        self,
        request: ModelRequest,
        *,
        begins_s: float = BEGINS_S,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin: the time of the call runs from now on.

        Args:
            request: what is tried.
            begins_s: how long the endpoint takes at the least to begin an answer.
            now: tells seconds from any start.
        """
        self._begins_s = begins_s
        self._request, self._now = request, now
        self._began = now()
        self._until = anyio.current_time() + request.call_s
        self._left_bytes = MAX_BYTES + MAX_BYTES_PER_TOKEN * request.max_output_tokens
        self.scope = anyio.CancelScope()
        self._first_token_s: float | None = None
        self._splitter = EventSplitter()
        self._accumulator = Accumulator()
        self._heard()

    @property
    def is_complete(self) -> bool:
        """Whether the answer has said that it is over."""
        return self._accumulator.is_complete

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes; those behind the end of an answer do not count.

        Raises:
            ModelError: they tell an error, or make no sense, or are too many.
        """
        if self.is_complete:
            return
        self._left_bytes -= len(chunk)
        if self._left_bytes < 0:
            raise broken("the answer goes on beyond all reason", "too_big")
        self._take(self._splitter.feed(chunk))

    def end(self) -> None:
        """Take in that no more bytes come.

        Raises:
            ModelError: the last event tells an error, or makes no sense.
        """
        self._take(self._splitter.end())

    def _take(self, events: list[dict[str, Any]]) -> None:
        says_anything = False
        for event in events:
            says_anything |= self._accumulator.feed(event)
        if not says_anything:
            return
        if self._first_token_s is None and self._accumulator.has_begun:
            self._first_token_s = self._now() - self._began
        self._heard()
        self._request.on_progress()

    def _heard(self) -> None:
        wait_s = self._request.silence_s
        if self.is_complete:
            wait_s = min(wait_s, CLOSE_S)
        self.scope.deadline = min(self._until, anyio.current_time() + wait_s)

    def timeout(self) -> ModelError:
        """Return the error of a try that took too long."""
        if anyio.current_time() >= self._until:
            told = f"no whole reply within {self._request.call_s:g} s (`limits.call_s`)"
            return ModelError("transient", told, detail="call_s")
        silence_s = self._request.silence_s
        told = f"the endpoint was silent for {silence_s:g} s (`limits.silence_s`)"
        return ModelError("transient", told, detail="silence_s")

    def note(self, error: ModelError) -> None:
        """Add to the error of this try what had come before it."""
        head = self._splitter.head
        is_message = _OF_MESSAGE in head
        took_long = self._now() - self._began >= self._begins_s
        error.begun = (
            self._accumulator.has_anything
            or is_message
            or self.scope.cancelled_caught
            or (error.detail in _WORDLESS and took_long)
        )
        # What the service itself calls a passing thing is one, wherever it breaks off.
        if error.kind == "transient":
            _, _, said = head.partition(_OF_MESSAGE)  # its id comes before
            error.half = digest([said]) if is_message else self._accumulator.half

    def least_s(self) -> float:
        """Return how long an answer takes to begin at the least, after this one."""
        took_s = self._first_token_s
        if took_s is None:
            took_s = self._now() - self._began
        return min(self._begins_s, took_s / 2)

    def reply(self) -> Reply:
        """Return the whole reply.

        Raises:
            ModelError: what has arrived is none.
        """
        head = self._splitter.head
        reply = whole_reply(head) if head.strip() else self._streamed()
        usage = reply.usage
        if not usage.known:
            usage = self._estimated(reply)
        return replace(
            reply,
            usage=usage,
            seconds=self._now() - self._began,
            first_token_s=self._first_token_s,
        )

    def _streamed(self) -> Reply:
        if not self._accumulator.has_anything:
            return whole_reply(b"")
        return self._accumulator.reply()

    def _estimated(self, reply: Reply) -> Usage:
        output = len(orjson.dumps(reply.content)) // BYTES_PER_TOKEN + 1
        told = reply.usage
        if not told.context_tokens:
            told = replace(
                told, input_tokens=len(self._request.body) // BYTES_PER_TOKEN + 1
            )
        return replace(told, output_tokens=told.output_tokens or output, known=False)
