"""Sixty subagents end while their lead is in one slow model call."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest
from run_bench import Ended, RunBench, brief, finish, item, last_results, played, submit

from orchestrator.api import Orchestrator
from orchestrator.context.tokens import estimate
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.models.choose import window_tokens
from orchestrator.testing import FakeClock, Step, call

LINE = "A refund takes 14 days from the day the goods arrive."
CREW = 60
ITEMS = 14
AT_ONCE = 15
"""Pages that fit the window whole beside the text."""
CITED = "a17#9"
POINTER = re.compile(
    r"^Items \[(a\d+)#\d+\] to .*, and the rest, with `read_ref`: (art_\w+)$",
    re.MULTILINE,
)
TITLES = [f"Case {number}" for number in range(1, CREW + 1)]


class Slow:
    """A lead whose second answer takes until everybody has ended.

    It opens what it was given as a reference only, and cites an item of it.
    """

    def __init__(self) -> None:
        self.ended = 0
        self.all_ended = anyio.Event()
        self.refs: dict[str, str] = {}
        self.left: list[str] = []

    async def __call__(self, request: ModelRequest) -> Step:
        told = last_results(request)
        match sum(each["role"] == "assistant" for each in request.messages):
            case 0:
                briefs = [brief(t, deliverable={"max_tokens": 4000}) for t in TITLES]
                return call("delegate", briefs=briefs, wait="none")
            case 1:
                await self.all_ended.wait()
                return call("list_dir")
            case 2:
                self.refs = dict(POINTER.findall(told))
                self.left = [*self.refs.values()]
        if self.left:
            some, self.left = self.left[:AT_ONCE], self.left[AT_ONCE:]
            return [call("read_ref", ref=ref) for ref in some]
        return finish(f"It takes 14 days [{CITED}].")

    def sees(self, event: Event) -> None:
        self.ended += event.kind == "subagent.ended"
        if self.ended == CREW:
            self.all_ended.set()

    def worker(self, request: ModelRequest) -> Step:
        if len(request.messages) == 1:
            return call("read_file", path="refunds.md")
        first = text_of(request.messages[0]["content"])
        title = re.findall(r"^# (Case \d+)$", first, re.MULTILINE)
        claims = [f"{title[0]}, number {n}: {LINE * 3}" for n in range(ITEMS)]
        return submit(*(item(each, "refunds.md:1", LINE) for each in claims))


def items_in(text: str) -> list[str]:
    """Which items a text writes out, in order."""
    return re.findall(r"^(?:\d+\t)?\[(a\d+#\d+)\]", text, re.MULTILINE)


@pytest.mark.slow
async def test_a_late_burst_is_one_bounded_text_of_which_all_can_be_opened_and_cited(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})
    lead = Slow()
    model = played(lead, dict.fromkeys(TITLES, lead.worker))
    task = bench.task(limits={"subagents": CREW, "concurrency": CREW})
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        ended = Ended(await here.run(task, on_event=lead.sees), model)

    assert ended.result.state == "done", ended.result
    added = ended.events("text.added", "lead")
    [late] = [each.data for each in added if each.data["reason"] == "findings"]
    agents = [f"a{number}" for number in range(1, CREW + 1)]
    assert late["delivers"] == agents
    assert re.findall(r'<findings agent="(a\d+)"', late["text"]) == agents
    written, bound = items_in(late["text"]), window_tokens("offline") / 4
    assert bound * 0.8 < estimate(late["text"]) < bound * 1.1

    assert list(lead.refs) == agents
    opened = ended.results("read_ref")
    assert len(opened) == CREW
    for agent, page in zip(agents, opened, strict=True):
        everything = [f"{agent}#{number}" for number in range(1, ITEMS + 1)]
        assert items_in(page) == everything
        shown = [each for each in written if each.startswith(f"{agent}#")]
        assert shown == everything[: len(shown)] != everything
    assert CITED not in written
    assert ended.results("finish") == ["Accepted."]
    assert "not confirmed" not in ended.text("report.md")
