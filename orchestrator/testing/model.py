"""A model that says what a test tells it to, and checks what it is sent."""

from __future__ import annotations

import copy
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import anyio
import anyio.lowlevel
import orjson

from orchestrator.errors import ModelError
from orchestrator.messages import THINKING, Block, Message
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.fields import binds_thinking
from orchestrator.models.shape import shape_problem
from orchestrator.testing.steps import (
    BROKEN,
    Hangs,
    Says,
    Script,
    as_says,
    called,
    first_text,
    step_at,
)

__all__ = ["ScriptedModel"]

Answer = Reply | str | Block | Sequence[Block] | Says
_MODIFIED: Final = (
    "`thinking` blocks in an assistant message cannot be modified: sent {sent}, they "
    "were {were}"
)
_BOUND: Final = (
    "a `thinking` block is bound to what was before it, and that has changed"
)


@dataclass(frozen=True, slots=True)
class _Issued:
    """Thinking that was said before some calls."""

    model: str
    thoughts: list[Block]
    before: bytes
    """Digest of all that it is bound to."""


class ScriptedModel:
    """A model that says what a test tells it to, and checks what it is sent.

    A request that the service would refuse fails the test with an `AssertionError`.

    Attributes:
        requests: copies of all requests so far, in order of arrival.
        cancelled: number of calls that ended because the caller gave up.
        is_closed: whether `aclose` was called.
    """

    def __init__(self, script: Script) -> None:
        """Play `script`: a list, one step for each request, or a function of it."""
        self._script = script
        self._numbers = itertools.count(1)
        self._issued: dict[str, _Issued] = {}
        self._binding: set[str] = set()  # models that have refused thinking
        self.requests: list[ModelRequest] = []
        self.cancelled = 0
        self.is_closed = False

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:  # noqa: ARG002 - the port's
        """Return the next reply of the script.

        Raises:
            ModelError: the script says so.
            AssertionError: the service would refuse the request, or the script is over.
        """
        self._check(request)
        # Whoever watches the call is no part of what was sent.
        self.requests.append(copy.deepcopy(request.without_watchers()))
        place = len(self.requests) - 1
        try:
            await anyio.lowlevel.checkpoint()
            if callable(self._script):
                step = await called(self._script, request)
            else:
                step = step_at(self._script, place, first_text(request))
            if isinstance(step, Hangs):
                await _never()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if isinstance(step, ModelError):
            if step.kind == "thinking_bound":  # what was issued is not taken any more
                self._issued.clear()
                self._binding.add(request.model)
            raise step
        answer = self._answer(step, request)
        thoughts = [block for block in answer.content if block["type"] in THINKING]
        if thoughts:
            before = _digest(request, request.messages)
            issued = _Issued(request.model, copy.deepcopy(thoughts), before)
            calls = [b["id"] for b in answer.content if b["type"] == "tool_use"]
            self._issued.update(dict.fromkeys(calls, issued))
        return answer

    async def aclose(self) -> None:
        """Note that the model was closed."""
        self.is_closed = True

    def requests_of(self, needle: str) -> list[ModelRequest]:
        """Return the requests of the conversations whose first text holds `needle`."""
        return [each for each in self.requests if needle in first_text(each)]

    def _answer(self, step: Answer, request: ModelRequest) -> Reply:
        if isinstance(step, Reply):
            content, broken = self._with_ids(step.content, request)
            return replace(
                step, content=content, broken_calls={**step.broken_calls, **broken}
            )
        says = as_says(step)
        content, broken = self._with_ids(says.parts, request)
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        is_cut = says.is_cut or says.stop_reason == "max_tokens"
        ends_in_call = bool(content) and content[-1]["type"] == "tool_use"
        default = "max_tokens" if is_cut else "tool_use" if calls else "end_turn"
        return Reply(
            content=content,
            stop_reason=says.stop_reason or default,
            usage=says.usage or _counted(request, content),
            model=request.model,
            message_id=f"msg_{len(self.requests):04d}",
            cut_calls=frozenset(calls[-1:] if is_cut and ends_in_call else ()),
            broken_calls=broken,
            stop_details=says.stop_details,
        )

    def _with_ids(
        self, parts: Sequence[Block], request: ModelRequest
    ) -> tuple[list[Block], dict[str, str]]:
        known = {
            block.get("id")
            for message in request.messages
            for block in _blocks(message)
            if block.get("type") == "tool_use"
        }
        content: list[Block] = []
        broken: dict[str, str] = {}
        for part in parts:
            block = copy.deepcopy(part)
            text = block.pop(BROKEN, None)
            if block.get("type") == "tool_use" and not block["id"]:
                names = (f"toolu_{number:04d}" for number in self._numbers)
                block["id"] = next(name for name in names if name not in known)
            if text is not None:
                broken[block["id"]] = text
            content.append(block)
        return content, broken

    def _check(self, request: ModelRequest) -> None:
        problem = shape_problem(_body_of(request))
        assert not problem, problem  # noqa: S101 - this is a test's own failure
        if request.body:
            problem = _body_problem(request)
            assert not problem, problem  # noqa: S101
        problem = self._thinking_problem(request)
        assert not problem, problem  # noqa: S101

    def _thinking_problem(self, request: ModelRequest) -> str:
        """Thinking goes back to its model as it came, after what it came after.

        Older turns may go without, each as a whole; the newest only if what stands
        before it has changed, where its model binds it to that.
        """
        said = [n for n, m in enumerate(request.messages) if m["role"] == "assistant"]
        for place in said:
            blocks = list(_blocks(request.messages[place]))
            known = (self._issued.get(str(block.get("id"))) for block in blocks)
            issued = next((each for each in known if each), None)
            if issued is None or issued.model != request.model:
                continue
            sent = [_plain(b) for b in blocks if b["type"] in THINKING]
            if sent and sent != issued.thoughts:
                return _MODIFIED.format(sent=sent, were=issued.thoughts)
            if place != said[-1]:
                continue
            is_same = _digest(request, request.messages[:place]) == issued.before
            model = request.model
            is_bound = binds_thinking(model) or model in self._binding
            if sent and is_bound and not is_same:
                return _BOUND
            if not sent and (is_same or not is_bound):
                return _MODIFIED.format(sent=sent, were=issued.thoughts)
        return ""


async def _never() -> NoReturn:
    while True:
        await anyio.sleep_forever()


def _digest(request: ModelRequest, messages: Sequence[Message]) -> bytes:
    """Return what identifies a conversation up to a message, marks aside."""
    whole = [request.system, request.tools, list(messages)]
    return hashlib.blake2b(orjson.dumps(_plain(whole)), digest_size=16).digest()


def _counted(request: ModelRequest, content: list[Block]) -> Usage:
    """Return a usage that grows with what is sent, four bytes a token."""
    sent = len(request.body) or len(orjson.dumps(_body_of(request)))
    return Usage(
        input_tokens=sent // 4 + 1, output_tokens=len(orjson.dumps(content)) // 4 + 1
    )


def _body_of(request: ModelRequest) -> dict[str, Any]:
    return {
        "system": request.system,
        "tools": request.tools,
        "messages": request.messages,
        "max_tokens": request.max_output_tokens,
    }


def _body_problem(request: ModelRequest) -> str:
    """Return what is wrong with the bytes, or how they differ from the request."""
    body = orjson.loads(request.body)
    if problem := shape_problem(body):
        return problem
    expected = {
        **_body_of(request),
        "model": request.model,
        "stream": True,
    }
    for name, value in expected.items():
        if _plain(body.get(name) or []) != _plain(value or []):
            return f"`body` and the request differ in `{name}`"
    return ""


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value without cache marks."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _blocks(message: Message) -> Iterator[Block]:
    content = message["content"]
    if isinstance(content, list):
        yield from content
