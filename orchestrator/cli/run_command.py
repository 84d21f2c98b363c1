"""`run`, `resume` and `ask`: a task in, a live view meanwhile, the report out.

The report (or, with `--json`, the events) goes to stdout and nothing else does.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.ending import tell_end
from orchestrator.cli.options import (
    TextCommand,
    limits_option,
    runs_dir_option,
)
from orchestrator.cli.spec_commands import overrides_of
from orchestrator.cli.ways import Way, way_options
from orchestrator.errors import SpecError, StoreError

if TYPE_CHECKING:
    from orchestrator.cli.asking import TerminalAsker
    from orchestrator.inspection.run import RunView
    from orchestrator.runtime.live import Live
    from orchestrator.runtime.result import RunResult
    from orchestrator.spec.task import Task

__all__ = ["ask", "resume", "run"]


@click.command()
@click.argument("task", required=False, type=click.Path(path_type=Path))
@click.option("--objective", metavar="TEXT", help="What is wanted, without a file.")
@click.option(
    "--workspace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="What agents may see, with --objective; default: the working directory.",
)
@click.option("--model", metavar="MODEL", help="anthropic:<id>, <id>, or offline.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any field of the task, e.g. limits.usd=5; may be repeated.",
)
@runs_dir_option
@way_options
def run(
    task: Path | None,
    objective: str | None,
    workspace: Path | None,
    model: str | None,
    settings: tuple[str, ...],
    runs_dir: Path,
    way: Way,
) -> int:
    """Run TASK, or an --objective without a file, and print the report.

    Exit status: 0 done, 1 failed, 2 wrong input (nothing spent), 3 partial, 75 parked
    (quota used up, key refused, endpoint down: `resume` goes on), 130 interrupted.
    """
    overrides = overrides_of(settings)
    if model is not None:
        overrides["model"] = model
    loaded, folder = _load(task, objective, workspace, overrides)

    from orchestrator.cli.asking import terminal_asker  # noqa: PLC0415 - loads anyio
    from orchestrator.runtime.host import Host  # noqa: PLC0415 - loads pydantic
    from orchestrator.runtime.prepare import prepare  # noqa: PLC0415
    from orchestrator.runtime.start import start  # noqa: PLC0415
    from orchestrator.spec.loader import blame  # noqa: PLC0415

    asker = terminal_asker(is_quiet=not way.can_ask)
    host = Host.of_process(runs_dir=runs_dir, asker=asker)
    try:
        with _stdout_is_ours():
            prepared = prepare(
                loaded,
                settings=host.settings,
                env=host.env,
                price_of=host.price,
                task_folder=folder,
            )
    except SpecError as error:
        raise (blame(error, task, overrides) if task else error) from error
    way.tell((*prepared.notices, *_unasked(loaded, asker)))
    if way.detach:
        given = {"objective": objective, "workspace": workspace, "model": model}
        texts = [] if task is None else [str(task)]
        return way.detached("run", runs_dir, settings, *texts, **given)

    async def work(live: Live) -> RunResult:
        try:
            return await start(prepared, host, live)
        except SpecError as error:  # an MCP server that cannot be started
            raise (blame(error, task, overrides) if task else error) from error
        except StoreError as error:
            if live.has_begun:
                raise
            raise click.ClickException(str(error)) from error  # wrong input: status 2
        finally:
            await host.pool.aclose()

    return _show(work, way, asker)


@click.command()
@click.argument("run_name", metavar="RUN")
@limits_option
@runs_dir_option
@way_options
def resume(
    run_name: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    way: Way,
) -> int:
    """Go on with RUN: an id, the start of one, a path, or `last`.

    It was stopped, killed, paused or parked; or it is partial: then the lead does what
    is missing. One that is paused goes on in its own process, and is waited for here.
    """
    return _go_on(run_name, "", settings, runs_dir, way)


@click.command(cls=TextCommand)
@click.argument("run_name", metavar="RUN")
@click.argument("question", metavar="TEXT")
@limits_option
@runs_dir_option
@way_options
def ask(
    run_name: str,
    question: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    way: Way,
) -> int:
    """Put a further question to RUN, which has finished, and print the new report.

    The lead goes on with all that it knows; the report of before becomes report.1.md.
    What the run has used counts: --set limits.usd=5 gives it more.
    """
    if not question.strip():
        raise click.UsageError("TEXT is empty; write what you want to know")
    return _go_on(run_name, question, settings, runs_dir, way)


def _go_on(
    run_name: str,
    question: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    way: Way,
) -> int:
    """Go on with a run of an earlier process, perhaps with a question."""
    from orchestrator.cli.asking import terminal_asker  # noqa: PLC0415 - loads anyio
    from orchestrator.cli.paused import check_is_paused, let_go_on  # noqa: PLC0415
    from orchestrator.inspection.reading import load_run  # noqa: PLC0415
    from orchestrator.runtime.host import Host  # noqa: PLC0415 - loads pydantic
    from orchestrator.runtime.resume import read_past  # noqa: PLC0415
    from orchestrator.runtime.start import resume_run  # noqa: PLC0415
    from orchestrator.store.layout import find_run  # noqa: PLC0415
    from orchestrator.store.lock import is_held  # noqa: PLC0415

    asker = terminal_asker(is_quiet=not way.can_ask)
    host = Host.of_process(runs_dir=runs_dir, asker=asker)
    folder, overrides = find_run(runs_dir, run_name), overrides_of(settings)
    if is_held(folder) and not question:
        check_is_paused(folder)
        # Its process has what it needs; here only the limits are looked at.
        read_past(folder, replace(host, brings_model=True), overrides)
        if after := let_go_on(folder, overrides):
            return way.follow(folder, after)
    with _stdout_is_ours():
        past = read_past(folder, host, overrides, question=question)
    told = (*past.prepared.notices, *past.notices)
    way.tell((*told, *_unasked(past.prepared.task, asker)))
    if way.detach:
        name, texts = str(folder.path.absolute()), [question] if question else []
        command = "ask" if question else "resume"
        return way.detached(command, runs_dir, settings, name, *texts)

    async def work(live: Live) -> RunResult:
        try:
            return await resume_run(past, host, live)
        finally:
            await host.pool.aclose()

    return _show(work, way, asker, partial(load_run, folder))


def _unasked(task: Task, asker: TerminalAsker | None) -> Iterator[str]:
    """Yield a line if the task says to ask, and nobody is there."""
    from orchestrator.runtime.allowed import permission_notices  # noqa: PLC0415

    yield from permission_notices(task.permissions, can_ask=asker is not None)


def _load(
    task: Path | None,
    objective: str | None,
    workspace: Path | None,
    overrides: dict[str, str],
) -> tuple[Task, Path]:
    """Return the task and the folder that its profiles are looked for beside."""
    from orchestrator.spec.loader import (  # noqa: PLC0415 - loads pydantic
        load_task,
        task_from_objective,
    )

    if (task is None) == (objective is None):
        raise click.UsageError("give a task file or --objective, one of both")
    if task is not None:
        if workspace is not None:
            overrides.setdefault("workspace", str(workspace.absolute()))
        return load_task(task, overrides), task.absolute().parent
    folder = workspace or Path.cwd()
    return task_from_objective(objective or "", folder, overrides), folder.absolute()


def _show(
    work: Callable[[Live], Awaitable[RunResult]],
    way: Way,
    asker: TerminalAsker | None,
    past: Callable[[], RunView] | None = None,
) -> int:
    """Run `work` under the live view and print what it came to.

    Args:
        work: starts the run or goes on with it.
        way: how it is shown, and where.
        asker: puts questions to the person; None: nobody is there.
        past: the run as earlier processes left it; None: it is new.
    """
    import anyio  # noqa: PLC0415 - only when something runs

    from orchestrator.cli.live import open_view  # noqa: PLC0415
    from orchestrator.cli.signals import heard, stop_on_signal  # noqa: PLC0415
    from orchestrator.logs import configure  # noqa: PLC0415
    from orchestrator.runtime.live import Live  # noqa: PLC0415

    configure()
    mode = way.shown

    async def with_signals() -> RunResult:
        live = Live(on_begun=way.begun)
        results: list[RunResult] = []
        failures: list[Exception] = []
        async with anyio.create_task_group() as group:
            # Before anything is begun, so that nothing is left half begun.
            await group.start(stop_on_signal, live)
            try:
                with open_view(mode or "auto", past=past, out=out) as view:
                    live.on_event = view
                    if asker is not None:
                        asker.paused = view.paused
                    results.append(await work(live))
            except Exception as error:  # noqa: BLE001 - raised again, out of the group
                failures.append(error)
            group.cancel_scope.cancel()
        if failures:
            raise failures[0]
        return results[0]

    out = sys.stdout
    before = {number: signal.getsignal(number) for number in heard()}
    try:
        with _stdout_is_ours():
            result = anyio.run(with_signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    tell_end(
        result.state,
        result.folder,
        report=result.report,
        reason=result.reason,
        mode=mode,
    )
    return result.exit_code


def _stdout_is_ours() -> AbstractContextManager[object]:
    """Let what the user's own tools print go to stderr: scripts read the other."""
    from orchestrator.logs import CurrentStderr  # noqa: PLC0415 - loads structlog

    return redirect_stdout(CurrentStderr())
