"""Ask the person at the terminal, where the task says to ask.

What would happen is shown exactly, with everything made visible that a terminal would
act on. No answer is a no.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TextIO

import anyio

from orchestrator.cli.output import safe, safe_lines
from orchestrator.security.permissions import Answer, Ask

__all__ = ["WAIT_S", "TerminalAsker", "terminal_asker"]

WAIT_S = 600.0
"""A person who has not answered by then is not there."""
_TRIES = 3
_LINE_BYTES = 4096
_ANSWERS: dict[str, Answer] = {
    "y": "once", "yes": "once", "a": "always", "always": "always",
    "n": "no", "no": "no", "": "no",
}  # fmt: skip


def terminal_asker(*, is_quiet: bool) -> TerminalAsker | None:
    """Return what asks on this terminal; None: there is none, or it is to be quiet."""
    if is_quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return TerminalAsker(sys.stdin.fileno(), sys.stderr)


class TerminalAsker:
    """Asks one question at a time.

    Attributes:
        paused: keeps the view of the run away meanwhile.
    """

    def __init__(self, answers: int, screen: TextIO, *, wait_s: float = WAIT_S) -> None:
        """Take the terminal.

        Args:
            answers: file descriptor that a person's lines come from.
            screen: where questions go.
            wait_s: how long an answer may take, in seconds.
        """
        self.paused: Callable[[], AbstractContextManager[None]] = nullcontext
        self._answers, self._screen, self._wait_s = answers, screen, wait_s

    async def __call__(self, agent: str, tool: str, ask: Ask) -> Answer:
        """Return what the person says; see `Asker`."""
        needs = ", ".join(ask.permissions)
        with self.paused():
            self._say(
                f"\n{safe(agent)} wants to use {safe(tool)}, which needs {needs}:"
            )
            for line in safe_lines(ask.effect).split("\n"):
                self._say(f"    | {line}")
            with anyio.move_on_after(self._wait_s):
                return await self._answer(needs)
            self._say(f"no answer within {self._wait_s / 60:g} minutes: no")
        return "no"

    async def _answer(self, needs: str) -> Answer:
        self._forget_typed()
        for _ in range(_TRIES):
            self._say(f"[y]es, [a]lways {needs} in this run, [N]o? ", end="")
            line = await self._line()
            if line is None:
                self._say("")
                return "no"
            answer = _ANSWERS.get(line.strip().lower())
            if answer is not None:
                return answer
        return "no"

    async def _line(self) -> str | None:
        """Return the next line, or None at its end. Ctrl-C ends the wait."""
        await anyio.wait_readable(self._answers)
        data = os.read(self._answers, _LINE_BYTES)
        return data.decode("utf-8", "replace") if data else None

    def _forget_typed(self) -> None:
        """Drop what was typed before the question was seen."""
        with suppress(termios.error):
            termios.tcflush(self._answers, termios.TCIFLUSH)

    def _say(self, text: str, end: str = "\n") -> None:
        print(text, end=end, file=self._screen, flush=True)
