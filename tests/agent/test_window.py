"""What an agent does when its context is full: never empty hands, never for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, AgentBench, Echo, results_in, use

from orchestrator.agent.barring import NO_ROOM
from orchestrator.agent.window import Held, output_ceiling, to_leave_out
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.store.transcript import rebuild as transcript
from orchestrator.testing import Step, fail, reply, think

EXCEEDED = "model_context_window_exceeded"
LONG = "A line of some length that says hardly anything at all.\n" * 400
"""About five thousand tokens."""
BOTH = (
    "input length and `max_tokens` exceed context limit: {sent} + {output} > {window}, "
    "decrease input length or `max_tokens` and try again"
)
PROMPT = "prompt is too long: {sent} tokens > {window} maximum"


def make(folder: Path, window: int | None = None) -> AgentBench:
    folder.mkdir(exist_ok=True)
    return AgentBench(folder, [Echo(said)], window=window)


def said(text: str) -> str:
    """So long a text as is asked for, or what is said."""
    return LONG[: int(text)] if text.isdigit() else text


def outputs(bench: AgentBench) -> list[int]:
    return [each.max_output_tokens for each in bench.requests]


def served(
    window: int,
    *,
    says: str = "",
    counts_output: bool = True,
    steps: int = 14,
    calls: int = 1,
    wordy: bool = False,
) -> Any:
    """An endpoint with a window of so many tokens, four bytes each.

    Each of so many steps makes so many calls; then, or in a last call, it is DONE. If
    it is wordy, the calls are as long as their results.
    """

    def play(request: ModelRequest) -> Step:
        sent = len(request.body) // 4 + 1
        output = request.max_output_tokens
        if sent > window:
            told = says or PROMPT
            return fail("too_long", told.format(sent=sent, window=window))
        if counts_output and sent + output > window:
            told = says or BOTH
            told = told.format(sent=sent, output=output, window=window)
            return fail("too_long", told)
        told = text_of(request.messages[-1]["content"])
        if "[summarize" in told:
            return SUMMARY
        done = calls_in(request)
        step = 1 + max((int(name[1:3]) for name in done), default=-1)
        is_flat = not done and len(request.messages[0]["content"]) > 1
        if "[last_call]" in told or step == steps or is_flat:
            return DONE
        names = [f"t{step:02}{n:02}" for n in range(calls)]
        sizes = [4000 + step + n for n in range(calls)]
        asked = [
            use(name, text=LONG[:size] if wordy else str(size))
            for name, size in zip(names, sizes, strict=True)
        ]
        return [think("hm"), *asked]

    return play


def calls_in(request: ModelRequest) -> list[str]:
    blocks = [block for each in request.messages for block in each["content"]]
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


SUMMARY = (
    "# Work done\nLines were read.\n# Decisions and why\nNone.\n"
    "# Failed attempts and why\nNone.\n# Facts and figures\nLines say hardly "
    "anything.\n# Open items and next step\nRead on.\n# Pointers\nNone."
)


class TestBeforeItLeaves:
    async def test_the_output_is_what_the_prompt_leaves_of_the_window(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path, window=12_000)
        first = reply(use("t1"), usage=Usage(input_tokens=10_400, output_tokens=100))

        await bench.run([first, DONE])

        [started] = bench.events("agent.started")
        assert outputs(bench)[0] == started.data["settings"]["max_output_tokens"]
        asked = bench.events("model.requested")[1].data
        room = 12_000 - asked["estimated_tokens"]
        assert 0.9 * room < asked["max_output_tokens"] < room

    async def test_without_room_and_with_nothing_to_free_only_the_last_call_is_left(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path, window=9000)
        bench.tools = [Echo(lambda _text: LONG[:400])]
        usage = Usage(input_tokens=8450, output_tokens=100)

        outcome = await bench.run([reply(use("t1"), usage=usage), DONE])

        assert (outcome.kind, outcome.limit) == ("submitted", "window")
        [limit] = bench.events("limit.reached")
        assert limit.data["limit"] == "window"
        assert limit.data["allowed"] == 9000
        last = bench.requests[-1]
        assert results_in(last)["t1"].startswith("This result is left out")

    async def test_what_can_be_freed_is_and_the_run_goes_on(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path, window=9000)

        outcome = await bench.run(served(9000, counts_output=False))

        assert (outcome.kind, outcome.limit) == ("submitted", "")
        assert bench.events("context.cleared")
        assert not bench.events("limit.reached", "model.failed", "result.replaced")
        assert len(bench.events("tool.ended")) == 15
        for asked in bench.events("model.requested"):
            sent = asked.data["estimated_tokens"]
            assert sent + asked.data["max_output_tokens"] <= 9000

    async def test_a_window_that_nobody_knows_is_no_bound(self, tmp_path: Path) -> None:
        bench = make(tmp_path)

        outcome = await bench.run([use("t1", text=LONG * 20), DONE])

        assert (outcome.kind, outcome.limit) == ("submitted", "")


class TestRefused:
    async def test_the_output_is_lowered_to_what_fits_and_stays_so(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        told = BOTH.format(sent=6545, output=2000, window=8192)
        usage = Usage(input_tokens=6545, output_tokens=30)
        script: list[Step] = [
            fail("too_long", told), reply(use("t1"), usage=usage), DONE,
        ]  # fmt: skip

        outcome = await bench.run(script)

        assert outcome.kind == "submitted"
        assert outputs(bench)[:2] == [2000, 8192 - 6545]
        assert outputs(bench)[2] < 8192 - 6545 - 30
        assert bench.requests[0].messages == bench.requests[1].messages
        turns = [each.data["turn"] for each in bench.events("model.requested")]
        assert turns == [1, 1, 2]
        asked = bench.events("model.requested")
        assert asked[0].data["sha256"] != asked[1].data["sha256"]

    async def test_it_is_lowered_once_for_a_request(self, tmp_path: Path) -> None:
        bench = make(tmp_path)
        script: list[Step] = [
            fail("too_long", BOTH.format(sent=6500 + n, output=1, window=8192))
            for n in range(9)
        ]

        outcome = await bench.run(script)

        # Two for the request, and the same for a last call.
        assert (outcome.kind, outcome.limit) == ("limit", "window")
        assert len(bench.requests) <= 4

    async def test_more_output_than_the_model_can_say_is_lowered(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        told = "max_tokens: 9000 > 8192, which is the maximum allowed number of output"

        await bench.run([fail("invalid", told), DONE], max_output_tokens=9000)

        assert outputs(bench) == [9000, 8192]

    @pytest.mark.parametrize("counts_output", [True, False])
    @pytest.mark.parametrize(
        "says",
        ["", "the request exceeds the available context size, try increasing it"],
    )
    async def test_the_run_goes_on_below_the_window_that_it_finds(
        self, tmp_path: Path, says: str, counts_output: bool
    ) -> None:
        bench = make(tmp_path)
        play = served(9000, says=says, counts_output=counts_output)

        outcome = await bench.run(play, max_output_tokens=800)

        assert (outcome.kind, outcome.limit) == ("submitted", "")
        assert bench.events("context.cleared", "context.compacted")
        assert len(bench.events("tool.ended")) == 15
        assert len(bench.events("model.failed")) <= 3
        assert not bench.events("limit.reached", "result.replaced")

    @pytest.mark.parametrize("counts_output", [True, False])
    @pytest.mark.parametrize(
        "says",
        ["", "the request exceeds the available context size, try increasing it"],
    )
    async def test_a_last_call_that_fits_is_made(
        self, tmp_path: Path, says: str, counts_output: bool
    ) -> None:
        bench = make(tmp_path)
        play = served(9000, says=says, counts_output=counts_output, calls=12)

        outcome = await bench.run(
            play, max_output_tokens=800, limits=AgentLimits(turns=2)
        )

        assert (outcome.kind, outcome.limit) == ("submitted", "turns")
        assert len(bench.events("model.failed")) <= 3
        replaced = bench.events("result.replaced")
        assert replaced
        for event in replaced:
            ref = event.data["content"].split("`")[1]
            assert bench.artifacts.read_text(ref).startswith("A line")

    async def test_a_step_that_is_too_long_alone_is_said_shorter(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)

        outcome = await bench.run(served(9000, calls=12), max_output_tokens=800)

        assert (outcome.kind, outcome.limit) == ("submitted", "")
        [compacted] = bench.events("context.compacted")
        assert (compacted.data["why"], compacted.data["kept_messages"]) == (
            "too_long",
            0,
        )

    async def test_a_first_request_that_is_too_long_ends_at_once(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        told = PROMPT.format(sent=9000, window=8192)

        outcome = await bench.run([fail("too_long", told)])

        assert (outcome.kind, outcome.limit) == ("limit", "window")
        assert "used 9,000 of 8,192" in outcome.reason
        assert "the last call failed: the context is full" in outcome.reason
        assert len(bench.requests) == 1

    async def test_a_last_call_that_is_refused_too_is_the_end(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        full = fail("too_long", "the request exceeds the available context size")

        outcome = await bench.run([use("t1", text=LONG), full, full])

        assert (outcome.kind, outcome.limit) == ("limit", "window")
        assert len(bench.requests) == 3

    @pytest.mark.parametrize(
        ("play", "turns", "edits"),
        [
            pytest.param(served(9000, calls=12), 2, {"result.replaced"}, id="full"),
            pytest.param(
                served(9000, steps=11), 40, {"context.cleared"},
                id="cleared", marks=pytest.mark.slow,
            ),
            pytest.param(
                served(9000, wordy=True, steps=8), 40,
                {"context.cleared", "context.compacted"},
                id="compacted", marks=pytest.mark.slow,
            ),
        ],
    )  # fmt: skip
    async def test_cut_after_any_event_the_same_bytes_leave(
        self, tmp_path: Path, play: Any, turns: int, edits: set[str]
    ) -> None:
        bench = make(tmp_path)
        limits = AgentLimits(turns=turns)
        whole = await bench.run(play, max_output_tokens=800, limits=limits)
        sent = [each.body for each in bench.requests]
        made = {each.kind for each in bench.events()}
        kinds = {"context.cleared", "context.compacted", "result.replaced"}
        assert made & kinds == edits
        compacted = bench.events("context.compacted")
        assert {each.data["how"] for each in compacted} <= {"model"}

        for seq in range(len(bench.events()), 0, -1):
            bench.cut(seq)
            ended = len(bench.events("model.answered", "model.failed"))

            outcome = await bench.resume(play)

            assert outcome == whole, seq
            assert [each.body for each in bench.requests] == sent[ended:], seq
            events = bench.events()
            asked = [n for n, each in enumerate(events) if "requested" in each.kind]
            for at, request in zip(
                reversed(asked), reversed(bench.requests), strict=False
            ):
                if not events[at].data.get("purpose"):
                    assert transcript(events[: at + 1], "lead") == request.messages

    async def test_killed_behind_a_step_that_was_said_shorter_the_same_bytes_leave(
        self, tmp_path: Path
    ) -> None:
        bench, play = make(tmp_path), served(9000, calls=12)
        limits = AgentLimits(turns=4)
        whole = await bench.run(play, max_output_tokens=800, limits=limits)
        sent = [each.body for each in bench.requests]
        asked = [n for n, e in enumerate(bench.events()) if "requested" in e.kind]
        assert bench.events("context.compacted")
        assert "reminder" in [e.data["reason"] for e in bench.events("text.added")]

        for seq in reversed(asked):
            bench.cut(seq + 1)
            answered = len(bench.events("model.answered", "model.failed"))

            assert await bench.resume(play) == whole
            assert [each.body for each in bench.requests] == sent[answered:], seq


class TestExceededByTheAnswer:
    async def test_text_that_fills_the_window_ends_by_the_limit(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        full = reply(
            "and so on", stop_reason=EXCEEDED,
            usage=Usage(input_tokens=7000, output_tokens=1000),
        )  # fmt: skip

        outcome = await bench.run([full, DONE])

        assert (outcome.kind, outcome.limit) == ("submitted", "window")
        assert bench.events("limit.reached")[0].data["allowed"] == 8000

    async def test_what_can_be_said_shorter_is_and_the_run_goes_on(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        full = reply(
            "and so on", stop_reason=EXCEEDED,
            usage=Usage(input_tokens=7000, output_tokens=1000),
        )  # fmt: skip

        outcome = await bench.run([use("t1", text=LONG), full, DONE])

        assert (outcome.kind, outcome.limit) == ("submitted", "")
        [compacted] = bench.events("context.compacted")
        assert compacted.data["why"] == "exceeded"

    async def test_whole_calls_run_and_the_cut_one_never(self, tmp_path: Path) -> None:
        bench = make(tmp_path)
        full = reply(
            use("t1"), use("t2"), stop_reason=EXCEEDED, is_cut=True,
            usage=Usage(input_tokens=7000, output_tokens=1000),
        )  # fmt: skip

        outcome = await bench.run([use("t0", text=LONG), full, DONE])

        assert results_in(bench.requests[-1]) == {"t1": "hello", "t2": NO_ROOM}
        assert (outcome.kind, outcome.limit) == ("submitted", "")
        [cleared] = bench.events("context.cleared")
        assert list(cleared.data["stubs"]) == ["t0"]
        # More output would be no help.
        assert max(outputs(bench)) == 2000


def held(*sizes: int, name: str = "grep") -> list[Held]:
    return [Held(f"t{n}", name, "x", size, n == 0) for n, size in enumerate(sizes)]


class TestWhatIsLeftOut:
    @pytest.mark.parametrize(
        ("sizes", "excess", "left_out"),
        [
            pytest.param([500, 500], 0, [], id="it fits"),
            pytest.param([500, 500], 100, ["t0"], id="the newest first"),
            pytest.param([500, 500], 600, ["t0", "t1"], id="as many as it takes"),
            pytest.param([30, 500], 100, ["t1"], id="small ones are no help"),
            pytest.param([500], 9000, ["t0"], id="all that there is"),
        ],
    )
    def test_the_newest_that_are_of_use(
        self, sizes: list[int], excess: int, left_out: list[str]
    ) -> None:
        assert [each.call for each in to_leave_out(held(*sizes), excess)] == left_out

    def test_findings_stay_as_long_as_anything_else_may_go(self) -> None:
        results = [*held(900, name="delegate"), Held("t9", "grep", "x", 900, False)]

        def chosen(excess: int) -> list[str]:
            found = to_leave_out(results, excess, spared=("delegate",))
            return [each.call for each in found]

        assert chosen(800) == ["t9"]
        assert chosen(1000) == ["t9", "t0"]


@pytest.mark.parametrize(
    ("model", "wanted", "ceiling"),
    [
        ("claude-haiku-4-5", 8192, 64_000),
        ("claude-opus-5-5", 8192, 64_000),
        ("claude-opus-5-5", 100_000, 100_000),
        ("somebodys-own", 8192, 64_000),
    ],
)
def test_a_reply_may_grow_as_far_as_the_model_is_known_to_go(
    model: str, wanted: int, ceiling: int
) -> None:
    assert output_ceiling(model, wanted) == ceiling
