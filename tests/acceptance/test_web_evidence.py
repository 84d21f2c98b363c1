"""From a quote on a page of the web to a citation in the report; and what is false."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from made_up_secrets import FORMS
from raw_endpoint import head
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    last_results,
    submit,
)
from web_bench import DOCS, Allowed, FakeWeb, html

from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call

LINE = "A refund takes 14 days from the day the goods arrive."
CLAIM = "A refund takes 14 days after the goods have arrived."
URL = f"https://{DOCS}/refunds?lang=en,gb"
FETCH = call("fetch_url", url=URL)
RIGHT = item(CLAIM, f"{URL}:3", LINE)
GOOD_REPORT = f"It takes 14 days [{URL}:3], see [a1#1].\n"


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    body = f"<h1>Refunds</h1><p>{LINE}</p><p>It goes to the card that was used.</p>"
    with FakeWeb({"/refunds?lang=en,gb": html(body)}).served() as served:
        yield served


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path)


async def played(
    bench: RunBench, web: FakeWeb, steps: Sequence[Step], *reports: str
) -> Ended:
    """A run whose subagent takes these steps; the lead hands in these reports."""
    lead: list[Step] = [delegate(brief("Goods")), *map(finish, reports)]
    return await bench.play(lead, {"Goods": list(steps)}, tools=[Allowed(web)])


async def test_a_quote_from_a_page_becomes_a_cited_report(
    bench: RunBench, web: FakeWeb
) -> None:
    ended = await played(bench, web, [FETCH, submit(RIGHT)], GOOD_REPORT)

    assert (ended.result.state, ended.result.exit_code) == ("done", 0)
    assert ended.text("report.md") == GOOD_REPORT
    [findings] = ended.results("delegate")
    assert f"[a1#1] {CLAIM} (0.8)\n  {URL}:3\n  > {LINE}" in findings
    assert "gone since" not in ended.text("report.md") + findings


async def test_addresses_and_lines_are_corrected(bench: RunBench, web: FakeWeb) -> None:
    written = (
        f"{URL}:2900-2950",
        URL,
        f"{URL}#part",
        f"HTTPS://{DOCS.upper()}:443/refunds?lang=en,gb:1",
        f"<{URL}>",
    )
    items = [item(f"{CLAIM} See {each}.", each, LINE) for each in written]
    ended = await played(bench, web, [FETCH, submit(*items)], GOOD_REPORT)

    assert ended.result.state == "done"
    kept = ended.json("agents/a1/findings.json")["items"]
    assert [each["evidence"][0]["source"] for each in kept] == [f"{URL}:3"] * 5


async def test_a_page_that_was_not_fetched_is_no_evidence(
    bench: RunBench, web: FakeWeb
) -> None:
    other = item(CLAIM, f"https://{DOCS}/other:3", LINE)
    steps = [FETCH, submit(other), submit(RIGHT)]
    ended = await played(bench, web, steps, GOOD_REPORT)

    first, second = ended.results("submit_findings", "a1")
    assert f"you have not fetched `https://{DOCS}/other`" in first
    assert second == "Accepted."


async def test_a_quote_that_is_not_on_the_page_comes_back(
    bench: RunBench, web: FakeWeb
) -> None:
    made_up = item(CLAIM, f"{URL}:3", "A refund takes 90 days if the goods are late.")
    steps = [FETCH, submit(made_up), submit(RIGHT)]
    ended = await played(bench, web, steps, GOOD_REPORT)

    first, _ = ended.results("submit_findings", "a1")
    assert "the quote “A refund takes 90 days" in first


async def test_a_page_that_sent_on_is_cited_by_either_name(
    bench: RunBench, web: FakeWeb
) -> None:
    short = f"https://{DOCS}/r"
    web.pages["/r"] = head("301 Moved", location=URL, content_length="0")
    steps = [
        call("fetch_url", url=short),
        submit(item(CLAIM, f"{short}:3", LINE), item(f"{CLAIM} So it is.", URL, LINE)),
    ]
    report = f"It takes 14 days [{short}:3] [{URL}:2-4].\n"
    ended = await played(bench, web, steps, report)

    assert ended.result.state == "done"
    assert ended.text("report.md") == report


async def test_wrong_citations_of_pages_are_marked(
    bench: RunBench, web: FakeWeb
) -> None:
    wrong = {
        f"{URL}:44": f"`{URL}` has 5 lines",
        f"https://{DOCS}/other:3": "no accepted finding and no file you read",
        f"http://{DOCS}/refunds?lang=en,gb:3": "no accepted finding and no file",
    }
    report = f"It takes 14 days [a1#1] {' '.join(f'[{each}]' for each in wrong)}.\n"
    ended = await played(bench, web, [FETCH, submit(RIGHT)], report, report)

    sent_back, _ = ended.results("finish")
    for citation, why in wrong.items():
        assert f"- [{citation}]: {why}" in sent_back
        marked = f"[{citation}] *(citation not confirmed)*"
        assert marked in ended.text("report.md")
    assert ended.text("report.md").count("not confirmed") == len(wrong)
    assert ended.result.state == "partial"


async def test_what_the_lead_fetched_itself_can_be_cited(
    bench: RunBench, web: FakeWeb
) -> None:
    report = f"It takes 14 days [https://{DOCS}/refunds?lang=en,gb#a:2, 3].\n"
    ended = await bench.play([FETCH, finish(report)], {}, tools=[Allowed(web)])

    assert ended.result.state == "done"


async def test_a_page_in_sight_is_not_shown_again(
    bench: RunBench, web: FakeWeb
) -> None:
    again = call("fetch_url", url=f"{URL}#again")
    ended = await played(bench, web, [FETCH, again, submit(RIGHT)], GOOD_REPORT)

    first, second = ended.results("fetch_url", "a1")
    assert LINE in first
    assert second.startswith(f"{URL}: unchanged since h1, which shows lines 1-5")


async def test_a_secret_that_a_server_sends_is_nowhere_and_the_page_can_be_cited(
    bench: RunBench, web: FakeWeb
) -> None:
    secret = FORMS["github"]
    to = f"/k?key={secret}"
    web.pages["/start"] = head("302 Found", location=to, content_length="0")
    web.pages[to] = html(f"<p>The key is {secret}.</p><p>{LINE}</p>")

    def hand_in(request: ModelRequest) -> Step:
        shown = last_results(request).partition(": all")[0]
        return submit(item(CLAIM, f"{shown}:3", LINE))

    script = in_turn(call("fetch_url", url=f"https://{DOCS}/start"), hand_in)
    ended = await bench.play(
        [delegate(brief("Goods")), finish("It takes 14 days [a1#1].\n")],
        {"Goods": script},
        tools=[Allowed(web)],
    )

    assert ended.result.state == "done"
    [kept] = ended.json("agents/a1/findings.json")["items"]
    assert kept["evidence"][0]["source"].startswith(f"https://{DOCS}/k?key=[secret:")
    for file in ended.folder.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file
