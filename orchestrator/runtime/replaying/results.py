"""The results of tools in a replay, and the answers of who was asked before them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
from pydantic import BaseModel, ConfigDict

from orchestrator.errors import ToolError
from orchestrator.events import (
    Event,
    FileChange,
    FileSeen,
    PermissionAnswered,
    PermissionAsked,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.events.of_agent import UNKNOWN, Label
from orchestrator.runtime.replaying.conductor import Conductor
from orchestrator.security.permissions import Answer, Ask
from orchestrator.tools.base import Effects, Tool, ToolContext
from orchestrator.tools.entry import Admitted
from orchestrator.tools.step import STOPPED

__all__ = ["RecordedAsker", "recorded_tools", "stored"]

_CUT = frozenset({STOPPED, UNKNOWN})
"""Results that the program itself gave to calls that it cut."""


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
        """Return what a person was asked before this call, or nothing.

        Raises:
            ToolError: the call was refused before it could run.
        """
        find, call = self.conductor.find, context.call
        asked = find(context.agent, PermissionAsked.KIND, call)
        if asked is not None:
            return Ask(tuple(asked.data["permissions"]), asked.data["effect"])
        ended = find(context.agent, ToolEnded.KIND, call)
        if ended is not None and find(context.agent, ToolStarted.KIND, call) is None:
            raise ToolError(str(ended.data["content"]))  # it did not run
        return Ask((), "")


def _admitted(event: Event) -> Admitted:
    ended = parse(event, ToolEnded)
    return Admitted(
        content=ended.content,
        is_error=ended.is_error,
        tokens=ended.tokens,
        full_tokens=ended.full_tokens,
        artifact=ended.artifact,
        files=tuple(stored(FileSeen, each) for each in ended.files),
        ends=ended.ends,
        delivers=tuple(ended.delivers),
        label=cast("Label", ended.label or "reference"),
        changes=tuple(stored(FileChange, each) for each in ended.changes),
    )


def stored(kind: type[Any], entry: Any) -> Any:  # noqa: ANN401 - one of two kinds
    """Return an entry of a record as its kind, whichever form it is in."""
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
        if event.kind == ToolStarted.KIND and event.data["name"] == name:
            found: Effects = event.data["effects"]
            return found
    return "reads"


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
