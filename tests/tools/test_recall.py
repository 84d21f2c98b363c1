"""`recall` finds what an agent saw, and `read_ref` opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tool_bench import ToolBench

from orchestrator.messages import text_of
from orchestrator.tools.recall import Recall


def turn(number: int, name: str, given: dict[str, Any], content: str) -> list[Any]:
    call = {"type": "tool_use", "id": f"x{number}", "name": name, "input": given}
    answer = {"type": "tool_result", "tool_use_id": f"x{number}", "content": content}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    bench = ToolBench(tmp_path, tools=(Recall(),))
    first = {"role": "user", "content": [{"type": "text", "text": "Find the limit."}]}
    page = "\n".join(f"{n}\trow {n}" for n in range(1, 400))
    bench.messages = [
        first,
        *turn(1, "read_file", {"path": "a.py"}, f"{page}\n400\tLIMIT = 40 # OPS-4471"),
        *turn(2, "query", {"id": 7}, '{"order": {"id": 7, "state": "paid"}}'),
    ]
    return bench


async def test_what_was_seen_is_found_and_opened_in_two_calls(bench: ToolBench) -> None:
    told = await bench.text("recall", query="OPS-4471")
    assert 'h1.1: read_file("a.py")\n  | 400\tLIMIT = 40 # OPS-4471' in told

    opened = await bench.text("read_ref", ref="h1.1", pattern="LIMIT")
    assert "400\tLIMIT = 40 # OPS-4471" in opened


async def test_a_step_is_paged_like_a_file(bench: ToolBench) -> None:
    some = await bench.text("read_ref", ref="`h1`", first_line=5, max_lines=2)
    assert some.startswith("h1: lines 5-6 of ")
    assert "more lines; go on with first_line=7" in some


@pytest.mark.parametrize("pattern", ["LIMIT", r"^40\d\s*|LIM[A-Z]+ ="])
async def test_patterns_work_on_steps(bench: ToolBench, pattern: str) -> None:
    assert "OPS-4471" in await bench.text("read_ref", ref="h1.1", pattern=pattern)


async def test_fields_of_a_result_can_be_asked_for(bench: ToolBench) -> None:
    told = await bench.text("read_ref", ref="h2", fields=["order.state"])
    assert 'order.state: "paid"' in told


async def test_a_step_that_is_not_there_is_told_with_those_that_are(
    bench: ToolBench,
) -> None:
    told = await bench.error("read_ref", ref="h12")
    assert told == "there is no `h12`; this conversation has h0 to h2"


async def test_findings_of_a_subagent_are_opened_by_its_id(bench: ToolBench) -> None:
    bench.findings["a2"] = "<findings>\n1. The limit is 40.\n</findings>"

    assert "The limit is 40." in await bench.text("read_ref", ref="a2")
    assert "The limit is 40." in await bench.text("read_ref", ref="[a2#1]")
    assert "`a3` has delivered nothing to you" in await bench.error(
        "read_ref", ref="a3"
    )


async def test_there_is_no_memory_and_that_is_said(bench: ToolBench) -> None:
    told = await bench.error("recall", query="limit", where="memory")
    assert "this task has no memory" in told


@pytest.mark.parametrize("where", ["notes", 3, ["history"]])
async def test_another_place_than_there_is_says_which_there_are(
    bench: ToolBench, where: object
) -> None:
    told = await bench.error("recall", query="limit", where=where)

    assert "`where`: there is `history`, all of this conversation, and `memory`" in told


async def test_nothing_found_says_what_to_try(bench: ToolBench) -> None:
    assert "Try other words" in await bench.text("recall", query="zeppelin")
    assert "blank" in await bench.error("recall", query="  ")


async def test_hits_fit_into_the_limit_of_a_result(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, tools=(Recall(),), clip_tokens=300)
    for number in range(1, 30):
        text = f"heron {number} " + "and many more words " * 40
        bench.messages += turn(number, "grep", {"pattern": "p" * 90}, text)

    result = await bench.call("recall", query="heron words", max_items=20)
    assert result.tokens <= 300
    assert text_of(result.content).count("grep(") >= 1
    assert "left out" not in text_of(result.content)
