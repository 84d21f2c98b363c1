"""What a live run does when its process is told to end."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TextIO

import anyio
from anyio.abc import TaskStatus

from orchestrator.cli.output import is_terminal, silence
from orchestrator.cli.typing_echo import echo_typing
from orchestrator.runtime.live import Live

__all__ = ["heard", "stop_on_signal"]

_SHOW_CURSOR = "\x1b[?25h"


def heard() -> list[signal.Signals]:
    """Return the signals that stop a run.

    The closing of the terminal is one of them, but not under `nohup`.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


async def stop_on_signal(
    live: Live, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Stop gently at the first Ctrl-C, SIGTERM or SIGHUP, at once at the second.

    A terminal that closes sends SIGHUP more than once: the shell and the system do.

    It listens from `task_status.started` on until it is cancelled.
    """
    terminals = [stream for stream in (sys.stdout, sys.stderr) if is_terminal(stream)]
    try:
        with anyio.open_signal_receiver(*heard()) as signals:
            task_status.started()
            try:
                async for number in signals:
                    if live.scope.cancel_called and number != signal.SIGHUP:
                        _end_now(number)
                    _leave_closed(terminals)
                    _tell("stopping; once more to end at once\n")
                    live.stop()
            finally:
                # Leaving, it lets Ctrl-C raise wherever the program stands.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_now(number: signal.Signals) -> None:
    """End the process as the signal does by itself."""
    if is_terminal(sys.stderr):
        # The live view hides the cursor and what is typed.
        _tell(_SHOW_CURSOR)
        echo_typing(sys.stderr, is_on=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _leave_closed(terminals: list[TextIO]) -> None:
    """Write nothing more to terminals that were closed: it would fail."""
    for stream in terminals:
        if not is_terminal(stream):
            silence(stream)


def _tell(text: str) -> None:
    with suppress(OSError):
        print(text, file=sys.stderr, end="", flush=True)
