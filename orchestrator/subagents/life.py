"""The life of one subagent: fresh context, loop, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Protocol

import anyio

from orchestrator.agent.build import build_agent
from orchestrator.agent.hooks import Hooks
from orchestrator.agent.loop import Agent
from orchestrator.agent.notes import NotesWriter
from orchestrator.agent.rebuild import Rebuilt, rebuild_headless
from orchestrator.agent.records import Records
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.team import Team
from orchestrator.events import AgentEnded, SubagentEnded
from orchestrator.subagents.child import Child, Errand
from orchestrator.subagents.collector import Collector
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.handover import hand_over
from orchestrator.tools.base import Tool
from orchestrator.tools.handin import SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import Registry

__all__ = ["Below", "run_child"]


class Below(Team, Protocol):
    """What a subagent needs to send subagents of its own."""

    @property
    def tools(self) -> Sequence[Tool[Any]]:
        """Return its tools for that; none: it may not."""
        ...

    def directing(self, agent: Agent) -> AbstractAsyncContextManager[None]:
        """Let its subagents work meanwhile; at the end those still at work are ended.

        Args:
            agent: who sends them.
        """
        ...

    def unfinished(self) -> Mapping[str, str]:
        """Return id → state, in words, of those whose findings it has not got."""
        ...

    def missing(self) -> Sequence[str]:
        """Return what it asked of them and did not get, a line each."""
        ...


async def run_child(
    crew: Crew, child: Child, errand: Errand, below: Below
) -> SubagentEnded:
    """Run one subagent to its end, write its files and log what it delivers.

    Cancelling ends it; the log then holds what is finished. With its brake pulled it
    delivers what it has by then.

    Args:
        crew: what subagents are made from.
        child: who it is.
        errand: what it is at work on.
        below: the subagents that it may send itself.

    Raises:
        StoreError: the run folder cannot be written.
    """
    services = crew.services
    collector = Collector(
        child.id,
        services,
        crew.sightings,
        max_tokens=child.brief.deliverable.max_tokens,
        past=child.past,
        unfinished=below.unfinished,
    )
    noted = crew.notes_of(child.id)
    notes = UpdateNotes(NotesWriter(child.id, noted, services.log))
    records = Records(
        notes=lambda: noted.sections,
        pinned=lambda: noted.pinned,
        constraints=crew.task.constraints,
    )
    registry = Registry(
        [*services.base_tools, *below.tools, SubmitFindings(collector), notes]
    )
    spec, rebuilt = _begun(crew, child, errand, registry)
    agent = build_agent(
        services,
        spec,
        registry=registry,
        workspace=errand.workspace,
        state=rebuilt.state if rebuilt else None,
        hooks=Hooks(on_last_call=collector.take_as_is, team=below, records=records),
        budget=errand.budget,
    )
    collector.knows_ref = agent.state.transcript.knows
    try:
        async with below.directing(agent):
            outcome = await _work(crew, child, agent)
    finally:
        crew.files.keep_transcript(child.id, agent.state.transcript.messages)
    ended: list[SubagentEnded] = []
    # Its work is over and on record: nothing that takes long is left.
    with anyio.CancelScope(shield=True):
        missing = below.missing()
        ended.append(
            await hand_over(
                crew, child, errand, agent, outcome, collector, missing=missing
            )
        )
    return ended[0]


def _begun(
    crew: Crew, child: Child, errand: Errand, registry: Registry
) -> tuple[AgentSpec, Rebuilt | None]:
    """Return what the subagent is made of, and where it goes on."""
    services, past = crew.services, child.past
    rebuilt, brief = past.rebuilt, child.brief
    if rebuilt is None:
        spec = crew.spec_for(
            child.id,
            brief,
            parent=child.parent,
            registry=registry,
            minutes_left=errand.minutes_left,
            levels=errand.levels,
        )
        crew.files.keep(child.id, "brief.md", spec.first[0]["text"].encode())
    else:
        # What was sent stays as it was; limits may have been raised.
        spec = replace(
            rebuilt.spec,
            limits=crew.limits_of(
                brief,
                minutes_left=errand.minutes_left,
                worked_s=rebuilt.state.carried_s,
                asked_at=rebuilt.state.asked_at if errand.asked else None,
            ),
        )
    if past.headless:
        services.log.append(spec.started(), agent=child.id)
        rebuilt = rebuild_headless(services, spec, past.headless)
    return spec, rebuilt


async def _work(crew: Crew, child: Child, agent: Agent) -> Outcome:
    """Let the agent work until it ends, or its brake is pulled."""
    brake = child.brake
    with brake.watching():
        if not brake.why:
            return await agent.run()
    turns = agent.state.turns
    crew.services.log.append(AgentEnded("cancelled", brake.why, turns), agent=child.id)
    return Outcome("cancelled", reason=brake.why, turns=turns)
