"""What the end of the lead means for the run: state, report, what is missing."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import orjson

from orchestrator.agent.spec import Outcome
from orchestrator.events import EvidenceStale
from orchestrator.evidence import citations
from orchestrator.ids import LEAD
from orchestrator.messages import clean_text
from orchestrator.runtime.finish import Report
from orchestrator.runtime.parked import Parked, Paused
from orchestrator.runtime.report import mechanical_report, with_checks
from orchestrator.runtime.result import State
from orchestrator.runtime.session import Session
from orchestrator.subagents import shortfall
from orchestrator.subagents.dispatch import Dispatcher
from orchestrator.subagents.roster import Roster
from orchestrator.subagents.staleness import stale, stale_note

__all__ = ["Bug", "Verdict", "judged"]

MAX_BUG_CHARS = 300
MAX_STALE = 20


@dataclass(frozen=True, slots=True)
class Bug:
    """A fault of this program: what it is in a line, and where it happened."""

    what: str
    trace: str

    @classmethod
    def of(cls, error: BaseException, redact: Callable[[str], str]) -> Bug:
        """Return what is to be told and kept of `error`."""
        trace = "".join(traceback.format_exception(error))
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        said = redact(clean_text(" ".join(str(error).split())))[:MAX_BUG_CHARS]
        what = f"{type(error).__name__}{said and f': {said}'}"
        return cls(what, redact(clean_text(trace)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended.

    Attributes:
        state: `done`, `partial`, `failed`, `parked`, `paused` or `interrupted`.
        reason: why it is not `done`, in one line.
        missing: what was asked for and is not there, a line each.
        report: Markdown, or "" if there is none.
        result: `finish.result`, where the task asks for JSON.
        resume_at: when a parked run can go on; None: nobody knows.
        stale: findings whose files have changed since.
    """

    state: State
    reason: str = ""
    missing: list[str] = field(default_factory=list)
    report: str = ""
    result: object = None
    resume_at: datetime | None = None
    stale: tuple[EvidenceStale, ...] = ()


def judged(
    session: Session,
    dispatcher: Dispatcher,
    outcome: Outcome | Bug | Parked | Paused | None,
) -> Verdict:
    """Return how the run ended; it reads the files that findings are from.

    Args:
        session: the live run.
        dispatcher: its subagents.
        outcome: of the lead, or why there is none; None: it was stopped.
    """
    roster = dispatcher.roster
    if isinstance(outcome, Bug):
        return Verdict("failed", f"a fault of the program: {outcome.what}")
    if isinstance(outcome, Parked):
        return Verdict("parked", outcome.reason, resume_at=outcome.resume_at)
    if isinstance(outcome, Paused):
        return Verdict("paused", outcome.reason)
    if outcome is None:
        return Verdict(
            "interrupted",
            f"stopped; `orchestrate resume {session.folder.handle}` goes on",
        )
    has_explored = bool(session.sightings.of(LEAD))
    missing = shortfall.missing(roster, LEAD, has_explored=has_explored)
    missing = [*session.inbox.untold(), *missing]
    if outcome.kind == "submitted" and isinstance(outcome.value, Report):
        report = outcome.value
        missing = [*report.missing, *missing, *shortfall.unread(roster, report.unread)]
        if outcome.limit:
            missing.insert(0, f"the lead was stopped by a limit: {outcome.reason}")
        changed = stale_evidence(session, roster)
        remarks = [*shortfall.remarks(roster), *stale_remarks(roster, changed)]
        text = with_checks(report.text, missing, remarks)
        state: State = "partial" if missing else "done"
        reason = missing[0] if missing else ""
        return Verdict(
            state, reason, missing, text, report.result, stale=tuple(changed)
        )
    return _without_report(session, roster, outcome, missing)


def stale_evidence(session: Session, roster: Roster) -> list[EvidenceStale]:
    """Return what has become of the files that findings are from; it reads them."""
    look_at = partial(stale, session.workspace)
    found = {
        agent: session.services.outside.stale("", agent, partial(look_at, sources))
        for agent, sources in roster.sources_for(LEAD).items()
    }
    return [EvidenceStale(of, dict(files)) for of, files in found.items() if files]


def stale_remarks(roster: Roster, changed: Sequence[EvidenceStale]) -> list[str]:
    """Return what there is to say of that, a line each."""
    lines: list[str] = []
    for each in changed:
        place = roster.get(each.of)
        if place and place.findings:
            note = stale_note(place.findings, each.files, agent=each.of)
            lines.append(_sentence(note))
    more = len(lines) - MAX_STALE
    rest = [f"The files of {more} more subagents have changed."] if more > 0 else []
    return lines[:MAX_STALE] + rest


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _without_report(
    session: Session, roster: Roster, outcome: Outcome, missing: list[str]
) -> Verdict:
    """Return the verdict where the lead handed in nothing."""
    found = roster.findings_for(LEAD)
    words = session.services.redact(clean_text(_words(outcome.text)))
    if session.earlier_report:
        why = f"what was missing is missing still: {outcome.reason}"
        return Verdict(
            "partial",
            why,
            [why, *missing],
            session.earlier_report,
            session.earlier_result,
        )
    # Words that point to nothing are no report where there is something to report.
    if outcome.kind == "unvalidated" and words and (citations(words) or not found):
        why = f"the report was not handed in and is unvalidated: {outcome.reason}"
        missing = [why, *missing]
        text = with_checks(words, missing, shortfall.remarks(roster))
        return Verdict("partial", why, missing, text)
    if outcome.kind == "limit" or found:
        why = f"no report was handed in: {outcome.reason}"
        missing = [why, *missing]
        objective = session.question or session.prepared.task.objective
        text = mechanical_report(objective, found, outcome.reason, last_words=words)
        text = with_checks(text, missing, shortfall.remarks(roster))
        return Verdict("partial", why, missing, text)
    return Verdict("failed", outcome.reason or "the lead said nothing", missing)


def _words(text: str) -> str:
    """Return what the lead wrote; of a hand-in that was refused, its report."""
    try:
        given = orjson.loads(text)
    except ValueError:
        return text.strip()
    report = given.get("report") if isinstance(given, dict) else None
    return report.strip() if isinstance(report, str) else text.strip()
