"""Each way a reply can stop, in a whole run: of the lead, a subagent, a last call.

Every agent makes two requests; the second one meets what is odd. With two turns in
all, that one is its last call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    item,
    submit,
)

from orchestrator.models.base import ModelRequest, Usage
from orchestrator.testing import ScriptedModel, Step, call, fail, first_text, reply

FIRST, OTHER = "claude-haiku-5-5", "claude-sonnet-5-5"
EXCEEDED = "model_context_window_exceeded"
REPORT = "A refund takes 14 days [a1#1]."
GOOD: dict[str, Step] = {
    "lead": finish(REPORT),
    "a1": submit(item("It takes 14 days.", "refunds.md:1", "A refund takes 14 days.")),
}
BEGIN: dict[str, Step] = {
    "lead": [delegate(brief("One")), call("read_file", path="long.md")],
    "a1": [call("read_file", path="refunds.md"), call("read_file", path="long.md")],
}
LONG = "A line of no use at all, as there are so many.\n" * 200
REFUSAL = reply("Well,", stop_reason="refusal", stop_details={"category": "cyber"})
PLACES = ("lead", "a1")

Odd = Callable[[str, ModelRequest], Step]


def refuses(_who: str, _request: ModelRequest) -> Step:
    return REFUSAL


def refuses_first(who: str, request: ModelRequest) -> Step:
    return refuses(who, request) if request.model == FIRST else GOOD[who]


def cut_text(_who: str, _request: ModelRequest) -> Step:
    return reply("It takes about", stop_reason="max_tokens")


def cut_call(who: str, _request: ModelRequest) -> Step:
    good = GOOD[who]
    assert isinstance(good, dict)
    return reply("So:", good, is_cut=True)


def pauses(_who: str, _request: ModelRequest) -> Step:
    return reply("I go on thinking.", stop_reason="pause_turn")


def fills_the_window(_who: str, _request: ModelRequest) -> Step:
    used = Usage(input_tokens=3000, output_tokens=5000)
    return reply("It takes", stop_reason=EXCEEDED, usage=used)


def is_too_long(_who: str, request: ModelRequest) -> Step:
    sent = len(request.body) // 4
    return fail("too_long", f"prompt is too long: {sent} tokens > {sent - 9} maximum")


class Play:
    """Plays the run; the second request of `place` meets what is odd, so often."""

    def __init__(self, place: str, odd: Odd, times: int = 1) -> None:
        self.place, self.odd, self.left = place, odd, times

    def __call__(self, request: ModelRequest) -> Step:
        who = "a1" if "# One\n" in first_text(request) else "lead"
        if len(request.messages) == 1:
            return BEGIN[who]
        if who == self.place and self.left:
            self.left -= 1
            return self.odd(who, request)
        return GOOD[who]


async def run(
    bench: RunBench, place: str, odd: Odd, *, last: bool, times: int = 1, **fields: Any
) -> Ended:
    limits = {"turns": 2} if last else {}
    bench.write("long.md", LONG)
    model = ScriptedModel(Play(place, odd, times))
    return await bench.run(model, model=FIRST, limits=limits, **fields)


def findings(ended: Ended) -> Any:
    return ended.json("agents/a1/findings.json")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "odd", [refuses_first, cut_text, cut_call, pauses], ids=lambda odd: odd.__name__
)
async def test_in_the_middle_of_the_work_it_is_got_over(
    bench: RunBench, place: str, odd: Odd
) -> None:
    ended = await run(bench, place, odd, last=False, fallback_model=OTHER)

    assert ended.result.state == "done", ended.result
    assert len(ended.requests) == 5
    assert len(ended.events("tool.started", place)) == 3
    assert ended.result.report.startswith(REPORT)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "odd", [fills_the_window, is_too_long], ids=lambda odd: odd.__name__
)
async def test_in_a_full_window_what_was_said_is_said_shorter_and_it_goes_on(
    bench: RunBench, place: str, odd: Odd
) -> None:
    ended = await run(bench, place, odd, last=False)

    assert ended.result.state == "done", ended.result
    [shorter] = ended.events("context.compacted")
    assert shorter.agent == place
    assert not ended.events("limit.reached")
    assert findings(ended)["items"]
    assert ended.result.report.startswith(REPORT)


@pytest.mark.parametrize("place", PLACES)
async def test_a_refusal_names_its_category_wherever_it_is_told(
    bench: RunBench, place: str
) -> None:
    ended = await run(bench, place, refuses, last=False)

    assert ended.result.state == "partial"
    assert "refused: cyber" in "\n".join(ended.result.missing)
    assert "Well," not in ended.result.report
    if place == "lead":
        assert findings(ended)["items"]  # what was found is kept
    else:
        [told] = ended.results("delegate")
        assert "refused: cyber" in told
        assert "refused: cyber" in findings(ended)["summary"]


async def test_a_lead_that_refuses_at_once_fails_with_the_category(
    bench: RunBench,
) -> None:
    ended = await bench.run(ScriptedModel([REFUSAL]), model=FIRST)

    assert (ended.result.state, ended.result.exit_code) == ("failed", 1)
    assert ended.result.reason == "refused: cyber"


@pytest.mark.parametrize("place", PLACES)
async def test_if_both_refuse_both_are_named(bench: RunBench, place: str) -> None:
    ended = await run(bench, place, refuses, last=False, times=2, fallback_model=OTHER)

    told = f"refused: cyber (`{FIRST}`), then cyber (`{OTHER}`)"
    assert told in "\n".join(ended.result.missing)
    assert [each.model for each in ended.requests_of(place)] == [FIRST, FIRST, OTHER]


@pytest.mark.parametrize("place", PLACES)
async def test_in_a_last_call_another_model_answers(
    bench: RunBench, place: str
) -> None:
    ended = await run(bench, place, refuses_first, last=True, fallback_model=OTHER)

    assert ended.result.state == "partial"  # a limit was reached
    assert "refused" not in ended.result.reason
    assert [each.model for each in ended.requests_of(place)] == [FIRST, FIRST, OTHER]
    assert findings(ended)["items"]
    assert ended.result.report.startswith(REPORT)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("odd", "words"),
    [
        pytest.param(refuses, "refused: cyber", id="refuses"),
        pytest.param(cut_text, "It takes about", id="cut text"),
        pytest.param(cut_call, "So:", id="cut call"),
        pytest.param(pauses, "I go on thinking", id="pauses"),
        pytest.param(fills_the_window, "It takes", id="fills the window"),
    ],
)
async def test_a_last_call_is_made_once_and_nobody_ends_with_empty_hands(
    bench: RunBench, place: str, odd: Odd, words: str
) -> None:
    ended = await run(bench, place, odd, last=True)

    assert ended.result.state == "partial"
    assert len(ended.requests_of(place)) == 2
    if place == "lead":
        assert findings(ended)["items"]
        assert words in ended.result.report
    else:
        brought = findings(ended)
        assert brought["status"] in ("partial", "failed")
        assert words in brought["summary"]
    started = [each.data["name"] for each in ended.events("tool.started", place)]
    assert len(started) == 2  # never the cut one


@pytest.mark.parametrize("place", PLACES)
async def test_a_last_call_that_is_too_long_leaves_once_more_and_shorter(
    bench: RunBench, place: str
) -> None:
    ended = await run(bench, place, is_too_long, last=True)

    *_, refused, made = ended.requests_of(place)
    assert len(made.body) < len(refused.body) - len(LONG) // 2
    assert findings(ended)["items"]
    assert ended.result.report.startswith(REPORT)


@pytest.mark.parametrize("place", PLACES)
async def test_an_endpoint_for_which_everything_is_too_long_is_asked_no_more(
    bench: RunBench, place: str
) -> None:
    ended = await run(bench, place, is_too_long, last=False, times=99)

    assert ended.result.state == "partial"
    assert len(ended.requests_of(place)) <= 4
    if place == "lead":
        assert "the context is full" in ended.result.report
    else:
        assert "the context is full" in findings(ended)["summary"]
