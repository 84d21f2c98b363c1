"""Tools, skills and permissions that a task file names, in whole runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fake_endpoint import FakeEndpoint, stream, tool_use
from run_bench import brief, delegate, finish, last_results, submit

from orchestrator import Orchestrator, RunResult
from orchestrator.cli.main import main
from orchestrator.events import Event
from orchestrator.models.base import ModelRequest
from orchestrator.security.permissions import Answer, Ask
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.testing import Script, ScriptedModel, call, conversations, fail

MODULE = '''
from orchestrator import tool

@tool(effects="reads")
def query_order(number: int) -> dict:
    """Look up an order by its number."""
    return {"number": number, "paid": 4711}
'''
TASK = """
objective: What was paid for order 12?
context: []
tools: [order_tools:query_order]
skills: [skills/orders]
allow: [{write: ask}]
"""
SKILL = "---\nname: orders\ndescription: How orders are read.\n---\n\nBy number.\n"


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "job"
    (folder / "skills" / "orders").mkdir(parents=True)
    (folder / "skills" / "orders" / "SKILL.md").write_text(SKILL)
    (folder / "order_tools.py").write_text(MODULE)
    (folder / "task.yaml").write_text(TASK)
    yield folder / "task.yaml"
    sys.modules.pop("order_tools", None)


class Says:
    """A person who gives one answer to everything, and remembers the questions."""

    def __init__(self, answer: Answer) -> None:
        self.answer: Answer = answer
        self.asked: list[Ask] = []

    async def __call__(self, agent: str, tool: str, ask: Ask) -> Answer:
        self.asked.append(ask)
        return self.answer


async def run(
    task: Path, lead: Script, workers: dict[str, Script] | None = None, **options: Any
) -> tuple[RunResult, ScriptedModel]:
    scripts = {"# Objective\n": lead, **(workers or {})}
    model = ScriptedModel(conversations(scripts))
    async with Orchestrator(
        runs_dir=task.parent / "runs", model=model, **options
    ) as here:
        return await here.run(task), model


def events(result: RunResult, kind: str) -> list[Event]:
    folder = RunFolder(result.folder)
    log = read_events(folder.events, Artifacts(folder.artifacts))
    return [each for each in log if each.kind == kind]


async def test_lead_and_subagents_call_the_users_own_tool(task: Path) -> None:
    seen: list[str] = []

    def hands_in(request: ModelRequest) -> Any:
        if len(request.messages) == 1:
            return call("query_order", number="12")
        seen.append(last_results(request))
        return submit(status="nothing_found")

    lead: Script = [
        [call("query_order", number=12), delegate(brief("orders"))],
        finish("4711 was paid."),
    ]
    result, model = await run(task, lead, {"# orders\n": hands_in})

    assert result.state == "done"
    assert '"paid": 4711' in seen[0]
    names = {tool["name"] for each in model.requests for tool in each.tools}
    assert "query_order" in names


async def test_every_agent_is_told_of_a_skill_and_can_open_it(task: Path) -> None:
    def lead(request: ModelRequest) -> Any:
        if len(request.messages) == 1:
            assert "- `skill:orders`: How orders are read." in str(request.system)
            return call("read_ref", ref="skill:orders")
        assert "By number." in last_results(request)
        return finish("Read.")

    result, _ = await run(task, lead)

    assert result.state == "done"


@pytest.mark.parametrize("answer", ["once", "no"])
async def test_a_person_is_asked_with_the_exact_change(
    task: Path, answer: Answer
) -> None:
    person = Says(answer)
    write = call("write_file", path="out.txt", text="paid: 4711\n")

    result, _ = await run(task, [write, finish("Written.")], asker=person)

    assert (task.parent / "out.txt").exists() == (answer == "once")
    [ask] = person.asked
    assert "out.txt" in ask.effect
    assert "paid: 4711" in ask.effect
    [answered] = events(result, "permission.answered")
    assert answered.data["answer"] == answer


async def test_without_a_person_ask_means_no_and_the_tool_is_not_there(
    task: Path,
) -> None:
    write = call("write_file", path="out.txt", text="x")

    result, model = await run(task, [write, finish("Not written.")])

    assert not (task.parent / "out.txt").exists()
    assert "write_file" not in {tool["name"] for tool in model.requests[0].tools}
    [ended] = [
        each
        for each in events(result, "tool.ended")
        if each.data["name"] == "write_file"
    ]
    assert ended.data["is_error"]


def test_check_counts_the_tools_of_the_task(
    task: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(task), "--model", "offline", "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)

    lead = told["profiles"][0]
    assert "write_file" in lead["tools"]
    assert "bash" in lead["not_available"]


async def test_what_is_gone_on_resume_says_so_and_the_run_goes_on(task: Path) -> None:
    parked, _ = await run(
        task, [call("query_order", number=12), fail("quota_exhausted")]
    )
    assert parked.state == "parked"
    (task.parent / "order_tools.py").unlink()
    sys.modules.pop("order_tools")
    shutil.rmtree(task.parent / "skills")

    def goes_on(request: ModelRequest) -> Any:
        if "no longer available" in last_results(request):
            return finish("4711 was paid.")
        return call("query_order", number=13)

    model = ScriptedModel(goes_on)
    async with Orchestrator(runs_dir=task.parent / "runs", model=model) as here:
        result = await here.resume("last")

    assert result.state == "done"


async def test_own_tools_are_found_again_on_resume(task: Path) -> None:
    parked, _ = await run(task, [fail("quota_exhausted")])
    sys.modules.pop("order_tools")

    model = ScriptedModel([call("query_order", number=12), finish("4711 was paid.")])
    async with Orchestrator(runs_dir=task.parent / "runs", model=model) as here:
        result = await here.resume(parked.folder)

    assert result.state == "done"
    assert '"paid": 4711' in last_results(model.requests[-1])


PRINTS = '''
from orchestrator import tool

print("printed on import")

@tool(effects="reads")
def query_order(number: int) -> str:
    """Look up an order by its number."""
    print("printed in a call")
    return "4711"
'''


def test_what_tools_print_is_not_taken_for_the_report(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (task.parent / "order_tools.py").write_text(PRINTS)
    said = [
        stream(tool_use("toolu_1", "query_order", number=12)),
        stream(tool_use("toolu_2", "finish", report="It was 4711.")),
    ]
    monkeypatch.chdir(task.parent)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key-of-anybody")
    with FakeEndpoint(said) as endpoint:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.url)
        status = main(["run", str(task), "--model", "claude-haiku-5-5"])

    shown = capsys.readouterr()
    assert (status, shown.out) == (0, "It was 4711.\n")
    assert "printed on import\n" in shown.err
    assert "printed in a call\n" in shown.err
