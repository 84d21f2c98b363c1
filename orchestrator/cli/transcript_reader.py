"""The command `transcript`: an agent's conversation, rebuilt from the log."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.conversation import Detail, conversation_lines
from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    fill,
    print_json,
    safe,
    state_color,
)
from orchestrator.errors import SpecError
from orchestrator.events import Event
from orchestrator.events.phrases import count_phrase
from orchestrator.ids import HISTORY_REFERENCE, reference_of
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.sentences import describe
from orchestrator.inspection.shown_events import shown_events
from orchestrator.inspection.steps import Part, StepFilter, of_calls, parts_of
from orchestrator.messages import Message, tool_calls
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.reading import DAMAGED
from orchestrator.store.transcript import Edited, edits_of, rebuild

__all__ = ["no_agent", "transcript"]


@click.command()
@click.argument("run")
@click.argument("agent")
@click.option(
    "--view",
    "turn",
    type=int,
    metavar="TURN",
    help="What was sent at that turn, whole.",
)
@click.option(
    "--step",
    "ref",
    metavar="REF",
    help="Only that step (`h12`) or call (`h12.2`), whole; `h0` is the task.",
)
@click.option("--turn", "only", type=int, metavar="N", help="Only that turn, from 1.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="The newest so many.")
@click.option("--tool", default="", metavar="NAME", help="Only calls of that tool.")
@click.option("--grep", "text", default="", metavar="TEXT", help="Turns that have it.")
@click.option("--full", is_flag=True, help="Long texts whole, the system prompt too.")
@runs_dir_option
@json_option
def transcript(
    run: str,
    agent: str,
    full: bool,
    runs_dir: Path,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - click gives them
) -> None:
    """Show the conversation of AGENT (`lead`, `a1`, …) in RUN, oldest first.

    `→` is a tool call, `←` its result. Long results show their first lines. It is the
    whole conversation; a line says where something was no longer sent from then on.

    `h12` is what step 12 said, called and brought, `h12.2` its second call and result;
    so stubs and summaries name it, and `--step` shows it. `--turn`, `--tool`, `--grep`
    and `--last` combine; `--last` counts what the others leave.
    """
    given = _Given(**options)
    turn, ref = given.turn, given.ref
    given.check()
    folder = find_run(runs_dir, run)
    events, damaged = _agent_events(folder, agent)
    start = next((event for event in events if event.kind == "agent.started"), None)
    if start is None:
        raise SpecError(no_agent(folder, agent))
    if turn is not None:
        events = _until_turn(events, turn)
    whole = rebuild(events, agent, as_sent=False)
    messages = whole if turn is None else rebuild(events, agent)
    system = start.data.get("system") or []
    _warn_damaged(damaged)
    named = {"v": FIGURES_VERSION, "run": folder.path.name, "agent": agent}
    if ref is not None:
        _print_part(whole, ref, named, as_json=as_json)
        return
    parts = given.filter.of(messages)
    if as_json:
        edits = [] if turn is not None else edits_of(events, agent)
        shown = [message for part in parts for message in part.messages]
        print_json(
            {
                **named,
                "system": system,
                "tools": start.data.get("tools") or [],
                "steps": [part.step for part in parts],
                "messages": shown if not given.filter.is_empty else messages,
                "edits": [_edit_row(each) for each in edits],
            }
        )
        return
    if not parts and not given.filter.is_empty:
        _nothing(whole, given.filter)
        return
    style = Style()
    _print_head(start, turn, style)
    detail: Detail = "exact" if turn is not None else "full" if full else "short"
    notes = _notes(events, agent) if turn is None else {}
    begun = len(start.data.get("first") or [])
    if not given.filter.is_empty:
        _print_parts(parts, notes, begun, detail=detail, style=style)
        return
    for line in conversation_lines(
        system,
        messages,
        detail=detail,
        style=style,
        notes=notes,
        turns_before=_answers(whole) - _answers(messages),
        begun=begun,
    ):
        print(line)
    _print_ending(events, style)


@dataclass(frozen=True, slots=True)
class _Given:
    """The options that choose parts, as they were given."""

    turn: int | None
    ref: str | None
    only: int | None
    last: int | None
    tool: str
    text: str

    @property
    def filter(self) -> StepFilter:
        """Return which steps are wanted."""
        return StepFilter(self.only, self.last, self.tool, self.text)

    def check(self) -> None:
        """Refuse options that have no sense together.

        Raises:
            SpecError: one is in the way of another.
        """
        if self.turn is not None and self.ref is not None:
            raise SpecError("does not go with `--view`: leave one out", field="--step")
        is_one = self.turn is not None or self.ref is not None
        if is_one and not self.filter.is_empty:
            other = "--view" if self.turn is not None else "--step"
            raise SpecError(
                "is shown whole: leave out `--turn`, `--last`, `--tool` and `--grep`",
                field=other,
            )


def _print_head(start: Event, turn: int | None, style: Style) -> None:
    """Print who the agent is, and at which turn it is looked at, if at one."""
    data = start.data
    title = safe(f"{start.agent}: {data.get('title', '')}")
    profile, model = data.get("profile", ""), data.get("model", "")
    print(style(title, "bold"), safe(f"({profile}, {model})"))
    if turn is not None:
        names = ", ".join(
            safe(str(tool.get("name"))) for tool in data.get("tools") or []
        )
        print(fill(f"as sent at turn {turn}, with the tools {names}"))


def _print_parts(
    parts: list[Part],
    notes: dict[int, list[str]],
    begun: int,
    *,
    detail: Detail,
    style: Style,
) -> None:
    """Print some steps, and between them what was no longer sent."""
    for index, part in enumerate(parts):
        if index:
            print()
        behind = range(1, len(part.messages) + 1)
        for line in conversation_lines(
            [],
            part.messages,
            detail=detail,
            style=style,
            notes={n: notes[part.start + n] for n in behind if part.start + n in notes},
            turns_before=max(part.step - 1, 0),
            begun=None if part.step else begun,
        ):
            print(line)


def _nothing(messages: list[Message], wanted: StepFilter) -> None:
    """Say why no step was shown.

    Raises:
        SpecError: there is no such turn, or no call of that tool.
    """
    steps = _answers(messages)
    if wanted.turn is not None and not 0 <= wanted.turn <= steps:
        there = f"1 to {steps}, 0 is the task" if steps else "none"
        raise SpecError(f"no turn {wanted.turn}; there are: {there}", field="--turn")
    called = sorted(
        {
            str(call.get("name"))
            for each in messages
            if each["role"] == "assistant"
            for call in tool_calls(each["content"])
        }
    )
    if wanted.tool and wanted.tool not in called:
        there = ", ".join(called) or "none"
        raise SpecError(
            f"no call of `{wanted.tool}`; it called: {there}", field="--tool"
        )
    print("nothing matches", file=sys.stderr)


def _print_part(
    messages: list[Message], ref: str, named: dict[str, Any], *, as_json: bool
) -> None:
    """Print what a reference names, whole."""
    step, place = _reference(ref, _answers(messages))
    part = _part(messages, step, place)
    if as_json:
        found = {"ref": reference_of(step, place=place), "messages": part}
        print_json({**named, **found})
        return
    before = max(step - 1, 0)
    for line in conversation_lines(
        [], part, detail="exact", style=Style(), turns_before=before
    ):
        print(line)


def _reference(ref: str, steps: int) -> tuple[int, int]:
    """Return the step that `h12.2`, or `12.2`, names, and its call, 0 for all of it.

    Args:
        ref: what was asked for.
        steps: how many there are.
    """
    match = HISTORY_REFERENCE.fullmatch(ref if ref.startswith("h") else f"h{ref}")
    if match is None or int(match[1]) > steps:
        there = f"`h1` to `h{steps}`" if steps else "none"
        raise SpecError(
            f"found `{ref[:40]}`; steps are {there}, the second call of a step is "
            "`h1.2` or the like, the task is `h0`",
            field="--step",
        )
    return int(match[1]), int(match[2] or 0)


def _part(messages: list[Message], step: int, place: int) -> list[Message]:
    """Return the messages of a step, or what of them belongs to one call."""
    part = next((each.messages for each in parts_of(messages) if each.step == step), [])
    if not place:
        return part
    calls = tool_calls(part[0]["content"]) if step else []
    if place > len(calls):
        there = count_phrase(len(calls), "call")
        raise SpecError(f"step {step} has {there}, not {place}", field="--step")
    return of_calls(part, {str(calls[place - 1].get("id"))})


def _notes(events: list[Event], agent: str) -> dict[int, list[str]]:
    """Return what was no longer sent, by the number of messages before it."""
    notes: dict[int, list[str]] = {}
    for each in edits_of(events, agent):
        before = f"before turn {each.event.data.get('turn')}: "
        notes.setdefault(each.messages, []).append(before + describe(each.event))
    return notes


def _edit_row(edited: Edited) -> dict[str, Any]:
    event = edited.event
    told = {"kind": event.kind, "turn": event.data.get("turn"), "seq": event.seq}
    return {"messages_before": edited.messages, **told, "says": describe(event)}


def _answers(messages: Iterable[Message]) -> int:
    return sum(each["role"] == "assistant" for each in messages)


def _agent_events(folder: RunFolder, agent: str) -> tuple[list[Event], int]:
    """Return the events of one agent, and how many records of the log are lost."""
    found, damaged = [], 0
    for event in shown_events(folder, lambda head: head.agent == agent, os.environ):
        if event.kind == DAMAGED:
            damaged += 1
        else:
            found.append(event)
    return found, damaged


def _warn_damaged(count: int) -> None:
    if count:
        lost = count_phrase(count, "damaged record")
        print(f"{lost} of the log passed over: parts may be missing", file=sys.stderr)


def no_agent(folder: RunFolder, agent: str) -> str:
    """Return why there is nothing to show of `agent`."""
    known = load_run(folder).agents
    if agent in known:
        return f"agent `{agent}` has not started yet"
    return f"no agent `{agent}` in this run; there are: {', '.join(known) or 'none'}"


def _until_turn(events: list[Event], turn: int) -> list[Event]:
    """Return the events before the request of `turn` (the last, if it was repeated)."""
    asked: dict[int, int] = {}
    for index, event in enumerate(events):
        if event.kind == "model.requested" and not event.data.get("purpose"):
            asked[int(event.data.get("turn") or 0)] = index
    if turn not in asked:
        there = f"1 to {max(asked)}" if asked else "none"
        raise SpecError(f"no turn {turn} was sent; there are: {there}", field="--view")
    return events[: asked[turn]]


def _print_ending(events: Iterable[Event], style: Style) -> None:
    last: dict[str, Any] = {}
    for event in events:
        if event.kind == "agent.ended":
            last = event.data
    if last:
        outcome = safe(str(last.get("outcome", "")))
        reason = f": {safe(str(last['reason']))}" if last.get("reason") else ""
        print()
        print(style(f"ended, {outcome}{reason}", state_color(outcome)))
