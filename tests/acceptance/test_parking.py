"""An endpoint that takes no more requests in the middle of eight subagents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from explore_policy import part_of
from fake_endpoint import Answer, raw, refused
from parking_bench import (
    BILLING,
    CALLS,
    PARTS,
    SPEND_LIMIT,
    Stopping,
    explored,
    regain,
)
from serving import serving

from orchestrator.inspection.reading import load_run
from orchestrator.runtime.result import RunResult
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock

DAY = date(2026, 12, 1)
QUOTAS = [
    pytest.param(BILLING, id="billing"),
    pytest.param(SPEND_LIMIT, id="spend limit"),
    pytest.param(regain(DAY), id="a date"),
]
OUTAGES = [
    pytest.param(refused(500, "api_error", "Internal error"), id="500"),
    pytest.param(refused(529, "overloaded_error", "Overloaded"), id="529"),
    pytest.param(refused(429, "rate_limit_error", "Slow down"), id="429"),
    pytest.param(
        refused(429, "rate_limit_error", "Slow down", headers={"retry-after": "86400"}),
        id="429 for a day",
    ),
    pytest.param(raw(ending="abort"), id="reset"),
    pytest.param(raw(ending="hang"), id="silence", marks=pytest.mark.slow),
]


def findings_in(result: RunResult) -> list[str]:
    found = sorted(result.folder.glob("agents/a*/findings.json"))
    return [path.parent.name for path in found]


def check_parked(result: RunResult, *, findings: int) -> None:
    assert (result.state, result.exit_code, result.missing) == ("parked", 75, [])
    assert len(findings_in(result)) == findings
    assert not (result.folder / "report.md").exists()


def check_done(result: RunResult, policy: Stopping) -> None:
    """All is there, and nothing was answered twice."""
    assert (result.state, result.missing) == ("done", [])
    assert len(findings_in(result)) == PARTS
    assert len(policy.answered) == len(set(policy.answered)) == CALLS
    assert policy.violations == []


@pytest.mark.parametrize("refusal", QUOTAS)
async def test_one_after_the_other_three_are_kept_and_five_wait_unbegun(
    tmp_path: Path, refusal: Answer
) -> None:
    policy = Stopping(refusal)
    async with serving(tmp_path / "runs", policy) as (endpoint, here):
        first = await here.run(explored(tmp_path, concurrency=1))
        check_parked(first, findings=3)
        view = load_run(RunFolder(first.folder))
        assert [each.state for each in view.subagents][3:] == ["running"] + 4 * [
            "waiting"
        ]
        assert policy.refused_of == {4: 1}

        policy.is_open = True
        second = await here.resume(first.folder)

    check_done(second, policy)
    assert len(endpoint.requests) == CALLS + 1


@pytest.mark.slow
@pytest.mark.parametrize("refusal", QUOTAS)
async def test_side_by_side_no_request_follows_those_that_were_out(
    tmp_path: Path, refusal: Answer
) -> None:
    policy = Stopping(refusal)
    async with serving(tmp_path / "runs", policy) as (_endpoint, here):
        first = await here.run(explored(tmp_path))
        check_parked(first, findings=3)
        assert max(policy.refused_of.values()) == 1

        again = await here.resume(first.folder)  # still refused
        check_parked(again, findings=3)
        assert max(policy.refused_of.values()) <= 2
        policy.is_open = True
        second = await here.resume(first.folder)

    check_done(second, policy)


async def test_the_time_to_go_on_is_in_the_result_and_in_the_log(
    tmp_path: Path,
) -> None:
    policy = Stopping(regain(DAY))
    async with serving(tmp_path / "runs", policy) as (_endpoint, here):
        result = await here.run(explored(tmp_path))

    assert result.resume_at == datetime(2026, 12, 1, tzinfo=UTC)
    assert "from 2026-12-01 00:00 UTC on, `orchestrate resume" in result.reason
    record = orjson.loads((result.folder / "run.json").read_bytes())
    assert record["resume_at"] == "2026-12-01T00:00:00+00:00"
    notes = (result.folder / "progress.md").read_text()
    assert "**State:** parked – the quota is used up: You have reached" in notes


@pytest.mark.slow
@pytest.mark.parametrize("refusal", OUTAGES)
async def test_an_endpoint_that_is_down_for_too_long_parks_the_run(
    tmp_path: Path, refusal: Answer
) -> None:
    is_silent = refusal.ending == "hang"
    limits = {"outage_s": 60, "silence_s": 1 if is_silent else 90}
    policy, clock = Stopping(refusal), FakeClock()
    async with serving(tmp_path / "runs", policy, clock) as (endpoint, here):
        first = await here.run(explored(tmp_path, **limits))
        check_parked(first, findings=3)
        assert len(endpoint.requests) <= CALLS + 16 * PARTS

        policy.is_open = True
        await clock.advance(86_400)
        second = await here.resume(first.folder)

    check_done(second, policy)


async def test_a_key_that_is_refused_in_mid_run_parks_it(tmp_path: Path) -> None:
    refusal = refused(401, "authentication_error", "invalid x-api-key")
    policy = Stopping(refusal)
    async with serving(tmp_path / "runs", policy) as (_endpoint, here):
        first = await here.run(explored(tmp_path))
        check_parked(first, findings=3)
        assert first.reason.startswith("the key is refused: invalid x-api-key (sent to")
        policy.is_open = True
        second = await here.resume(first.folder)

    check_done(second, policy)


async def test_a_key_that_is_refused_from_the_start_fails(tmp_path: Path) -> None:
    refusal = refused(401, "authentication_error", "invalid x-api-key")
    policy = Stopping(refusal, findings=0)
    async with serving(tmp_path / "runs", policy) as (endpoint, here):
        result = await here.run(explored(tmp_path))

    assert (result.state, result.exit_code) == ("failed", 1)
    assert result.reason == f"auth: invalid x-api-key (sent to {endpoint.url})"
    assert len(endpoint.requests) == 1


async def test_a_request_that_a_proxy_forbids_fails_alone(tmp_path: Path) -> None:
    page = Answer(403, {"content-type": "text/html"}, body=b"<h1>Forbidden</h1>")
    policy = Stopping(page, findings=PARTS - 1)
    async with serving(tmp_path / "runs", policy) as (_endpoint, here):
        result = await here.run(explored(tmp_path, concurrency=1))

    assert result.state in ("partial", "failed")
    assert len(findings_in(result)) == PARTS


@dataclass
class Poisoned(Stopping):
    """Fails at one subagent, whenever that asks."""

    part: int = PARTS
    findings: int = -1

    async def __call__(self, asked: dict[str, Any]) -> Answer:
        if part_of(asked) == self.part:
            return refused(500, "api_error", "Internal error")
        return await super().__call__(asked)


@pytest.mark.slow
async def test_one_request_that_nobody_answers_parks_a_run_twice_and_no_more(
    tmp_path: Path,
) -> None:
    policy, clock = Poisoned(), FakeClock()
    async with serving(tmp_path / "runs", policy, clock) as (_endpoint, here):
        result = await here.run(explored(tmp_path, concurrency=1, outage_s=60))
        check_parked(result, findings=PARTS - 1)
        result = await here.resume(result.folder)
        check_parked(result, findings=PARTS - 1)
        result = await here.resume(result.folder)

        assert (result.state, result.exit_code) == ("partial", 3)
        assert "Internal error" in result.missing[0]
        policy.part = -1
        result = await here.resume(result.folder)

    assert result.state != "parked"
    assert len(policy.answered) == len(set(policy.answered))


@pytest.mark.slow
async def test_other_runs_with_the_same_key_are_parked_with_it(
    tmp_path: Path,
) -> None:
    policy = Stopping()
    async with serving(tmp_path / "runs", policy) as (endpoint, here):
        tasks = [explored(tmp_path, concurrency=2) for _ in range(3)]
        results = [item.result async for item in here.run_batch(tasks, concurrency=3)]
        assert [each and each.state for each in results] == 3 * ["parked"]
        sent = len(endpoint.requests)
        # At most those that were out when the first of them was refused.
        assert sum(policy.refused_of.values()) <= 6

        policy.is_open = True
        for each in results:
            assert each is not None
            again = await here.resume(each.folder)
            assert again.state == "done"
    assert len(endpoint.requests) > sent
