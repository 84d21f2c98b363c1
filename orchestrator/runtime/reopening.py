"""Giving the lead more to do after it had ended: a question, or what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.agent.budget import Budget
from orchestrator.errors import RAISABLE, LimitReached, SpecError
from orchestrator.events import (
    Event,
    LimitReachedEvent,
    RunEnded,
    RunReopened,
    parse,
)
from orchestrator.events.phrases import generous
from orchestrator.ids import LEAD
from orchestrator.messages import clean_text
from orchestrator.runtime.history import History
from orchestrator.runtime.lead import lead_limits
from orchestrator.runtime.past import Past
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.session import Session
from orchestrator.store.disk import store_error
from orchestrator.store.layout import RunFolder

__all__ = [
    "check_covers_used",
    "check_partial",
    "check_raised",
    "keep_earlier",
    "new_limits",
    "reopening",
    "used_of",
]

HAND_IN = "finish"


def check_partial(
    folder: RunFolder, events: Sequence[Event], ready: Prepared, history: History
) -> None:
    """Make sure that the lead of a partial run has something to do, and may.

    Args:
        folder: the run's.
        events: those about the run as a whole.
        ready: its task, with the limits that hold from now on.
        history: all of its log, folded.

    Raises:
        SpecError: a limit stopped the lead, and it is not raised; or all that is
            missing was stopped by a person.
    """
    if not _left_to_do(events):
        raise SpecError(
            f"all that run `{folder.id}` lacks was stopped by a person, and stays so; "
            f'`orchestrate ask {folder.handle} "TEXT"` can have it done'
        )
    check_raised(folder, events, ready, history, command="resume")


def check_raised(
    folder: RunFolder,
    events: Sequence[Event],
    ready: Prepared,
    history: History,
    *,
    command: str,
) -> None:
    """Make sure that no limit is reached that stopped the lead.

    Args:
        folder: the run's.
        events: those about the run as a whole.
        ready: its task, with the limits that hold from now on.
        history: all of its log, folded.
        command: that raises it.

    Raises:
        SpecError: one is.
    """
    reached = _reached(events)
    if reached is None:
        return
    own = lead_limits(ready)
    budget = Budget(own.usd, own.tokens, Budget(ready.usd, ready.task.limits.tokens))
    if reached.limit not in RAISABLE or budget.is_raised(reached, own):
        return
    text = ' "TEXT"' if command == "ask" else ""
    raise SpecError(
        f"run `{folder.id}` was stopped by its limit `{reached.limit}` of "
        f"{reached.allowed:g}; raise it to go on, as in "
        f"`orchestrate {command} {folder.handle}{text} --set limits.{reached.limit}="
        f"{generous(max(reached.allowed, used_of(history).get(reached.limit, 0)))}`"
    )


def used_of(history: History) -> dict[str, float]:
    """Return what counts as used of the limits of the whole run, by name."""
    spent = history.spent.total
    minutes = history.worked.of() / 60
    return {"usd": spent.usd, "tokens": spent.tokens, "minutes": minutes}


def check_covers_used(
    overrides: Mapping[str, str], ready: Prepared, used: Mapping[str, float]
) -> None:
    """Make sure that no limit is lowered below what is used already.

    Args:
        overrides: the limits that change, as `limits.usd` → value.
        ready: the task with them.
        used: what counts as used, by name.

    Raises:
        SpecError: one is; agents at work would be ended by it.
    """
    for name, amount in used.items():
        limit = getattr(ready.task.limits, name)
        if f"limits.{name}" in overrides and limit <= amount:
            raise SpecError(
                f"`limits.{name}` of {limit:g} is not above the {amount:.6g} that the "
                "run has used, calls that were cut off included"
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
        question = session.services.redact(clean_text(past.question))
        text = words("question", question=question, tool=HAND_IN)
        number = len(past.folder.earlier_reports()) + 1
        earlier = number if past.has_report else 0
        return RunReopened(text, question, earlier, new_limits(past))
    if past.state != "partial":
        return None
    text = words(
        "go_on",
        missing="\n".join(f"- {line}" for line in _left_to_do(past.events)),
        limits="\n".join(f"- {line}" for line in _limits(session)),
        tool=HAND_IN,
    )
    return RunReopened(text, "", limits=new_limits(past))


def new_limits(past: Past) -> dict[str, Any]:
    """Return the limits as they are from now on; empty where none has changed."""
    if not past.overrides:
        return {}
    return {**past.prepared.task.limits.model_dump(), "usd": past.prepared.usd}


def _left_to_do(events: Sequence[Event]) -> list[str]:
    """Return what is missing, a line each; what a person stopped is left out."""
    ended = [parse(event, RunEnded) for event in events if event.kind == RunEnded.KIND]
    missing = ended[-1].missing or [ended[-1].reason]
    return [line for line in missing if line not in ended[-1].stopped]


def _limits(session: Session) -> list[str]:
    """Return the limits of the run with what is used of each, a line each."""
    limits, progress = session.prepared.task.limits, session.progress
    spent, usd = session.services.budget.spent, session.prepared.usd
    lines = [
        f"{spent.tokens:,} of {limits.tokens:,} tokens used",
        f"{progress.seconds / 60:.1f} of {limits.minutes:g} minutes used",
        f"{progress.subagents} of {limits.subagents} subagents used",
    ]
    if usd is not None:
        lines.insert(0, f"{spent.usd:.2f} of {usd:.2f} dollars used")
    return lines


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
