"""Real agents that live through random histories; every request of them is checked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import orjson
from agent_bench import DONE, AgentBench
from pydantic import BaseModel
from random_histories import MODEL, UNBOUND, Plan, Turn

from orchestrator.agent.build import Services
from orchestrator.agent.loop import Agent
from orchestrator.agent.spec import Outcome
from orchestrator.agent.state import AgentState
from orchestrator.context.history import item_text
from orchestrator.errors import ToolError
from orchestrator.events import Event
from orchestrator.messages import Block, Message, text_of
from orchestrator.models.base import EXCEEDED, ModelRequest
from orchestrator.models.fields import binds_thinking
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.prompts import PromptBook
from orchestrator.store.transcript import rebuild
from orchestrator.testing import ScriptedModel, Step, call, fail, reply, say, think
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.recall import Recall
from orchestrator.tools.refs import ReadRef

__all__ = ["Played", "play"]

SUMMARY = """## Work done
- looked at a.txt
## Decisions and why
- none
## Failed attempts and why
- none
## Facts and figures
- 数字 42 and 7,001 ms
## Open items and next step
- go on with b.txt
## Pointers
- h1
"""
_ASKED = ("The conversation has grown long.", "The last answer could not be taken")


_OF_SHOWN = (
    "composition",
    "results",
    "known_tokens",
    "added_tokens",
    "added_blocks",
    "slack_tokens",
    "stub_ends",
    "steps",
    "first_tokens",
    "base_tokens",
)
_OF_SIGHT = (
    "pinned",
    "put_back",
    "words",
    "is_bound",
    "lately",
    "reminded_at",
)


class GiveArgs(BaseModel):
    """Arguments of `give`."""

    at: int = 0


class Give:
    """A tool that gives what a plan holds."""

    name: ClassVar[str] = "give"
    description: ClassVar[str] = "Gives something."
    Args: ClassVar[type[BaseModel]] = GiveArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 5

    def __init__(self, outputs: Sequence[str | list[Block]]) -> None:
        self._outputs = outputs

    async def run(self, args: GiveArgs, context: ToolContext) -> ToolOutput:
        output = self._outputs[args.at % len(self._outputs)]
        if not isinstance(output, str):
            texts = text_of(output)
            pictures = tuple(each for each in output if each["type"] != "text")
            return ToolOutput(texts, blocks=pictures)
        if output.startswith("ERROR"):
            raise ToolError(output)
        return ToolOutput(output, label="critical" if "PIN" in output else "reference")


@dataclass
class RandomBench(AgentBench):
    """A bench with a policy, and with the program's own prompts."""

    policy: ContextPolicy = field(default_factory=ContextPolicy)

    @property
    def services(self) -> Services:
        return replace(super().services, policy=self.policy)


@dataclass
class Watch:
    """Plays a plan, and checks what it is sent.

    Attributes:
        plan: what to do.
        bench: whose log it reads.
        at: the next turn.
        asked: summaries that were asked for.
        scope: cancelled where the plan says so.
    """

    plan: Plan
    bench: RandomBench
    at: int = 0
    asked: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    requests: int = 0
    refuses: bool = False
    agent: Agent | None = None
    seen: set[str] = field(default_factory=set)
    _signed: dict[str, tuple[Block, str, bytes]] = field(default_factory=dict)

    def __call__(self, request: ModelRequest) -> Step:
        self.requests += 1
        messages = _plain(request.messages)
        self._check_thinking(request, messages)
        is_aside = text_of(messages[-1]["content"][-1:]).startswith(_ASKED)
        self._check_log(messages, is_aside=is_aside)
        step = self._summary() if is_aside else self._turn(request)
        parts = getattr(step, "parts", ())
        self._check_sight(messages, is_aside=is_aside, step=step)
        if not is_aside:
            before = _digest(request, messages)
            for block in parts:
                if mark := _mark(block):
                    self._signed[mark] = block, request.model, before
        return step

    def _turn(self, request: ModelRequest) -> Step:
        turns = self.plan.turns
        if self.refuses:
            self.refuses = False
            return fail("thinking_bound")
        turn = turns[self.at] if self.at < len(turns) else None
        self.at += 1
        if turn is None:
            return reply(DONE)
        blocks = (b for each in request.messages for b in each["content"])
        is_bound = binds_thinking(request.model) and any(map(_mark, blocks))
        if turn.ends in ("bound", "bound_twice") and is_bound:
            self.refuses = turn.ends == "bound_twice"
            return fail("thinking_bound")
        if turn.ends == "too_long":
            return fail("too_long")
        if turn.ends == "cancel":
            self.scope.cancel()
        parts = _parts(turn, self.at)
        if turn.ends == "refusal":
            return reply(*parts, stop_reason="refusal")
        if turn.ends == "exceeded":
            return reply(*parts, stop_reason=EXCEEDED)
        return reply(*parts)

    def _summary(self) -> Step:
        ends = self.plan.summaries
        how = ends[self.asked] if self.asked < len(ends) else ""
        self.asked += 1
        if how == "cancel":
            self.scope.cancel()
        if how in ("too_long", "overloaded", "invalid"):
            return fail(how)  # type: ignore[arg-type]
        if how == "call":
            return reply(think("hm", f"aside-{self.asked}"), call("give", at=0))
        if how == "empty":
            return reply("none")
        if how == "refusal":
            return reply("no", stop_reason="refusal")
        return reply(SUMMARY * (30 if how == "long" else 1))

    def _check_thinking(self, request: ModelRequest, messages: list[Message]) -> None:
        """Thinking comes back as it was, to its model, after what it came after."""
        for place, message in enumerate(messages):
            for block in message["content"]:
                known = self._signed.get(_mark(block))
                if known is None:
                    continue
                issued, model, before = known
                assert block == issued, "thinking was edited"
                assert model == request.model, "thinking of another model"
                if binds_thinking(model):
                    now = _digest(request, messages[:place])
                    assert now == before, f"bound thinking in message {place}"

    def _check_sight(
        self, messages: list[Message], *, is_aside: bool, step: Step
    ) -> None:
        """Nothing is cleared that was not seen; task and open steps are there."""
        for block in (block for each in messages for block in each["content"]):
            if block.get("type") != "tool_result":
                continue
            call_id, text = block["tool_use_id"], text_of(block["content"])
            if text.startswith("[Cleared: "):
                assert call_id in self.seen, "cleared before it was seen"
            elif not is_aside and not isinstance(step, Exception):
                self.seen.add(call_id)
        first = text_of(messages[0]["content"][:1])
        assert first == "# Objective of lead"

    def _check_log(self, messages: list[Message], *, is_aside: bool) -> None:
        events = self.bench.events()
        sent = rebuild(events, "lead", as_sent=True)
        if is_aside:
            end = [*sent[-1]["content"]]
            first = messages[len(sent) - 1]["content"][: len(end)]
            messages = [*messages[: len(sent) - 1], {"role": "user", "content": first}]
        assert messages == sent, "what is sent is not what the log says"
        assert self.agent is not None
        whole = rebuild(events, "lead", as_sent=False)
        assert whole == self.agent.state.transcript.messages
        same_as_rebuilt(self.agent.state, self.bench)
        newest = events[-1]
        assert newest.kind == "model.requested"
        window = self.plan.window or 10**9
        window = min(window, self.plan.policy.window_tokens or window)
        size = newest.data["estimated_tokens"]
        assert size + newest.data["max_output_tokens"] <= window or is_aside


def _parts(turn: Turn, number: int) -> list[Block]:
    """Return the blocks of a turn of this number."""
    parts: list[Block] = []
    if turn.thought:
        parts.append(think(turn.thought, f"sign-{number}"))
    elif turn.thought is not None:
        parts.append({"type": "redacted_thinking", "data": f"secret-{number}"})
    if turn.says:
        parts.append(say(turn.says))
    for each in turn.calls:
        name, given = ("give", {"at": each}) if isinstance(each, int) else each
        parts.append(call(name, **given))
    return parts


def _mark(block: Block) -> str:
    if block.get("type") == "thinking":
        return str(block["signature"])
    return str(block["data"]) if block.get("type") == "redacted_thinking" else ""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k != "cache_control"}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _digest(request: ModelRequest, messages: Sequence[Message]) -> bytes:
    whole = [_plain(request.system), _plain(request.tools), messages]
    return hashlib.blake2b(orjson.dumps(whole), digest_size=16).digest()


@dataclass
class Played:
    """What came of a plan."""

    outcome: Outcome
    agent: Agent
    watch: Watch
    model: ScriptedModel
    events: list[Event]
    lives: int

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.events]


async def play(plan: Plan, folder: Path) -> Played:
    """Let an agent live through a plan, however often its process dies."""
    book = PromptBook.of(folder, folder)
    bench = RandomBench(
        folder,
        tools=(Give(plan.outputs), ReadRef(), Recall()),
        window=plan.window,
        policy=plan.policy,
        words=book.fill,
        fallback=UNBOUND if plan.model == MODEL else "",
    )
    for name in ("a.txt", "b.txt"):
        text = "\n".join(f"{name} line {n}: item {n * 7} of 中文" for n in range(200))
        (bench.root / name).write_text(text)
    watch = Watch(plan, bench)
    model = ScriptedModel(watch)
    spec = bench.spec(model=plan.model, limits=AgentLimits(turns=60))
    kills, lives = list(plan.kills), 1
    agent = bench.agent(model, spec)
    while True:
        watch.scope, watch.agent = anyio.CancelScope(), agent
        outcome = None
        with watch.scope:
            outcome = await agent.run()
        share = kills.pop(0) if kills else None
        if share is None and outcome is not None:
            reachable(agent)
            return Played(outcome, agent, watch, model, bench.events(), lives)
        lives += 1
        count = len(bench.events())
        if share is not None:
            bench.cut(max(int(count * share), 2))
        else:
            bench.cut(count)
        rebuilt, model = bench.left(), ScriptedModel(watch)
        if rebuilt.is_over and outcome is not None and share is None:
            reachable(agent)
            return Played(outcome, agent, watch, model, bench.events(), lives)
        agent = bench.agent(model, rebuilt.spec, rebuilt=rebuilt)


def same_as_rebuilt(live: AgentState, bench: RandomBench) -> None:
    """Check that a state made from the log is the one that is at work."""
    left = bench.left().state
    assert left.transcript.messages == live.transcript.messages
    assert left.shown.messages == live.shown.messages
    assert left.shown.pieces == live.shown.pieces
    for name in _OF_SHOWN:
        assert getattr(left.shown, name) == getattr(live.shown, name), name
    for name in _OF_SIGHT:
        assert getattr(left.sight, name) == getattr(live.sight, name), name
    assert left.previous_end == live.previous_end
    assert left.newest_results == live.newest_results


def reachable(agent: Agent) -> None:
    """Check that whatever is not sent any more can be opened by a name that is sent."""
    state = agent.state
    whole, shown = state.transcript.messages, state.shown.messages
    in_sight = {
        str(block["tool_use_id"]): block
        for message in shown
        for block in message["content"]
        if block.get("type") == "tool_result"
    }
    text = "\n".join(text_of(message["content"]) for message in shown)
    last = max((e for e in [_last_dropped(state)] if e), default=0)
    for message in whole:
        for block in message["content"]:
            if block.get("type") != "tool_result":
                continue
            seen = in_sight.get(str(block["tool_use_id"]))
            if seen is not None and seen["content"] == block["content"]:
                continue
            made = state.transcript.calls[block["tool_use_id"]]
            opened = item_text(whole, made.reference).replace("<\\/", "</")
            assert text_of(block["content"]).replace("<\\/", "</") in opened
            if seen is not None:
                where = text_of(seen["content"])
                assert f'"{made.reference}"' in where or "art_" in where
            else:
                assert made.step <= last
                assert "# The work so far" in text


def _last_dropped(state: AgentState) -> int:
    compacted = state.sight.compacted
    return compacted.last_dropped if compacted else 0
