from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tool_bench import ToolBench

from orchestrator.brief import Brief
from orchestrator.errors import ToolError
from orchestrator.findings import Findings
from orchestrator.tools.base import ToolOutput
from orchestrator.tools.delegate import Delegate
from orchestrator.tools.directing import Cancel, FollowUp, Mode, WaitFor
from orchestrator.tools.handin import Finish, SubmitFindings
from orchestrator.tools.notes import UpdateNotes

ITEM = {
    "claim": "tokens are checked in one place",
    "evidence": [{"source": "a.py:1", "quote": "def check_token(value: str)"}],
}
FINDINGS = {"status": "complete", "summary": "one place", "items": [ITEM]}
BRIEF = {"title": "Tokens", "objective": "Find where tokens are checked, and how."}


class Ports:
    """Takes what is handed in and remembers it."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def update(self, section: str, mode: str, text: str, pin: bool) -> str:
        if text == "refuse":
            raise ToolError("a person changed this section")
        self.taken.append((section, mode, text, pin))
        return "written"

    async def submit(self, findings: Findings) -> ToolOutput:
        self.taken.append(findings)
        return ToolOutput("accepted", ends=True, value=findings)

    async def finish(self, report: str, result: Any) -> ToolOutput:
        self.taken.append((report, result))
        return ToolOutput("accepted", ends=True)

    async def delegate(self, call: str, briefs: list[Brief], wait: str) -> ToolOutput:
        self.taken.append((call, briefs, wait))
        return ToolOutput("found")

    async def wait_for(
        self, agents: tuple[str, ...], mode: Mode, timeout_s: float | None
    ) -> ToolOutput:
        self.taken.append((agents, mode, timeout_s))
        return ToolOutput("found")

    async def follow_up(self, call: str, agent: str, question: str) -> ToolOutput:
        self.taken.append((call, agent, question))
        return ToolOutput("found")

    async def cancel(self, agent: str, reason: str) -> ToolOutput:
        self.taken.append((agent, reason))
        return ToolOutput("cancelled")


@pytest.fixture
def ports() -> Ports:
    return Ports()


@pytest.fixture
def desk(tmp_path: Path, ports: Ports) -> ToolBench:
    tools = (
        Delegate(ports),
        WaitFor(ports),
        FollowUp(ports),
        Cancel(ports),
        Finish(ports),
        SubmitFindings(ports),
        UpdateNotes(ports),
    )
    return ToolBench(tmp_path, tools=tools)


@pytest.mark.parametrize(
    "items",
    [[ITEM], json.dumps([ITEM]), [{**ITEM, "confidence": "0.5"}], [json.dumps(ITEM)]],
    ids=["plain", "list as text", "number as text", "object as text"],
)
async def test_findings_are_taken_also_where_parts_arrive_as_text(
    desk: ToolBench, ports: Ports, items: Any
) -> None:
    result = await desk.call("submit_findings", **{**FINDINGS, "items": items})

    assert (result.ends, result.is_error) == (True, False)
    assert ports.taken == [Findings.model_validate(FINDINGS)]
    assert result.value == ports.taken[0]


async def test_broken_findings_come_back_with_item_and_field(
    desk: ToolBench, ports: Ports
) -> None:
    short = {"claim": "a", "evidence": [{"source": "a.py:1"}]}

    told = await desk.error("submit_findings", **{**FINDINGS, "items": [ITEM, short]})

    assert "`items[1].claim`" in told
    assert "`items[1].evidence[0].quote` is missing" in told
    assert ports.taken == []


@pytest.mark.parametrize("result", [None, {"a": [1]}, [1], "text", 3, False])
async def test_a_report_may_bring_any_json(
    desk: ToolBench, ports: Ports, result: Any
) -> None:
    done = await desk.call("finish", report="# Report", result=result)

    assert done.ends
    assert ports.taken == [("# Report", result)]


@pytest.mark.parametrize(
    ("written", "section"),
    [
        ("Plan", "Plan"),
        ("plan", "Plan"),
        ("failed_attempts", "Failed attempts"),
        ("## Open questions", "Open questions"),
    ],
)
async def test_notes_know_their_sections_however_written(
    desk: ToolBench, ports: Ports, written: str, section: str
) -> None:
    text = await desk.text(
        "update_notes", section=written, mode="append", text="- [ ] read", pin="true"
    )

    assert text == "written"
    assert ports.taken == [(section, "append", "- [ ] read", True)]


async def test_an_unknown_section_is_refused_with_the_known_ones(
    desk: ToolBench,
) -> None:
    told = await desk.error("update_notes", section="Misc", mode="append", text="x")

    assert "'Goal', 'Plan', 'Decisions'" in told
    assert 'found "Misc"' in told


async def test_what_the_notes_refuse_is_told(desk: ToolBench) -> None:
    told = await desk.error(
        "update_notes", section="Plan", mode="append", text="refuse"
    )

    assert told == "a person changed this section"


async def test_briefs_go_to_the_dispatch_with_the_call_id(
    desk: ToolBench, ports: Ports
) -> None:
    result = await desk.call("delegate", briefs=json.dumps([BRIEF, BRIEF]))

    [(call, briefs, wait)] = ports.taken
    assert (call, wait) == (result.call, "all")
    assert [brief.title for brief in briefs] == ["Tokens", "Tokens"]


@pytest.mark.parametrize("wait", ["first", "none"])
async def test_how_long_is_waited_goes_to_the_dispatch(
    desk: ToolBench, ports: Ports, wait: str
) -> None:
    await desk.call("delegate", briefs=[BRIEF], wait=wait)

    assert [way for _, _, way in ports.taken] == [wait]


async def test_what_is_said_to_subagents_goes_to_the_dispatch(
    desk: ToolBench, ports: Ports
) -> None:
    asked = await desk.call("follow_up", agent="a1", question="Where?\x00 Why?")
    await desk.call("wait_for", agents=["a1", "a2"], timeout_s="5")
    await desk.call("wait_for")
    await desk.call("cancel", agent="a2", reason="It is\x1b[31m answered.")

    assert ports.taken == [
        (asked.call, "a1", "Where?\ufffd Why?"),
        (("a1", "a2"), "any", 5.0),
        ((), "any", None),
        ("a2", "It is\ufffd[31m answered."),
    ]


@pytest.mark.parametrize("wrong", [-1, "soon", 1e400])
async def test_a_wait_that_is_no_time_is_refused(
    desk: ToolBench, ports: Ports, wrong: object
) -> None:
    told = await desk.error("wait_for", timeout_s=wrong)

    assert "`timeout_s`" in told
    assert ports.taken == []


async def test_a_broken_brief_comes_back_with_its_place(desk: ToolBench) -> None:
    told = await desk.error(
        "delegate", briefs=[BRIEF, {"title": "x", "scope": {"includes": ["a"]}}]
    )

    assert "`briefs[1].objective` is missing" in told
    assert "`briefs[1].scope.includes` is unknown" in told
    assert "known keys there: `include`, `exclude`" in told
