"""`replay`: a run again from what is on record of it, compared as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    LABEL_COLUMNS,
    Style,
    pad,
    print_json,
    row,
    safe,
    terminal_width,
)
from orchestrator.errors import SpecError
from orchestrator.events.phrases import count_phrase, duration
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.store.layout import RunFolder, find_run

if TYPE_CHECKING:
    from orchestrator.runtime.replaying.comparing import Difference
    from orchestrator.runtime.replaying.replay import Replayed

__all__ = ["replay", "replay_lines"]

EXIT_DIFFERENT = 1
MOST_NAMED = 10
"""Agents, or events, that are named one by one."""


@click.command()
@click.argument("run")
@click.option(
    "--inputs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Try the agents/ and prompts/ of DIR instead of those the run began with.",
)
@click.option(
    "--context",
    "policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Tell what the context policy in FILE would have made of it.",
)
@runs_dir_option
@json_option
def replay(
    run: str, inputs: Path | None, policy: Path | None, runs_dir: Path, as_json: bool
) -> int:
    """Run RUN again from what is on record of it, free of cost, and compare.

    The program does everything anew: it writes the prompts, accepts the briefs, checks
    the findings, clears and compacts. What models answered and tools returned is taken
    from the log, at the times of the log, which pass at once. Nothing is asked, called
    or looked up, and nothing is written into the folder of the run.

    Exit status: 0 every request is the same, byte for byte, and so is the end; 1 not:
    the first difference of each agent is named.

    With --context FILE nothing is run: requests, tokens, dollars, and what would have
    been in sight are computed for the policy of the run and for that in FILE (the
    fields of context_policy, or a task file), and compared. Exit status: 0.
    """
    if policy is not None:
        if inputs is not None:
            raise SpecError("`--context` and `--inputs` do not go together; take one")
        _compare(find_run(runs_dir, run), policy, as_json=as_json)
        return 0
    # Loads what runs load.
    from orchestrator.runtime.replaying.replay import (  # noqa: PLC0415 - see above
        replay as run_again,
    )

    found = run_again(find_run(runs_dir, run), inputs=inputs)
    if as_json:
        print_json({"v": FIGURES_VERSION, **found.to_dict()})
    else:
        for line in replay_lines(found, style=Style()):
            print(line)
    return 0 if found.is_same else EXIT_DIFFERENT


def _compare(folder: RunFolder, policy: Path, *, as_json: bool) -> None:
    # Loads what reads policies.
    from orchestrator.cli.policy_table import policy_lines  # noqa: PLC0415
    from orchestrator.runtime.replaying.policies import (  # noqa: PLC0415
        compare_policies,
    )
    from orchestrator.spec.policy_file import read_policy  # noqa: PLC0415

    found = compare_policies(folder, read_policy(policy), source=policy)
    if as_json:
        print_json({"v": FIGURES_VERSION, **found.to_dict()})
        return
    for line in policy_lines(found, terminal_width(), Style()):
        print(line)


def replay_lines(found: Replayed, *, style: Style) -> Iterator[str]:
    """Yield what came of a replay, for people."""
    requests = count_phrase(found.requests, "request")
    if found.is_same:
        verdict = f"{requests}, all the same, byte for byte"
        yield _row("replayed", style(verdict, "green"))
    else:
        verdict = f"{found.same:,} of {requests} are the same"
        yield _row("replayed", style(verdict, "red"))
    is_odd = bool(found.missing or found.extra)
    yield _row("events", style(_events(found), "yellow" if is_odd else ""))
    yield _row("end", _end(found))
    yield _row(
        "time",
        f"{duration(found.recorded_s)} of the run in {duration(found.took_s)}; $0",
    )
    first = _first_of_each(found)
    for number, each in enumerate(first[:MOST_NAMED]):
        yield ""
        yield from _difference(each, "first" if number == 0 else "then", style)
    if len(first) > MOST_NAMED:
        yield f"and those of {len(first) - MOST_NAMED} more agents"


def _row(label: str, text: str) -> str:
    """Return a line that stays whole: its colours are in it already."""
    return pad(label, LABEL_COLUMNS) + text


def _events(found: Replayed) -> str:
    said = f"{found.events:,} of {found.total:,} happened again"
    if found.parts > 1:
        said += f", in {found.parts} processes"
    for label, events in (("not", found.missing), ("new", found.extra)):
        if events:
            named = ", ".join(safe(each) for each in events[:MOST_NAMED])
            more = len(events) - MOST_NAMED
            said += f"; {label}: {named}" + (f" and {more:,} more" if more > 0 else "")
    return said


def _end(found: Replayed) -> str:
    recorded, now = found.state
    if recorded == now == "crashed":
        return "as far as the log goes: it has no end yet"
    state = safe(now) if recorded == now else f"{safe(now)}, it was {safe(recorded)}"
    report = "the same report" if found.report_is_same else "another report"
    return f"{state}; {report}" if found.has_report else state


def _first_of_each(found: Replayed) -> list[Difference]:
    """Return the first difference of each agent: those behind it follow from it."""
    first: dict[str, Difference] = {}
    for each in found.differences:
        first.setdefault(each.agent, each)
    return list(first.values())


def _difference(each: Difference, label: str, style: Style) -> Iterator[str]:
    where = f"{safe(each.agent)}, turn {each.turn}: {safe(each.where)}"
    if each.seq:
        where += f" (event {each.seq})"
    yield _row(label, style(where, "bold"))
    for name, text in (("it was", each.recorded), ("it is now", each.now)):
        yield row(name, safe(text))
