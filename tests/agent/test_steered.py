"""What a person says while an agent is at work, and its compactions."""

from __future__ import annotations

from pathlib import Path

from agent_bench import DONE, AgentBench, Echo, use
from long_work import seen_in, summary

from orchestrator.agent.loop import Agent
from orchestrator.events import ContextCompacted, TextAdded
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.spec.policy import ContextPolicy
from orchestrator.testing import ScriptedModel, Step

WORDS = ("Correction: take the 2026 tariff, not the 2025 one.", "不要用旧表。")
TURNS = 36


class Plays:
    """Says again what was said before, at length, and forgets what people said."""

    def __init__(self) -> None:
        self.turn = 0

    def __call__(self, request: ModelRequest) -> Step:
        if "[summarize]" in text_of(request.messages[-1]["content"]):
            return summary(work="- Some is done.", open="- Go on.")
        self.turn += 1
        if self.turn > TURNS:
            return DONE
        return use(f"t{self.turn}", text=f"Row {self.turn} is as usual. " * 40)


def told(name: str, **given: str) -> str:
    return "\n".join([f"[{name}]", *given.values()])


def steered(bench: AgentBench, agent: Agent, said: str) -> None:
    """Say it as the program does: on record first, then in the next message."""
    added = TextAdded("steer", said)
    bench.log.append(added, agent="lead")
    agent.state.add([], [said])
    agent.state.sight.heard(added, turns=agent.state.turns)


async def test_what_a_person_says_is_there_after_ten_compactions_and_a_restart(
    tmp_path: Path,
) -> None:
    said = "\n".join(WORDS)

    def speaks(text: str) -> str:
        if text.startswith("Row 2 "):
            steered(bench, agent, said)
        return text

    policy = ContextPolicy(every_turns=3)
    bench = AgentBench(tmp_path, tools=[Echo(speaks)], policy=policy, words=told)
    model = ScriptedModel(Plays())
    agent = bench.agent(model, bench.spec())

    await agent.run()

    edits = bench.events(ContextCompacted.KIND)
    assert len(edits) >= 10
    later = model.requests[2:]
    assert all(words in seen_in(each) for each in later for words in WORDS)
    assert all(seen_in(each).count(WORDS[0]) <= 3 for each in later)

    bench.cut(edits[4].seq)
    left = bench.left()
    assert left.state.sight.words == [said]
    assert all(words in edits[4].data["text"] for words in WORDS)
