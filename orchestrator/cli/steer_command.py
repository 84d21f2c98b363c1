"""The command `steer`: a person says something to the lead of a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from orchestrator.cli.options import TextCommand, runs_dir_option
from orchestrator.cli.output import safe
from orchestrator.cli.redacting import redactor_for
from orchestrator.cli.workers import WAIT_S, waited
from orchestrator.errors import OrchestratorError
from orchestrator.events import ControlReceived, TextAdded
from orchestrator.ids import LEAD
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.messages import clean_text
from orchestrator.store.control import MAX_TEXT_BYTES, STEER, Request, remove, send
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.lock import is_held
from orchestrator.store.reading import read_events

__all__ = ["steer", "steer_run"]

FROM_STDIN = "-"


@click.command(cls=TextCommand)
@click.argument("run")
@click.argument("text")
@runs_dir_option
def steer(run: str, text: str, runs_dir: Path) -> None:
    """Tell the lead of RUN something: TEXT, or what is on stdin with `-`.

    It counts as part of the task. A run that is at work is told at its next step, once;
    one that is paused, stopped, parked or was killed is told as it goes on.
    """
    words = _words(text)
    print(safe(steer_run(find_run(runs_dir, run), words)))


def steer_run(folder: RunFolder, words: str, *, wait_s: float = WAIT_S) -> str:
    """Say something to the lead of a run, and return what came of it, in a line.

    Args:
        folder: the run's.
        words: of a person; secrets in them are replaced before they are written.
        wait_s: how long the process that works on it has to take them.

    Raises:
        ClickException: the lead has ended for good.
        OrchestratorError: the words were not taken in time.
    """
    view = load_run(folder)
    is_live = is_held(folder)
    if not is_live and not view.is_resumable:
        raise _ended(folder, view)
    text = redactor_for(folder, os.environ).redact(words)
    request = send(folder.control, Request(STEER, None, text=text))
    if is_live:
        waited(lambda: not request.exists() or not is_held(folder), wait_s)
    view = load_run(folder)
    if not request.exists():
        return _taken(folder, request.name, view)
    if is_held(folder):
        raise OrchestratorError(
            f"the process that works on run `{folder.id}` has not taken this within "
            f"{wait_s:g} s; it stays in `{folder.control}`, and whoever goes on with "
            "the run tells it to the lead"
        )
    if not view.is_resumable:
        remove(request)
        raise _ended(folder, view)
    return (
        f"kept: run {folder.id} is {view.state}; its lead is told as soon as "
        f"`orchestrate resume {folder.handle}` goes on"
    )


def _taken(folder: RunFolder, name: str, view: RunView) -> str:
    """Return what becomes of words that were taken."""
    events = list(read_events(folder.events))
    taken = [
        event.seq
        for event in events
        if event.kind == ControlReceived.KIND and event.data.get("request") == name
    ]
    if not taken:
        raise OrchestratorError(f"run `{folder.id}` did not take this: it is gone")
    told = any(
        event.kind == TextAdded.KIND and event.cause == taken[0] for event in events
    )
    if told:
        return f"told: the lead of run {folder.id}"
    if view.is_running:
        doing = view.doing(view.agent(LEAD))
        now = f"; now it {doing}" if doing else ""
        return f"heard: the lead of run {folder.id} is told at its next step{now}"
    if view.is_resumable:
        return (
            f"heard: run {folder.id} is {view.state}; its lead is told as soon as "
            f"`orchestrate resume {folder.handle}` goes on"
        )
    raise _ended(folder, view)


def _ended(folder: RunFolder, view: RunView) -> click.ClickException:
    return click.ClickException(
        f"run `{folder.id}` is {view.state}, its lead has ended; "
        f'`orchestrate ask {folder.handle} "TEXT"` puts a further question to it'
    )


def _words(text: str) -> str:
    """Return what is to be said.

    Raises:
        UsageError: it is empty, or too long.
    """
    if text == FROM_STDIN:
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        text = data.decode(
            "utf-8", "ignore" if len(data) > MAX_TEXT_BYTES else "replace"
        )
        size = f"more than {MAX_TEXT_BYTES:,}" if len(data) > MAX_TEXT_BYTES else ""
    else:
        length = len(text.encode(errors="replace"))
        size = f"{length:,}" if length > MAX_TEXT_BYTES else ""
    if size:
        raise click.UsageError(
            f"TEXT has {size} bytes, at most {MAX_TEXT_BYTES:,} are allowed; write it "
            "to a file in the workspace, and name that file"
        )
    words = clean_text(text).strip()
    if not words:
        raise click.UsageError("TEXT is empty; write what the lead is to know")
    return words
