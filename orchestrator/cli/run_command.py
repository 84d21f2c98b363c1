"""`run`, `resume` and `ask`: a task in, a live view meanwhile, the report out.

The report (or, with `--json`, the events) goes to stdout and nothing else does.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import runs_dir_option
from orchestrator.cli.output import safe_lines
from orchestrator.cli.spec_commands import overrides_of
from orchestrator.errors import SpecError, StoreError

if TYPE_CHECKING:
    from orchestrator.cli.asking import TerminalAsker
    from orchestrator.cli.live import Mode
    from orchestrator.inspection.run import RunView
    from orchestrator.runtime.live import Live
    from orchestrator.runtime.result import RunResult
    from orchestrator.spec.task import Task

__all__ = ["ask", "resume", "run"]


def view_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--plain`, `--json` and `--quiet`, given as `mode`."""
    for flag, text in (
        ("quiet", "Print nothing but the report."),
        ("json", "Print events as JSON lines on stdout instead of the report."),
        ("plain", "Print one line per event instead of the live view."),
    ):
        command = click.option(f"--{flag}", "mode", flag_value=flag, help=text)(command)
    return command


limits_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="limits.NAME=VALUE",
    help="Raise a limit, e.g. limits.usd=5; may be repeated.",
)


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
@view_options
def run(
    task: Path | None,
    objective: str | None,
    workspace: Path | None,
    model: str | None,
    settings: tuple[str, ...],
    runs_dir: Path,
    mode: Mode | None,
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

    asker = terminal_asker(is_quiet=mode == "quiet")
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
    if mode != "quiet":
        for notice in (*prepared.notices, *_unasked(loaded, asker)):
            _say(notice)

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

    return _show(work, mode, asker)


@click.command()
@click.argument("run_name", metavar="RUN")
@limits_option
@runs_dir_option
@view_options
def resume(
    run_name: str, settings: tuple[str, ...], runs_dir: Path, mode: Mode | None
) -> int:
    """Go on with RUN: an id, the start of one, a path, or `last`.

    It was stopped, killed or parked; or it is partial: then the lead does what is
    missing.
    """
    return _go_on(run_name, "", settings, runs_dir, mode)


class _TextCommand(click.Command):
    """A command whose text may be a list: `- Where?` is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        texts = [each for each in args if each[:2] in ("- ", "-\t", "-\n")]
        rest = [each for each in args if each not in texts]
        return super().parse_args(ctx, [*rest, "--", *texts] if texts else rest)


@click.command(cls=_TextCommand)
@click.argument("run_name", metavar="RUN")
@click.argument("question", metavar="TEXT")
@limits_option
@runs_dir_option
@view_options
def ask(
    run_name: str,
    question: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    mode: Mode | None,
) -> int:
    """Put a further question to RUN, which has finished, and print the new report.

    The lead goes on with all that it knows; the report of before becomes report.1.md.
    What the run has used counts: --set limits.usd=5 gives it more.
    """
    if not question.strip():
        raise click.UsageError("TEXT is empty; write what you want to know")
    return _go_on(run_name, question, settings, runs_dir, mode)


def _go_on(
    run_name: str,
    question: str,
    settings: tuple[str, ...],
    runs_dir: Path,
    mode: Mode | None,
) -> int:
    """Go on with a run of an earlier process, perhaps with a question."""
    from orchestrator.cli.asking import terminal_asker  # noqa: PLC0415 - loads anyio
    from orchestrator.inspection.reading import load_run  # noqa: PLC0415
    from orchestrator.runtime.host import Host  # noqa: PLC0415 - loads pydantic
    from orchestrator.runtime.resume import read_past  # noqa: PLC0415
    from orchestrator.runtime.start import resume_run  # noqa: PLC0415
    from orchestrator.store.layout import find_run  # noqa: PLC0415

    asker = terminal_asker(is_quiet=mode == "quiet")
    host = Host.of_process(runs_dir=runs_dir, asker=asker)
    folder, overrides = find_run(runs_dir, run_name), overrides_of(settings)
    with _stdout_is_ours():
        past = read_past(folder, host, overrides, question=question)
    if mode != "quiet":
        told = (*past.prepared.notices, *past.notices)
        for notice in (*told, *_unasked(past.prepared.task, asker)):
            _say(notice)

    async def work(live: Live) -> RunResult:
        try:
            return await resume_run(past, host, live)
        finally:
            await host.pool.aclose()

    return _show(work, mode, asker, partial(load_run, folder))


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
    mode: Mode | None,
    asker: TerminalAsker | None,
    past: Callable[[], RunView] | None = None,
) -> int:
    """Run `work` under the live view and print what it came to.

    Args:
        work: starts the run or goes on with it.
        mode: of the view.
        asker: puts questions to the person; None: nobody is there.
        past: the run as earlier processes left it; None: it is new.
    """
    import anyio  # noqa: PLC0415 - only when something runs

    from orchestrator.cli.live import open_view  # noqa: PLC0415
    from orchestrator.cli.signals import heard, stop_on_signal  # noqa: PLC0415
    from orchestrator.logs import configure  # noqa: PLC0415
    from orchestrator.runtime.live import Live  # noqa: PLC0415

    configure()

    async def with_signals() -> RunResult:
        live = Live()
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
    if mode != "json" and result.report:
        print(safe_lines(result.report.rstrip()))
    sys.stdout.flush()
    if mode != "quiet" or result.state != "done":
        _say(f"{result.state}: {result.folder}" + _because(result))
    if mode != "quiet" and result.state == "partial":
        _hint(result)
    return result.exit_code


def _stdout_is_ours() -> AbstractContextManager[object]:
    """Let what the user's own tools print go to stderr: scripts read the other."""
    from orchestrator.logs import CurrentStderr  # noqa: PLC0415 - loads structlog

    return redirect_stdout(CurrentStderr())


def _hint(result: RunResult) -> None:
    """Say which command does what a partial run lacks, if one does."""
    from orchestrator.cli.tables import next_step  # noqa: PLC0415
    from orchestrator.inspection.reading import load_run  # noqa: PLC0415
    from orchestrator.store.layout import RunFolder  # noqa: PLC0415

    with suppress(StoreError):  # the report is out; its log may be gone
        folder = RunFolder(result.folder)
        if step := next_step(load_run(folder), folder.handle):
            _say(f"hint: for what is missing, `{step}`")


def _because(result: RunResult) -> str:
    return f" ({safe_lines(result.reason)})" if result.reason else ""


def _say(text: str) -> None:
    with suppress(OSError):  # a full disk behind stderr ends no run
        print(text, file=sys.stderr)
