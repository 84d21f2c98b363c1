"""What every model promises, checked on all of them."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import orjson
import pytest
from fake_endpoint import Answer, FakeEndpoint, stream, text, tool_use

from orchestrator.messages import Message, encode, tool_calls, tool_result
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import Model, ModelRequest, Reply, Retry
from orchestrator.models.governor import Governor
from orchestrator.models.offline import OfflineModel
from orchestrator.models.shape import shape_problem
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, reply, say

Opened = Callable[[], AbstractAsyncContextManager[Model]]

TOOLS = [
    {
        "name": name,
        "description": f"The tool {name}.",
        "input_schema": {"type": "object", "properties": {}},
    }
    for name in ("read_file", "grep", "glob", "list_dir", "submit_findings")
]
QUESTION = (
    "Objective: find out how long refunds take.\n"
    "Questions:\n1. How many days does a refund take?\n"
)


def request_for(*messages: Message, question: str = QUESTION) -> ModelRequest:
    asked = [{"role": "user", "content": [text(question)]}, *messages]
    sent = {
        "model": "offline",
        "max_tokens": 1000,
        "system": [text("You explore.")],
        "tools": TOOLS,
        "messages": asked,
        "stream": True,
    }
    return ModelRequest(
        model="offline",
        system=[text("You explore.")],
        tools=TOOLS,
        messages=asked,
        max_output_tokens=1000,
        body=encode(sent),
        call_s=5,
        silence_s=5,
    )


def _turn(messages: list[Message]) -> int:
    return sum(1 for message in messages if message["role"] == "assistant")


@asynccontextmanager
async def endpoint() -> AsyncIterator[Model]:
    def answer(asked: dict[str, Any]) -> Answer:
        turn = _turn(asked["messages"])
        if turn == 2:
            return stream(text("That is all."))
        first = tool_use(f"toolu_{turn}a", "grep", pattern="refund")
        return stream(text("I look."), first, tool_use(f"toolu_{turn}b", "list_dir"))

    async with FakeEndpoint(answer) as server:
        model = AnthropicModel(api_key="key", base_url=server.url)
        yield model
        await model.aclose()
        assert server.violations == []


@asynccontextmanager
async def retried_endpoint() -> AsyncIterator[Model]:
    async with endpoint() as model:
        yield Governor(model, FakeClock())


@asynccontextmanager
async def offline() -> AsyncIterator[Model]:
    yield OfflineModel()


@asynccontextmanager
async def scripted() -> AsyncIterator[Model]:
    def answer(request: ModelRequest) -> Step:
        if _turn(request.messages) == 2:
            return say("That is all.")
        return reply("I look.", call("grep", pattern="refund"), call("list_dir"))

    yield ScriptedModel(answer)


@pytest.fixture(
    params=[endpoint, retried_endpoint, offline, scripted], ids=lambda o: o.__name__
)
def opened(request: pytest.FixtureRequest) -> Opened:
    chosen: Opened = request.param
    return chosen


def never(retry: Retry) -> None:
    raise AssertionError(f"nothing fails here, yet it was tried again: {retry}")


async def dialogue(model: Model, *, turns: int = 3) -> list[Reply]:
    """Ask, answer every call with a small result, ask again."""
    said: list[Message] = []
    replies: list[Reply] = []
    for _ in range(turns):
        given = await model.complete(request_for(*said), on_retry=never)
        replies.append(given)
        calls = tool_calls(given.content)
        if not calls:
            break
        results = [tool_result(each["id"], "policy.md:3: 14 days") for each in calls]
        said += [
            {"role": "assistant", "content": given.content},
            {"role": "user", "content": results},
        ]
    return replies


async def test_a_reply_is_whole(opened: Opened) -> None:
    async with opened() as model:
        (first, *_) = await dialogue(model, turns=1)

    assert first.content
    assert all(isinstance(block.get("type"), str) for block in first.content)
    assert isinstance(first.stop_reason, str)
    assert first.usage.known
    assert first.usage.context_tokens > 0
    assert first.usage.output_tokens > 0
    assert first.model
    assert first.message_id
    assert first.seconds >= 0
    assert not first.cut_calls
    assert not first.broken_calls
    orjson.dumps(first.content)


async def test_what_a_model_says_can_be_sent_back_to_the_service(
    opened: Opened,
) -> None:
    async with opened() as model:
        replies = await dialogue(model)

    said: list[Message] = []
    for given in replies:
        said.append({"role": "assistant", "content": given.content})
        results = [tool_result(c["id"], "ok") for c in tool_calls(given.content)]
        said.append({"role": "user", "content": results or [text("go on")]})
    body = {"messages": [{"role": "user", "content": QUESTION}, *said]}

    assert shape_problem(body) == ""


async def test_calls_of_a_whole_dialogue_have_different_ids(opened: Opened) -> None:
    async with opened() as model:
        replies = await dialogue(model)
    ids = [c["id"] for given in replies for c in tool_calls(given.content)]

    assert len(ids) == len(set(ids))


async def test_a_request_is_read_and_never_changed(opened: Opened) -> None:
    request = request_for()
    before = copy.deepcopy(request)
    async with opened() as model:
        await model.complete(request, on_retry=never)

    assert request == before


async def test_what_is_done_to_a_reply_does_not_reach_the_next(opened: Opened) -> None:
    async with opened() as model:
        first = await model.complete(request_for(), on_retry=never)
        kept = copy.deepcopy(first.content)
        for block in first.content:
            block.clear()
        second = await model.complete(request_for(), on_retry=never)

    assert [b["type"] for b in second.content] == [b["type"] for b in kept]


async def test_many_tasks_may_ask_at_once(opened: Opened) -> None:
    replies: list[Reply] = []
    async with opened() as model:

        async def ask() -> None:
            replies.append(await model.complete(request_for(), on_retry=never))

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(ask)

    assert len(replies) == 12


async def test_a_model_goes_on_after_calls_that_were_cancelled(opened: Opened) -> None:
    async with opened() as model:

        async def ask() -> None:
            await model.complete(request_for(), on_retry=never)

        for turns in range(6):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        after = await model.complete(request_for(), on_retry=never)

    assert after.content


async def test_a_model_may_be_closed_twice(opened: Opened) -> None:
    async with opened() as model:
        await model.aclose()
        await model.aclose()
