"""Giving the lead more to do after it had ended: a question, or what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.agent.budget import RAISABLE, Budget
from orchestrator.errors import LimitReached, SpecError
from orchestrator.events import (
    Event,
    LimitReachedEvent,
    RunEnded,
    RunReopened,
    parse,
)
from orchestrator.ids import LEAD
from orchestrator.runtime.lead import lead_limits
from orchestrator.runtime.past import Past
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.session import Session
from orchestrator.store.disk import store_error
from orchestrator.store.layout import RunFolder

__all__ = ["check_partial", "keep_earlier", "reopening"]

HAND_IN = "finish"


def check_partial(folder: RunFolder, events: Sequence[Event], ready: Prepared) -> None:
    """Make sure that the lead of a partial run has something to do, and may.

    Args:
        folder: the run's.
        events: those about the run as a whole.
        ready: its task, with the limits that hold from now on.

    Raises:
        SpecError: a limit stopped the lead, and it is not raised; or all that is
            missing was stopped by a person.
    """
    if not _left_to_do(events):
        raise SpecError(
            f"all that run `{folder.id}` lacks was stopped by a person, and stays so; "
            f'`orchestrate ask {folder.id} "TEXT"` can have it done'
        )
    reached = _reached(events)
    if reached is None:
        return
    own = lead_limits(ready)
    budget = Budget(own.usd, own.tokens, Budget(ready.usd, ready.task.limits.tokens))
    if reached.limit not in RAISABLE or budget.is_raised(reached, own):
        return
    raise SpecError(
        f"run `{folder.id}` was stopped by its limit `{reached.limit}` of "
        f"{reached.allowed:g}; raise it to go on, as in "
        f"`orchestrate resume {folder.id} --set limits.{reached.limit}="
        f"{2 * reached.allowed:g}`"
    )


def _reached(events: Sequence[Event]) -> LimitReached | None:
    """Return the limit that stopped the lead last, if one did."""
    reached: LimitReached | None = None
    for event in events:
        if event.kind == RunReopened.KIND:
            reached = None
        elif event.kind == LimitReachedEvent.KIND and event.agent == LEAD:
            data = event.data
            reached = LimitReached(data["limit"], data["used"], data["allowed"])
    return reached


def reopening(past: Past, session: Session) -> RunReopened | None:
    """Return what the lead is told where it has ended, or None where it has not."""
    words = session.services.words
    if past.question:
        question = session.services.redact(past.question)
        text = words("question", question=question, tool=HAND_IN)
        number = _free_number(past.folder)
        return RunReopened(text, question, number if past.has_report else 0)
    if past.state != "partial":
        return None
    text = words(
        "go_on",
        missing="\n".join(f"- {line}" for line in _left_to_do(past.events)),
        limits="\n".join(f"- {line}" for line in _limits(session)),
        tool=HAND_IN,
    )
    return RunReopened(text, "")


def _left_to_do(events: Sequence[Event]) -> list[str]:
    """Return what is missing, a line each; what a person stopped is left out."""
    ended = [parse(event, RunEnded) for event in events if event.kind == RunEnded.KIND]
    missing = ended[-1].missing or [ended[-1].reason]
    return [line for line in missing if line not in ended[-1].stopped]


def _limits(session: Session) -> list[str]:
    """Return the limits of the run with what is used of each, a line each."""
    limits, progress = session.prepared.task.limits, session.progress
    totals = progress.totals
    lines = [
        f"{totals.limited_tokens:,} of {limits.tokens:,} tokens used",
        f"{progress.seconds / 60:.1f} of {limits.minutes:g} minutes used",
        f"{progress.subagents} of {limits.subagents} subagents used",
    ]
    if session.prepared.usd is not None and totals.usd is not None:
        lines.insert(0, f"{totals.usd:.2f} of {session.prepared.usd:.2f} dollars used")
    return lines


def _free_number(folder: RunFolder) -> int:
    number = 1
    while folder.earlier_report(number).exists():
        number += 1
    return number


def keep_earlier(folder: RunFolder, number: int) -> None:
    """Give report and result of before the names that they are kept under.

    Done a second time, it does nothing: what has its name already is left alone.

    Args:
        folder: the run's.
        number: as in `run.reopened`; 0: there is none.

    Raises:
        StoreError: the folder cannot be written.
    """
    if not number or folder.earlier_report(number).exists():
        return
    try:
        # The report last: once it has its name, all of it is done.
        if folder.result.exists():
            folder.result.replace(folder.earlier_result(number))
        if folder.report.exists():
            folder.report.replace(folder.earlier_report(number))
    except OSError as error:
        raise store_error("keep the earlier report in", folder.path, error) from error
