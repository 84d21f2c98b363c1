"""Whole runs against an endpoint with a strict prompt cache."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from cache_model import CacheModel, CachingModel, Ledger, Served, caching
from explore_policy import ExplorePolicy, lay_parts, replies_in
from fake_endpoint import Answer, FakeEndpoint, refused
from run_bench import Ended, RunBench, brief, delegate, finish, submit
from unordered_tools import OWN, first_body

from orchestrator.clock import SystemClock
from orchestrator.messages import text_of
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor
from orchestrator.models.pricing import price_of
from orchestrator.testing import FakeClock, ScriptedModel, call, conversations

MODEL = "claude-haiku-5-5"
PARTS, CALLS = 4, 6
Row = tuple[dict[str, Any], Served]


@dataclass
class Explored:
    """What a run sent, what the cache made of it, and what the run says."""

    endpoint: FakeEndpoint
    ledger: Ledger
    ended: Ended

    def conversations(self) -> dict[str, list[Row]]:
        return by_conversation([(body, each) for body, each, _ in self.ledger.entries])


def by_conversation(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for body, served in rows:
        found[text_of(body["messages"][0]["content"])].append((body, served))
    return found


def with_faults(policy: ExplorePolicy) -> Callable[[dict[str, Any]], Answer]:
    """Answers as `policy`; each fourth conversation length is refused once before."""
    refused_once: set[bytes] = set()

    def answer(asked: dict[str, Any]) -> Answer:
        key = orjson.dumps(asked["messages"])
        if replies_in(asked) % 4 == 2 and key not in refused_once:
            refused_once.add(key)
            return refused(529, "overloaded_error", headers={"retry-after": "0.01"})
        return policy(asked)

    return answer


async def explore(folder: Path) -> Explored:
    bench, clock = RunBench(folder), SystemClock()
    lay_parts(bench.root, PARTS)
    price = price_of(MODEL)
    assert price is not None
    ledger = Ledger(price)
    script = with_faults(ExplorePolicy(PARTS, CALLS))
    async with FakeEndpoint(caching(script, CacheModel(), clock, ledger)) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        try:
            ended = await bench.run(Governor(model, clock), clock=clock, model=MODEL)
        finally:
            await model.aclose()
    return Explored(endpoint, ledger, ended)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    return anyio.run(explore, tmp_path_factory.mktemp("cached"))


def test_every_request_reads_all_that_the_one_before_had(explored: Explored) -> None:
    assert explored.ended.result.state == "done"
    assert explored.endpoint.violations == []
    assert len(explored.conversations()) == PARTS + 1
    for rows in explored.conversations().values():
        for (_, before), (_, after) in itertools.pairwise(rows):
            assert after.read == before.read + before.written
            assert after.fresh == 0


def test_the_head_of_a_profile_is_written_once(explored: Explored) -> None:
    firsts = [rows[0][1] for rows in explored.conversations().values()]
    workers = [each for each in firsts if each.read] or firsts

    assert sum(each.read == 0 for each in firsts) == 2  # the lead's, the first worker's
    assert len(workers) == PARTS - 1


def test_nothing_normal_raises_an_alarm(explored: Explored) -> None:
    assert explored.ended.events("model.retried")
    assert explored.ended.events("cache.missed") == []


def test_what_the_run_says_it_cost_is_what_the_endpoint_bills(
    explored: Explored,
) -> None:
    told = [each.data["usd"] for each in explored.ended.events("model.answered")]
    assert sum(told) == pytest.approx(explored.ledger.usd, rel=1e-4)
    assert explored.ledger.read_share > 0.75


def test_each_request_names_the_answer_before_it(explored: Explored) -> None:
    ids = {each.data["message_id"] for each in explored.ended.events("model.answered")}
    for rows in explored.conversations().values():
        named = [body["diagnostics"]["previous_message_id"] for body, _ in rows]
        assert named[0] is None
        assert set(named[1:]) < ids
        assert len(set(named)) == len(rows)


async def test_a_wave_of_thirty_calls_is_read_back_whole(tmp_path: Path) -> None:
    calls = [call("grep", pattern=f"word{n}", path="a.md") for n in range(30)]
    more = [call("grep", pattern=f"other{n}", path="a.md") for n in range(30)]
    report = submit(status="nothing_found")
    script = conversations(
        {
            "# Objective\n": [delegate(brief("cards")), finish("Nothing is said.")],
            "# cards\n": [calls, more, report],
        }
    )
    bench, clock = RunBench(tmp_path, {"a.md": "Nothing.\n" * 50}), FakeClock()
    model = CachingModel(ScriptedModel(script), clock)

    ended = await bench.run(model, clock=clock, model=MODEL)

    rows = by_conversation(model.served)
    assert sorted(len(each) for each in rows.values()) == [2, 3]
    for each in rows.values():
        for (_, before), (_, after) in itertools.pairwise(each):
            assert after.read == before.read + before.written
    assert ended.events("cache.missed") == []


async def test_the_order_in_which_tools_are_given_changes_no_byte(
    tmp_path: Path,
) -> None:
    one = await first_body(tmp_path, *OWN)
    other = await first_body(tmp_path, *reversed(OWN))

    assert one == other
    assert b"aardvark" in one


SCRIPT = """
import sys, anyio
from pathlib import Path
from unordered_tools import OWN, first_body
tools = OWN if sys.argv[2] == "0" else OWN[::-1]
sys.stdout.buffer.write(anyio.run(first_body, Path(sys.argv[1]), *tools))
"""


@pytest.mark.slow
def test_every_process_sends_the_same_bytes(tmp_path: Path) -> None:
    support = Path(__file__).parent.parent / "support"
    bodies = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path), order],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([str(support), *sys.path]),
            },
            capture_output=True,
            check=True,
        ).stdout
        for seed, order in (("1", "0"), ("2", "1"), ("77", "0"))
    }

    assert len(bodies) == 1
    assert json.loads(bodies.pop())["tools"]
