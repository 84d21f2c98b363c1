"""Long runs over real text, under every policy and in several windows."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from agent_bench import DONE, AgentBench
from pydantic import BaseModel, ConfigDict

from orchestrator.context.numbers import Numbers, resolve
from orchestrator.context.outcome import Outcome
from orchestrator.context.recorded import Conversation, conversation_of
from orchestrator.context.whatif import LADDER, NEVER, Policy, clear_at, what_if
from orchestrator.messages import Block, Message, text_of, tool_calls
from orchestrator.models.base import ModelRequest
from orchestrator.models.pricing import Price, Rates
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.prompts import PromptBook
from orchestrator.testing import Step
from orchestrator.tools.base import Effects, Tool, ToolContext, ToolOutput

PATH = Path(__file__).parents[1] / "data" / "transcripts" / "transcripts.jsonl.xz"
NAMES = ("reader", "searcher", "several", "editor", "thinker")
WINDOWS = (8_192, 32_000, 200_000)
PRICE = Price("m", (Rates(3, 15, 3.75, 6, 0.3),), "made up")
OUTPUT, HEAD = 2000, 900


@cache
def transcripts() -> dict[str, list[Message]]:
    with lzma.open(PATH) as lines:
        read = map(orjson.loads, lines)
        return {each["name"]: each["messages"] for each in read}


@cache
def conversation(name: str) -> Conversation:
    return conversation_of(transcripts()[name], head_tokens=HEAD)


def numbers_for(window: int, **policy: Any) -> Numbers:
    return resolve(
        ContextPolicy(**policy),
        window_tokens=window,
        fixed_tokens=conversation("reader").first_tokens,
        max_output_tokens=OUTPUT,
    )


def tried(name: str, window: int, policy: str) -> Outcome:
    chosen = policy if policy in ("ladder", "window", "budget") else "ladder"
    decided: dict[str, Policy] = {
        "clear_at": clear_at(window // 2, keep_results=3),
        "never": NEVER,
    }
    numbers = numbers_for(window, policy=chosen)
    given = decided.get(policy, LADDER)
    return what_if(conversation(name), numbers, price=PRICE, policy=given)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_long(name: str) -> None:
    turns = conversation(name).turns
    assert len(turns) > 100
    assert sum(turn.tokens for turn in turns) > 20_000


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("policy", ["ladder", "window", "budget"])
@pytest.mark.parametrize("name", NAMES)
def test_in_no_window_is_a_request_too_long_and_the_figures_are_in_bounds(
    name: str, policy: str, window: int
) -> None:
    found, whole = tried(name, window, policy), tried(name, window, "never")

    assert not any(each.is_too_long for each in found.sent)
    assert len(found.curve) == len(conversation(name).turns)
    assert found.peak_tokens <= whole.peak_tokens + OUTPUT
    assert 0 < found.input_tokens <= whole.input_tokens * 1.05
    assert 0 <= found.cache_share <= 1
    assert found.usd == pytest.approx(sum(found.usd_by.values()))
    if window == max(WINDOWS) and policy == "budget":
        assert found.curve == whole.curve


@pytest.mark.parametrize("name", NAMES)
def test_the_ladder_costs_no_more_than_plain_clearing_or_nothing(name: str) -> None:
    bills = {
        policy: tried(name, 32_000, policy).usd or 0.0
        for policy in ("ladder", "clear_at", "never")
    }
    assert bills["ladder"] <= bills["never"]
    assert bills["ladder"] <= 1.1 * bills["clear_at"]


class AnyArgs(BaseModel):
    model_config = ConfigDict(extra="allow")


def recorded(tool: str, results: dict[str, dict[str, Any]]) -> Tool[AnyArgs]:
    """A tool that answers as it did then."""

    class Recorded:
        name: ClassVar[str] = tool
        description: ClassVar[str] = "Looks at files."
        Args: ClassVar[type[BaseModel]] = AnyArgs
        effects: ClassVar[Effects] = "reads"
        timeout_s: ClassVar[float] = 5

        async def run(self, args: AnyArgs, context: ToolContext) -> ToolOutput:
            result = results[context.call]
            text = text_of(result["content"])
            return ToolOutput(text, is_error=bool(result.get("is_error")))

    return Recorded()


def _renamed(block: Block) -> Block:
    """Return a call of the bench's own tool as one of a tool that is recorded."""
    return {**block, "name": "read_page"} if block.get("name") == "read_file" else block


async def lived(folder: Path, name: str, window: int, policy: str) -> AgentBench:
    """Let a real agent live through a run once more, in that window."""
    messages = transcripts()[name]
    spoken = [each["content"] for each in messages if each["role"] == "assistant"][:-1]
    said = [[_renamed(block) for block in content] for content in spoken]
    calls = {c["id"]: c for content in said for c in tool_calls(content)}
    results = {
        block["tool_use_id"]: block
        for message in messages[1:]
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    names = {str(each["name"]) for each in calls.values()}
    bench = AgentBench(
        folder,
        [recorded(each, results) for each in sorted(names)],
        policy=ContextPolicy(policy=policy, window_tokens=window),
        words=PromptBook.of(folder, folder).fill,
    )
    place = iter(range(len(said) + 1))

    def play(request: ModelRequest) -> Step:
        newest = text_of(request.messages[-1]["content"][-1:])
        if newest.startswith(("The conversation has grown", "The last answer could")):
            return "none"
        at = next(place)
        return said[at] if at < len(said) else DONE

    outcome = await bench.run(play, max_output_tokens=OUTPUT)
    assert (outcome.kind, outcome.limit) == ("submitted", "")
    assert next(place, None) is None
    return bench


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS[:2])
@pytest.mark.parametrize("policy", ["ladder", "window", "budget"])
@pytest.mark.parametrize("name", ["several", "thinker"])
async def test_agents_live_through_them_and_every_request_is_taken(
    tmp_path: Path, name: str, policy: str, window: int
) -> None:
    bench = await lived(tmp_path, name, window, policy)

    sizes = [
        each.data["estimated_tokens"] + each.data["max_output_tokens"]
        for each in bench.events("model.requested")
        if not each.data["purpose"]
    ]
    assert max(sizes) <= window
    edits = bench.events("context.cleared", "context.compacted")
    assert edits or window > min(WINDOWS)
