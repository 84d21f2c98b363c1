"""Run one command in a sandbox, to its end or to a limit, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import ByteReceiveStream, Process

from orchestrator.errors import ToolError
from orchestrator.messages import one_line
from orchestrator.security.sandbox import (
    Report,
    Sandbox,
    available,
    make_group,
    read_report,
)
from orchestrator.tools.command_output import Kept
from orchestrator.tools.threads import in_thread

__all__ = ["LEAVING_S", "MAX_OUTPUT_BYTES", "Ran", "run_sandboxed"]

MAX_OUTPUT_BYTES = 100_000_000
"""A command that prints more is ended."""
GRACE_S = 2.0
"""Between the request to end and the end by force."""
LEAVING_S = 8.0
"""What a call may take over the limit of its command: that grace, and clearing up."""
_CHUNK_BYTES = 256 * 1024
_STARTING_S = 3.0
_SAID_CHARS = 300

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command went, and what it printed.

    Attributes:
        report: how it ended; `reason` may also be `output`.
        out: what is kept of standard output.
        err: what is kept of standard error.
        seconds: from the start of the sandbox to its end.
        met_processes: whether it was refused another process or thread, as far as the
            kernel counts them for us.
    """

    report: Report
    out: str
    err: str
    seconds: float
    met_processes: bool = False


async def run_sandboxed(
    sandbox: Sandbox, argv: Sequence[str], *, cwd: Path, timeout_s: float
) -> Ran:
    """Run a command with no input and return how it went.

    Cancelling ends it, and all that it started, at once.

    Args:
        sandbox: where it runs.
        argv: the program and its arguments.
        cwd: where it starts.
        timeout_s: limit of the command; what it has printed by then is returned.

    Raises:
        ToolError: there is no sandbox here, or it cannot be made.
    """
    if why := await in_thread(available):
        raise ToolError(f"commands cannot be run: {why}")
    group = await _surely(make_group, sandbox.limits)
    try:
        with _pipe() as (told, tell):

            def command() -> list[str]:
                return sandbox.command(
                    argv,
                    cwd=cwd,
                    timeout_s=timeout_s,
                    grace_s=GRACE_S,
                    report=tell,
                    counted=group.controllers,
                )

            started = time.monotonic()
            line = group.enter(await in_thread(command))
            out, err, is_flood = Kept(), Kept(), False
            limit_s = timeout_s + GRACE_S + _STARTING_S
            with anyio.move_on_after(limit_s) as scope:
                is_flood = await _run(line, tell, out, err)
            seconds = time.monotonic() - started
            report = read_report(told)
        exceeded = group.exceeded()
    finally:
        await _surely(group.close)
    if report is None:
        reason = "output" if is_flood else "timeout" if scope.cancelled_caught else ""
        report = _unreported(reason, exceeded, err)
    elif "memory" in exceeded and not report.reason:
        report = Report(report.code, "memory", report.left, report.left_count)
    return Ran(report, out.text(), err.text(), seconds, "processes" in exceeded)


def _unreported(reason: str, exceeded: tuple[str, ...], err: Kept) -> Report:
    """Return what is known where the first process was ended from outside."""
    if not reason and "memory" in exceeded:
        reason = "memory"
    if not reason:
        said = one_line(err.text(), _SAID_CHARS)
        raise ToolError(f"the sandbox ended unexpectedly: {said or 'nothing said'}")
    return Report(137, reason)


async def _run(line: Sequence[str], tell: int, out: Kept, err: Kept) -> bool:
    """Return once the process has ended; True: it printed too much and was ended."""
    process = await anyio.open_process(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The sandbox hands nothing on, yet whoever starts it need not know anything.
        env={"PATH": os.environ.get("PATH", os.defpath)},
        pass_fds=(tell,),
        # Ctrl-C in a terminal is for us to handle.
        start_new_session=True,
    )
    is_flood = False

    async def read(stream: ByteReceiveStream | None, kept: Kept) -> None:
        nonlocal is_flood
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while stream is not None:
                kept.add(await stream.receive(_CHUNK_BYTES))
                if out.total + err.total > MAX_OUTPUT_BYTES:
                    is_flood = True
                    _kill(process)
                    return

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(read, process.stdout, out)
            group.start_soon(read, process.stderr, err)
        await process.wait()
    finally:
        _kill(process)
        with anyio.move_on_after(GRACE_S, shield=True):
            await process.aclose()
    return is_flood


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """Yield an end to read from and one to write to."""
    told, tell = os.pipe()
    try:
        yield told, tell
    finally:
        os.close(told)
        os.close(tell)


async def _surely(function: Callable[..., T], *args: object) -> T:
    """Return what `function` returns, also where the caller is cancelled meanwhile."""
    found: list[T] = []
    with anyio.CancelScope(shield=True):
        found.append(await in_thread(function, *args))
    return found[0]
