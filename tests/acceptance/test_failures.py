"""Subagents that fail: their siblings go on, and the report says what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from fake_endpoint import Answer, FakeEndpoint, raw, stream, text, tool_use
from pydantic import BaseModel
from run_bench import Ended, NoArgs, RunBench, brief, delegate, finish, item, submit

from orchestrator.cli.main import main
from orchestrator.errors import StoreError, ToolError
from orchestrator.messages import text_of
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock, Step, call, fail, hang
from orchestrator.tools.base import ToolContext

LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
READ = call("read_file", path="refunds.md")
WORK: list[Step] = [READ, submit(QUOTE)]
CASES = ("One", "Two", "Three", "Four", "Five")
REPORT = "It takes 14 days [a1#1].\n"


class Trap:
    """A tool that ends as a test wants it to."""

    name: ClassVar[str] = "trap"
    description: ClassVar[str] = "Ends badly."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Any] = "reads"
    timeout_s: ClassVar[float] = 5

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def run(self, args: NoArgs, context: ToolContext) -> str:
        raise self.error


def delegated(*cases: str) -> Any:
    return delegate(*(brief(case) for case in cases))


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


def _bug(request: ModelRequest) -> Step:
    raise KeyError("a bug below the loop")


async def test_two_of_five_fail_and_three_findings_arrive(
    bench: RunBench, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = await bench.play(
        [delegated(*CASES), finish(REPORT)],
        {
            **dict.fromkeys(CASES, WORK),
            "Two": _bug,
            "Four": [READ, fail("transient", "no answer within 600 s")],
        },
    )

    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    [told] = ended.results("delegate")
    assert told.count('status="complete"') == 3
    assert told.count('status="failed"') == 2
    written = ended.text("report.md")
    assert written.startswith(REPORT.rstrip())
    assert "- subagent a2 (Two) failed: a fault of the program: KeyError" in written
    assert "- subagent a4 (Four) failed: transient: no answer within 600 s" in written
    assert len(ended.result.missing) == 2
    [crashed] = ended.events("subagent.ended", "a2")
    assert "KeyError: 'a bug below the loop'" in crashed.data["traceback"]
    assert main(["show", str(ended.folder)]) == 0
    shown = capsys.readouterr().out
    assert "partial" in shown
    assert "Two" in shown


async def test_one_that_alone_gets_no_answer_is_given_up(bench: RunBench) -> None:
    tries = [anyio.Event() for _ in range(5)]

    async def answer(asked: dict[str, Any]) -> Answer:
        done = sum(1 for each in asked["messages"] if each["role"] == "assistant")
        first = text_of(asked["messages"][0]["content"])
        if "# Objective" in first:
            if done:
                return stream(tool_use("t2", "finish", report=REPORT))
            briefs = [brief("One"), brief("Two")]
            return stream(tool_use("t1", "delegate", briefs=briefs))
        if "# Two" in first and done:
            next(each for each in tries if not each.is_set()).set()
            return raw(ending="hang")
        if done:  # the other one gets its answers meanwhile
            await tries[done].wait()
        if done == len(tries) - 1:
            return stream(tool_use("t9", **named(WORK[1])))
        lines = {"path": "refunds.md", "max_lines": done + 1}
        return stream(text("I read."), tool_use(f"t{done}", "read_file", **lines))

    async with FakeEndpoint(answer) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        clock = FakeClock()
        try:
            ended = await bench.run(
                Governor(model, clock),
                clock=clock,
                model="claude-x",
                limits={"silence_s": 0.05, "call_s": 1},
            )
        finally:
            await model.aclose()

    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    assert endpoint.violations == []
    [missing] = ended.result.missing
    assert missing.startswith("subagent a2 (Two) failed: transient: the endpoint was")
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    late = ended.json("agents/a2/findings.json")
    assert late["status"] == "failed"
    assert "Files it opened: refunds.md" in late["summary"]


def named(step: Any) -> dict[str, Any]:
    return {"name": step["name"], **step["input"]}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(anyio.ClosedResourceError(), id="an error"),
        pytest.param(None, id="a cancellation of its own"),
        pytest.param(SystemExit(3), id="an exit"),
    ],
)
async def test_a_tool_that_breaks_is_one_failed_call(
    bench: RunBench, error: BaseException | None
) -> None:
    tool = Trap(error or anyio.get_cancelled_exc_class()())
    ended = await bench.play(
        [delegated("One", "Two"), finish(REPORT)],
        {"One": WORK, "Two": [[call("trap"), READ], submit(QUOTE)]},
        tools=[tool],
    )

    assert ended.result.state == "done"
    [failed] = ended.results("trap", "a2")
    assert "`trap`" in failed
    assert LINE in ended.results("read_file", "a2")[0]


async def test_a_cancellation_from_within_a_subagent_is_its_own_failure(
    bench: RunBench,
) -> None:
    def cancelled(request: ModelRequest) -> Step:
        raise anyio.get_cancelled_exc_class()

    ended = await bench.play(
        [delegated("One", "Two", "Three"), finish(REPORT)],
        {"One": WORK, "Two": cancelled, "Three": WORK},
    )

    assert ended.result.state == "partial"
    assert [each["status"] for each in _findings(ended, 3)] == [
        "complete",
        "failed",
        "complete",
    ]
    assert "cancelled from within" in ended.result.missing[0]


def _findings(ended: Ended, number: int) -> list[dict[str, Any]]:
    return [
        ended.json(f"agents/a{each}/findings.json") for each in range(1, number + 1)
    ]


async def test_a_store_that_fails_in_one_subagent_ends_the_run_resumably(
    bench: RunBench,
) -> None:
    full = StoreError("cannot write `events.jsonl`: the disk is full; free some space")
    briefs = delegated("One", "Two")
    with pytest.raises(StoreError, match="the disk is full"):
        await bench.play(
            [briefs, finish(REPORT)],
            {"One": [READ, hang()], "Two": [call("trap")]},
            tools=[Trap(full)],
        )
    [folder] = bench.runs.glob("2*")
    assert not (folder / "report.md").exists()

    ended = await bench.resume(
        folder,
        [finish(REPORT)],
        {"One": [submit(QUOTE)], "Two": WORK},
        tools=[Trap(ToolError("it is mended"))],
    )

    assert ended.result.state == "done"
    assert len(ended.events("subagent.accepted")) == 2


async def test_a_folder_that_refuses_a_subagents_files_ends_nothing(
    bench: RunBench,
) -> None:
    def in_the_way(request: ModelRequest) -> Step:
        done = sum(1 for each in request.messages if each["role"] == "assistant")
        if done:
            [folder] = bench.runs.glob("2*")
            (folder / "agents" / "a1").rename(folder / "agents" / "gone")
            (folder / "agents" / "a1").write_text("a file where a folder is needed")
        return WORK[done]

    report = finish("It takes 14 days [a1#1].")
    ended = await bench.play([delegated("One"), report], {"One": in_the_way})

    assert ended.result.state == "done"  # the log holds what the files would


async def test_a_failed_brief_sent_again_is_no_longer_missing(bench: RunBench) -> None:
    tries: list[int] = []

    def second_time_lucky(request: ModelRequest) -> Step:
        done = sum(1 for each in request.messages if each["role"] == "assistant")
        if done == 0:
            tries.append(1)
        if len(tries) == 1:
            return fail("invalid", "refused by the service")
        return WORK[done]

    again = delegate(brief("One", background="The paper is refunds.md."))
    ended = await bench.play(
        [delegated("One"), again, finish("It takes 14 days [a2#1].")],
        {"One": second_time_lucky},
    )

    assert ended.json("agents/a1/findings.json")["status"] == "failed"
    assert ended.result.missing == []
    assert ended.result.state == "done"


async def test_a_sibling_of_the_same_title_does_not_hide_a_failure(
    bench: RunBench,
) -> None:
    def by_question(request: ModelRequest) -> Step:
        done = sum(1 for each in request.messages if each["role"] == "assistant")
        if "by card" in text_of(request.messages[0]["content"]):
            return fail("invalid", "refused by the service")
        return WORK[done]

    briefs = [
        brief("Refunds", questions=[f"How many days does it take {way}?"])
        for way in ("by card", "by transfer")
    ]
    ended = await bench.play(
        [delegate(*briefs), finish("It takes 14 days [a2#1].")],
        {"Refunds": by_question},
    )

    assert ended.result.state == "partial"
    assert ended.result.missing[0].startswith("subagent a1 (Refunds) failed: invalid")


async def test_a_subagent_that_says_it_failed_makes_the_run_partial(
    bench: RunBench,
) -> None:
    could_not = submit(status="failed", summary="The folder could not be opened.")
    ended = await bench.play(
        [delegated("One"), finish("Nobody knows.")], {"One": [could_not]}
    )

    assert ended.result.state == "partial"
    assert "The folder could not be opened." in ended.result.missing[0]


async def test_a_secret_in_a_fault_of_the_program_is_not_written_down(
    bench: RunBench,
) -> None:
    secret = "ghp" + "_" + "a1B2" * 9

    def leaks(request: ModelRequest) -> Step:
        raise ValueError(f"token {secret} is not valid")

    ended = await bench.play(
        [delegated("One"), finish("Nobody knows.")], {"One": leaks}
    )

    assert ended.result.state == "partial"
    assert [name for name, data in ended.everything() if secret.encode() in data] == []
