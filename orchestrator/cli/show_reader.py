"""The command `show`: how a run stands, and everything about one of its agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from orchestrator.cli.breakdown_tables import BREAKDOWNS
from orchestrator.cli.changes_text import (
    Found,
    change_lines,
    changed_phrase,
    changes_json,
    cut_off_phrase,
)
from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import Style, fill, pad, print_json, safe, safe_lines
from orchestrator.cli.tables import agent_table, summary_lines
from orchestrator.errors import SpecError
from orchestrator.events.phrases import count_phrase, quoted
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.changes import diffs_of
from orchestrator.inspection.figures import FIGURES_VERSION, run_figures
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder, find_run

__all__ = ["show"]

MAX_LISTED = 20

# `\b` keeps the lines that follow it as they are.
SHOW_HELP = """Show how RUN stands: its agents, what it cost, what is missing and why.

RUN is an id, the start of one, a path, or `last`. `--agent` narrows everything else to
one agent; alone it shows all about it: brief, findings, cost, tools, context, troubles.
`#57` is the number of an event: `orchestrate logs RUN --around 57` shows it.

\b
in, out    tokens sent to and written by the model
cache      share of what was sent that came from the cache
explored   tokens of everything the agent's tools read
back       tokens it handed back to its parent
\b
--by tool  calls; failed; again: read with the same input as before; time of all
           calls; brought: tokens into contexts; whole: before clipping; kept: outputs
           that were clipped and are kept whole
--by model asked: requests; again: tries after a failure; time of answers; waited:
           beside that; tokens, share from the cache, dollars
--by wait  what agents waited for: the service (beyond the time of its answers), their
           subagents, a free place, a person; and the share of their time
"""


@click.command(help=SHOW_HELP)
@click.argument("run")
@click.option("--agent", metavar="AGENT", help="Only this agent: `lead`, `a1`, …")
@click.option(
    "--by",
    "ways",
    multiple=True,
    type=click.Choice(["agent", *BREAKDOWNS]),
    help="Only this table; repeatable. JSON has them all.",
)
@click.option("--changes", is_flag=True, help="What was changed in files, as a diff.")
@runs_dir_option
@json_option
def show(
    run: str,
    agent: str | None,
    ways: tuple[str, ...],
    changes: bool,
    runs_dir: Path,
    as_json: bool,
) -> None:
    """Show how a run stands."""
    folder = find_run(runs_dir, run)
    view = load_run(folder)
    if agent is not None and agent not in view.agents:
        there = ", ".join(view.agents) or "none"
        raise SpecError(
            f"no agent `{agent}` in this run; there are: {there}", field="--agent"
        )
    if changes:
        _print_changes(folder, view, agent, as_json=as_json)
    elif ways and not as_json:
        _print_tables(view, agent, ways)
    elif agent is not None:
        _print_agent(folder, view, view.agents[agent], as_json=as_json)
    else:
        _print_state(folder, view, as_json=as_json)


def _now(view: RunView) -> datetime | None:
    """Return what ends that which is under way; None: its last event does."""
    return datetime.now(UTC) if view.is_running else None


def _print_tables(view: RunView, agent: str | None, ways: Sequence[str]) -> None:
    style, now = Style(), _now(view)
    chosen = [each for each, _ in view.tree() if agent in (None, each.id)]
    for index, way in enumerate(dict.fromkeys(ways)):
        if index:
            print()
        if way == "agent":
            lines = agent_table(view, now=now, style=style, only=agent)
        else:
            lines = BREAKDOWNS[way](chosen, style=style, now=now)
        for line in lines:
            print(line)


def _print_agent(
    folder: RunFolder, view: RunView, agent: AgentView, *, as_json: bool
) -> None:
    # Loaded only here: what redacts takes as long as all the rest.
    from orchestrator.cli.agent_text import agent_lines  # noqa: PLC0415 - see above
    from orchestrator.inspection.agent_page import (  # noqa: PLC0415 - see above
        agent_page,
    )

    now = _now(view)
    page = agent_page(folder, agent, os.environ)
    if as_json:
        state = {"label": view.label(agent), "doing": view.doing(agent, now)}
        figures = {**page.to_dict(now), **state}
        named = {"v": FIGURES_VERSION, "run": folder.path.name}
        print_json({**named, "agent": figures})
        return
    for line in agent_lines(page, view, handle=folder.handle, now=now, style=Style()):
        print(line)


def _changes(folder: RunFolder, view: RunView) -> Found:
    return tuple(diffs_of(view.changes, Artifacts(folder.artifacts).read_text))


def _print_changes(
    folder: RunFolder, view: RunView, agent: str | None, *, as_json: bool
) -> None:
    cut_off = view.changes.cut_off
    found = tuple(
        each
        for each in _changes(folder, view)
        if agent is None or agent in each[0].agents
    )
    if as_json:
        told = {"cut_off": list(cut_off), **changes_json(found, with_diff=True)}
        print_json({"v": FIGURES_VERSION, "run": folder.path.name, **told})
        return
    for line in change_lines(found, style=Style()) if found else ():
        print(line)
    if not found and not cut_off:
        name = safe(folder.path.name)
        print(f"no files were changed in {name}", file=sys.stderr)
    if cut_off:
        print(cut_off_phrase(cut_off), file=sys.stderr)


def _print_state(folder: RunFolder, view: RunView, *, as_json: bool) -> None:
    now, found = _now(view), _changes(folder, view)
    files = {
        "folder": folder.path,
        "report": folder.report,
        "result": folder.result,
        "notes": folder.progress,
    }
    there = {name: str(path) for name, path in files.items() if path.exists()}
    earlier = [str(path) for path in folder.earlier_reports()]
    if as_json:
        state = {**run_figures(view, now), "files": there, "earlier_reports": earlier}
        print_json({**state, "files_changed": changes_json(found, with_diff=False)})
        return
    style = Style()
    for line in summary_lines(view, handle=folder.handle, now=now, style=style):
        print(line)
    print()
    for line in agent_table(view, now=now, style=style):
        print(line)
    for index, line in enumerate(_remarks(view)):
        print(line if index else "\n" + line)
    print()
    if found:
        print(f"files changed: {changed_phrase(found)}; see --changes\n")
    if cut_off := view.changes.cut_off:
        print(f"{cut_off_phrase(cut_off)}\n")
    for name, place in there.items():
        print(pad(name, 12) + safe(place))
    if "report" not in there:
        print(pad("report", 12) + ("not yet" if view.is_running else "none"))
    for index, place in enumerate(earlier):
        print(pad("" if index else "earlier", 12) + safe(place))


def _remarks(view: RunView) -> Iterator[str]:
    for wrong in view.wrong_citations[:MAX_LISTED]:
        yield fill(safe(f"wrong citation: {wrong}"), indent="  ", first="! ")
    if refused := view.refused_briefs:  # why is in the log, in words for the model
        verb = "was" if len(refused) == 1 else "were"
        text = f"{count_phrase(len(refused), 'brief')} {verb} refused: "
        more = ", …" if len(refused) > 1 else ""
        yield fill(safe(text + quoted(refused[0][0]) + more), indent="  ", first="! ")
    for agent, limit in view.limits_reached[:MAX_LISTED]:
        if any(agent and f"subagent {agent} " in each for each in view.missing):
            continue  # it is said there
        who = f"agent {agent}" if agent else "the run"
        yield f"! {safe(who)} reached its limit `{safe(limit)}`"
    if view.damaged:
        lost = count_phrase(view.damaged, "damaged record")
        yield f"! {lost} of the log passed over: figures may be too low"
    if view.unknown:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in view.unknown.items())
        yield fill(
            safe(f"events of kinds this version does not know: {kinds}"),
            indent="  ",
            first="! ",
        )
    if view.traceback:
        yield "! a bug in the program:\n" + safe_lines(view.traceback.rstrip())
