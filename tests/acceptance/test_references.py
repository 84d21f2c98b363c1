"""Who may open what: references that were shown, and those that findings name."""

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

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call

LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
READ = call("read_file", path="refunds.md")
WORK: list[Step] = [READ, submit(QUOTE)]
REF = re.compile(r"art_[0-9a-f]{12}")
NOISE = "".join(f"noise of line {number}\n" for number in range(4000))


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n", "in/a.md": "Text.\n"})


def stored(bench: RunBench, text: str) -> str:
    """The reference under which a run keeps `text`, as only the disk tells it."""
    [folder] = bench.runs.glob("2*")
    [path] = [
        path
        for path in (folder / "artifacts").iterdir()
        if text in path.read_text(encoding="utf-8")
    ]
    return path.stem


async def test_the_lead_cannot_open_what_only_a_subagent_saw(bench: RunBench) -> None:
    def opens(request: ModelRequest) -> Step:
        return call("read_ref", ref=stored(bench, LINE))

    ended = await bench.play(
        in_turn(delegate(brief("Goods")), opens, opens, finish("14 days [a1#1].")),
        {"Goods": WORK},
    )

    for told in ended.results("read_ref"):
        assert "does not occur in what you were shown" in told
        assert not REF.search(told)
    lead = b"".join(request.body for request in ended.requests_of("lead"))
    assert lead.count(LINE.encode()) == lead.count(b"  > " + LINE.encode()) > 0


async def test_a_subagent_cannot_open_what_its_sibling_saw(bench: RunBench) -> None:
    def opens(request: ModelRequest) -> Step:
        return call("read_ref", ref=stored(bench, LINE))

    nothing = submit(status="nothing_found", summary="There is nothing to open here.")
    ended = await bench.play(
        [delegate(brief("Goods")), delegate(brief("Spies")), finish("14 [a1#1].")],
        {"Goods": WORK, "Spies": in_turn(opens, opens, nothing)},
    )

    told = ended.results("read_ref", "a2")
    assert len(told) == 2
    assert all("does not occur in what you were shown" in each for each in told)
    assert LINE.encode() not in b"".join(r.body for r in ended.requests_of("a2"))


async def test_a_clipped_result_is_opened_by_its_own_agent_in_a_narrow_scope(
    bench: RunBench,
) -> None:
    def opens(request: ModelRequest) -> Step:
        [ref] = set(REF.findall(last_results(request)))
        return call("read_ref", ref=ref, first_line=300, max_lines=1)

    ended = await bench.play(
        [delegate(brief("Noise", scope={"include": ["in"]})), finish("Noise.")],
        {
            "Noise": in_turn(
                call("prints"),
                opens,
                submit(status="nothing_found", summary="There is nothing but noise."),
            )
        },
        tools=[Prints(lambda agent: NOISE)],
    )

    [opened] = ended.results("read_ref", "a1")
    assert "noise of line 299" in opened
    assert ended.result.state == "done"


async def test_the_lead_opens_what_findings_name(bench: RunBench) -> None:
    def submits(request: ModelRequest) -> Step:
        [ref] = set(REF.findall(last_results(request)))
        quote = item("The noise has a line 7.", f"{ref}:8", "noise of line 7")
        return call("submit_findings", **found(quote, artifacts=[ref]))

    def opens(request: ModelRequest) -> Step:
        [ref] = set(REF.findall(last_results(request)))
        return call("read_ref", ref=ref, pattern="line 3999$")

    ended = await bench.play(
        in_turn(delegate(brief("Noise")), opens, finish("Noise [a1#1].")),
        {"Noise": in_turn(call("prints"), submits)},
        tools=[Prints(lambda agent: NOISE)],
    )

    assert ended.results("submit_findings", "a1") == ["Accepted."]
    [opened] = ended.results("read_ref")
    assert "4000\tnoise of line 3999" in opened
    assert ended.result.state == "done"


async def test_what_a_sibling_stored_is_no_evidence(bench: RunBench) -> None:
    def quotes_it(request: ModelRequest) -> Step:
        ref = stored(bench, LINE)
        stolen = item("A refund takes 14 days after arrival.", f"{ref}:1", LINE)
        return call("submit_findings", **found(stolen, artifacts=[ref]))

    ended = await bench.play(
        [delegate(brief("Goods")), delegate(brief("Thief")), finish("14 [a1#1].")],
        {"Goods": WORK, "Thief": in_turn(quotes_it, quotes_it, quotes_it)},
    )

    first, *_ = ended.results("submit_findings", "a2")
    assert "you never opened `art_" in first
    assert not REF.search(first)
    kept = ended.json("agents/a2/findings.json")
    assert kept["items"][0]["unsupported"]
    assert kept["artifacts"] == []
    second = text_of(ended.requests_of("lead")[-1].messages[-1]["content"])
    assert "unknown references were dropped: art_" in second


@pytest.mark.parametrize(
    "ref",
    ["art_000000000000", "../events.jsonl", "art_../../../etc/passwd", "/etc/passwd"],
)
async def test_nothing_but_the_runs_own_store_is_opened(
    bench: RunBench, ref: str
) -> None:
    ended = await bench.play([call("read_ref", ref=ref), finish("Nothing.")], {})

    [told] = ended.results("read_ref")
    assert "is no reference" in told or "does not occur" in told
