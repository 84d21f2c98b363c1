"""Where the command starts: Ctrl-C is heard before anything else is loaded.

Until a run listens itself, nothing is at work that would have to be ended with care.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from orchestrator.cli.exits import EXIT_INTERRUPTED

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process and return its exit status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # `nohup` ignores the closing of the terminal, and so do we.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    # Loading takes long enough for a Ctrl-C.
    from orchestrator.cli.main import main as run_command  # noqa: PLC0415 - see above

    return run_command()


def _leave(_number: int, _frame: object) -> None:
    """End at once: an exception from amid an import may show as anything."""
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(EXIT_INTERRUPTED)
