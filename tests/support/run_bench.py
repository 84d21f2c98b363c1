"""Whole runs in a temp folder: a workspace, a model that plays a script, the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel

from orchestrator.api import Orchestrator
from orchestrator.clock import Clock
from orchestrator.events import Event
from orchestrator.messages import Block, text_of
from orchestrator.models.base import Model, ModelRequest
from orchestrator.runtime.result import RunResult
from orchestrator.spec.task import Task
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.reading import read_events
from orchestrator.testing import (
    FakeClock,
    Script,
    ScriptedModel,
    Step,
    call,
    conversations,
)
from orchestrator.tools.base import Effects, ToolContext

__all__ = [
    "OBJECTIVE",
    "NoArgs",
    "Prints",
    "RunBench",
    "brief",
    "delegate",
    "finish",
    "found",
    "in_turn",
    "item",
    "last_results",
    "played",
    "submit",
]

OBJECTIVE = "Explain how long refunds take, for the customer letter."
SUMMARY = "The papers say how long it takes, and where."


class NoArgs(BaseModel):
    """Arguments of the test tools."""


class Prints:
    """A tool that prints what a test makes of its agent's id, or raises it."""

    name: ClassVar[str] = "prints"
    description: ClassVar[str] = "Prints something."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 5

    def __init__(self, make: Callable[[str], str | BaseException]) -> None:
        self.make = make

    def run(self, args: NoArgs, context: ToolContext) -> str:
        made = self.make(context.agent)
        if isinstance(made, BaseException):
            raise made
        return made


def brief(title: str, **fields: Any) -> dict[str, Any]:
    """A brief that stands alone; `title` tells the conversations apart."""
    return {
        "title": title,
        "objective": f"Find out how many days a refund takes in the case of {title}, "
        "for a letter to customers.",
        "questions": [f"How many days does a refund take for {title}?"],
        **fields,
    }


def delegate(*briefs: dict[str, Any], **fields: Any) -> Block:
    """A call that sends these briefs."""
    return call("delegate", briefs=list(briefs), **fields)


def finish(report: str, **fields: Any) -> Block:
    """A call that hands in a report."""
    return call("finish", report=report, **fields)


def item(
    claim: str, source: str, quote: str, *, confidence: float = 0.8
) -> dict[str, Any]:
    """A claim with one piece of evidence."""
    evidence = [{"source": source, "quote": quote}]
    return {"claim": claim, "evidence": evidence, "confidence": confidence}


def found(
    *items: dict[str, Any],
    status: str = "complete",
    summary: str = SUMMARY,
    **more: Any,
) -> dict[str, Any]:
    """The input of `submit_findings`."""
    return {"status": status, "summary": summary, "items": list(items), **more}


def submit(*items: dict[str, Any], **fields: Any) -> Block:
    """A call that hands in findings."""
    return call("submit_findings", **found(*items, **fields))


def last_results(request: ModelRequest) -> str:
    """All that the newest user message says, results and texts."""
    return text_of(request.messages[-1]["content"])


def in_turn(
    *steps: Step | Callable[[ModelRequest], Step | Awaitable[Step]],
) -> Callable[[ModelRequest], Step | Awaitable[Step]]:
    """A script for one conversation, some of its steps made from the request."""
    left = iter(steps)

    def play(request: ModelRequest) -> Step | Awaitable[Step]:
        step = next(left)
        return step(request) if callable(step) else step

    return play


def played(lead: Script, workers: Mapping[str, Script]) -> ScriptedModel:
    """A model that plays the lead, and each worker by the title of its brief."""
    by_title = {f"# {title}\n": script for title, script in workers.items()}
    return ScriptedModel(conversations({"# Objective\n": lead, **by_title}))


@dataclass
class RunBench:
    """A workspace and a runs folder; each run leaves its model and result here."""

    folder: Path
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root, self.runs = self.folder / "work", self.folder / "runs"
        self.root.mkdir(exist_ok=True)
        for name, content in self.files.items():
            self.write(name, content)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def task(self, **fields: Any) -> Task:
        given = {
            "name": "bench",
            "objective": OBJECTIVE,
            "workspace": self.root,
            "model": "offline",
            "context": (),
            **fields,
        }
        return Task.model_validate(given)

    async def run(
        self,
        model: Model,
        /,
        *,
        tools: Sequence[Any] = (),
        clock: Clock | None = None,
        on_event: Callable[[Event], None] | None = None,
        **fields: Any,
    ) -> Ended:
        """Run a task with `model` behind every agent."""
        clock = clock or FakeClock()
        async with Orchestrator(
            runs_dir=self.runs, model=model, tools=tools, clock=clock
        ) as here:
            result = await here.run(self.task(**fields), on_event=on_event)
            return Ended(result, model)

    async def play(
        self,
        lead: Script,
        workers: Mapping[str, Script],
        *,
        tools: Sequence[Any] = (),
        clock: Clock | None = None,
        on_event: Callable[[Event], None] | None = None,
        **fields: Any,
    ) -> Ended:
        """Run a task: the lead's script, and one for each brief, by its title."""
        model = played(lead, workers)
        return await self.run(
            model, tools=tools, clock=clock, on_event=on_event, **fields
        )

    async def resume(
        self,
        run: Path,
        lead: Script,
        workers: Mapping[str, Script],
        *,
        tools: Sequence[Any] = (),
        clock: Clock | None = None,
    ) -> Ended:
        """Go on with a run; the scripts hold what is still to be said."""
        model = played(lead, workers)
        async with Orchestrator(
            runs_dir=self.runs, model=model, tools=tools, clock=clock or FakeClock()
        ) as here:
            return Ended(await here.resume(run), model)


@dataclass
class Ended:
    """What a run left."""

    result: RunResult
    model: Model

    @property
    def folder(self) -> Path:
        return self.result.folder

    @property
    def requests(self) -> list[ModelRequest]:
        assert isinstance(self.model, ScriptedModel)
        return self.model.requests

    def events(self, kind: str = "", agent: str | None = None) -> list[Event]:
        artifacts = Artifacts(self.folder / "artifacts")
        return [
            event
            for event in read_events(self.folder / "events.jsonl", artifacts)
            if event.kind.startswith(kind) and agent in (None, event.agent)
        ]

    def results(self, name: str, agent: str = "lead") -> list[str]:
        """What the calls of one tool brought, in the order they were started."""
        ended = [
            event
            for event in self.events("tool.ended", agent)
            if event.data["name"] == name
        ]
        ended.sort(key=lambda event: event.cause or event.seq)
        return [text_of(event.data["content"]) for event in ended]

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def json(self, name: str) -> Any:
        return orjson.loads((self.folder / name).read_bytes())

    def requests_of(self, agent: str) -> list[ModelRequest]:
        """The requests of one agent, found by what it started with."""
        started = self.events("agent.started", agent)[0].data["first"]
        first = text_of(started)
        return [
            each
            for each in self.requests
            if text_of(each.messages[0]["content"]) == first
        ]

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of every file of the run."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield path.relative_to(self.folder).as_posix(), path.read_bytes()
