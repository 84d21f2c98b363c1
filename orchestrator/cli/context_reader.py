"""The commands `context` and `diff`: what filled the context, what was compacted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.compaction_text import compaction_lines
from orchestrator.cli.context_table import agent_lines, overview_lines
from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import Style, print_json, safe
from orchestrator.errors import SpecError
from orchestrator.ids import LEAD
from orchestrator.inspection.compactions import compaction_of
from orchestrator.inspection.context import AgentContext, contexts_of
from orchestrator.inspection.context_sums import (
    estimate_error,
    health_of,
    largest,
    tool_sums,
)
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.store.heads import read_chosen
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.reading import DAMAGED, read_events

__all__ = ["context", "diff"]

MOST_LARGEST = 20
"""Results that JSON names."""

# `\b` keeps the lines that follow it as they are.
CONTEXT_HELP = """Show what filled the context in RUN, turn by turn.

The lead in full and a line for each subagent; --agent shows another one in full.

\b
sent       tokens of the request as the service counted them; ~ is an estimate
est        how far our estimate of it was off
cache      share of it that came from the cache
first      time to the first token of the answer
fixed      prompt, tools and task
kept       state, notes, summary, subagents, memory, findings
results    of tools, whole; stubs: what is left of results that were cleared
said       what the agent said and thought; told: what the program added
"""


@click.command(help=CONTEXT_HELP)
@click.argument("run")
@click.option("--agent", metavar="AGENT", help="This agent in full: `lead`, `a1`, …")
@click.option(
    "--png",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also draw it into FILE (needs the extra `plots`).",
)
@runs_dir_option
@json_option
def context(
    run: str, agent: str | None, png: Path | None, runs_dir: Path, as_json: bool
) -> None:
    """Show what filled the context."""
    folder = find_run(runs_dir, run)
    agents = contexts_of(
        read_events(folder.events)
        if agent is None
        else read_chosen(folder.events, lambda head: head.agent == agent)
    )
    if agent is not None and agent not in agents:
        raise SpecError(_no_agent(folder, agent), field="--agent")
    if not agents:
        print("nothing was sent to a model in this run", file=sys.stderr)
    shown = agents.get(agent or LEAD) or next(iter(agents.values()), None)
    if png is not None and (shown is None or not shown.turns):
        print("there is nothing to draw", file=sys.stderr)
    elif png is not None and shown is not None:
        # Loads a large library.
        from orchestrator.cli.context_picture import (  # noqa: PLC0415 - see above
            save_picture,
        )

        task = agents[LEAD].title if LEAD in agents else ""
        run_name = f"run {folder.path.name}"
        title = f"{run_name}, task {task}" if task else run_name
        save_picture(shown, png, title=title)
        print(f"drawn: {safe(str(png))}", file=sys.stderr)
    if as_json:
        chosen = agents.values() if agent is None else [agents[agent]]
        figures = [_figures(each) for each in chosen]
        named = {"v": FIGURES_VERSION, "run": folder.path.name}
        print_json({**named, "agents": figures})
        return
    style = Style()
    for line in agent_lines(shown, style=style) if shown else ():
        print(line)
    others = [each for each in agents.values() if each is not shown]
    if agent is None and others:
        print()
        for line in overview_lines(others, style=style):
            print(line)


DIFF_HELP = """Show the N-th compaction of AGENT in RUN: checks, summary, what went.

`h12` names step 12, and `h12.2` its second call: the agent opens them so, and
`orchestrate transcript RUN AGENT --step h12` does.

A summary of a model is compared with what it stands for, by eight checks. What one of
them finds is mended: a figure or name that the steps do not bear out has theirs told
beside it, a sentence that is turned round gives way to its source, and what is missing
is put back beside the summary, word for word, as far as there is room. No step is lost.

\b
sections   work, facts, decisions, failures, what is open, pointers: each is there
length     no longer than there is room for
names      files, ids, people: none that the steps do not know, none missed later
numbers    figures, dates, sums: likewise
negations  “not” and “never” stand where they stood
statuses   done, failed, planned, not confirmed: as it was said
rules      none that was given is lost; one made up is marked as the model's own
calls      what is still under way is named
"""


@click.command(help=DIFF_HELP)
@click.argument("run")
@click.argument("agent")
@click.argument("n", type=int, metavar="N")
@click.option("--full", is_flag=True, help="Long lists and texts whole.")
@runs_dir_option
@json_option
def diff(
    run: str, agent: str, n: int, full: bool, runs_dir: Path, as_json: bool
) -> None:
    """Show a compaction."""
    folder = find_run(runs_dir, run)
    # Loaded only here: `context` shows nothing of what models said.
    from orchestrator.inspection.shown_events import (  # noqa: PLC0415 - see above
        shown_events,
    )

    events = shown_events(folder, lambda head: head.agent == agent, os.environ)
    agents = contexts_of(each for each in events if each.kind != DAMAGED)
    if agent not in agents:
        raise SpecError(_no_agent(folder, agent))
    found = compaction_of(agents[agent], n)
    if as_json:
        named = {"v": FIGURES_VERSION, "run": folder.path.name}
        print_json({**named, **found.to_dict()})
        return
    for line in compaction_lines(found, style=Style(), full=full):
        print(line)


def _no_agent(folder: RunFolder, agent: str) -> str:
    # Loaded only here: the whole run is read for it.
    from orchestrator.cli.transcript_reader import (  # noqa: PLC0415 - see above
        no_agent,
    )

    return no_agent(folder, agent)


def _figures(context: AgentContext) -> dict[str, Any]:
    error = estimate_error(context)
    asides = [
        {name: getattr(each, name) for name in each.__slots__}
        for each in context.asides
    ]
    return {
        "id": context.id,
        "title": context.title,
        "role": context.role,
        "model": context.model,
        "window_tokens": context.window_tokens,
        "soft_tokens": context.soft_tokens,
        "hard_tokens": context.hard_tokens,
        "peak_tokens": context.peak,
        "sent_tokens": context.sent,
        "cache_share": context.cache_share,
        "turns": [turn.to_dict() for turn in context.turns.values()],
        "asides": asides,
        "edits": [health.to_dict() for health in health_of(context)],
        "largest": [call.to_dict() for call in largest(context, most=MOST_LARGEST)],
        "tools": [tool.to_dict() for tool in tool_sums(context)],
        "estimates": None if error is None else error.to_dict(),
    }
