"""A `delegate` call entered again takes what is done and does the rest."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from run_bench import RunBench, brief, delegate, finish, item, played, submit

from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, hang

LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
FALSE = item(
    "A refund takes 90 days at times.", "refunds.md:1", "nobody wrote any of it"
)
READ = call("read_file", path="refunds.md")
REPORT = finish("It takes 14 days [a1#1], [a2#1], [a3#1].")
TITLES = ("One", "Two", "Three")


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


def done(request: ModelRequest) -> int:
    return sum(1 for each in request.messages if each["role"] == "assistant")


async def interrupted(bench: RunBench, second: list[Step]) -> Path:
    """A run that is stopped in its second subagent; the third waits in line."""
    with anyio.CancelScope() as scope:

        def stops(request: ModelRequest) -> Step:
            if done(request) < len(second):
                return second[done(request)]
            scope.cancel()
            return hang()

        vague = brief("Vague", objective="Look into it.", questions=[])
        model = played(
            [delegate(brief("One"), vague, brief("Two"), brief("Three"))],
            {"One": [READ, submit(QUOTE)], "Two": stops},
        )
        await bench.run(model, limits={"concurrency": 1})
    assert scope.cancelled_caught
    [folder] = bench.runs.iterdir()
    return folder


async def test_what_is_finished_is_taken_and_only_the_rest_is_done(
    bench: RunBench,
) -> None:
    folder = await interrupted(bench, [READ])

    ended = await bench.resume(
        folder,
        [REPORT],
        {"Two": [submit(QUOTE)], "Three": [READ, submit(QUOTE)]},
    )

    assert ended.result.state == "done"
    assert len(ended.requests) == 4
    assert [each.data["title"] for each in ended.events("subagent.accepted")] == [
        *TITLES
    ]
    assert [each.data["id"] for each in ended.events("subagent.ended")] == [
        "a1",
        "a2",
        "a3",
    ]
    [told] = ended.results("delegate")
    assert told.count('status="complete"') == 3
    assert "briefs[1] “Vague” was refused" in told
    calls = [each.data["name"] for each in ended.events("tool.started", "a2")]
    assert calls == ["read_file", "submit_findings"]


async def test_findings_sent_back_before_count_after(bench: RunBench) -> None:
    folder = await interrupted(bench, [READ, submit(FALSE), submit(FALSE)])

    ended = await bench.resume(
        folder,
        [finish("It takes 14 days [a1#1].")],
        {"Two": [submit(FALSE)], "Three": [READ, submit(QUOTE)]},
    )

    hand_ins = ended.events("findings.submitted", "a2")
    assert [each.data["attempt"] for each in hand_ins] == [1, 2, 3]
    assert [each.data["accepted"] for each in hand_ins] == [False, False, True]
    assert ended.json("agents/a2/findings.json")["items"][0]["unsupported"]


async def test_findings_sent_back_before_are_used_where_nothing_better_comes(
    bench: RunBench,
) -> None:
    folder = await interrupted(bench, [READ, submit(QUOTE, FALSE)])

    ended = await bench.resume(
        folder,
        [finish("It takes 14 days [a2#1].")],
        {
            "Two": ["Text.", "More text.", "All is said."],
            "Three": [READ, submit(QUOTE)],
        },
    )

    kept = ended.json("agents/a2/findings.json")
    assert kept["outcome"] == "unvalidated"
    assert kept["status"] == "partial"
    assert [each.get("unsupported", False) for each in kept["items"]] == [False, True]
    assert ended.result.state == "partial"
