"""What an agent is reminded of, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, last_user, use

from orchestrator.agent.hooks import Hooks
from orchestrator.agent.records import Records
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.prompts import PromptBook
from orchestrator.testing import Step

RULE = "Never write below vendor."
LONG = "A line of no use to anybody, and there are many of these.\n" * 60


def bench_in(folder: Path, **given: object) -> AgentBench:
    bench = AgentBench(folder, tools=[Echo()], words=PromptBook().fill, price=PRICE)
    for name, value in given.items():
        setattr(bench, name, value)
    return bench


def steps(count: int) -> list[Step]:
    return [*(use(f"t{n}", text=f"part {n}") for n in range(count)), DONE]


def told(bench: AgentBench) -> list[tuple[int, str]]:
    """The turns after which it was reminded, and the words."""
    turn, found = 0, []
    for event in bench.events("model.requested", "text.added"):
        if event.kind == "model.requested":
            turn = event.data["turn"]
        elif event.data["reason"] == "reminder":
            found.append((turn, event.data["text"]))
    return found


async def test_every_five_turns_of_the_constraints_word_for_word(
    tmp_path: Path,
) -> None:
    bench = bench_in(tmp_path)
    hooks = Hooks(records=Records(dict, constraints=(RULE,)))

    await bench.run(steps(12), hooks=hooks)

    found = told(bench)
    assert [turn for turn, _ in found] == [5, 10]
    assert all(f"Still binding: {RULE}" in text for _, text in found)


async def test_nothing_is_said_where_there_is_nothing_to_say(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)

    await bench.run(steps(12))

    assert told(bench) == []


@pytest.mark.parametrize(("turns", "is_told"), [(16, True), (200, False)])
async def test_what_is_left_is_told_once_a_quarter_is_used(
    tmp_path: Path, turns: int, is_told: bool
) -> None:
    bench = bench_in(tmp_path)
    limits = AgentLimits(turns=turns)

    await bench.run(steps(6), limits=limits)

    words = f"of {turns} answers"
    assert any(words in text for _, text in told(bench)) is is_told


async def test_notes_that_are_behind_the_findings_are_named(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    hooks = Hooks(records=Records(dict, stale=lambda: ["Plan", "Next"]))

    await bench.run(steps(6), hooks=hooks)

    assert "Your notes under Plan, Next are older than" in told(bench)[0][1]


async def test_it_keeps_within_its_tokens(tmp_path: Path) -> None:
    rules = tuple(f"Rule {n}: keep away from folder number {n}." for n in range(60))
    policy = ContextPolicy(reminder_tokens=120)
    bench = bench_in(tmp_path, policy=policy)

    await bench.run(steps(6), hooks=Hooks(records=Records(dict, constraints=rules)))

    [(_, text)] = told(bench)
    assert bench.services.count(text) <= 120
    assert "Rule 0" in text
    assert "Rule 59" not in text


async def test_after_a_compaction_it_comes_with_the_very_next_request(
    tmp_path: Path,
) -> None:
    policy = ContextPolicy(reminder_turns=100, every_turns=4)
    bench = bench_in(tmp_path, policy=policy)
    bench.tools = [Echo(lambda _: LONG)]
    hooks = Hooks(records=Records(dict, constraints=(RULE,)))

    def script(request: ModelRequest) -> Step:
        if "Write the summary" in text_of(last_user(request)):
            return "## Work done\n\nParts were read."
        done = len(bench.events("tool.ended"))
        return use(f"t{done}", text=f"part {done}") if done < 6 else DONE

    await bench.run(script, hooks=hooks)

    kinds = [
        each.kind
        for each in bench.events("context.compacted", "text.added", "model.requested")
        if not each.data.get("purpose")
    ]
    assert "context.compacted" in kinds
    at = kinds.index("context.compacted")
    assert kinds[at : at + 3] == ["context.compacted", "text.added", "model.requested"]
