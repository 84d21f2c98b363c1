"""The life of one subagent: fresh context, loop, findings, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.agent.build import build_agent
from orchestrator.agent.loop import Agent
from orchestrator.agent.notes import NotesWriter
from orchestrator.agent.rebuild import Resumed
from orchestrator.agent.spec import Outcome
from orchestrator.brief import Brief
from orchestrator.errors import StoreError
from orchestrator.events import SubagentEnded
from orchestrator.findings import Findings
from orchestrator.messages import encode
from orchestrator.store.disk import write_derived
from orchestrator.store.transcript import as_jsonl
from orchestrator.subagents.collector import Accepted, Collector
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.partial import partial_from, unvalidated
from orchestrator.subagents.render import as_body, findings_markdown
from orchestrator.subagents.shortening import shorten
from orchestrator.tools.handin import SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import Registry

__all__ = ["Child", "broken_off", "run_child"]


@dataclass(frozen=True, slots=True)
class Child:
    """Who a subagent is: its id, its brief, and where an earlier process left it."""

    id: str
    brief: Brief
    parent: str
    resumed: Resumed | None = None
    findings_returned: int = 0


@dataclass(frozen=True, slots=True)
class _Taken:
    """Findings to deliver, and what the program has to say about them."""

    findings: Findings
    unsupported: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


async def run_child(crew: Crew, child: Child) -> SubagentEnded:
    """Run one subagent to its end, write its files and log what it delivers.

    Cancelling ends it; the log then holds what is finished.

    Raises:
        StoreError: the run folder cannot be written.
    """
    services = crew.services
    collector = Collector(
        child.id,
        services,
        crew.sightings,
        max_tokens=child.brief.deliverable.max_tokens,
        returned=child.findings_returned,
    )
    writer = NotesWriter(child.id, crew.notes_of(child.id), services.log)
    registry = Registry(
        [*services.base_tools, SubmitFindings(collector), UpdateNotes(writer)]
    )
    if child.resumed is None:
        spec = crew.spec_for(
            child.id, child.brief, parent=child.parent, registry=registry
        )
        _write(crew, child.id, "brief.md", str(spec.first[0]["text"]))
    else:
        spec = child.resumed.spec
    scope = child.brief.scope
    agent = build_agent(
        services,
        spec,
        registry=registry,
        workspace=crew.workspace.narrowed(scope.include, scope.exclude),
        state=child.resumed.state if child.resumed else None,
    )
    try:
        outcome = await agent.run()
    finally:
        transcript = as_jsonl(agent.state.transcript.messages).decode()
        _write(crew, child.id, "transcript.jsonl", transcript)
    taken = _take(crew, child, agent, outcome)
    return _deliver(crew, child, taken, outcome.kind, _why(outcome))


def broken_off(crew: Crew, child: Child, why: str, trace: str = "") -> SubagentEnded:
    """Log the end of a subagent that broke off, with what is known of its work.

    Raises:
        StoreError: the run folder cannot be written.
    """
    found = partial_from(
        reason=why,
        notes=_notes(crew, child.id),
        files=list(crew.sightings.of(child.id)),
    )
    taken = _Taken(found.model_copy(update={"status": "failed"}))
    return _deliver(crew, child, taken, "failed", why, trace=trace)


def _why(outcome: Outcome) -> str:
    if outcome.kind == "submitted" and outcome.limit:
        return f"stopped by a limit: {outcome.reason}"
    return outcome.reason


def _take(crew: Crew, child: Child, agent: Agent, outcome: Outcome) -> _Taken:
    """Return the findings that an outcome leaves, whatever it is."""
    if outcome.kind == "submitted" and isinstance(outcome.value, Accepted):
        accepted = outcome.value
        return _Taken(accepted.findings, accepted.unsupported, accepted.notes)
    if outcome.kind == "unvalidated":
        return _Taken(unvalidated(outcome.text, reason=outcome.reason))
    found = partial_from(
        reason=outcome.reason,
        notes=_notes(crew, child.id),
        files=list(crew.sightings.of(child.id)),
        last_text=outcome.text
        or next(iter(agent.state.transcript.texts("assistant")), ""),
    )
    if outcome.kind == "failed":
        found = found.model_copy(update={"status": "failed"})
    return _Taken(found)


def _deliver(
    crew: Crew,
    child: Child,
    taken: _Taken,
    outcome: str,
    reason: str,
    *,
    trace: str = "",
) -> SubagentEnded:
    """Bring findings within their size, write them down, and log the end."""
    services, limit = crew.services, child.brief.deliverable.max_tokens
    whole = taken.findings
    shortened = shorten(whole, limit, services.count, unsupported=taken.unsupported)
    if shortened.was_cut:
        data = encode(whole.model_dump(mode="json"))
        pointer = services.artifacts.put(data, "json")
        shortened = shorten(
            whole,
            limit,
            services.count,
            unsupported=taken.unsupported,
            pointer=pointer,
        )
        dropped = len(shortened.dropped)
        note = f"shortened to {limit} tokens; {dropped} items are only in {pointer}"
        taken = replace(taken, notes=(*taken.notes, note))
    findings = shortened.findings
    unsupported = shortened.renumbered(taken.unsupported)
    ended = SubagentEnded(
        id=child.id,
        status=findings.status,
        outcome=outcome,
        reason=reason,
        findings=findings.model_dump(mode="json"),
        explored_tokens=crew.sightings.explored[child.id],
        returned_tokens=services.count(
            as_body(findings, agent=child.id, unsupported=unsupported)
        ),
        unsupported=len(unsupported),
        unsupported_items=list(unsupported),
        notes=list(taken.notes),
        traceback=trace,
    )
    _write_findings(crew, child, ended, findings, unsupported)
    services.log.append(ended, agent=child.id)
    return ended


def _write_findings(
    crew: Crew,
    child: Child,
    ended: SubagentEnded,
    findings: Findings,
    unsupported: Sequence[int],
) -> None:
    items = [
        {**item, "unsupported": number in unsupported}
        for number, item in enumerate(ended.findings["items"], 1)
    ]
    data = encode({**ended.findings, "items": items}).decode()
    _write(crew, child.id, "findings.json", data + "\n")
    page = findings_markdown(
        findings,
        agent=child.id,
        title=child.brief.title,
        unsupported=unsupported,
        notes=[*([ended.reason] if ended.reason else []), *ended.notes],
    )
    _write(crew, child.id, "findings.md", page)


def _notes(crew: Crew, agent: str) -> str:
    sections = crew.notes_of(agent).sections
    return "\n\n".join(f"{name}: {text}" for name, text in sections.items() if text)


def _write(crew: Crew, agent: str, name: str, text: str) -> None:
    folder = crew.folder.agent(agent)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make `{folder}`: {error.strerror}") from error
    write_derived(folder / name, text.encode())
