"""An agent whose log is damaged loses what is lost, and no more; nothing is refused."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from agent_bench import DONE, AgentBench, Echo, Write, results_in, use

from orchestrator.agent.rebuild import AgentRecords, agent_past, rebuild_headless
from orchestrator.agent.replay import Remade
from orchestrator.events import Event, ThinkingDropped
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import text_block
from orchestrator.models.base import ModelRequest
from orchestrator.store.transcript import LOST
from orchestrator.store.transcript import rebuild as transcript
from orchestrator.testing import ScriptedModel, Step, call, think


def spoil(bench: AgentBench, *lost: Event, end: int) -> None:
    """Let the log end after `end`, with these records damaged."""
    bench.cut(end)
    lines = bench.path.read_bytes().splitlines(keepends=True)
    for event in lost:
        lines[event.seq - 1] = b"\0" * 40 + b"\n"
    bench.path.write_bytes(b"".join(lines))


def thoughts(request: ModelRequest) -> list[str]:
    return [
        block["thinking"]
        for message in request.messages
        for block in message["content"]
        if block["type"] == "thinking"
    ]


THINKS: list[Step] = [
    [think("one"), use("t1"), use("t2")],
    [think("two"), use("t3")],
    [think("three"), use("t4")],
    DONE,
]


async def thinker(folder: Path) -> AgentBench:
    bench = AgentBench(folder, [Echo(), Write()])
    await bench.run(THINKS)
    return bench


async def test_a_damaged_result_costs_that_result_only(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run([[use("t1"), use("t2")], call("echo"), DONE])
    lost = bench.events("tool.ended")[0]
    spoil(bench, lost, end=bench.events("model.answered")[-1].seq - 1)

    outcome = await bench.resume([DONE])

    sent = bench.requests[0].messages
    told = {each["tool_use_id"]: each["content"] for each in sent[2]["content"]}
    assert told[lost.data["call"]] == LOST
    assert sorted(told.values()) == sorted([LOST, "hello"])
    assert outcome.kind == "submitted"


async def test_a_damaged_intent_costs_nothing(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run([use("t1"), call("echo"), DONE])
    before = bench.requests[2].messages
    end = bench.events("model.answered")[-1].seq - 1
    spoil(bench, bench.events("model.requested")[1], end=end)

    await bench.resume([DONE])

    assert bench.requests[0].messages == before


async def test_thinking_behind_a_lost_result_is_taken_out_once_and_on_record(
    tmp_path: Path,
) -> None:
    bench = await thinker(tmp_path)
    third = bench.events("model.answered")[2]
    spoil(bench, bench.events("tool.ended")[0], end=third.seq)

    await bench.resume([[think("four"), use("t5")], DONE], lost=1)
    bench.cut(bench.events("model.answered")[-1].seq - 1)
    sent = bench.requests
    await bench.resume([DONE], lost=1)

    [dropped] = bench.events("thinking.dropped")
    assert dropped.data["blocks"] == 3
    assert [thoughts(each) for each in sent] == [[], ["four"]]
    assert [each.body for each in bench.requests] == [sent[1].body]


class Keep(Echo):
    name: ClassVar[str] = "keep"
    label = "critical"


async def test_thinking_before_what_was_cleared_has_to_be_proven_too(
    tmp_path: Path,
) -> None:
    long = Echo(lambda text: f"{text} words " * 800)
    bench = AgentBench(tmp_path, [long, Keep()], window=9000)
    plain = [use(f"t{n}", text=str(n)) for n in range(4)]
    kept = [[think(str(n)), use(f"k{n}", "keep", text=str(n))] for n in range(3)]
    await bench.run([*kept, *plain, DONE])
    assert bench.events("context.cleared")
    assert thoughts(bench.requests[-1]) == ["0", "1", "2"]
    lost = bench.events("tool.ended")[0]
    end = bench.events("model.answered")[-1].seq - 1
    spoil(bench, lost, end=end)

    await bench.resume([DONE], lost=1)

    [dropped] = bench.events("thinking.dropped")
    assert dropped.data["blocks"] == 3
    assert thoughts(bench.requests[0]) == []


async def test_what_stands_in_for_a_lost_result_is_made_once_and_on_record(
    tmp_path: Path,
) -> None:
    bench = await thinker(tmp_path)
    lost, seen = bench.events("tool.ended")[1:3]
    spoil(bench, lost, seen, end=bench.events("model.answered")[2].seq)

    await bench.resume(
        [[think("four"), use("t5")], DONE],
        lost=2,
        remake=lambda call: Remade("remade" if call == "t2" else ""),
    )
    bench.cut(bench.events("model.answered")[-1].seq - 1)
    sent = bench.requests[1]
    await bench.resume([DONE], lost=2, remake=lambda _call: Remade("made another way"))

    told = {
        block["tool_use_id"]: block["content"]
        for message in bench.requests[0].messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert (told["t2"], told["t3"]) == ("remade", LOST)
    assert len(bench.events("result.replaced")) == 2
    assert thoughts(sent) == ["four"]
    assert bench.requests[0].body == sent.body
    assert transcript(bench.events(), "lead")[:-2] == sent.messages


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param("tool.started", 0, id="an intent"),
        pytest.param("model.requested", 0, id="an older request"),
        pytest.param("model.requested", 2, id="the request of the newest thinking"),
        pytest.param("tool.ended", 3, id="the newest result"),
    ],
)
async def test_thinking_stays_where_all_that_it_is_bound_to_is_there(
    tmp_path: Path, kind: str, place: int
) -> None:
    bench = await thinker(tmp_path)
    whole = bench.requests[3].body
    end = bench.events("tool.ended")[3].seq
    spoil(bench, bench.events(kind)[place], end=end)

    await bench.resume([DONE], lost=1)

    assert bench.events("thinking.dropped") == []
    assert bench.requests[0].body == whole


async def test_without_damage_no_body_is_made_again(tmp_path: Path) -> None:
    bench = await thinker(tmp_path)
    bench.cut(bench.events("tool.ended")[3].seq)
    lines = bench.path.read_bytes().splitlines(keepends=True)
    # Not what was sent: it would be noticed by whoever looked.
    forged = [line.replace(b'"sha256":"', b'"sha256":"0') for line in lines]
    bench.path.write_bytes(b"".join(forged))

    await bench.resume([DONE])

    assert bench.events("thinking.dropped") == []
    assert thoughts(bench.requests[0]) == ["one", "two", "three"]


async def test_calls_of_a_lost_reply_keep_their_results(tmp_path: Path) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo])
    await bench.run(THINKS)
    end = bench.events("model.requested")[1].seq
    spoil(bench, bench.events("model.answered")[0], end=end)

    await bench.resume([DONE], lost=1)

    assert echo.calls == ["t1", "t2", "t3", "t4"]
    assert results_in(bench.requests[0]) == {"t1": "hello", "t2": "hello"}
    assert thoughts(bench.requests[0]) == []


async def test_a_lost_result_that_was_not_answered_yet_is_fetched_again(
    tmp_path: Path,
) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo])
    await bench.run(THINKS)
    end = bench.events("model.requested")[1].seq
    lost = bench.events("tool.ended")[0]
    spoil(bench, lost, end=end)

    await bench.resume([[think("new"), use("t9")], DONE], lost=1)
    bench.cut(bench.events("model.answered")[-1].seq - 1)
    sent = bench.requests[1]
    await bench.resume([DONE], lost=1)

    assert echo.calls.count(lost.data["call"]) == 2
    assert thoughts(sent) == ["one", "new"]
    assert bench.requests[0].body == sent.body


async def test_an_effect_whose_intent_may_be_lost_is_not_done_again(
    tmp_path: Path,
) -> None:
    write = Write()
    bench = AgentBench(tmp_path, [write])
    await bench.run([use("t1", "write_it", path="a", content="x"), DONE])
    [started, _] = bench.events("tool.started")
    spoil(bench, started, end=started.seq)

    await bench.resume([DONE], lost=1)

    assert results_in(bench.requests[0]) == {"t1": UNKNOWN}
    assert write.written == ["a"]


async def test_a_lost_start_is_made_anew_and_the_work_is_kept(tmp_path: Path) -> None:
    bench = await thinker(tmp_path)
    whole = bench.requests[3].body
    end = bench.events("tool.ended")[3].seq
    spoil(bench, bench.events("agent.started")[0], end=end)

    past = agent_past(bench.services, "lead", AgentRecords(bench.events(), lost=1))
    assert past.rebuilt is None
    assert past.headless is not None
    rebuilt = rebuild_headless(bench.services, bench.spec(), past.headless)
    bench.model = ScriptedModel([DONE])
    await bench.agent(bench.model, rebuilt.spec, rebuilt=rebuilt).run()

    assert [each.body for each in bench.requests] == [whole]
    assert bench.events("thinking.dropped") == []


async def test_a_start_that_was_another_costs_the_thinking_only(tmp_path: Path) -> None:
    bench = await thinker(tmp_path)
    end = bench.events("tool.ended")[3].seq
    spoil(bench, bench.events("agent.started")[0], end=end)

    another = bench.spec(system=[text_block("You are another.")])
    records = AgentRecords(bench.events(), lost=1)
    rebuilt = rebuild_headless(bench.services, another, records)

    assert len(rebuilt.state.transcript) == 6
    [dropped] = rebuilt.state.edits
    assert isinstance(dropped, ThinkingDropped)
    assert dropped.blocks == 3
