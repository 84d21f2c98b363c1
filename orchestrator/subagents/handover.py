"""What a subagent leaves at its end, however it ends: findings, files, the event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread
import orjson

from orchestrator.agent.files import AgentFiles
from orchestrator.agent.loop import Agent
from orchestrator.agent.spec import Outcome
from orchestrator.events import SubagentEnded
from orchestrator.findings import Findings
from orchestrator.messages import clean_text
from orchestrator.store.layout import RunFolder
from orchestrator.subagents.child import Child, Errand
from orchestrator.subagents.collector import Accepted, Collector
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.partial import (
    MAX_WORDS_CHARS,
    partial_from,
    text_of_input,
    unvalidated,
)
from orchestrator.subagents.render import as_body, findings_markdown
from orchestrator.subagents.roster import Roster
from orchestrator.subagents.shortening import Shortened, shorten

__all__ = ["broken_off", "hand_over", "write_missing"]

MAX_FAULT_CHARS = 1000
MAX_TRACE_CHARS = 20_000
MAX_MISSING = 5


@dataclass(frozen=True, slots=True)
class _Taken:
    """Findings to deliver, and what the program has to say about them."""

    findings: Findings
    unsupported: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


async def hand_over(
    crew: Crew,
    child: Child,
    errand: Errand,
    agent: Agent,
    outcome: Outcome,
    collector: Collector,
    *,
    missing: Sequence[str],
) -> SubagentEnded:
    """Write down what a subagent delivers, and log its end; not to be cancelled.

    Args:
        crew: what it was made from.
        child: who it is.
        errand: what it was at work on.
        agent: its loop, which is over.
        outcome: how that ended.
        collector: what was handed in.
        missing: what it asked of subagents of its own and did not get, a line each.

    Raises:
        StoreError: the run folder cannot be written.
    """
    taken = _told_of(await _take(crew, child, agent, outcome, collector), missing)
    why = _why(outcome) or _hurried(agent, taken)
    return await _deliver(crew, child, errand, taken, outcome.kind, why)


def _told_of(taken: _Taken, missing: Sequence[str]) -> _Taken:
    """Return findings that say what the subagent's own subagents did not bring."""
    if not missing:
        return taken
    findings = taken.findings
    if findings.status == "complete":
        findings = findings.model_copy(update={"status": "partial"})
    notes = [f"of its own subagents: {line}" for line in missing[:MAX_MISSING]]
    more = len(missing) - MAX_MISSING
    notes += [f"and {more} more of these"] if more > 0 else []
    return replace(taken, findings=findings, notes=(*taken.notes, *notes))


async def broken_off(
    crew: Crew,
    child: Child,
    errand: Errand,
    why: str,
    trace: str = "",
    *,
    outcome: str = "failed",
) -> SubagentEnded:
    """Log the end of a subagent that broke off, with what is known of its work.

    Args:
        crew: what it was made from.
        child: who it was.
        errand: what it was at work on.
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
    taken = _Taken(found)
    return await _deliver(crew, child, errand, taken, outcome, why, trace=trace)


def _why(outcome: Outcome) -> str:
    if outcome.kind == "submitted" and outcome.limit:
        return f"stopped by a limit: {outcome.reason}"
    return outcome.reason


def _hurried(agent: Agent, taken: _Taken) -> str:
    """Return the limit that made an agent hand in a part, or ""."""
    near = agent.state.wrap_up
    if near is None or taken.findings.status != "partial":
        return ""
    return f"told to bring its work to an end: `{near[0]}` was nearly used up"


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
    redact = crew.services.redact
    words, raw = (redact(clean_text(text)) for text in (_words(raw), raw))
    if outcome.kind == "unvalidated":
        found = unvalidated(words, reason=outcome.reason)
    else:
        found = partial_from(
            reason=outcome.reason,
            notes=_notes(crew, child.id),
            files=list(crew.sightings.of(child.id)),
            last_text=words,
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
    return _Taken(findings, accepted.unsupported, accepted.notes, accepted.sources)


def _words(text: str) -> str:
    """Return the words in `text`, which may be the input of a refused hand-in."""
    try:
        return text_of_input(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


async def _deliver(
    crew: Crew,
    child: Child,
    errand: Errand,
    taken: _Taken,
    outcome: str,
    reason: str,
    *,
    trace: str = "",
) -> SubagentEnded:
    """Bring findings within their size, write them down, and log the end."""
    shortened, notes = await anyio.to_thread.run_sync(_within_limit, crew, child, taken)
    findings = shortened.findings
    first = errand.first_item
    unsupported = [n + first - 1 for n in shortened.renumbered(taken.unsupported)]
    body = as_body(findings, agent=child.id, unsupported=unsupported, first_item=first)
    ended = SubagentEnded(
        id=child.id,
        status=findings.status,
        outcome=outcome,
        reason=reason,
        findings=findings.model_dump(mode="json"),
        explored_tokens=crew.sightings.explored.get(child.id, 0),
        returned_tokens=crew.services.count(body),
        unsupported=len(unsupported),
        unsupported_items=unsupported,
        notes=notes,
        traceback=trace,
        sources=dict(taken.sources),
        first_item=first,
        question=errand.asked.question if errand.asked else "",
    )
    _write_findings(crew.files, child, [*errand.before, ended])
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
    where = f"{dropped} items are only in {pointer}" if dropped else f"all: {pointer}"
    note = f"shortened to {limit} tokens; {where}"
    return shortened, [*taken.notes, note]


def _record(findings: Findings, unsupported: Sequence[int]) -> dict[str, Any]:
    """Return findings for a file: items say it where their evidence was not found."""
    record = findings.model_dump(mode="json")
    for number in unsupported:
        record["items"][number - 1]["unsupported"] = True
    return record


def _write_findings(
    files: AgentFiles, child: Child, ends: Sequence[SubagentEnded]
) -> None:
    """Write the files of what a subagent delivered.

    Args:
        files: of the agents.
        child: who it was.
        ends: how it ended: on its brief, then on each further question.
    """
    first, *more = (_as_record(each) for each in ends)
    record = {**first, "follow_ups": more} if more else first
    data = orjson.dumps(record, option=orjson.OPT_INDENT_2)
    files.keep(child.id, "findings.json", data + b"\n")
    pages = [
        findings_markdown(
            Findings.model_validate(each.findings, extra="ignore"),
            agent=child.id,
            title=child.brief.title,
            unsupported=each.unsupported_items,
            notes=[*([each.reason] if each.reason else []), *each.notes],
            first_item=each.first_item,
            question=each.question,
        )
        for each in ends
    ]
    files.keep(child.id, "findings.md", "\n".join(pages).encode())


def write_missing(files: AgentFiles, folder: RunFolder, roster: Roster) -> None:
    """Write the findings of those that have ended where their files are gone."""
    for place in roster.places:
        path = folder.agent(place.id) / "findings.json"
        if place.ended and not path.exists():
            _write_findings(files, place.child, place.answers)


def _as_record(ended: SubagentEnded) -> dict[str, Any]:
    findings = Findings.model_validate(ended.findings, extra="ignore")
    before = ended.first_item - 1
    record = _record(findings, [n - before for n in ended.unsupported_items])
    record |= {"outcome": ended.outcome, "reason": ended.reason, "notes": ended.notes}
    asked = {"question": ended.question, "first_item": ended.first_item}
    return record | asked if ended.question else record


def _notes(crew: Crew, agent: str) -> str:
    sections = crew.notes_of(agent).sections
    return "\n\n".join(f"{name}: {text}" for name, text in sections.items() if text)
