"""Whole runs against an endpoint with a rate limit, over the wire."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from explore_policy import ExplorePolicy, lay_parts
from fake_endpoint import Answer, FakeEndpoint, refused
from limited_service import Sliding
from run_bench import Ended, RunBench

from orchestrator.clock import Clock, SystemClock
from orchestrator.errors import ModelError
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest, OnRetry, Reply
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock


class Watched:
    """A model that takes note of requests which leave before a told time."""

    def __init__(self, model: AnthropicModel, clock: Clock) -> None:
        self.model, self.clock = model, clock
        self.opens_at = 0.0
        self.asked = self.early = self.rejected = 0

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        self.asked += 1
        self.early += self.clock.monotonic() < self.opens_at
        try:
            return await self.model.complete(request, on_retry=on_retry)
        except ModelError as error:
            self.rejected += 1
            told_at = self.clock.monotonic() + (error.retry_after_s or 0)
            self.opens_at = max(self.opens_at, told_at)
            raise

    async def aclose(self) -> None:
        await self.model.aclose()


@dataclass
class Limited(ExplorePolicy):
    """Takes eight requests a second."""

    limit: Sliding = field(default_factory=lambda: Sliding(8))
    began: float = field(default_factory=time.monotonic)

    def __call__(self, asked: dict[str, Any]) -> Answer:
        if not self.limit.takes(time.monotonic() - self.began):
            return refused(429, "rate_limit_error", headers={"retry-after": "0.3"})
        return super().__call__(asked)


async def explore(
    folder: Path, policy: ExplorePolicy, clock: Clock
) -> tuple[Watched, Ended]:
    bench = RunBench(folder)
    lay_parts(bench.root, policy.parts)
    async with FakeEndpoint(policy) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url, clock=clock)
        watched = Watched(model, clock)
        try:
            ended = await bench.run(
                Governor(watched, clock), clock=clock, model="claude-x"
            )
        finally:
            await model.aclose()
        assert endpoint.violations == []
    assert policy.violations == []
    return watched, ended


@pytest.mark.slow
async def test_eight_behind_one_limit_all_end_and_nothing_leaves_too_early(
    tmp_path: Path,
) -> None:
    calls = 4

    watched, ended = await explore(
        tmp_path, Limited(parts=8, calls=calls), SystemClock()
    )

    assert ended.result.state == "done"
    assert watched.early == 0
    assert watched.rejected > 0
    assert (
        watched.rejected <= 8 * 2
    )  # the first storm, and what the pace is felt out by
    answered = ended.events("model.answered")
    assert len(answered) == 8 * calls + 2
    assert any(each.data["queued_s"] > 0 for each in answered)


class NeverForSubagents(ExplorePolicy):
    """Answers the lead alone."""

    def __call__(self, asked: dict[str, Any]) -> Answer:
        if any(tool["name"] == "delegate" for tool in asked["tools"]):
            return super().__call__(asked)
        return refused(429, "rate_limit_error", headers={"retry-after": "1"})


@pytest.mark.slow
async def test_where_every_subagent_is_rejected_for_ever_tries_are_bounded(
    tmp_path: Path,
) -> None:
    watched, ended = await explore(tmp_path, NeverForSubagents(parts=8), FakeClock())

    assert (ended.result.state, ended.result.exit_code) == ("parked", 75)
    assert watched.early == 0
    assert watched.asked <= 1 + 8 * 16
    tries = Counter(each.agent for each in ended.events("model.retried"))
    assert max(tries.values()) <= 15
    assert ended.events("model.answered")[0].agent == "lead"
    assert len(ended.events("model.answered")) == 1
