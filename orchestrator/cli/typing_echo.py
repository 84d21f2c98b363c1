"""Whether a terminal shows what a person types.

While a picture is drawn in place it must not: each Enter would move the picture down,
and leave a line of it behind.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

__all__ = ["echo_typing", "in_foreground"]

_LOCAL_MODES = 3
"""Place among the attributes of a terminal."""


def echo_typing(stream: TextIO, *, is_on: bool) -> bool:
    """Let the terminal behind `stream` show what is typed, or not.

    Nothing is done where there is no terminal, or where another program has it.

    Returns:
        Whether it was changed.
    """
    # Closed; no file; no terminal.
    with suppress(OSError, ValueError, termios.error):
        handle = stream.fileno()
        modes = termios.tcgetattr(handle)
        was_on = bool(modes[_LOCAL_MODES] & termios.ECHO)
        if was_on == is_on or not in_foreground(stream):
            return False
        modes[_LOCAL_MODES] ^= termios.ECHO
        with _not_stopped():
            termios.tcsetattr(handle, termios.TCSANOW, modes)
        return True
    return False


def in_foreground(stream: TextIO) -> bool:
    """Return whether no other program, such as the shell, has this terminal."""
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # it is nobody's, or no terminal of the system
        return True


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Be not stopped for it, should another program have got the terminal just now."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
