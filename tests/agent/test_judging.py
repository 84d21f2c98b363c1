"""Another model says what a summary lacks, if the task names one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from agent_bench import DONE, AgentBench, Echo, use

from orchestrator.agent.build import Services
from orchestrator.agent.judging import MAX_LOSS_CHARS
from orchestrator.models.base import ModelRequest
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.prompts import PromptBook
from orchestrator.testing import Step, fail, reply

JUDGE = "claude-sonnet-5-5"
LONG = "one line of it\n" * 400
SUMMARY = "\n".join(
    f"## {name}\n\n- {text}\n"
    for name, text in {
        "Work done": "echoed",
        "Decisions and why": "none",
        "Failed attempts and why": "none",
        "Facts and figures": "none",
        "Open items and next step": "go on",
        "Pointers": "none",
    }.items()
)


class JudgedBench(AgentBench):
    """A bench whose summaries are compared."""

    @property
    def services(self) -> Services:
        return replace(super().services, judge=JUDGE)


async def judged(folder: Path, says: Step) -> tuple[JudgedBench, ModelRequest]:
    bench = JudgedBench(
        folder,
        [Echo()],
        policy=ContextPolicy(every_turns=3, tail_steps=1),
        words=PromptBook.of(folder, folder).fill,
    )
    steps = iter([use(f"t{n}", text=f"{n} {LONG}") for n in range(4)])
    asked: list[ModelRequest] = []

    def play(request: ModelRequest) -> Step:
        if request.model == JUDGE:
            asked.append(request)
            return says
        newest = request.messages[-1]["content"][-1].get("text", "")
        if newest.startswith("The conversation has grown long."):
            return SUMMARY
        return next(steps, DONE)

    outcome = await bench.run(play)
    assert outcome.kind == "submitted"
    return bench, asked[0]


@pytest.mark.parametrize(
    ("says", "added"),
    [
        (
            "- The limit is 7 s\n* 不得删除\nAnd that is all.",
            ["The limit is 7 s", "不得删除"],
        ),
        ("none", []),
        (reply("- no", stop_reason="refusal"), ["no"]),
        (fail("overloaded"), []),
    ],
)
async def test_what_it_misses_is_put_back(
    tmp_path: Path, says: Step, added: list[str]
) -> None:
    bench, request = await judged(tmp_path, says)

    [compacted] = bench.events("context.compacted")[:1]
    assert compacted.data["how"] == "model"
    assert compacted.data["added"] == added
    assert all(line in compacted.data["text"] for line in added)
    assert "## Work done" in str(request.messages[0]["content"])
    assert request.tools == []


async def test_it_cannot_put_back_without_end(tmp_path: Path) -> None:
    bench, _ = await judged(tmp_path, "\n".join(["- " + "word " * 200] * 30))

    added = bench.events("context.compacted")[0].data["added"]
    assert len(added) == 1  # the same line once
    assert len(added[0]) <= MAX_LOSS_CHARS
