"""The lead at work: its ports and tools put together, its loop run to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.agent.build import build_agent
from orchestrator.agent.hooks import Hooks
from orchestrator.agent.loop import Agent
from orchestrator.agent.memory import NO_MEMORY
from orchestrator.agent.notes import NotesWriter
from orchestrator.agent.rebuild import AgentPast, rebuild_headless
from orchestrator.agent.records import Records
from orchestrator.agent.spec import Outcome
from orchestrator.ids import LEAD
from orchestrator.memory.extract import extracted
from orchestrator.memory.keeping import Put
from orchestrator.memory.memory import Known
from orchestrator.runtime.citations import KnownPlaces
from orchestrator.runtime.finish import Finisher, HasWords
from orchestrator.runtime.lead import OwnReads, lead_spec
from orchestrator.runtime.lead_memory import LeadMemory
from orchestrator.runtime.session import Session
from orchestrator.subagents.dispatch import Dispatcher
from orchestrator.tools.base import ToolContext
from orchestrator.tools.handin import Finish
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import Registry

__all__ = ["run_lead"]


async def run_lead(
    session: Session, dispatcher: Dispatcher, past: AgentPast, has_words: HasWords
) -> Outcome:
    """Let the lead work until it hands in, is stopped by a limit, or fails.

    Args:
        session: the live run.
        dispatcher: its subagents.
        past: where earlier processes left the lead.
        has_words: whether a person said something that the lead was not told.

    Raises:
        StoreError: the run folder cannot be written.
    """
    memory = _lead_memory(session, dispatcher)
    found = "" if memory is None or past.rebuilt else await memory.for_objective()
    agent = _built(session, dispatcher, past, has_words, memory, found)
    outcome = Outcome("failed")
    try:
        async with dispatcher.directing(agent):
            outcome = await agent.run()
    finally:
        session.files.keep_transcript(LEAD, agent.state.transcript.messages)
    return outcome


def _built(
    session: Session,
    dispatcher: Dispatcher,
    past: AgentPast,
    has_words: HasWords,
    memory: LeadMemory | None,
    found: str,
) -> Agent:
    """Return the lead, ready to run; `found`: in memory, for its objective."""
    services = session.services
    finisher = _finisher(session, dispatcher, past, has_words)
    notes = session.progress.notes_of(LEAD)
    registry = Registry(
        [
            *services.base_tools,
            *dispatcher.tools,
            UpdateNotes(NotesWriter(LEAD, notes, session.log, session.progress.look)),
            Finish(finisher),
        ]
    )
    spec = lead_spec(
        session.prepared,
        registry=registry,
        facts=session.facts,
        context_files=session.context_files,
        extra_tools=session.extra_tools,
        memory=found,
    )
    rebuilt = past.rebuilt
    if past.headless:
        services.log.append(spec.started(), agent=LEAD)
        rebuilt = rebuild_headless(services, spec, past.headless)
    if rebuilt:  # what was sent stays as it was; limits may have been raised
        spec = replace(rebuilt.spec, limits=spec.limits)
    records = Records(
        notes=lambda: notes.shown,
        pinned=lambda: notes.pinned,
        constraints=session.prepared.task.constraints,
        effects=lambda: session.progress.effects,
        stale=lambda: session.progress.stale_notes,
    )
    hooks = Hooks(
        on_last_call=finisher.take_as_is,
        team=dispatcher,
        records=records,
        hear=session.inbox.hear,
        memory=memory or NO_MEMORY,
    )
    if "delegate" in spec.allowed:
        hint = OwnReads(
            lambda: services.words("delegate_reminder"),
            lambda: agent.state.transcript.messages,
        )
        hooks = replace(hooks, after_turn=hint.after_turn)
    agent = build_agent(
        services,
        spec,
        registry=registry,
        workspace=session.workspace,
        state=rebuilt.state if rebuilt else None,
        hooks=hooks,
    )
    return agent


def _lead_memory(session: Session, dispatcher: Dispatcher) -> LeadMemory | None:
    """Return what the lead has of memory; None: the task has none."""
    if session.memory is None:
        return None
    services, task = session.services, session.prepared.task

    def may_cite(path: str, last: int) -> bool:
        return last <= session.sightings.lines().get(path, -1)

    def extract(known: Sequence[Known]) -> Sequence[Put]:
        roster = dispatcher.roster
        return extracted(
            roster.findings_for(LEAD),
            unsupported=roster.unsupported_for(LEAD),
            objective=session.question or task.objective,
            known=known,
        )

    return LeadMemory(
        memory=session.memory,
        task=task,
        log=session.log,
        outside=services.outside,
        words=services.words,
        context=ToolContext(
            agent=LEAD,
            call="memory",
            workspace=session.workspace,
            artifacts=services.artifacts,
            redact=services.redact,
            count=services.count,
        ),
        limit_tokens=session.prepared.numbers[0].numbers.memory_tokens,
        question=session.question,
        extract=extract,
        may_cite=may_cite,
    )


def _finisher(
    session: Session, dispatcher: Dispatcher, past: AgentPast, has_words: HasWords
) -> Finisher:
    """Return the port that takes in the report."""

    def places() -> KnownPlaces:
        seen, roster = session.sightings, dispatcher.roster
        return KnownPlaces(
            findings=roster.findings_for(LEAD),
            unsupported=roster.unsupported_for(LEAD),
            own_reads=seen.lines(LEAD),
            lines_of=seen.lines(),
        )

    return Finisher(
        session.log,
        session.prepared.task.deliverable,
        places,
        unfinished=dispatcher.unfinished,
        has_words=has_words,
        words=session.services.words,
        past=past,
    )
