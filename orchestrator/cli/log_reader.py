"""The command `logs`: what happened, one line an event."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    clock_time,
    cut,
    is_terminal,
    pad,
    print_json,
    safe,
    terminal_width,
)
from orchestrator.errors import SpecError
from orchestrator.events import Event
from orchestrator.inspection.following import follow_events
from orchestrator.inspection.run import moment
from orchestrator.inspection.sentences import describe
from orchestrator.store.layout import find_run
from orchestrator.store.reading import read_events

__all__ = ["logs"]

POLL_S = 0.5

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SPAN_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


@click.command()
@click.argument("run")
@click.option("--agent", "agents", multiple=True, help="Only this agent; repeatable.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only this kind: `tool.ended`, or `tool` for all of its verbs; repeatable.",
)
@click.option(
    "--since",
    metavar="WHEN",
    help="`10m`, `2h`, a time of day (`20:15`), a date and time, or an event number "
    "(`#120`).",
)
@click.option("--follow", "-f", is_flag=True, help="Go on while the run goes on.")
@runs_dir_option
@json_option
def logs(
    run: str,
    agents: tuple[str, ...],
    kinds: tuple[str, ...],
    since: str | None,
    follow: bool,
    runs_dir: Path,
    as_json: bool,
) -> None:
    """Show what happened in RUN: one line an event, oldest first.

    Each line has the time of day, the agent, the kind and what happened. A line is cut
    at the edge of a terminal; piped, it is whole.
    """
    start = _start(since) if since else None
    folder = find_run(runs_dir, run)
    events = (
        follow_events(folder, poll_s=POLL_S) if follow else read_events(folder.events)
    )
    if as_json:
        events = _paged(events)
    style = Style()
    seen_agents: set[str] = set()
    seen_kinds: set[str] = set()
    shown = 0
    for event in events:
        seen_agents.add(event.agent)
        seen_kinds.add(event.kind)
        if not _is_wanted(event, agents, kinds, start):
            continue
        shown += 1
        if as_json:
            print_json(event.to_dict(), is_line=True)
        else:
            print(_log_line(event, style), flush=follow)
    if not shown:
        print(_nothing(agents, kinds, seen_agents, seen_kinds), file=sys.stderr)


def _paged(events: Iterable[Event]) -> Iterator[Event]:
    """Return events as they may be shown whole."""
    # Loaded only here: lines show nothing of what models said.
    from orchestrator.inspection.pages import Pages  # noqa: PLC0415 - see above

    return map(Pages(os.environ).event, events)


def _is_wanted(
    event: Event,
    agents: tuple[str, ...],
    kinds: tuple[str, ...],
    start: datetime | int | None,
) -> bool:
    if agents and event.agent not in agents:
        return False
    if kinds and not any(
        event.kind == kind or event.kind.startswith(kind + ".") for kind in kinds
    ):
        return False
    if isinstance(start, int):
        return event.seq >= start
    if start is not None:
        at = moment(event.at)
        return at is None or at >= start
    return True


def _nothing(
    agents: tuple[str, ...],
    kinds: tuple[str, ...],
    seen_agents: set[str],
    seen_kinds: set[str],
) -> str:
    lost_agents = [agent for agent in agents if agent not in seen_agents]
    if lost_agents:
        there = ", ".join(sorted(filter(None, seen_agents))) or "none"
        return safe(f"no agent `{lost_agents[0]}` in this run; there are: {there}")
    nouns = {kind.partition(".")[0] for kind in seen_kinds}
    lost_kinds = [kind for kind in kinds if kind not in seen_kinds | nouns]
    if lost_kinds:
        there = ", ".join(sorted(seen_kinds))
        return safe(f"no event of kind `{lost_kinds[0]}`; there are: {there}")
    return "no event matches"


def _start(since: str) -> datetime | int:
    """Return the first moment, or the first event number, that is wanted."""
    now = datetime.now(UTC)
    try:
        span = _SPAN.fullmatch(since)
        if span:
            return now - timedelta(**{_SPAN_UNITS[span[2]]: float(span[1])})
        if re.fullmatch(r"#\d{1,18}", since):
            return int(since[1:])
        clock = _CLOCK.fullmatch(since)
        if clock:
            today = now.astimezone()
            found = today.replace(
                hour=int(clock[1]),
                minute=int(clock[2]),
                second=int(clock[3] or 0),
                microsecond=0,
            )
            return found if found <= today else found - timedelta(days=1)
        return datetime.fromisoformat(since).astimezone()
    except (ValueError, OverflowError) as error:
        raise SpecError(
            f"found `{since}`, allowed are a span (`10m`, `2h`), a time of day "
            "(`20:15`), a date and time (`2026-11-29 20:15`) or an event number "
            "(`#120`)",
            field="--since",
        ) from error


def _log_line(event: Event, style: Style) -> str:
    at = clock_time(moment(event.at))
    agent = safe(event.agent) or "run"
    kind = safe(event.kind)
    text = safe(describe(event))
    if is_terminal():
        text = cut(text, terminal_width() - 35)
    is_bad = event.kind in ("model.failed", "brief.refused", "limit.reached") or (
        event.kind == "tool.ended" and bool(event.data.get("is_error"))
    )
    color = "red" if is_bad else ""
    return (
        f"{style(at, 'dim')} {style(pad(agent, 5), 'cyan')}"
        f"{style(pad(kind, 18), 'dim')}  {style(text, color)}"
    )
