"""What comes from outside in a replay: answers, results and look-ups, as recorded."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import anyio
from pydantic import BaseModel, ConfigDict

from orchestrator.agent.outside import Handed, Staleness
from orchestrator.agent.reopening import Reopened
from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.events import (
    BriefRefused,
    BriefReused,
    CacheMissed,
    ContextCompacted,
    Event,
    EvidenceStale,
    FileChange,
    FileSeen,
    ModelAnswered,
    ModelFailed,
    ModelRetried,
    PermissionAnswered,
    PermissionAsked,
    RunParked,
    SubagentAccepted,
    ToolEnded,
    parse,
)
from orchestrator.events.of_agent import UNKNOWN, Label
from orchestrator.ids import sha256
from orchestrator.models.base import (
    CacheMiss,
    ModelRequest,
    OnRetry,
    Reply,
    Retry,
    Usage,
)
from orchestrator.runtime.replaying.conductor import Conductor
from orchestrator.security.permissions import Answer, Ask
from orchestrator.tools.base import Effects, Tool, ToolContext
from orchestrator.tools.entry import Admitted
from orchestrator.tools.step import STOPPED

__all__ = [
    "OnRequest",
    "RecordedAsker",
    "RecordedModel",
    "RecordedOutside",
    "recorded_tools",
]

OnRequest = Callable[[int, ModelRequest], None]
"""Told of each request, and of the place of its intent in the record, or -1."""

_CUT = frozenset({STOPPED, UNKNOWN})
"""Results that the program itself gave to calls that it cut."""


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Answers as the models of a run answered, whatever it is asked.

    Attributes:
        conductor: says when.
        on_request: told of each request.
        caches_prompts: as the models of the run.
    """

    conductor: Conductor
    on_request: OnRequest
    caches_prompts: bool

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return what was answered; wait for ever where nothing was.

        Raises:
            ModelError: as recorded.
            NotSent: the run was parked.
        """
        intent = self.conductor.asked(sha256(request.body))
        self.on_request(intent, request)
        happenings = [] if intent < 0 else self.conductor.happenings(intent)
        if not happenings:
            await self.conductor.fault()
        reply: Reply | None = None
        with self.conductor.beating(request.on_progress):
            for place in happenings:
                reply = await self._happens(place, request, on_retry) or reply
        while reply is None:  # it was cut off between two tries
            await anyio.sleep_forever()
        return reply

    async def _happens(
        self, place: int, request: ModelRequest, on_retry: OnRetry
    ) -> Reply | None:
        conductor = self.conductor
        event = conductor.events[place]
        if event.data.get("error") == ModelFailed.NOT_SENT:
            with request.while_waiting():  # it says so itself, once it is parked
                await conductor.until(place)
            await anyio.sleep_forever()
        await conductor.until(place)
        if event.kind == ModelRetried.KIND:
            told = parse(event, ModelRetried)
            on_retry(
                Retry(told.attempt, told.error, told.message, told.wait_s, told.begun)
            )
            return None
        if event.kind == ModelFailed.KIND:
            raise self._error(place)
        return self._reply(place)

    def _error(self, place: int) -> ModelError:
        event = self.conductor.events[place]
        failed = parse(event, ModelFailed)
        parked = self._parked(place, failed)
        wait_s = None
        if parked is not None and parked.resume_at:
            until = datetime.fromisoformat(parked.resume_at)
            wait_s = (until - datetime.fromisoformat(event.at)).total_seconds()
        return ModelError(
            cast("ModelErrorKind", failed.error),
            failed.message,
            retry_after_s=wait_s,
            detail=failed.detail,
            begun=failed.begun,
            is_down=parked is not None,
        )

    def _parked(self, place: int, failed: ModelFailed) -> RunParked | None:
        """Return what came of a failure, if it parked the run."""
        for event in self.conductor.events[place:]:
            if event.kind == RunParked.KIND and event.data["message"] == failed.message:
                return parse(event, RunParked)
        return None

    def _reply(self, place: int) -> Reply:
        event = self.conductor.events[place]
        told = parse(event, ModelAnswered)
        return Reply(
            content=told.content,
            stop_reason=told.stop_reason,
            usage=Usage.stored(told.usage),
            model=told.model,
            message_id=told.message_id,
            cut_calls=frozenset(told.cut_calls),
            broken_calls=told.broken_calls,
            stop_details=told.stop_details,
            cache_miss=self._miss(event),
            seconds=told.seconds,
            first_token_s=told.first_token_s,
            queued_s=told.queued_s,
        )

    def _miss(self, answered: Event) -> CacheMiss | None:
        """Return what the service said of its cache, as far as that was logged."""
        place = self.conductor.ahead(answered.agent, CacheMissed.KIND)
        missed = None if place is None else self.conductor.events[place]
        if missed is None or missed.data["turn"] != answered.data["turn"]:
            return None
        reported = str(missed.data.get("reported") or "")
        return CacheMiss(reported) if reported else None

    async def aclose(self) -> None:
        """Close nothing."""


class _Anything(BaseModel):
    """Arguments of a tool that is on record only."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True)
class _RecordedTool:
    """Gives the results that are on record; told of as the tool that gave them."""

    name: str
    description: str
    Args: type[BaseModel]
    effects: Effects
    label: str
    own_marks: bool
    conductor: Conductor = field(repr=False)
    timeout_s: float = math.inf

    async def run(self, args: BaseModel, context: ToolContext) -> Admitted:  # noqa: ARG002 - whatever it was asked
        """Return what was recorded; wait until it is cut where nothing was."""
        conductor = self.conductor
        place = conductor.place_of(context.agent, ToolEnded.KIND, context.call)
        while place is None or conductor.events[place].data["content"] in _CUT:
            await anyio.sleep_forever()
        return _admitted(await conductor.until(place))

    def asks(self, args: BaseModel, context: ToolContext) -> Ask:  # noqa: ARG002 - likewise
        """Return what a person was asked before this call, or nothing."""
        asked = self.conductor.find(context.agent, PermissionAsked.KIND, context.call)
        if asked is None:
            return Ask((), "")
        return Ask(tuple(asked.data["permissions"]), asked.data["effect"])


def _admitted(event: Event) -> Admitted:
    ended = parse(event, ToolEnded)
    return Admitted(
        content=ended.content,
        is_error=ended.is_error,
        tokens=ended.tokens,
        full_tokens=ended.full_tokens,
        artifact=ended.artifact,
        files=tuple(_stored(FileSeen, each) for each in ended.files),
        ends=ended.ends,
        delivers=tuple(ended.delivers),
        label=cast("Label", ended.label or "reference"),
        changes=tuple(_stored(FileChange, each) for each in ended.changes),
    )


def _stored(kind: type[Any], entry: Any) -> Any:  # noqa: ANN401 - one of two kinds
    return entry if isinstance(entry, kind) else kind.stored(entry)


def recorded_tools(
    live: Sequence[Tool[Any]],
    conductor: Conductor,
    *,
    extra: Mapping[str, Mapping[str, Any]],
) -> tuple[Tool[Any], ...]:
    """Return tools that give what is on record.

    Args:
        live: those of the program, as they are told of now.
        conductor: has the record.
        extra: definitions of others that agents were told of, by name: the user's
            own, and those of servers.
    """
    made = [
        _RecordedTool(
            tool.name,
            tool.description,
            tool.Args,
            tool.effects,
            getattr(tool, "label", "reference"),
            getattr(tool, "own_marks", False),
            conductor,
        )
        for tool in live
    ]
    made += [
        _RecordedTool(
            name,
            str(told["description"]),
            _told_as(told["input_schema"]),
            _effects_of(name, conductor),
            "reference",
            True,
            conductor,
        )
        for name, told in sorted(extra.items())
    ]
    return tuple(made)


def _told_as(schema: dict[str, Any]) -> type[BaseModel]:
    """Return arguments that are told of by `schema` and take anything."""

    class Told(_Anything):
        @classmethod
        def model_json_schema(cls, *_args: Any, **_options: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's
            return schema

    return Told


def _effects_of(name: str, conductor: Conductor) -> Effects:
    for event in conductor.events:
        if event.kind == "tool.started" and event.data["name"] == name:
            found: Effects = event.data["effects"]
            return found
    return "reads"


@dataclass(frozen=True, slots=True)
class RecordedOutside:
    """What the program looked up in the workspace, as recorded.

    Attributes:
        conductor: has the record.
        hashes: subagent → hash of the tree that it was to look at.
    """

    conductor: Conductor
    hashes: Mapping[str, str]

    def problems(self, brief: Handed, look: Callable[[], list[str]]) -> list[str]:
        """Return why the brief was refused."""
        del look
        refused = self._of(BriefRefused.KIND, brief)
        if refused is None or refused.data["no_room"] or refused.data["no_budget"]:
            return []
        return [str(each) for each in refused.data["problems"]]

    def tree(self, brief: Handed, look: Callable[[], str]) -> str:
        """Return the hash of the tree that the brief was about."""
        del look
        if (accepted := self._of(SubagentAccepted.KIND, brief)) is not None:
            return str(accepted.data["scope_hash"])
        # Of one that was refused after the look nobody asks again.
        reused = self._of(BriefReused.KIND, brief)
        return self.hashes.get(str(reused.data["id"]), "") if reused else ""

    def _of(self, kind: str, brief: Handed) -> Event | None:
        return self.conductor.find(brief.parent, kind, brief.call, str(brief.index))

    def stale(
        self, told: str, of: str, look: Callable[[], Mapping[str, Staleness]]
    ) -> Mapping[str, Staleness]:
        """Return which files were told to have changed."""
        del look
        place = self.conductor.ahead(told, EvidenceStale.KIND)
        found = None if place is None else self.conductor.events[place]
        if found is None or found.data["of"] != of:
            return {}
        files: dict[str, Staleness] = found.data["files"]
        return files

    async def reopened(
        self, agent: str, look: Callable[[], Awaitable[Sequence[Reopened]]]
    ) -> Sequence[Reopened]:
        """Return the files that were shown afresh."""
        del look
        place = self.conductor.ahead(agent, ContextCompacted.KIND)
        if place is None:
            return []
        told = parse(self.conductor.events[place], ContextCompacted)
        seen = [_stored(FileSeen, each) for each in told.files]
        return [
            Reopened(
                path,
                told.text[slice(*told.opened.get(path, (0, 0)))],
                tuple(each for each in seen if each.path == path),
            )
            for path in told.reopened
        ]

    async def turn(self, agent: str) -> None:
        """Wait until what the agent does next is next of all."""
        await self.conductor.turn(agent)


@dataclass(frozen=True, slots=True)
class RecordedAsker:
    """Answers as the person did who was asked."""

    conductor: Conductor

    async def __call__(self, agent: str, tool: str, ask: Ask) -> Answer:
        """Return the answer, once it was given."""
        del tool, ask
        place = self.conductor.ahead(agent, PermissionAnswered.KIND)
        while place is None:  # the run ended meanwhile
            await anyio.sleep_forever()
        answered = await self.conductor.until(place)
        found: Answer = answered.data["answer"]
        return found
