"""A workspace, an executor and an agent's context, as real as in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.clock import SystemClock
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.events import Event
from orchestrator.messages import Message, text_of
from orchestrator.security.permissions import Permission
from orchestrator.security.redaction import Redactor
from orchestrator.security.untrusted import as_written
from orchestrator.security.workspace import Workspace
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.base import Tool, ToolContext
from orchestrator.tools.calls import CallResult, CallSpec
from orchestrator.tools.executor import Executor
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.permits import CLOSED, Gate
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.registry import Registry
from orchestrator.tools.search import Glob, Grep

__all__ = ["ToolBench"]


@dataclass
class ToolBench:
    """Runs calls as an agent's step would, and remembers what it was shown."""

    folder: Path
    tools: Iterable[Tool[Any]] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read_tokens: int = 8000
    clip_tokens: int = 4000
    agent: str = "a1"
    events: list[Event] = field(default_factory=list)
    shown: str = ""
    messages: list[Message] = field(default_factory=list)
    findings: dict[str, str] = field(default_factory=dict)
    gate: Gate = CLOSED
    may: frozenset[Permission] = frozenset()
    restore: Callable[[str], str] | None = None
    """None: what was redacted here is put back."""

    def __post_init__(self) -> None:
        self.root = self.folder / "work"
        store = self.folder / f"run-{self.agent}"
        self.root.mkdir(exist_ok=True)
        (store / "artifacts").mkdir(parents=True)
        self.artifacts = Artifacts(store / "artifacts")
        self.log = EventLog.create(
            store / "events.jsonl", "r", self.artifacts, SystemClock()
        )
        self.log.subscribe(self.events.append)
        self.sightings = Sightings()
        self.log.subscribe(self.sightings.apply)
        self.redactor = Redactor(b"salt")
        self.redact: Callable[[str], str] = self.redactor.redact
        built_in = (ReadFile(), ListDir(), Grep(), Glob(), ReadRef())
        self.registry = Registry((*built_in, *self.tools))
        clip = partial(clip_text, count=estimate)
        self.executor = Executor(
            self.registry, self.log, clip, SystemClock(), gate=self.gate
        )
        self.workspace = Workspace(self.root, self.include, self.exclude)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        return path

    def context(self, call: str = "t1") -> ToolContext:
        return ToolContext(
            agent=self.agent,
            call=call,
            workspace=self.workspace,
            artifacts=self.artifacts,
            redact=self.redact,
            count=estimate,
            read_tokens=self.read_tokens,
            clip_tokens=self.clip_tokens,
            knows_ref=lambda ref: ref in self.shown,
            history=lambda: self.messages,
            findings_of=lambda agent: self.findings.get(agent, ""),
            seen=self.sightings.newest(self.agent),
            restore=self._restored,
            restore_file=self._restored,
            may=self.may,
        )

    def _restored(self, text: str) -> str:
        return (self.restore or self.redactor.restore)(as_written(text))

    async def run(
        self, *calls: CallSpec, allowed: Iterable[str] | None = None
    ) -> list[CallResult]:
        names = self.registry.names if allowed is None else tuple(allowed)
        results = await self.executor.run(calls, self.context, names)
        self.shown += "".join(text_of(result.content) for result in results)
        return results

    async def call(self, name: str, **given: Any) -> CallResult:
        number = len(self.events)
        [result] = await self.run(CallSpec(f"t{number}", name, given))
        return result

    async def text(self, name: str, **given: Any) -> str:
        result = await self.call(name, **given)
        assert not result.is_error, result.content
        return text_of(result.content)

    async def error(self, name: str, **given: Any) -> str:
        result = await self.call(name, **given)
        assert result.is_error, result.content
        return text_of(result.content)
