"""The prompt cache of the service, strictly by its rules, and models that have it.

A prompt is one row of blocks: tools, system, messages. An entry stands for all blocks
up to one that carried a mark; nothing else can be found again. From each of its marks a
request looks at that block and the 19 before it; the longest entry that it finds is
read, and only entries that it finds live on. What it writes can be read once its answer
has begun. A request may read from its own model only, and what `thinking`, `effort` or
`tool_choice` change is not found behind the system prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any

import orjson
from fake_endpoint import Answer, Script

from orchestrator.clock import Clock
from orchestrator.messages import encode
from orchestrator.models.base import Model, ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.pricing import Price

__all__ = ["CacheModel", "CachingModel", "Ledger", "Served", "caching", "size_up_to"]

MOST_MARKS = 4
LOOKBACK = 20
"""Blocks that a mark searches, its own the first."""
LIFETIME_S = 300.0
BYTES_PER_TOKEN = 4
_SETTINGS = ("thinking", "output_config", "tool_choice")


@dataclass(frozen=True)
class Served:
    """What one request read and wrote, in tokens; `begin` makes it readable."""

    read: int
    written: int
    fresh: int
    marks: int
    begin: Callable[[], None] = field(compare=False, repr=False)

    @property
    def sent(self) -> int:
        return self.read + self.written + self.fresh

    def usage(self, output_tokens: int = 0) -> Usage:
        return Usage(
            input_tokens=self.fresh,
            cache_write_5m_tokens=self.written,
            cache_read_tokens=self.read,
            output_tokens=output_tokens,
        )


@dataclass
class _Prompt:
    """All blocks of a request: what stands up to each, and how many tokens that is."""

    prefixes: list[bytes] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)


class CacheModel:
    """Keeps entries; requests come in order of time."""

    def __init__(
        self,
        *,
        shortest: int = 1024,
        lookback: int = LOOKBACK,
        lifetime_s: float = LIFETIME_S,
    ) -> None:
        self._shortest, self._lookback = shortest, lookback
        self._lifetime_s = lifetime_s
        self._until: dict[bytes, float] = {}

    def receive(self, body: dict[str, Any], at: float) -> Served:
        """Serve a request that began at `at`, in seconds.

        Raises:
            ValueError: the service would refuse its marks.
        """
        prompt = _laid_out(body)
        if len(prompt.marks) > MOST_MARKS:
            raise ValueError(f"{len(prompt.marks)} marks")
        found = [self._found(prompt, mark, at) for mark in prompt.marks]
        hit = max(found, default=-1)
        written = [
            mark
            for mark in prompt.marks
            if mark > hit and prompt.tokens[mark] >= self._shortest
        ]
        for place in found:
            if place >= 0:
                self._keep(prompt.prefixes[place], at)

        def begin() -> None:
            for place in written:
                self._keep(prompt.prefixes[place], at)

        read = prompt.tokens[hit] if hit >= 0 else 0
        up_to = prompt.tokens[written[-1]] if written else read
        fresh = prompt.tokens[-1] - up_to
        return Served(read, up_to - read, fresh, len(prompt.marks), begin)

    def serve(self, body: dict[str, Any], at: float) -> Served:
        """Serve a request whose answer begins at once."""
        served = self.receive(body, at)
        served.begin()
        return served

    def evict(self) -> None:
        """Lose everything, as a service may at any time."""
        self._until.clear()

    def _keep(self, prefix: bytes, at: float) -> None:
        until = at + self._lifetime_s
        self._until[prefix] = max(until, self._until.get(prefix, 0.0))

    def _found(self, prompt: _Prompt, mark: int, at: float) -> int:
        """The block up to which `mark` finds an entry, or -1."""
        for place in range(mark, max(mark - self._lookback, -1), -1):
            if self._until.get(prompt.prefixes[place], 0.0) > at:
                return place
        return -1


def _laid_out(body: dict[str, Any]) -> _Prompt:
    prompt = _Prompt()
    digest = hashlib.sha256(encode(body["model"]))
    tokens = 0
    in_messages = False
    for where, block in _blocks(body):
        if where != "head" and not in_messages:
            in_messages = True
            digest.update(encode([body.get(name) for name in _SETTINGS]))
        if "cache_control" in block:
            _check_mark(block)
            prompt.marks.append(len(prompt.prefixes))
        data = encode({k: v for k, v in block.items() if k != "cache_control"})
        digest.update(encode(where) + data)
        tokens += len(data) // BYTES_PER_TOKEN + 1
        prompt.prefixes.append(digest.digest())
        prompt.tokens.append(tokens)
    return prompt


def size_up_to(body: dict[str, Any], call: str) -> int:
    """How many tokens a request has up to the result of a call, that included."""
    sizes = _laid_out(body).tokens
    places = (
        at for at, (_, block) in enumerate(_blocks(body)) if _answers(block, call)
    )
    return sizes[next(places)]


def _answers(block: dict[str, Any], call: str) -> bool:
    return block.get("tool_use_id") == call


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in body.get("tools") or ():
        yield "head", tool
    for block in body.get("system") or ():
        yield "head", block
    for message in body["messages"]:
        for block in message["content"]:
            yield message["role"], block


def _check_mark(block: dict[str, Any]) -> None:
    kind = block.get("type", "")
    if "thinking" in kind or (kind == "text" and not block["text"].strip()):
        raise ValueError(f"a mark on {block}")


@dataclass
class Ledger:
    """What a caching endpoint served, in order of arrival, and what it would bill.

    Attributes:
        entries: body and figures of each request that was answered.
        price: of all of them.
    """

    price: Price
    entries: list[tuple[dict[str, Any], Served, int]] = field(default_factory=list)

    @property
    def usd(self) -> float:
        return sum(self.price.usd(each.usage(out)) for _, each, out in self.entries)

    @property
    def read_share(self) -> float:
        """The part of all input that was read from the cache."""
        served = [each for _, each, _ in self.entries]
        return sum(each.read for each in served) / sum(each.sent for each in served)


def caching(
    script: Script, cache: CacheModel, clock: Clock, ledger: Ledger | None = None
) -> Callable[[dict[str, Any]], Any]:
    """A script for `FakeEndpoint` that reports the cache use of what it answers.

    Args:
        script: what to answer; answers without a `message_start` stay as they are,
            and leave nothing in the cache.
        cache: shared by all requests.
        clock: when they arrive.
        ledger: takes a row for each that was answered.
    """
    place = iter(range(10**9))

    async def answer(asked: dict[str, Any]) -> Answer:
        served = cache.receive(asked, clock.monotonic())
        made = script(asked) if callable(script) else script[next(place)]
        whole = await made if isawaitable(made) else made
        if not any(event["type"] == "message_start" for event in whole.events):
            return whole
        served.begin()
        if ledger is not None:
            ledger.entries.append((asked, served, _output(whole.events)))
        return replace(whole, events=tuple(_told(whole.events, served)))

    return answer


def _output(events: Sequence[dict[str, Any]]) -> int:
    told = [each["usage"] for each in events if each["type"] == "message_delta"]
    return int(told[-1].get("output_tokens", 0)) if told else 0


def _told(events: Sequence[dict[str, Any]], served: Served) -> Iterator[dict[str, Any]]:
    figures = {
        "input_tokens": served.fresh,
        "cache_creation_input_tokens": served.written,
        "cache_read_input_tokens": served.read,
    }
    for event in events:
        if event["type"] == "message_start":
            message = event["message"]
            usage = {**message["usage"], **figures}
            yield {**event, "message": {**message, "usage": usage}}
        else:
            yield event


class CachingModel:
    """A model with a cache around one that has none.

    Attributes:
        served: body and figures of each request that was answered, in order.
    """

    caches_prompts = True

    def __init__(
        self, inner: Model, clock: Clock, cache: CacheModel | None = None
    ) -> None:
        self._inner, self._clock = inner, clock
        self.cache = cache or CacheModel()
        self.served: list[tuple[dict[str, Any], Served]] = []

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        body = orjson.loads(request.body)
        served = self.cache.receive(body, self._clock.monotonic())
        reply = await self._inner.complete(request, on_retry=on_retry)
        served.begin()
        self.served.append((body, served))
        return replace(reply, usage=served.usage(reply.usage.output_tokens))

    async def aclose(self) -> None:
        await self._inner.aclose()
