"""The life of one subagent: fresh context, loop, findings, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread
import orjson
import structlog

from orchestrator.agent.build import build_agent
from orchestrator.agent.loop import Agent, Hooks
from orchestrator.agent.notes import NotesWriter
from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast, rebuild_headless
from orchestrator.agent.spec import Outcome
from orchestrator.brief import Brief
from orchestrator.events import AgentEnded, SubagentEnded
from orchestrator.findings import Findings
from orchestrator.messages import clean_text
from orchestrator.subagents.brake import Brake
from orchestrator.subagents.collector import Accepted, Collector
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.partial import (
    MAX_WORDS_CHARS,
    partial_from,
    text_of_input,
    unvalidated,
)
from orchestrator.subagents.render import as_body, findings_markdown
from orchestrator.subagents.shortening import Shortened, shorten
from orchestrator.tools.handin import SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import Registry

__all__ = ["Child", "broken_off", "run_child", "write_findings"]

MAX_FAULT_CHARS = 1000
MAX_TRACE_CHARS = 20_000

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Child:
    """Who a subagent is: its id, its brief, and what earlier processes did with it."""

    id: str
    brief: Brief
    parent: str
    past: AgentPast = NOT_BEGUN
    brake: Brake = field(default_factory=Brake)


@dataclass(frozen=True, slots=True)
class _Taken:
    """Findings to deliver, and what the program has to say about them."""

    findings: Findings
    unsupported: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


async def run_child(crew: Crew, child: Child) -> SubagentEnded:
    """Run one subagent to its end, write its files and log what it delivers.

    Cancelling ends it; the log then holds what is finished. With its brake pulled it
    delivers what it has by then.

    Raises:
        StoreError: the run folder cannot be written.
    """
    services, past = crew.services, child.past
    collector = Collector(
        child.id,
        services,
        crew.sightings,
        max_tokens=child.brief.deliverable.max_tokens,
        returned=[
            Findings.model_validate(each["findings"], extra="ignore")
            for each in past.returned
        ],
        is_on_record=past.is_handed_in,
    )
    writer = NotesWriter(child.id, crew.notes_of(child.id), services.log)
    registry = Registry(
        [*services.base_tools, SubmitFindings(collector), UpdateNotes(writer)]
    )
    rebuilt = past.rebuilt
    if rebuilt is None:
        spec = crew.spec_for(
            child.id, child.brief, parent=child.parent, registry=registry
        )
        crew.files.keep(child.id, "brief.md", spec.first[0]["text"].encode())
    else:
        # What was sent stays as it was; limits may have been raised.
        limits = crew.limits_of(child.brief, worked_s=rebuilt.state.carried_s)
        spec = replace(rebuilt.spec, limits=limits)
    if past.headless:
        services.log.append(spec.started(), agent=child.id)
        rebuilt = rebuild_headless(services, spec, past.headless)
    scope = child.brief.scope
    agent = build_agent(
        services,
        spec,
        registry=registry,
        workspace=crew.workspace.narrowed(scope.include, scope.exclude),
        state=rebuilt.state if rebuilt else None,
        hooks=Hooks(on_last_call=collector.take_as_is),
    )
    collector.knows_ref = agent.state.transcript.holds
    try:
        outcome = await _work(crew, child, agent)
    finally:
        crew.files.keep_transcript(child.id, agent.state.transcript.messages)
    ended: list[SubagentEnded] = []
    # Its work is over and on record: nothing that takes long is left.
    with anyio.CancelScope(shield=True):
        taken = await _take(crew, child, agent, outcome, collector)
        ended.append(await _deliver(crew, child, taken, outcome.kind, _why(outcome)))
    return ended[0]


async def _work(crew: Crew, child: Child, agent: Agent) -> Outcome:
    """Let the agent work until it ends, or its brake is pulled."""
    brake = child.brake
    with brake.watching():
        if not brake.why:
            return await agent.run()
    turns = agent.state.turns
    crew.services.log.append(AgentEnded("cancelled", brake.why, turns), agent=child.id)
    return Outcome("cancelled", reason=brake.why, turns=turns)


async def broken_off(
    crew: Crew, child: Child, why: str, trace: str = "", *, outcome: str = "failed"
) -> SubagentEnded:
    """Log the end of a subagent that broke off, with what is known of its work.

    Args:
        crew: what it was made from.
        child: who it was.
        why: in words; for the lead too.
        trace: of a fault of the program.
        outcome: `failed`, or `cancelled`.

    Raises:
        StoreError: the run folder cannot be written.
    """
    redact = crew.services.redact
    why = redact(clean_text(why))[:MAX_FAULT_CHARS]
    found = partial_from(
        reason=why,
        notes=_notes(crew, child.id),
        files=list(crew.sightings.of(child.id)),
    )
    if outcome == "failed":
        found = found.model_copy(update={"status": "failed"})
    trace = redact(clean_text(trace))[-MAX_TRACE_CHARS:]
    return await _deliver(crew, child, _Taken(found), outcome, why, trace=trace)


def _why(outcome: Outcome) -> str:
    if outcome.kind == "submitted" and outcome.limit:
        return f"stopped by a limit: {outcome.reason}"
    return outcome.reason


async def _take(
    crew: Crew, child: Child, agent: Agent, outcome: Outcome, collector: Collector
) -> _Taken:
    """Return the findings that an outcome leaves, whatever it is."""
    if outcome.kind == "submitted" and isinstance(outcome.value, Accepted):
        return _as_taken(outcome.value)
    newest = await collector.newest()
    if newest is not None and newest.findings.status != "failed":
        return _as_taken(newest, is_whole=False)
    raw = outcome.text or next(iter(agent.state.transcript.texts("assistant")), "")
    raw = clean_text(raw)
    if outcome.kind == "unvalidated":
        found = unvalidated(_words(raw), reason=outcome.reason)
    else:
        found = partial_from(
            reason=outcome.reason,
            notes=_notes(crew, child.id),
            files=list(crew.sightings.of(child.id)),
            last_text=_words(raw),
        )
    if outcome.kind == "failed":
        found = found.model_copy(update={"status": "failed"})
    if len(raw) <= MAX_WORDS_CHARS:
        return _Taken(found)
    whole = raw.encode()
    pointer = await anyio.to_thread.run_sync(crew.services.artifacts.put, whole)
    note = f"its last words are shown in part; all of them are in {pointer}"
    return _Taken(found.model_copy(update={"artifacts": (pointer,)}), notes=(note,))


def _as_taken(accepted: Accepted, *, is_whole: bool = True) -> _Taken:
    findings = accepted.findings
    if not is_whole and findings.status == "complete":
        findings = findings.model_copy(update={"status": "partial"})
    return _Taken(findings, accepted.unsupported, accepted.notes)


def _words(text: str) -> str:
    """Return the words in `text`, which may be the input of a refused hand-in."""
    try:
        return text_of_input(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


async def _deliver(
    crew: Crew,
    child: Child,
    taken: _Taken,
    outcome: str,
    reason: str,
    *,
    trace: str = "",
) -> SubagentEnded:
    """Bring findings within their size, write them down, and log the end."""
    shortened, notes = await anyio.to_thread.run_sync(_within_limit, crew, child, taken)
    findings = shortened.findings
    unsupported = shortened.renumbered(taken.unsupported)
    body = as_body(findings, agent=child.id, unsupported=unsupported)
    ended = SubagentEnded(
        id=child.id,
        status=findings.status,
        outcome=outcome,
        reason=reason,
        findings=findings.model_dump(mode="json"),
        explored_tokens=crew.sightings.explored.get(child.id, 0),
        returned_tokens=crew.services.count(body),
        unsupported=len(unsupported),
        unsupported_items=list(unsupported),
        notes=notes,
        traceback=trace,
    )
    write_findings(crew, child, ended)
    crew.services.log.append(ended, agent=child.id)
    return ended


def _within_limit(
    crew: Crew, child: Child, taken: _Taken
) -> tuple[Shortened, list[str]]:
    """Return findings as they may be delivered, and the notes that go with them."""
    limit, count = child.brief.deliverable.max_tokens, crew.services.count
    whole, unsupported = taken.findings, taken.unsupported
    shortened = shorten(whole, limit, count, unsupported=unsupported)
    if not shortened.was_cut:
        return shortened, list(taken.notes)
    record = _record(whole, unsupported)
    # Set out in lines, so that it can be read in pages.
    data = orjson.dumps(record, option=orjson.OPT_INDENT_2)
    pointer = crew.services.artifacts.put(data, "json")
    shortened = shorten(whole, limit, count, unsupported=unsupported, pointer=pointer)
    dropped = len(shortened.dropped)
    note = f"shortened to {limit} tokens; {dropped} items are only in {pointer}"
    return shortened, [*taken.notes, note]


def _record(findings: Findings, unsupported: Sequence[int]) -> dict[str, Any]:
    """Return findings for a file: items say it where their evidence was not found."""
    record = findings.model_dump(mode="json")
    for number in unsupported:
        record["items"][number - 1]["unsupported"] = True
    return record


def write_findings(crew: Crew, child: Child, ended: SubagentEnded) -> None:
    """Write the files of what a subagent delivered."""
    findings = Findings.model_validate(ended.findings, extra="ignore")
    unsupported = ended.unsupported_items
    record = _record(findings, unsupported)
    record |= {"outcome": ended.outcome, "reason": ended.reason, "notes": ended.notes}
    data = orjson.dumps(record, option=orjson.OPT_INDENT_2)
    crew.files.keep(child.id, "findings.json", data + b"\n")
    page = findings_markdown(
        findings,
        agent=child.id,
        title=child.brief.title,
        unsupported=unsupported,
        notes=[*([ended.reason] if ended.reason else []), *ended.notes],
    )
    crew.files.keep(child.id, "findings.md", page.encode())


def _notes(crew: Crew, agent: str) -> str:
    sections = crew.notes_of(agent).sections
    return "\n\n".join(f"{name}: {text}" for name, text in sections.items() if text)
