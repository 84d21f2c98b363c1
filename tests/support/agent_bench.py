"""One agent with a scripted model, a real log and real tools, in a temp folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from orchestrator.agent.budget import Budget
from orchestrator.agent.build import Services, build_agent
from orchestrator.agent.hooks import NO_HOOKS, Hooks
from orchestrator.agent.loop import Agent
from orchestrator.agent.rebuild import AgentRecords, Rebuilt, rebuild
from orchestrator.agent.replay import Remake, no_remake
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.usage import Worked
from orchestrator.clock import Clock
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.events import Event
from orchestrator.messages import Block, text_block, text_of
from orchestrator.models.base import Model, ModelRequest
from orchestrator.models.features import Lacks
from orchestrator.models.pricing import Price, Rates
from orchestrator.security.workspace import Workspace
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.policy import ContextPolicy
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, Script, ScriptedModel, call
from orchestrator.tools.base import Effects, Tool, ToolContext, ToolOutput
from orchestrator.tools.files import ReadFile
from orchestrator.tools.handin import Finish
from orchestrator.tools.registry import Registry

__all__ = [
    "DONE",
    "PRICE",
    "AgentBench",
    "Echo",
    "Write",
    "last_user",
    "results_in",
    "use",
]

DONE = call("finish", report="All is well.")

# A round price: a dollar a million tokens of input, ten of output.
PRICE = Price("m", (Rates(1, 10, 1.25, 2, 0.1),), "made up")


class EchoArgs(BaseModel):
    """Arguments of `echo`."""

    text: str = "hello"


class Echo:
    """A tool that says what it is told; `does` may take its place."""

    name: ClassVar[str] = "echo"
    description: ClassVar[str] = "Says it again."
    Args: ClassVar[type[BaseModel]] = EchoArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 5

    def __init__(self, does: Callable[[str], Any] | None = None) -> None:
        self._does = does
        self.calls: list[str] = []

    async def run(self, args: EchoArgs, context: ToolContext) -> str:
        self.calls.append(context.call)
        if self._does is not None:
            answer = self._does(args.text)
            return str(await answer if hasattr(answer, "__await__") else answer)
        return args.text


class WriteArgs(BaseModel):
    """Arguments of `write_it`; the content may be left out, as a bad schema would."""

    path: str
    content: str = ""


class Write:
    """A tool that writes a file: what it does cannot be taken back."""

    name: ClassVar[str] = "write_it"
    description: ClassVar[str] = "Writes a file."
    Args: ClassVar[type[BaseModel]] = WriteArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 5

    def __init__(self) -> None:
        self.written: list[str] = []

    async def run(self, args: WriteArgs, context: ToolContext) -> str:
        (context.workspace.root / args.path).write_text(args.content)
        self.written.append(args.path)
        return "written"


class _Desk:
    """Takes reports; one that begins with BACK is sent back."""

    def __init__(self) -> None:
        self.takes_all = False

    async def finish(self, report: str, result: Any) -> ToolOutput:
        if report.startswith("BACK") and not self.takes_all:
            return ToolOutput("mend it", is_error=True)
        return ToolOutput("Accepted.", ends=True, value=report)

    def take_as_is(self) -> None:
        self.takes_all = True


@dataclass
class AgentBench:
    """Makes agents that share a log; `run` plays one to its end."""

    folder: Path
    tools: Sequence[Tool[Any]] = ()
    usd: float | None = None
    tokens: int | None = None
    price: Price | Mapping[str, Price] | None = None
    fallback: str = ""
    window: int | None = None
    policy: ContextPolicy = field(default_factory=ContextPolicy)
    lacks: Lacks = field(default_factory=Lacks)
    clock: Clock = field(default_factory=FakeClock)
    words: Callable[..., str] = lambda name, **given: f"[{name}] {given}"

    def __post_init__(self) -> None:
        self.root = self.folder / "work"
        self.root.mkdir(exist_ok=True)
        store = self.folder / "store"
        store.mkdir()
        self.artifacts = Artifacts(store / "artifacts")
        (store / "artifacts").mkdir()
        self.path = store / "events.jsonl"
        self.log = EventLog.create(self.path, "r", self.artifacts, self.clock)
        self.model = ScriptedModel([])
        self.budget = Budget(self.usd, self.tokens)

    @property
    def services(self) -> Services:
        return Services(
            log=self.log,
            artifacts=self.artifacts,
            clock=self.clock,
            open_model=lambda _name: self.model,
            price_of=self._price_of,
            budget=self.budget,
            redact=lambda text: text,
            count=estimate,
            clip=partial(clip_text, count=estimate),
            words=self.words,
            base_tools=(ReadFile(), *self.tools),
            policy=self.policy,
            lacks=self.lacks,
            fallback=self.fallback,
            window_of=lambda _name: self.window,
        )

    def _price_of(self, model: str) -> Price | None:
        return self.price.get(model) if isinstance(self.price, Mapping) else self.price

    def registry(self, desk: _Desk) -> Registry:
        return Registry([*self.services.base_tools, Finish(desk)])

    def spec(self, agent: str = "lead", **changes: Any) -> AgentSpec:
        registry = self.registry(_Desk())
        return replace(
            AgentSpec(
                id=agent,
                role="lead",
                profile="lead",
                title="t",
                model="claude-haiku-5-5",
                parent="",
                system=[text_block("You are a test.")],
                tools=registry.definitions(),
                first=[text_block(f"# Objective of {agent}")],
                allowed=registry.names,
                limits=AgentLimits(),
                max_output_tokens=2000,
                call_s=600,
                silence_s=90,
            ),
            **changes,
        )

    def agent(
        self,
        model: Model,
        spec: AgentSpec,
        *,
        rebuilt: Rebuilt | None = None,
        hooks: Hooks = NO_HOOKS,
    ) -> Agent:
        services = replace(self.services, open_model=lambda _name: model)
        desk = _Desk()
        hooks = replace(hooks, on_last_call=desk.take_as_is)
        return build_agent(
            services,
            spec,
            registry=self.registry(desk),
            workspace=Workspace(self.root),
            state=rebuilt.state if rebuilt else None,
            hooks=hooks,
        )

    async def run(
        self, script: Script, *, hooks: Hooks = NO_HOOKS, **changes: Any
    ) -> Outcome:
        """Play a fresh agent to its end; `changes` are of its spec."""
        self.model = ScriptedModel(script)
        return await self.run_with(self.model, hooks=hooks, **changes)

    async def run_with(
        self, model: Model, /, *, hooks: Hooks = NO_HOOKS, **changes: Any
    ) -> Outcome:
        return await self.agent(model, self.spec(**changes), hooks=hooks).run()

    def left(
        self,
        agent: str = "lead",
        *,
        lost: int = 0,
        remake: Remake = no_remake,
    ) -> Rebuilt:
        """The agent as the log has it, so many records of which are lost."""
        worked = Worked()
        for event in self.events():
            worked.apply(event)
        own, seconds = self.events(agent=agent), worked.of(agent)
        records = AgentRecords(own, seconds, lost, remake)
        found = rebuild(self.services, agent, records)
        assert found is not None
        return found

    async def resume(
        self,
        script: Script,
        *,
        limits: AgentLimits | None = None,
        lost: int = 0,
        remake: Remake = no_remake,
    ) -> Outcome:
        """Go on with the agent from the log alone."""
        self.model = ScriptedModel(script)
        rebuilt = self.left(lost=lost, remake=remake)
        spec = rebuilt.spec if limits is None else replace(rebuilt.spec, limits=limits)
        return await self.agent(self.model, spec, rebuilt=rebuilt).run()

    def events(self, *kinds: str, agent: str | None = None) -> list[Event]:
        return [
            event
            for event in read_events(self.path, self.artifacts)
            if (not kinds or event.kind in kinds) and agent in (None, event.agent)
        ]

    def cut(self, seq: int) -> None:
        """Let the log end after `seq`, as if the process had died there."""
        self.log.close()
        lines = self.path.read_bytes().splitlines(keepends=True)
        self.path.write_bytes(b"".join(lines[:seq]))
        self.log = EventLog.reopen(self.path, "r", self.artifacts, self.clock)
        self.budget = Budget(self.usd, self.tokens)

    @property
    def requests(self) -> list[ModelRequest]:
        return self.model.requests


def use(call_id: str, name: str = "echo", **given: Any) -> Block:
    """A call whose id is of use to the test."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def last_user(request: ModelRequest) -> list[Block]:
    """The blocks of the newest user message."""
    content: list[Block] = request.messages[-1]["content"]
    return content


def results_in(request: ModelRequest) -> dict[str, str]:
    """The results in the newest user message, by call id."""
    return {
        block["tool_use_id"]: text_of(block["content"])
        for block in last_user(request)
        if block["type"] == "tool_result"
    }
