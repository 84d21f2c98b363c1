"""An agent goes on from its log alone, wherever the process died."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, Write, last_user, results_in, use

from orchestrator.agent.rebuild import NOT_BEGUN, AgentRecords, agent_past, rebuild
from orchestrator.events import Event
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.spec.limits import AgentLimits
from orchestrator.store.transcript import rebuild as transcript
from orchestrator.testing import Script, Step, call, fail, reply, say, think

PARTS: list[Step] = [
    [think("first"), use("t1", text="a"), use("t2", text="b")],
    reply(),  # empty: nudged
    "I am done.",  # asked to hand in
    reply(use("t3", "write_it", path="x"), is_cut=True),
    [use("t3", text="again, with an id of old")],
    [use("t4", "nonsense")],
    reply("half", stop_reason="max_tokens"),
    [say("so"), use("t6", "write_it", path="out.txt", content="written")],
    call("finish", report="BACK, wrong"),
    DONE,
]


EFFECT_IN_FLIGHT = 28


def policy(request: ModelRequest) -> Step:
    """The next part, told from the request alone."""
    said = [message for message in request.messages if message["role"] == "assistant"]
    kept = [0, 2, 3, 4, 5, 7, 8, 9]  # the parts that stay in the transcript
    place = kept[len(said)]
    newest = text_of(last_user(request))
    if place == 2 and "[nudge_empty]" not in newest:
        return PARTS[1]
    if place == 7 and request.max_output_tokens < 8000:
        return PARTS[6]
    return PARTS[place]


def make(folder: Path) -> AgentBench:
    folder.mkdir(exist_ok=True)
    return AgentBench(folder, [Echo(), Write()], price=PRICE)


def answered(bench: AgentBench) -> list[tuple[int, Any]]:
    return [
        (event.data["turn"], event.data["content"])
        for event in bench.events("model.answered")
    ]


def check_readers(bench: AgentBench) -> None:
    """Readers are shown what each request of the newest process held."""
    events = bench.events()
    asked = [at for at, each in enumerate(events) if each.kind == "model.requested"]
    own = asked[len(asked) - len(bench.requests) :]
    for at, request in zip(own, bench.requests, strict=True):
        assert transcript(events[: at + 1], "lead") == request.messages


@pytest.fixture(scope="module")
def length() -> int:
    return 38


async def test_the_whole_of_it_runs(tmp_path: Path, length: int) -> None:
    bench = make(tmp_path / "b")

    outcome = await bench.run(policy)

    assert (outcome.kind, len(bench.requests)) == ("submitted", len(PARTS))
    assert len(bench.events()) == length


@pytest.mark.parametrize("seq", range(1, 39))
async def test_cut_after_any_event_it_ends_the_same(tmp_path: Path, seq: int) -> None:
    bench = make(tmp_path / "b")
    await bench.run(policy)
    whole, bodies = answered(bench), [each.body for each in bench.requests]
    bench.cut(seq)
    finished = len(bench.events("model.answered"))
    asked = len(bench.events("model.requested"))

    outcome = await bench.resume(policy)

    assert (outcome.kind, outcome.value) == ("submitted", "All is well.")
    assert len(bench.requests) == len(PARTS) - finished
    if seq != EFFECT_IN_FLIGHT:  # its outcome is not known then
        assert [each.body for each in bench.requests] == bodies[finished:]
    contents = [content for _, content in answered(bench)]
    assert contents == [content for _, content in whole]
    assert len(bench.events("model.requested")) == asked + len(bench.requests)
    check_readers(bench)


@pytest.mark.parametrize("seq", range(2, 39, 3))
async def test_the_rebuilt_state_is_the_state_it_was(tmp_path: Path, seq: int) -> None:
    bench = make(tmp_path / "b")
    await bench.run(policy)
    bench.cut(seq)
    await bench.resume(policy)
    model = bench.model
    bench.cut(len(bench.events()) - 1)  # without the end of the agent
    agent = bench.agent(model, bench.spec(), rebuilt=bench.left())

    state, other = agent.state, make(tmp_path / "c")
    await other.run(policy)
    other.cut(len(other.events()) - 1)
    whole = other.left().state

    assert state.shown.pieces == whole.shown.pieces
    assert state.shown.tokens == whole.shown.tokens
    assert state.shown.composition == whole.shown.composition
    assert state.streaks == whole.streaks
    assert state.max_output_tokens == whole.max_output_tokens


async def test_a_request_without_an_answer_leaves_again_byte_for_byte(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path / "b")
    await bench.run(policy)
    requests = [e.seq for e in bench.events("model.requested")]
    bench.cut(requests[5])

    await bench.resume(policy)

    asked = [event.data for event in bench.events("model.requested")]
    assert asked[5] == asked[6]


async def test_an_effect_in_flight_is_told_as_unknown_and_not_run_again(
    tmp_path: Path,
) -> None:
    write = Write()
    bench = AgentBench(tmp_path, [write])
    await bench.run([use("t1", "write_it", path="a", content="x"), DONE])
    [started, _] = bench.events("tool.started")
    bench.cut(started.seq)

    await bench.resume([DONE])

    assert results_in(bench.requests[0]) == {"t1": UNKNOWN}
    assert write.written == ["a"]


async def test_a_read_in_flight_is_done_again(tmp_path: Path) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo])
    await bench.run([use("t1"), DONE])
    [started, _] = bench.events("tool.started")
    bench.cut(started.seq)

    await bench.resume([DONE])

    assert echo.calls == ["t1", "t1"]
    assert results_in(bench.requests[0]) == {"t1": "hello"}


async def test_calls_of_a_batch_that_had_ended_are_not_run_again(
    tmp_path: Path,
) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo])
    await bench.run([[use("t1"), use("t2"), use("t3")], DONE])
    *_, first_ended, _, _, _ = [
        e for e in bench.events("tool.ended") if e.data["name"] in ("echo", "finish")
    ]
    bench.cut(first_ended.seq)
    done = first_ended.data["call"]

    await bench.resume([DONE])

    assert sorted(echo.calls) == sorted(
        ["t1", "t2", "t3", *{"t1", "t2", "t3"} - {done}]
    )
    assert list(results_in(bench.requests[0])) == ["t1", "t2", "t3"]


async def test_a_tool_that_is_gone_says_so(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run([use("t1"), DONE])
    bench.cut(bench.events("model.answered")[0].seq)
    bench.tools = []

    outcome = await bench.resume([DONE])

    assert "echo" in results_in(bench.requests[0])["t1"]
    assert outcome.kind == "submitted"


def last_call(request: ModelRequest) -> Step:
    if "[last_call]" in text_of(last_user(request)):
        return [use("t8"), call("finish", report="So far.")]
    return call("echo", text=str(len(request.messages)))


@pytest.mark.parametrize("seq", range(1, 23))
async def test_cut_around_its_last_call_the_limit_still_holds(
    tmp_path: Path, seq: int
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run(last_call, limits=AgentLimits(turns=4))
    assert len(bench.events()) == 22
    bench.cut(seq)
    finished = len(bench.events("model.answered"))

    outcome = await bench.resume(last_call)

    assert (outcome.kind, outcome.value, outcome.limit) == (
        "submitted",
        "So far.",
        "turns",
    )
    assert "`turns` reached" in outcome.reason
    assert len(bench.events("model.answered")) == 4
    assert len(bench.requests) == 4 - finished
    assert len(bench.events("limit.reached")) == 1
    told = [e for e in bench.events("text.added") if e.data["reason"] == "limit"]
    assert len(told) == 1
    warned = [e for e in bench.events("text.added") if e.data["reason"] == "wrap_up"]
    assert len(warned) == 1
    check_readers(bench)


async def test_a_last_call_without_a_hand_in_is_not_made_again(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path)
    await bench.run(["This much."], limits=AgentLimits(turns=1))

    outcome = await bench.resume([])

    assert (outcome.kind, outcome.text, outcome.limit) == (
        "limit",
        "This much.",
        "turns",
    )


async def test_a_last_call_after_repeats_counts_in_a_later_process(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    again: list[Step] = [use(f"t{n}", text="the same") for n in range(5)]
    before = await bench.run([*again, DONE])
    bench.cut(len(bench.events()) - 1)

    outcome = await bench.resume([])

    assert (before.kind, before.limit) == ("submitted", "repeats")
    assert outcome == before


async def test_a_last_call_that_failed_is_made_again(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path)
    await bench.run([fail("overloaded")], limits=AgentLimits(turns=1))

    outcome = await bench.resume([DONE])

    assert (outcome.kind, outcome.limit) == ("submitted", "turns")


async def test_a_raised_limit_lets_the_work_go_on_from_its_hand_in(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run(last_call, limits=AgentLimits(turns=2))

    outcome = await bench.resume(
        [call("echo"), call("finish", report="All of it.")],
        limits=AgentLimits(turns=9),
    )

    assert (outcome.kind, outcome.value, outcome.limit) == (
        "submitted",
        "All of it.",
        "",
    )
    assert "has been raised" in text_of(last_user(bench.requests[0]))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(last_call, id="from its hand-in"),
        pytest.param(["one", "two"], id="from words"),
    ],
)
@pytest.mark.parametrize("answers", [0, 1, 2])
async def test_work_that_a_raised_limit_let_go_on_goes_on_once(
    tmp_path: Path, script: Script, answers: int
) -> None:
    bench, more = AgentBench(tmp_path, [Echo()]), AgentLimits(turns=9)
    await bench.run(script, limits=AgentLimits(turns=2))
    steps: list[Step] = [use("t5"), use("t6"), DONE]
    await bench.resume(steps, limits=more)
    sent = [each.body for each in bench.requests]
    newest = bench.events("model.requested")[answers - 3]
    bench.cut(newest.seq)

    outcome = await bench.resume(steps[answers:], limits=more)

    assert [each.body for each in bench.requests] == sent[answers:]
    assert (outcome.kind, outcome.value, outcome.limit) == (
        "submitted",
        "All is well.",
        "",
    )
    check_readers(bench)


async def test_a_raised_limit_lets_the_work_go_on_from_words(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path)
    await bench.run(["This much."], limits=AgentLimits(turns=1))

    outcome = await bench.resume([DONE], limits=AgentLimits(turns=2, minutes=5))

    # Two turns are the old one and a new last one: no more than that is sent.
    assert (outcome.kind, outcome.turns, outcome.limit) == ("submitted", 2, "turns")
    assert "[continue]" in text_of(last_user(bench.requests[0]))


async def test_an_end_that_was_not_written_down_is_reached_again(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path)
    await bench.run(["one", "two", "three"])
    bench.cut(len(bench.events()) - 1)

    outcome = await bench.resume([])

    assert (outcome.kind, outcome.text) == ("unvalidated", "three")


async def test_streaks_outlive_the_process(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path)

    def again(request: ModelRequest) -> Step:
        return call("finish", report=f"BACK {len(request.messages)}")

    await bench.run(again)
    third = bench.events("model.requested")[2]
    bench.cut(third.seq)

    outcome = await bench.resume(again)

    assert outcome.kind == "unvalidated"
    assert len(bench.requests) == 2


async def test_a_request_that_died_twice_leaves_again_byte_for_byte(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run([use("t1"), use("t2"), DONE])
    third = bench.events("model.requested")[2]
    for _ in range(2):
        bench.cut(third.seq)
        await bench.resume([DONE])
        third = bench.events("model.requested")[3]

    first, second, again = bench.events("model.requested")[2:5]
    assert first.data["sha256"] == second.data["sha256"] == again.data["sha256"]


def test_who_has_not_started_is_not_there(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path)

    assert rebuild(bench.services, "a7", AgentRecords([])) is None
    assert agent_past(bench.services, "a7", AgentRecords([])) == NOT_BEGUN


def of_lead(kind: str, **data: Any) -> Event:
    return Event(9, "2026-11-29T12:00:00.000Z", "r", "lead", kind, 0, data)


def test_hand_ins_that_were_sent_back_count_once_they_are_told(tmp_path: Path) -> None:
    told = of_lead("tool.ended", name="finish")
    back = of_lead("report.submitted", accepted=False)
    services = AgentBench(tmp_path).services
    for more, count in (([], 0), ([back], 0), ([back, told], 1), ([back, told] * 2, 2)):
        past = agent_past(services, "lead", AgentRecords(more))
        assert past.returned == (back.data,) * count
