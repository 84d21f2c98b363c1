"""From a quote in a file to a citation in the report; and what is false."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_bench import RunBench, brief, delegate, finish, item, submit

from orchestrator.cli.main import main
from orchestrator.testing import call

LINE = "A refund takes 14 days from the day the goods arrive."
PAPER = f"# Refunds\n\n{LINE}\nIt is paid to the card that was used.\n"
CLAIM = "A refund takes 14 days after the goods have arrived."
READ = call("read_file", path="refunds.md")
RIGHT = item(CLAIM, "refunds.md:3", LINE)
MADE_UP = item(
    "A refund takes 90 days if the customer is late.",
    "refunds.md:4",
    "Late customers wait for 90 days until they are paid.",
)
GOOD_REPORT = "It takes 14 days [refunds.md:3], see [a1#1].\n"


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": PAPER, "other.md": "Nothing here.\n" * 9})


async def test_a_quote_that_is_there_becomes_a_cited_report(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish(GOOD_REPORT)],
        {"Goods": [READ, submit(RIGHT)]},
    )

    assert (ended.result.state, ended.result.exit_code) == ("done", 0)
    assert ended.text("report.md") == GOOD_REPORT
    [findings] = ended.results("delegate")
    assert f"[a1#1] {CLAIM} (0.8)\n  refunds.md:3\n  > {LINE}" in findings


async def test_a_quote_that_is_not_there_is_sent_back_and_can_be_mended(
    bench: RunBench,
) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish(GOOD_REPORT)],
        {"Goods": [READ, submit(RIGHT, MADE_UP), submit(RIGHT)]},
    )

    first, second = ended.results("submit_findings", "a1")
    assert "item 2, evidence 1 (`refunds.md:4`): the quote “Late customers" in first
    assert "not in that file as you read it" in first
    assert second == "Accepted."
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    assert "90 days" not in ended.results("delegate")[0]


async def test_a_quote_insisted_on_is_marked_unsupported_everywhere(
    bench: RunBench, capsys: pytest.CaptureFixture[str]
) -> None:
    insisted = submit(RIGHT, MADE_UP)
    ended = await bench.play(
        [delegate(brief("Goods")), finish(GOOD_REPORT)],
        {"Goods": [READ, insisted, insisted, insisted]},
    )

    [told] = ended.results("delegate")
    assert 'status="partial" items="2" unsupported="1"' in told
    assert "[a1#2] UNSUPPORTED, quote not found: A refund takes 90 days" in told
    kept = ended.json("agents/a1/findings.json")
    assert [each.get("unsupported", False) for each in kept["items"]] == [False, True]
    assert "## a1#2 — **unsupported**" in ended.text("agents/a1/findings.md")
    assert "Unsupported" in ended.text("report.md")
    assert "[a1#2]" in ended.text("report.md")
    assert main(["show", str(ended.folder)]) == 0
    shown = capsys.readouterr().out
    assert "1 finding unsupported (the quote was not found)" in shown
    assert "A refund takes 90 days" in shown


async def test_an_unsupported_item_is_no_ground_for_a_citation(bench: RunBench) -> None:
    insisted = submit(MADE_UP)
    report = "Late customers wait 90 days [a1#1].\n"
    ended = await bench.play(
        [delegate(brief("Goods")), finish(report), finish(report)],
        {"Goods": [READ, insisted, insisted, insisted]},
    )

    assert ended.result.state == "partial"
    assert "[a1#1] *(citation not confirmed)*" in ended.text("report.md")


async def test_one_letter_is_no_quote(bench: RunBench) -> None:
    letter = item(CLAIM, "refunds.md:3", "A")
    ended = await bench.play(
        [delegate(brief("Goods")), finish(GOOD_REPORT)],
        {"Goods": [READ, submit(letter), submit(RIGHT)]},
    )

    first, _ = ended.results("submit_findings", "a1")
    assert "the quote has 1 characters; it needs at least 20" in first


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        pytest.param("[refunds.md:44]", "`refunds.md` has 4 lines", id="no such line"),
        pytest.param("[a1#9]", "`a1` has 1 items", id="no such item"),
        pytest.param(
            "[a7#1]", "no findings of `a7`; there are: a1", id="no such agent"
        ),
        pytest.param(
            "[other.md:2]",
            "no accepted finding and no file you read",
            id="not evidence",
        ),
        pytest.param(
            "[long.md:60]", "the evidence for `long.md` is at lines 3", id="far away"
        ),
    ],
)
async def test_a_wrong_citation_comes_back_once_and_is_then_marked(
    bench: RunBench, wrong: str, why: str
) -> None:
    bench.write("long.md", f"# Long\n\n{LINE}\n" + "More text.\n" * 80)
    right = item(CLAIM, "long.md:3", LINE)
    report = f"It takes 14 days [a1#1], and 90 {wrong}.\n"
    ended = await bench.play(
        [delegate(brief("Goods")), finish(report), finish(report)],
        {
            "Goods": [
                [READ, call("read_file", path="long.md")],
                submit(right),
            ]
        },
    )

    sent_back, accepted = ended.results("finish")
    assert f"- {wrong}: {why}" in sent_back
    assert accepted == "Accepted."
    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    written = ended.text("report.md")
    assert f"[a1#1], and 90 {wrong} *(citation not confirmed)*." in written
    assert "This report is **partial**" in written
    assert written.count("not confirmed") == 1


async def test_a_mended_citation_leaves_the_run_done(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("Goods")), finish("90 days [a1#9]."), finish(GOOD_REPORT)],
        {"Goods": [READ, submit(RIGHT)]},
    )

    assert ended.result.state == "done"
    assert ended.text("report.md") == GOOD_REPORT


async def test_what_the_lead_read_itself_may_be_cited(bench: RunBench) -> None:
    ended = await bench.play(
        [call("read_file", path="refunds.md"), finish("14 days [refunds.md:3].")], {}
    )

    assert ended.result.state == "done"
