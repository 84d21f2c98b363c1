"""The command `logs`: what happened, one line an event."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    clock_time,
    cut,
    fill,
    is_terminal,
    pad,
    print_json,
    safe,
    terminal_width,
    width,
)
from orchestrator.cli.when import event_number, moment_of
from orchestrator.errors import SpecError
from orchestrator.events import Event, RunEnded, RunStarted
from orchestrator.events.base import moment
from orchestrator.inspection.following import follow_events
from orchestrator.inspection.selection import (
    OF_RUN,
    Selection,
    around,
    chain_to,
    of_run,
    read_selected,
)
from orchestrator.inspection.sentences import describe
from orchestrator.inspection.troubles import is_trouble
from orchestrator.store.heads import (
    Head,
    last_chosen,
    last_event,
    read_chosen,
    whole_end,
)
from orchestrator.store.layout import RunFolder, find_run

__all__ = ["logs"]

NEAR = 10
_MOST_NAMED = 40
_OR_NUMBER = " or an event number (`#120`)"

# `\b` keeps the lines that follow it as they are.
LOGS_HELP = """Show what happened in RUN: one line an event, oldest first.

Each line has the number of the event, the time of day, the agent, the kind and what
happened. A line is cut at the edge of a terminal, but for --errors, --around and
--cause; piped, it is whole. All filters combine, also with --follow.

\b
logs last --errors               what went wrong
logs last --around 57            event 57, and ten events before and behind it
logs last --cause 57             what led to event 57, step by step
logs last --agent a3 --kind tool what one agent did, from its first call on
logs last -n 20 --follow         the newest 20, then what comes
"""


@click.command(help=LOGS_HELP)
@click.argument("run")
@click.option(
    "--agent", "agents", multiple=True, help="`lead`, `a1`, …, or `run`; repeatable."
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="`tool.ended`, or `tool` for all of its verbs; repeatable.",
)
@click.option(
    "--since",
    metavar="WHEN",
    help="`10m`, `2h`, a time of day (`20:15`), a date and time, or `#120`.",
)
@click.option("--until", metavar="WHEN", help="Likewise.")
@click.option("--after", metavar="SEQ", help="Only events with a higher number.")
@click.option("--around", "near", metavar="SEQ", help="The events nearest to that one.")
@click.option("--cause", metavar="SEQ", help="Only what led to that event, and it.")
@click.option("--errors", is_flag=True, help="Only what went wrong or was refused.")
@click.option(
    "--grep", "text", metavar="TEXT", help="Only where line or content has it."
)
@click.option("--limit", type=click.IntRange(1), help="Only the first so many.")
@click.option("-n", "--tail", type=click.IntRange(1), help="Only the newest so many.")
@click.option("--follow", "-f", is_flag=True, help="Go on while the run goes on.")
@runs_dir_option
@json_option
def logs(run: str, follow: bool, runs_dir: Path, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click gives them
    """Show what happened."""
    given = _Given(**options)
    folder = find_run(runs_dir, run)
    selection = _selection(folder, given, follow=follow)
    events = _chosen(folder, selection, given, follow=follow)
    if as_json:
        events = _paged(folder, events)
    style, is_empty = Style(), True
    marked = given.number("near") or given.number("cause")
    wraps = bool(marked) or given.errors
    for event in events:
        is_empty = False
        if as_json:
            print_json(event.to_dict(), is_line=True)
        else:
            line = _log_line(event, style, is_marked=event.seq == marked, wraps=wraps)
            print(line, flush=follow)
    if is_empty:
        print(_nothing(folder, selection), file=sys.stderr)
    newest = last_event(folder.events)
    is_over = newest is not None and newest.kind == RunEnded.KIND
    if follow and not (is_over or is_empty):  # nobody works on it any more
        print(
            f"note: the run is crashed, nobody works on it (`orchestrate resume "
            f"{safe(folder.handle)}` goes on)",
            file=sys.stderr,
        )


@dataclass(frozen=True, slots=True)
class _Given:
    """The options that choose events, as they were given."""

    agents: tuple[str, ...]
    kinds: tuple[str, ...]
    since: str | None
    until: str | None
    after: str | None
    near: str | None
    cause: str | None
    errors: bool
    text: str | None
    limit: int | None
    tail: int | None

    def number(self, name: str) -> int:
        """Return the number of the event that an option names; 0: none is named."""
        value = getattr(self, name)
        field = {"near": "--around"}.get(name, f"--{name}")
        return event_number(value, field=field) if value is not None else 0


def _selection(folder: RunFolder, given: _Given, *, follow: bool) -> Selection:
    """Return what is wanted.

    Raises:
        SpecError: an option has no sense.
    """
    if given.limit and given.tail:
        raise SpecError("does not go with `--limit`: leave one out", field="--tail")
    after, since = given.number("after"), None
    if given.since and given.since.startswith("#"):
        after = max(after, event_number(given.since, field="--since") - 1)
    elif given.since:
        since = moment_of(given.since, field="--since", also=_OR_NUMBER)
    before, until = None, None
    if given.until and given.until.startswith("#"):
        before = event_number(given.until, field="--until") + 1
    elif given.until:
        until = moment_of(given.until, field="--until", also=_OR_NUMBER)
    chained = None
    for name in ("near", "cause"):
        number = given.number(name)
        if number and not (follow and name == "near"):
            _check_there(folder, number, "--around" if name == "near" else "--cause")
    if cause := given.number("cause"):
        chained = chain_to(folder.events, cause)
    return Selection(
        agents=frozenset(given.agents),
        kinds=frozenset(given.kinds),
        since=since,
        until=until,
        after=after,
        before=before,
        chain=chained,
        only_troubles=given.errors,
        text=given.text or "",
    )


def _check_there(folder: RunFolder, number: int, field: str) -> None:
    newest = last_chosen(folder.events, lambda head: head.seq > 0, 1)
    last = newest[0].seq if newest else 0
    if not 1 <= number <= last:
        there = f"they are #1 to #{last}" if last else "there is none"
        raise SpecError(f"no event #{number}; {there}", field=field)


def _chosen(
    folder: RunFolder, selection: Selection, given: _Given, *, follow: bool
) -> Iterator[Event]:
    """Yield what is wanted, oldest first."""
    near = given.number("near")
    last = None if near else given.tail
    end = whole_end(folder.events) if follow else None
    events = read_selected(folder.events, selection, last=last, stop=end)
    if end is not None:
        comes = follow_events(folder, start=end)
        events = chain(events, filter(selection.wants, comes))
    if near:
        events = around(events, near, given.tail or NEAR)
    return islice(events, given.limit)


def _paged(folder: RunFolder, events: Iterable[Event]) -> Iterator[Event]:
    """Yield events as they may be shown whole."""
    # Loaded only here: lines show nothing of what models said.
    from orchestrator.inspection.pages import Pages  # noqa: PLC0415 - see above

    pages = Pages(os.environ)
    starts = read_chosen(folder.events, lambda head: head.kind == RunStarted.KIND)
    for start in islice(starts, 1):
        pages.event(start)
    return map(pages.event, events)


def _nothing(folder: RunFolder, selection: Selection) -> str:
    """Return why nothing was shown.

    Raises:
        SpecError: an agent that was named is none of the run's.
    """
    agents: set[str] = set()
    kinds: set[str] = set()

    def notes(head: Head) -> bool:
        agents.add(head.agent or OF_RUN)
        kinds.add(head.kind)
        return False

    for damaged in read_chosen(folder.events, notes):
        kinds.add(damaged.kind)
    nouns = {kind.partition(".")[0] for kind in kinds}
    for agent in sorted(selection.agents - agents):
        why = f"no agent `{agent}` in this run; there are: {_named(agents)}"
        raise SpecError(safe(why), field="--agent")
    for kind in sorted(selection.kinds - kinds - nouns):
        return safe(f"no event of kind `{kind}`; there are: {_named(kinds)}")
    return "no event matches" if kinds else "nothing has happened in this run yet"


def _named(names: set[str]) -> str:
    there = sorted(names)
    more = len(there) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(there[:_MOST_NAMED]) + rest or "none"


def _wrapped(text: str, before: int) -> str:
    """Return text that goes on below itself, behind so many columns."""
    return fill(text, indent=" " * before).lstrip(" ")


def _log_line(event: Event, style: Style, *, is_marked: bool, wraps: bool) -> str:
    number = f"#{event.seq}" if event.seq else "-"
    at = clock_time(moment(event.at))
    agent, kind, text = (
        safe(each) for each in (of_run(event), event.kind, describe(event))
    )
    head = f"{number:>5} {at} {pad(agent, 5)}{pad(kind, 18)}  "
    if is_terminal():
        room = terminal_width() - width(head)
        text = _wrapped(text, width(head)) if wraps else cut(text, room)
    if not style.is_on:
        return head + text
    color = "red" if is_trouble(event) else ""
    weight = "bold" if is_marked else "dim"
    return (
        f"{style(f'{number:>5}', weight)} {style(at, 'dim')} "
        f"{style(pad(agent, 5), 'cyan')}{style(pad(kind, 18), 'dim')}  "
        f"{style(text, color)}"
    )
