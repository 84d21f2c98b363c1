"""Whole runs against servers that speak the API in a dialect of their own.

The endpoint is found as a user's is: through the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from fake_endpoint import Answer, FakeEndpoint, body, refused
from fault_bench import CALLS, FILES, right_reply
from other_servers import DIALECTS, WINDOW, Dialect
from run_bench import Ended, RunBench

from orchestrator.api import Orchestrator
from orchestrator.settings import FEATURES
from orchestrator.testing import ScriptedModel

CLAUDE, LOCAL = "claude-haiku-5-5", "qwen3:8b"

Run = Callable[..., Any]


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


@pytest.fixture
def run(bench: RunBench, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a task against an endpoint; with `resume` it goes on with a run."""

    async def run(
        endpoint: FakeEndpoint, resume: Path | None = None, **fields: Any
    ) -> Ended:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        given: dict[str, Any] = {"model": CLAUDE, "effort": "low", **fields}
        async with Orchestrator(runs_dir=bench.runs) as here:
            result = await (
                here.resume(resume) if resume else here.run(bench.task(**given))
            )
        return Ended(result, ScriptedModel([]))

    return run


def features(asked: dict[str, Any]) -> set[str]:
    """The optional features that a request makes use of."""
    marks = {"cache_control"} if b'"cache_control"' in orjson.dumps(asked) else set()
    return marks | (set(FEATURES) & set(asked))


@pytest.mark.parametrize("model", [CLAUDE, LOCAL])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
async def test_a_whole_run_is_done(run: Run, dialect: Dialect, model: str) -> None:
    def play(asked: dict[str, Any]) -> Answer:
        return dialect.answer(asked, right_reply(asked))

    async with FakeEndpoint(play) as endpoint:
        ended = await run(endpoint, model=model)

    assert ended.result.state == "done", ended.result
    assert "It takes 14 days" in ended.result.report
    assert endpoint.violations == []
    # Each feature that is lacking costs one request, and no more than that.
    lacking = dialect.lacks & features(endpoint.requests[0])
    assert len(endpoint.requests) == CALLS + len(lacking)
    told = [
        name
        for event in ended.events("model.adapted", "lead")
        for name in event.data["without"]
    ]
    assert sorted(told) == sorted(lacking)
    assert not features(endpoint.requests[-1]) & dialect.lacks
    for event in ended.events("agent.started"):
        if event.agent != "lead":
            without = event.data["settings"].get("without", [])
            assert without == sorted(lacking)
    known = {each.data["usage"]["known"] for each in ended.events("model.answered")}
    assert known == {dialect.counts}


async def test_what_the_user_knows_to_be_lacking_is_never_sent(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATE_ENDPOINT_LACKS", " ".join(FEATURES))
    proxy = DIALECTS["proxy"]

    async with FakeEndpoint(lambda a: proxy.answer(a, right_reply(a))) as endpoint:
        ended = await run(endpoint)

    assert ended.result.state == "done"
    assert len(endpoint.requests) == CALLS
    assert ended.events("model.adapted") == []


async def test_the_output_is_lowered_to_the_window_that_is_told(run: Run) -> None:
    vllm = DIALECTS["vllm"]

    async with FakeEndpoint(lambda a: vllm.answer(a, right_reply(a))) as endpoint:
        ended = await run(endpoint, limits={"max_output_tokens": WINDOW - 1000})

    assert ended.result.state == "done"
    failed = ended.events("model.failed")
    assert {each.data["error"] for each in failed} == {"too_long"}
    # Each agent learns it once, and says less from then on.
    assert sorted(each.agent for each in failed) == ["a1", "a2", "lead"]
    assert len(endpoint.requests) == CALLS + len(failed)


async def test_a_message_that_is_refused_ends_in_the_endpoints_words(run: Run) -> None:
    words = "messages.1.content.0: unknown content block type `tool_use`"

    def play(asked: dict[str, Any]) -> Answer:
        if len(asked["messages"]) > 1:
            return refused(400, "invalid_request_error", words)
        return DIALECTS["bare"].answer(asked, right_reply(asked))

    async with FakeEndpoint(play) as endpoint:
        ended = await run(endpoint)

    subagents = 2
    assert ended.result.state in ("partial", "failed")
    assert words in ended.result.reason
    assert len(endpoint.requests) == 2 + 2 * subagents


async def test_a_resumed_run_knows_what_its_endpoint_lacks(run: Run) -> None:
    proxy = DIALECTS["proxy"]
    is_down = True

    def play(asked: dict[str, Any]) -> Answer:
        if is_down and len(asked["messages"]) > 3:
            return body(b'{"error": {"message": "no money"}}', status=402)
        return proxy.answer(asked, right_reply(asked))

    async with FakeEndpoint(play) as endpoint:
        parked = await run(endpoint)
        before, is_down = len(endpoint.requests), False
        ended = await run(endpoint, resume=parked.folder)

    assert (parked.result.state, ended.result.state) == ("parked", "done")
    assert not any(features(each) for each in endpoint.requests[before:])
