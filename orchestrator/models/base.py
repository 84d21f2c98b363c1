"""The port to a model: one request in, one whole reply or one classified error out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from orchestrator.messages import Block, Message

__all__ = [
    "EXCEEDED",
    "OUTAGE_S",
    "CacheMiss",
    "Model",
    "ModelRequest",
    "OnRetry",
    "Reply",
    "Retry",
    "Usage",
    "caches_prompts",
    "unheard",
    "unwatched",
]


EXCEEDED: Final = "model_context_window_exceeded"
"""Stop reason: the window is full; the reply is cut."""
OUTAGE_S: Final = 300.0
"""For how long to go on trying while nobody gets an answer, if nobody says."""


def unwatched() -> None:
    """Take no note of progress: what a request does that nobody watches."""


def unheard(_headers: Mapping[str, str]) -> None:
    """Take no note of headers: what a request does that nobody watches."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, each class once; they add up to what was billed."""

    input_tokens: int = 0
    """Uncached input."""
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    """Thinking included."""
    thinking_tokens: int = 0
    """Part of `output_tokens`."""
    known: bool = True
    """False: the service reported none, and these are estimates."""

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> Usage:
        """Return what a log holds; fields of later versions are left out."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    @property
    def context_tokens(self) -> int:
        """Return the whole input, cached or not."""
        return (
            self.input_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
            + self.cache_read_tokens
        )

    @property
    def limited_tokens(self) -> int:
        """Return what `limits.tokens` counts: cache reads are left out."""
        return (
            self.input_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
            + self.output_tokens
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that is sent. Read, never changed or kept by a model."""

    model: str
    """Bare id, without `anthropic:`."""
    system: list[Block]
    tools: list[dict[str, Any]]
    messages: list[Message]
    """Oldest first; the first and the last are user messages."""
    max_output_tokens: int
    body: bytes
    """The exact JSON body for an endpoint, cache marks included (`stream` is true)."""
    call_s: float = 600.0
    """Limit of one whole try, in seconds."""
    silence_s: float = 90.0
    """Longest wait for the next event that says anything; pings do not count."""
    on_progress: Callable[[], None] = field(
        default=unwatched, compare=False, repr=False
    )
    """To be called, in the event loop, whenever something of the answer arrives; cheap,
    and never raises. A subagent whose model does not call it for `limits.stall_s` is
    ended; one whose model never calls it has that long for each whole answer."""
    outage_s: float = OUTAGE_S
    """Longest time to go on trying while nobody gets an answer, in seconds."""
    uncached_tokens: int = 0
    """Estimated input that no cache holds: what limits of input tokens count."""
    on_headers: Callable[[Mapping[str, str]], None] = field(
        default=unheard, compare=False, repr=False
    )
    """Told of the headers of the response when it begins, whatever its status; cheap,
    and never raises."""
    while_waiting: Callable[[], AbstractContextManager[None]] = field(
        default=nullcontext, compare=False, repr=False
    )
    """Entered around waits that are not this request's own: for its turn, for a limit
    to let it through, for another try. What it raises ends the call: nothing of it may
    leave any more."""

    def without_watchers(self) -> ModelRequest:
        """Return what is sent, without those who watch it."""
        return replace(
            self, on_progress=unwatched, on_headers=unheard, while_waiting=nullcontext
        )


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """What the service says of a request that begins unlike the one before it."""

    reason: str
    """As `messages_changed`, `previous_message_not_found` or `unavailable`."""
    tokens: int = 0
    """About so many would have been read, had it begun alike."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole reply."""

    content: list[Block]
    """Blocks as they came, in order; to be sent back unchanged."""
    stop_reason: str | None
    usage: Usage
    model: str = ""
    message_id: str = ""
    cut_calls: frozenset[str] = frozenset()
    """Ids of calls that the output limit cut; they are never run."""
    broken_calls: dict[str, str] = field(default_factory=dict)
    """Ids of whole calls whose input is no JSON object → that text, bounded. Their
    block holds `input: {}`."""
    stop_details: dict[str, Any] | None = None
    cache_miss: CacheMiss | None = None
    """Why less was read from the cache than the request before had; None: the service
    was not asked, found nothing, or does not know yet."""
    seconds: float = 0.0
    first_token_s: float | None = None
    queued_s: float = 0.0
    """Seconds that its tries waited for limits that all requests of the model share."""


@dataclass(frozen=True, slots=True)
class Retry:
    """One failed try, to be repeated unless the one who is told of it raises."""

    attempt: int
    error: str
    message: str
    wait_s: float
    begun: bool = False
    """The service may have begun to answer: the try may be billed."""


OnRetry = Callable[[Retry], None]


class Model(Protocol):
    """Answers a request with one reply. Safe to call from many tasks at once.

    A model may have an attribute `caches_prompts`; where it is true, requests that
    start alike are cheaper once the answer to the first of them has begun, so that in
    a fan-out one of them goes ahead.
    """

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return the whole reply to `request`.

        Cancelling closes the connection; nothing runs on.

        Args:
            request: what to send. A model that gets its answer in pieces calls
                `request.on_progress` for each that says something (a sign of life
                that says nothing does not count); one that takes long and never
                does may be taken for stalled. One that gets headers shows them to
                `request.on_headers`, those of errors too.
            on_retry: told of each failed try before the wait for the next; what it
                raises ends the call.

        Raises:
            ModelError: no usable reply, retries included.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; a second call does nothing."""
        ...


def caches_prompts(model: Model) -> bool:
    """Return whether a model reads the start of requests from a cache, as it says."""
    return bool(getattr(model, "caches_prompts", False))
