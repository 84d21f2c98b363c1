"""A `delegate` call entered again takes what is done and does the rest."""

from __future__ import annotations

import shutil
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
    [folder] = bench.runs.glob("2*")
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


@pytest.mark.slow
async def test_a_run_cut_off_after_any_event_comes_to_the_same_end(
    bench: RunBench,
) -> None:
    briefs = [brief("One"), brief("Two"), brief("Three", limits={"turns": 3})]

    def lead(request: ModelRequest) -> Step:
        steps: list[Step] = [
            [call("list_dir"), delegate(*briefs)],
            finish("It takes 90 days [a1#1], [a2#2]."),
            REPORT,
        ]
        return steps[done(request)]

    def worker(request: ModelRequest) -> Step:
        return [READ, submit(QUOTE, FALSE), submit(QUOTE)][done(request)]

    def late(request: ModelRequest) -> Step:
        # The third of them is its last call.
        return [READ, call("list_dir"), submit(QUOTE)][done(request)]

    workers = {"One": worker, "Two": worker, "Three": late}
    whole = await bench.play(lead, workers)
    assert whole.result.state == "done"
    lines = whole.text("events.jsonl").splitlines(keepends=True)
    answered = [b"model.answered" in line.encode() for line in lines]
    starts = next(n for n, line in enumerate(lines) if "run.started" in line) + 1

    for cut in range(starts, len(lines) - 1):
        folder = bench.runs / f"{whole.result.id}-{cut}"
        shutil.copytree(whole.folder, folder)
        text = "".join(lines[:cut]).replace(whole.result.id, folder.name)
        (folder / "events.jsonl").write_text(text)
        ended = await bench.resume(folder, lead, workers)

        assert ended.result.state == "done", lines[cut - 1]
        assert len(ended.requests) == sum(answered) - sum(answered[:cut]), cut
        assert ended.text("report.md") == whole.text("report.md")
        for agent in ("a1", "a2", "a3"):
            name = f"agents/{agent}/findings.json"
            assert ended.json(name) == whole.json(name)
        assert ended.results("delegate") == whole.results("delegate")
