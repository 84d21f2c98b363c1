"""Servers that do what no server should, and what a run makes of it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_bench import calling, raw, servers_of

from orchestrator.messages import encode


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


@pytest.mark.parametrize(
    "banner", ["Starting up…\n", "v1 {ready} ", '{"log": 1}\n', "\n\n"]
)
async def test_a_banner_is_read_over(tmp_path: Path, banner: str) -> None:
    with anyio.fail_after(20):
        async with calling(tmp_path, s=raw(banner=banner)) as bench:
            assert json.loads(await bench.text("echo", n=1)) == {"n": 1}


async def test_an_odd_answer_is_an_answer(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        with anyio.fail_after(20):
            assert await bench.text("bytes") == "caf\ufffd \ufffd"
            assert await bench.text("surrogate") == "cut \ufffd here\ufffd"
            assert await bench.text("stranger") == "right"
            assert await bench.text("slow") == "(no output)"
            assert "is not JSON-RPC" in await bench.error("garbage")
            assert "the printer is on fire" in await bench.error("error")
            odd = {"content": [{"type": "hologram"}, 5, {"type": "text", "text": "ok"}]}
            assert (await bench.text("give", **odd)).endswith("\nok")
            assert "`nextCursor`" not in await bench.text("give", content="none")
            assert json.loads(await bench.text("echo", n=1)) == {"n": 1}


async def test_what_reaches_the_log_is_whole_characters(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        await bench.text("surrogate")

    [ended] = [each for each in bench.events if each.kind == "tool.ended"]
    assert "cut \ufffd here" in encode(ended.data).decode()


async def test_requests_of_a_server_are_declined(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        heard = json.loads(await bench.text("ask"))

    answers = {each["id"]: each for each in heard if "id" in each}
    assert answers.pop("ping")["result"] == {}
    assert len(answers) == 4
    assert all(each["error"]["code"] < 0 for each in answers.values())


@pytest.mark.slow
async def test_a_call_has_its_limit_and_the_server_goes_on(tmp_path: Path) -> None:
    entry = raw(options={"call_s": 1})
    began = time.monotonic()

    async with calling(tmp_path, s=entry) as bench:
        said = await bench.error("hang")
        assert "did not answer within 1 s" in said
        assert "did not answer within 1 s" in await bench.error("late", seconds=1.5)
        heard = json.loads(await bench.text("heard"))
        await anyio.sleep(0.8)  # the late answer comes, and nobody waits for it
        assert json.loads(await bench.text("echo", n=1)) == {"n": 1}

    assert time.monotonic() - began < 30
    methods = [each.get("method") for each in heard]
    assert methods.count("notifications/cancelled") == 2


async def test_a_server_that_dies_is_started_once_more(tmp_path: Path) -> None:
    lives = tmp_path / "lives"

    async with calling(tmp_path, s=raw(lives=str(lives))) as bench:
        with anyio.fail_after(20):
            said = await bench.error("die")
            assert "was lost in the call: it ended with exit status 3;" in said
            assert "it said: fatal: out of ink" in said
            assert "started again with the next call" in said
            assert json.loads(await bench.text("echo", n=1)) == {"n": 1}
            assert "It is not started again." in await bench.error("die")
            began = time.monotonic()
            assert "is dead" in await bench.error("echo", n=1)

    assert time.monotonic() - began < 10
    assert lives.read_text().splitlines() == ["life", "life"]


async def test_a_restarted_server_with_other_tools_keeps_the_names(
    tmp_path: Path,
) -> None:
    first, later = named("die", "echo", "heard"), named("die", "echo", "big")
    entry = raw(lives=str(tmp_path / "lives"), tools=first, tools_of_life_2=later)

    async with calling(tmp_path, s=entry) as bench:
        before = bench.registry.definitions()
        await bench.error("die")
        assert json.loads(await bench.text("echo", n=1)) == {"n": 1}
        assert "no longer has `heard`" in await bench.error("heard")
        assert bench.registry.definitions() == before


async def test_calls_side_by_side_share_one_restart(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    said: list[str] = []

    async with calling(tmp_path, s=raw(lives=str(lives))) as bench:
        await bench.error("die")

        async def call(number: int) -> None:
            said.append(await bench.text("echo", n=number))

        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(call, number)

    assert len(said) == 5
    assert len(lives.read_text().splitlines()) == 2


@pytest.mark.slow
async def test_a_restart_that_fails_is_the_end(tmp_path: Path) -> None:
    entry = raw(lives=str(tmp_path / "lives"), silent_lives=[2], options={"start_s": 1})

    async with calling(tmp_path, s=entry) as bench:
        await bench.error("die")
        assert "is dead (no answer within 1 s" in await bench.error("echo", n=1)


@pytest.mark.slow
async def test_a_line_of_megabytes_is_clipped_like_any_other(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        said = await bench.text("big", chars=5_000_000)

    assert len(said) < 40_000
    assert "left out; all of it: art_" in said


@pytest.mark.slow
async def test_a_line_without_end_costs_the_server_its_life(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        assert "a line of over 32 MB" in await bench.error("endless")
        assert json.loads(await bench.text("echo", n=1)) == {"n": 1}


@pytest.mark.slow
async def test_floods_are_survived(tmp_path: Path) -> None:
    async with calling(tmp_path, s=raw()) as bench:
        assert await bench.text("shout", megabytes=300) == "shouted"
        assert await bench.text("flood") == "after the flood"
        said = await bench.error("die")

    assert len(said) < 2000


async def test_a_server_that_lists_without_end_is_refused(tmp_path: Path) -> None:
    entry = raw(more={"nextCursor": "again"}, tools=named("echo"))

    with pytest.raises(Exception, match="on over 100 pages"):
        async with servers_of(tmp_path, {"s": entry}):
            pass


async def test_an_unknown_version_is_told(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="Unsupported protocol version"):
        async with servers_of(tmp_path, {"s": raw(version="1066-10-14")}):
            pass
