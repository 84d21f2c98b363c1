"""An agent goes on from its log alone, wherever the process died."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from agent_bench import PRICE, AgentBench, Echo, Write, last_user, results_in

from orchestrator.agent.budget import Amount
from orchestrator.agent.rebuild import (
    NOT_BEGUN,
    AgentRecords,
    agent_past,
    rebuild,
    rebuild_headless,
)
from orchestrator.agent.usage import Worked, spent_in
from orchestrator.events import Event, ThinkingDropped
from orchestrator.messages import Block, text_block, text_of
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.store.transcript import LOST
from orchestrator.store.transcript import rebuild as transcript
from orchestrator.testing import (
    FakeClock,
    ScriptedModel,
    Step,
    call,
    fail,
    reply,
    say,
    think,
)
from orchestrator.tools.grace import UNKNOWN

DONE = call("finish", report="All is well.")


def use(call_id: str, name: str = "echo", **given: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


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

    assert state.transcript.pieces == whole.transcript.pieces
    assert state.transcript.tokens == whole.transcript.tokens
    assert state.composition == whole.composition
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


@pytest.mark.parametrize("seq", range(1, 22))
async def test_cut_around_its_last_call_the_limit_still_holds(
    tmp_path: Path, seq: int
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run(last_call, limits=AgentLimits(turns=4))
    assert len(bench.events()) == 21
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


async def test_a_hand_in_that_a_raised_limit_takes_back_stays_taken_back(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    more = AgentLimits(turns=9)
    await bench.run(last_call, limits=AgentLimits(turns=2))
    await bench.resume([call("echo"), call("finish", report="All.")], limits=more)
    answered = bench.requests[0].messages
    bench.cut(bench.events("model.answered")[-1].seq - 1)

    await bench.resume([call("finish", report="All.")], limits=more)

    assert "has been raised" in text_of(answered[-1]["content"])
    assert bench.requests[0].messages[: len(answered)] == answered
    assert transcript(bench.events(), "lead")[: len(answered)] == answered


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


async def test_a_damaged_result_costs_that_result_only(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run([[use("t1"), use("t2")], call("echo"), DONE])
    lost = bench.events("tool.ended")[0]
    damage(bench, lost)

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
    damage(bench, bench.events("model.requested")[1])

    await bench.resume([DONE])

    assert bench.requests[0].messages == before


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


async def test_what_stands_in_for_a_lost_result_is_made_once_and_on_record(
    tmp_path: Path,
) -> None:
    bench = await thinker(tmp_path)
    lost, seen = bench.events("tool.ended")[1:3]
    spoil(bench, lost, seen, end=bench.events("model.answered")[2].seq)

    await bench.resume(
        [[think("four"), use("t5")], DONE],
        lost=2,
        remake=lambda call: "remade" if call == "t2" else "",
    )
    bench.cut(bench.events("model.answered")[-1].seq - 1)
    sent = bench.requests[1]
    await bench.resume([DONE], lost=2, remake=lambda _call: "made another way")

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


async def test_a_request_that_died_twice_leaves_again_byte_for_byte(
    tmp_path: Path,
) -> None:
    bench = await thinker(tmp_path)
    third = bench.events("model.requested")[2]
    for _ in range(2):
        bench.cut(third.seq)
        await bench.resume([*THINKS[2:]])
        third = bench.events("model.requested")[3]

    first, second, again = bench.events("model.requested")[2:5]
    assert first.data["sha256"] == second.data["sha256"] == again.data["sha256"]


def damage(bench: AgentBench, event: Event) -> None:
    """Spoil one line, and cut the log before the newest answer."""
    newest = bench.events("model.answered")[-1]
    bench.cut(newest.seq - 1)
    lines = bench.path.read_bytes().splitlines(keepends=True)
    lines[event.seq - 1] = b"\0" * 40 + b"\n"
    bench.path.write_bytes(b"".join(lines))


async def test_what_was_spent_before_counts(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()], price=PRICE)
    await bench.run([use("t1"), DONE])
    spent = bench.budget.spent
    bench.cut(len(bench.events()))

    agent = bench.agent(bench.model, bench.spec(), rebuilt=bench.left())

    assert agent.caller.budget.spent.tokens == spent.tokens
    assert agent.caller.budget.spent.usd == pytest.approx(spent.usd)
    assert bench.budget.spent == Amount()  # the run books it for all of them


async def test_a_call_in_flight_counts_as_reserved(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()], price=PRICE)
    await bench.run([use("t1"), DONE])
    second = bench.events("model.requested")[1]
    bench.cut(second.seq)

    before, after = spent_in(bench.events()[:-1]), spent_in(bench.events())

    reserved = second.data["estimated_tokens"] + second.data["max_output_tokens"]
    assert after.tokens - before.tokens == reserved
    assert after.usd - before.usd == pytest.approx(second.data["reserved_usd"])


def event(kind: str, at: int, agent: str = "a1", **data: Any) -> Event:
    stamp = f"2026-11-29T12:{at // 60:02}:{at % 60:02}.000Z"
    return Event(at, stamp, "r", agent, kind, 0, data)


def asked(at: int, agent: str = "a1") -> Event:
    sizes = {"estimated_tokens": 90, "max_output_tokens": 10}
    return event("model.requested", at, agent, reserved_usd=0.5, **sizes)


def usage(**given: Any) -> dict[str, Any]:
    return asdict(Usage(**given))


@pytest.mark.parametrize(
    ("after", "spent"),
    [
        pytest.param([], Amount(0.5, 100), id="died"),
        pytest.param(
            [event("model.answered", 2, usage=usage(input_tokens=7), usd=0.1)],
            Amount(0.1, 7),
            id="answered",
        ),
        pytest.param(
            [event("model.answered", 2, usage=usage(), usd=None)],
            Amount(),
            id="answered, price unknown",
        ),
        pytest.param(
            [event("model.answered", 2, usage=usage(known=False), usd=0.1)],
            Amount(0.5, 100),
            id="usage unknown",
        ),
        pytest.param([event("model.failed", 2, begun=False)], Amount(), id="refused"),
        pytest.param([event("model.failed", 2)], Amount(), id="of an older program"),
        pytest.param(
            [event("model.failed", 2, begun=True)], Amount(0.5, 100), id="broke off"
        ),
        pytest.param(
            [
                event("model.retried", 2, begun=True),
                event("model.retried", 3, begun=False),
                event("model.answered", 4, usage=usage(input_tokens=7), usd=0.1),
            ],
            Amount(0.6, 107),
            id="a try that broke off",
        ),
        pytest.param([asked(2)], Amount(1.0, 200), id="died twice"),
        pytest.param([asked(2, "a2")], Amount(1.0, 200), id="two agents"),
    ],
)
def test_calls_that_count(after: list[Event], spent: Amount) -> None:
    found = spent_in([asked(1), *after])

    assert found.tokens == spent.tokens
    assert found.usd == pytest.approx(spent.usd)


LIVES = [
    event("run.started", 0, ""),
    event("agent.started", 10, "lead"),
    event("agent.started", 20),
    event("tool.ended", 40),
    # Killed, and gone on with a minute later.
    event("run.resumed", 100, "", after=4),
    event("agent.ended", 130),
    event("agent.ended", 140, "lead"),
    event("run.ended", 150, "", seconds=90.0, state="partial"),
    event("run.resumed", 300, "", after=8),
    event("tool.ended", 310, "lead"),
]


def worked_in(events: list[Event]) -> Worked:
    worked = Worked()
    for each in events:
        worked.apply(each)
    return worked


def test_time_between_two_processes_does_not_count() -> None:
    assert worked_in(LIVES).of("a1") == 20 + 30 + 10
    assert worked_in(LIVES).of("lead") == 30 + 40 + 10
    assert worked_in(LIVES).of() == 90 + 10
    assert worked_in(LIVES[:6]).of() == 40 + 30


def test_a_subagent_that_has_delivered_is_not_at_work_any_more() -> None:
    over = event("subagent.ended", 140, "a1", id="a1")

    assert worked_in([*LIVES[:6], over, *LIVES[6:]]).of("a1") == 20 + 30


def test_a_clock_set_back_and_a_damaged_record_take_nothing_away() -> None:
    events = [event("run.started", 50, ""), event("tool.ended", 20)]

    assert worked_in(events).of() == 0
    assert worked_in([Event(0, "", "r", "", "log.damaged", 0, {})]).of() == 0


async def test_minutes_count_over_all_processes(tmp_path: Path) -> None:
    clock = FakeClock()
    bench = AgentBench(tmp_path, [Echo(lambda _text: clock.advance(60))], clock=clock)
    await bench.run([use("t1"), use("t2"), DONE])
    bench.cut(bench.events("tool.ended")[1].seq)

    await bench.resume(
        [DONE],
        limits=AgentLimits(minutes=2),
    )

    assert "[last_call]" in text_of(last_user(bench.requests[0]))


def test_who_has_not_started_is_not_there(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path)

    assert rebuild(bench.services, "a7", AgentRecords([])) is None
    assert agent_past(bench.services, "a7", AgentRecords([])) == NOT_BEGUN


RESULT = {
    "call": "t",
    "name": "echo",
    "content": "x",
    "is_error": True,
    "seconds": 0,
    "tokens": 1,
    "full_tokens": 1,
}


async def test_hand_ins_that_were_sent_back_are_counted_when_told(
    tmp_path: Path,
) -> None:
    told = event("tool.ended", 3, "lead", **{**RESULT, "name": "finish"})
    back = event("report.submitted", 2, "lead", accepted=False)
    bench = AgentBench(tmp_path)
    await bench.run([DONE])
    started = bench.events("agent.started")
    for more, count in (([], 0), ([back], 0), ([back, told], 1), ([back, told] * 2, 2)):
        records = AgentRecords([*started, *more])
        past = agent_past(bench.services, "lead", records)
        assert past.returned == (back.data,) * count
