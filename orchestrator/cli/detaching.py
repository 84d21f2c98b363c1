"""Running in the background: a process of its own that outlives the terminal.

The command checks everything, starts that process and waits until the run has begun; by
then its output goes to a file in the run folder. A pipe tells: a line once the run has
begun, its end without one if the process died before.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from orchestrator.cli.ending import say
from orchestrator.cli.exits import EXIT_FAILED, EXIT_INTERRUPTED
from orchestrator.cli.interrupts import interruptible
from orchestrator.cli.output import json_text, safe, safe_lines
from orchestrator.store.layout import RunFolder

__all__ = ["Background", "OutputFile", "start_detached"]

MAX_OUTPUT_BYTES = 1 << 20
"""Of each of two files: what is older is dropped."""
PATIENCE_S = 10.0
"""How long a process has to end that is told to."""
DRAIN_S = 2.0
_CHUNK_BYTES = 65_536


def start_detached(arguments: Sequence[str], *, is_json: bool, is_quiet: bool) -> int:
    """Start a command in the background, and return once its run has begun.

    Prints what commands call the run, or with JSON one object, on stdout.

    Args:
        arguments: of the program, the name of the command first.
        is_json: print an object.
        is_quiet: give no hint.

    Returns:
        0, or the status of a process that ended before its run had begun; what it
        said is on stderr then.
    """
    with tempfile.TemporaryFile() as said:
        reader, writer = os.pipe()
        # Or a process would be left behind.
        with interruptible(signal.SIGINT, signal.SIGTERM):
            process = _spawned(arguments, writer, said)
            os.close(writer)
            with os.fdopen(reader, "rb") as told:
                try:
                    line = told.readline()
                    status = 0 if line else process.wait()
                except KeyboardInterrupt:
                    _end(process)
                    raise
        if not line:
            said.seek(0)
            return _died(said.read(), status)
    begun = orjson.loads(line)
    process.returncode = 0  # it is nobody's child from now on
    if is_json:
        print(json_text(begun, is_line=True))
    else:
        print(safe(begun["handle"]))
    if not (is_json or is_quiet):
        name = safe(begun["handle"])
        say(
            f"hint: it runs in the background; `orchestrate wait {name}` waits for its "
            "report; `show`, `steer`, `pause` and `stop` work on it, too"
        )
    return 0


def _spawned(
    arguments: Sequence[str], writer: int, said: IO[bytes]
) -> subprocess.Popen[bytes]:
    command, *rest = arguments
    # Not by `-m` with this folder on the path: a file in it may be named like a module.
    program = [sys.executable, "-P", "-m", "orchestrator"]
    return subprocess.Popen(  # noqa: S603 - this program itself
        [*program, command, f"--background={writer}", *rest],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        pass_fds=[writer],
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _died(said: bytes, status: int) -> int:
    """Tell why a process ended before its run had begun; return the exit status."""
    text = said.decode("utf-8", "replace").strip()
    if text:
        say(safe_lines(text))
    if status < 0:
        say(f"error: the process was ended by signal {-status} before it had begun")
        return EXIT_INTERRUPTED if status == -signal.SIGTERM else EXIT_FAILED
    return status or EXIT_FAILED


@dataclass(slots=True)
class Background:
    """This process, which was started to run in the background.

    Attributes:
        told: writing end of the pipe to who started it.
    """

    told: int

    def __post_init__(self) -> None:
        with suppress(OSError):
            os.set_inheritable(self.told, False)

    def begun(self, folder: RunFolder, redact: Callable[[str], str]) -> None:
        """Say that the run has begun; from now on its output goes to the run's folder.

        Args:
            folder: the run's.
            redact: for what is printed.
        """
        OutputFile(folder.output, redact).take_over()
        line = {
            "id": folder.id,
            "handle": folder.handle,
            "path": str(folder.path.absolute()),
            "pid": os.getpid(),
            "state": "running",
        }
        with suppress(OSError):  # who started it is gone
            os.write(self.told, orjson.dumps(line) + b"\n")
        with suppress(OSError):
            os.close(self.told)


class OutputFile:
    """Where a process in the background prints: two files, so that it does not grow."""

    def __init__(
        self,
        path: Path,
        redact: Callable[[str], str],
        *,
        max_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        """Open nothing yet.

        Args:
            path: of the newer file; the older has `.1` before its ending.
            redact: for each line.
            max_bytes: of each file.
        """
        self._path, self._redact, self._max_bytes = path, redact, max_bytes
        self._thread: threading.Thread | None = None

    def take_over(self) -> None:
        """Let all that this process prints from now on go to the file."""
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)  # the report lies in the folder
        os.dup2(writer, 2)
        os.close(writer)
        os.close(nothing)
        self._thread = threading.Thread(
            target=self._pump, args=(reader,), name="output", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Bring what was printed to the file; a second call does nothing."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 2)  # ends the pipe, unless a child holds it
        os.close(nothing)
        thread.join(DRAIN_S)

    def _pump(self, reader: int) -> None:
        with os.fdopen(reader, "rb", buffering=_CHUNK_BYTES) as lines:
            while line := lines.readline(_CHUNK_BYTES):
                with suppress(OSError):  # a full disk ends no run
                    self._keep(line)

    def _keep(self, line: bytes) -> None:
        data = self._redact(line.decode("utf-8", "replace")).encode()
        with suppress(FileNotFoundError):
            if self._path.stat().st_size + len(data) > self._max_bytes:
                self._path.replace(self._path.with_suffix(f".1{self._path.suffix}"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        handle = os.open(self._path, flags, 0o644)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
