"""Whatever a subagent writes or a tool prints, what enters a context is bounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_bench import (
    Prints,
    RunBench,
    brief,
    delegate,
    finish,
    found,
    in_turn,
    item,
    last_results,
    submit,
)

from orchestrator.context.tokens import estimate
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, reply

FACTS = [
    f"Fact {number} of this paper says that limit {number} is {number * 7} days."
    for number in range(60)
]
READ = call("read_file", path="facts.md")
ITEMS = [
    item(f"The limit number {n} is {n * 7} days.", f"facts.md:{n + 1}", fact)
    for n, fact in enumerate(FACTS)
]
REF = re.compile(r"art_[0-9a-f]{12}")
LONG = " ".join(f"word{number}" for number in range(25_000))


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"facts.md": "\n".join(FACTS) + "\n"})


def frames(told: str) -> list[str]:
    """The findings in the result of a `delegate` call."""
    return re.findall(r"<findings .*?</findings>", told, re.DOTALL)


async def test_findings_over_their_limit_go_back_once_and_are_then_shortened(
    bench: RunBench,
) -> None:
    long = submit(*ITEMS)
    small = brief("Limits", deliverable={"max_tokens": 300})

    def opens_the_rest(request: ModelRequest) -> Step:
        [ref] = set(REF.findall(last_results(request)))
        return [call("read_ref", ref=ref, fields=["items.59.claim"])]

    lead = in_turn(delegate(small), opens_the_rest, finish("59 is 413 days [a1#1]."))

    ended = await bench.play(lead, {"Limits": [READ, long, long]})

    first, second = ended.results("submit_findings", "a1")
    assert "longer than the 300 tokens of the brief" in first
    assert second == "Accepted."
    [told] = ended.results("delegate")
    body = told[told.index("Summary: ") : told.index("</findings>")]
    assert estimate(body) <= 300
    assert "Note: shortened to 300 tokens; 5" in told
    [opened] = ended.results("read_ref")
    assert "The limit number 59 is 413 days." in opened
    [delivered] = ended.events("subagent.ended")
    assert delivered.data["returned_tokens"] <= 300
    assert ended.result.state == "done"


async def test_findings_of_a_wide_fan_out_take_a_quarter_of_the_leads_window(
    bench: RunBench,
) -> None:
    titles = [f"Case {number}" for number in range(12)]
    briefs = [brief(title, deliverable={"max_tokens": 4000}) for title in titles]

    def opens_one(request: ModelRequest) -> Step:
        [_, line] = re.findall(
            r"^Items .* with `read_ref`: .*$", last_results(request), re.MULTILINE
        )[:2]
        return [call("read_ref", ref=REF.findall(line)[0])]

    lead = in_turn(
        delegate(*briefs), opens_one, finish("Limit 59 is 413 days [a12#60].")
    )

    ended = await bench.play(
        lead,
        {title: [READ, submit(*ITEMS)] for title in titles},
        # A model that nobody knows: its window is taken for a small one.
        model="somebodys-own",
        limits={"tokens": 3_000_000},
    )

    [told] = ended.results("delegate")
    assert len(frames(told)) == 12
    assert sum(map(estimate, frames(told))) <= 32_000 // 4
    assert all(
        "[a" in frame and "#1] The limit number 0" in frame for frame in frames(told)
    )
    [opened] = ended.results("read_ref")
    assert "[a2#60] The limit number 59 is 413 days." in opened
    assert ended.result.state == "done"


async def test_a_final_text_of_200_kb_arrives_bounded_and_can_be_opened(
    bench: RunBench,
) -> None:
    def opens_the_rest(request: ModelRequest) -> Step:
        told = last_results(request)
        [ref] = REF.findall(told[told.index("all of them are in ") :].split("\n")[0])
        return [call("read_ref", ref=ref, pattern="word24999")]

    lead = in_turn(delegate(brief("Talks")), opens_the_rest, finish("It talks."))

    ended = await bench.play(lead, {"Talks": [LONG, LONG, LONG]})

    assert len(LONG) > 200_000
    [told] = ended.results("delegate")
    [frame] = frames(told)
    body = frame[frame.index("Summary: ") : -len("\n</findings>")]
    assert estimate(body) <= 1200
    assert "unvalidated" in frame
    assert "word24999" in ended.results("read_ref")[0]
    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)


def flood(lines: int) -> Prints:
    """A tool that prints as many lines, the lead less."""

    def make(agent: str) -> str:
        number = 20_000 if agent == "lead" else lines
        return f"first of {agent}\n" + "some line of output\n" * number + "last"

    return Prints(make)


async def test_eight_megabytes_from_a_tool_are_clipped_in_every_agent(
    bench: RunBench,
) -> None:
    def opens_the_rest(request: ModelRequest) -> Step:
        done = sum(1 for each in request.messages if each["role"] == "assistant")
        if done == 0:
            return call("prints")
        if done == 1:
            [ref] = set(REF.findall(last_results(request)))
            return [call("read_ref", ref=ref, first_line=400_001, max_lines=2)]
        return submit(status="nothing_found", summary="There is nothing but noise.")

    ended = await bench.play(
        [call("prints"), delegate(brief("Noise")), finish("It is noise.")],
        {"Noise": opens_the_rest},
        tools=[flood(400_000)],
    )

    for agent in ("lead", "a1"):
        [shown] = ended.results("prints", agent)
        assert estimate(shown) <= 4000
        assert f"first of {agent}" in shown
        assert "last" in shown
    assert "some line of output" in ended.results("read_ref", "a1")[0]
    assert max(len(request.body) for request in ended.requests) < 100_000


async def test_first_clipped_results_of_two_subagents_do_not_collide(
    bench: RunBench,
) -> None:
    done = submit(status="nothing_found", summary="There is nothing but noise.")
    ended = await bench.play(
        [delegate(brief("One"), brief("Two")), finish("It is noise.")],
        {title: [call("prints"), done] for title in ("One", "Two")},
        tools=[flood(20_000)],
    )

    refs = {}
    for agent in ("a1", "a2"):
        [event] = [
            event
            for event in ended.events("tool.ended", agent)
            if event.data["name"] == "prints"
        ]
        refs[agent] = event.data["artifact"]
        [path] = (ended.folder / "artifacts").glob(f"{refs[agent]}.*")
        assert path.read_text().startswith(f"first of {agent}\n")
    assert refs["a1"] != refs["a2"]


async def test_a_subagent_at_its_turn_limit_hands_in_with_its_last_call(
    bench: RunBench,
) -> None:
    short = brief("Short", limits={"turns": 3})
    ended = await bench.play(
        [delegate(short), finish("Limit 3 is 21 days [a1#1].")],
        {"Short": [READ, call("list_dir"), submit(ITEMS[3], status="partial")]},
    )

    *_, last = ended.requests_of("a1")
    assert "`turns` reached: used 3 of 3" in text_of(last.messages[-1]["content"])
    [told] = ended.results("delegate")
    assert "[a1#1] The limit number 3 is 21 days." in told
    assert "stopped by a limit: `turns` reached" in told
    assert ended.result.state == "partial"
    assert "`turns` reached" in ended.result.missing[0]


async def test_all_that_was_asked_for_by_the_last_call_is_not_missing(
    bench: RunBench,
) -> None:
    short = brief("Short", limits={"turns": 2})
    ended = await bench.play(
        [delegate(short), finish("Limit 3 is 21 days [a1#1].")],
        {"Short": [READ, submit(ITEMS[3])]},
    )

    assert ended.result.state == "done"


async def test_a_last_hand_in_with_a_false_quote_keeps_what_is_right(
    bench: RunBench,
) -> None:
    false = item(
        "The limit number 99 is 1 day.", "facts.md:3", "nobody wrote any of it"
    )
    ended = await bench.play(
        [
            delegate(brief("Short", limits={"turns": 2})),
            finish("Limit 3 is 21 days [a1#1]."),
        ],
        {"Short": [READ, submit(ITEMS[3], false)]},
    )

    [told] = ended.results("delegate")
    assert "[a1#1] The limit number 3 is 21 days." in told
    assert "[a1#2] UNSUPPORTED" in told
    kept = ended.json("agents/a1/findings.json")
    assert (kept["status"], kept["outcome"]) == ("partial", "submitted")
    assert ended.result.state == "partial"


async def test_a_subagent_that_cannot_hand_in_leaves_its_notes(bench: RunBench) -> None:
    noted = call(
        "update_notes", section="Facts", mode="append", text="Limit 3 is 21 days."
    )
    ended = await bench.play(
        [delegate(brief("Short", limits={"turns": 2})), finish("Nothing is sure.")],
        {"Short": [[READ, noted], reply("I am not done, sorry.")]},
    )

    kept = ended.json("agents/a1/findings.json")
    assert kept["status"] == "partial"
    assert kept["outcome"] == "limit"
    assert "Limit 3 is 21 days." in kept["summary"]
    assert "I am not done, sorry." in kept["summary"]
    assert "Files it opened: facts.md" in kept["summary"]
    [told] = ended.results("delegate")
    assert "Note: it did not end by handing in findings (limit: `turns`" in told
    assert ended.result.state == "partial"


async def test_findings_are_given_to_the_lead_as_numbers_it_may_cite(
    bench: RunBench,
) -> None:
    kept = found(*ITEMS[:3])
    ended = await bench.play(
        [delegate(brief("Limits")), finish("Limits [a1#1-3], [a1#2].")],
        {"Limits": [READ, call("submit_findings", **kept)]},
    )

    [told] = ended.results("delegate")
    assert re.findall(r"^\[(a1#\d)\]", told, re.MULTILINE) == ["a1#1", "a1#2", "a1#3"]
    assert ended.result.state == "done"
