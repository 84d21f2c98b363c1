"""A server as a process of its own: lines in, lines out, and nothing of it left.

What it writes is bounded on every stream: a line that never ends breaks the connection,
and of its standard error only the end is kept.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process

from orchestrator.tools.mcp.session import Lost

__all__ = ["Child", "Command", "open_child"]

MAX_LINE_BYTES = 32 << 20
TAIL_BYTES = 8192
"""Of standard error, for the message when a server fails."""
LEAVING_S = 1.0
"""Time to end by itself once its input is closed, and again once it is asked to."""
_POLL_S = 0.01
_GONE = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Command:
    """How a process is started."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    hidden: bytes = b""
    """Handed over where nobody else can read it: as a file whose descriptor takes the
    place of `{hidden}` in `argv`."""


@dataclass(slots=True)
class Child:
    """A running process."""

    process: Process
    gone: anyio.Event = field(default_factory=anyio.Event)
    """Set when it no longer writes."""
    problem: str = ""
    """What is wrong with what it wrote, "" for nothing."""
    code: int | None = None
    """Its exit status where it ended by itself; negative: by a signal."""
    _tail: deque[bytes] = field(default_factory=deque)
    _is_cut: bool = False

    @property
    def said(self) -> str:
        """Return the end of what it wrote to standard error."""
        text = b"".join(self._tail)[-TAIL_BYTES:].decode("utf-8", "replace")
        # What is cut in two could be half a secret, which nobody would know as one.
        return text.partition("\n")[2] if self._is_cut else text

    @property
    def fate(self) -> str:
        """Return how it ended, "" where that was our doing."""
        if self.problem or self.code is None:
            return self.problem
        if self.code < 0:
            return f"it was ended by signal {-self.code}"
        return f"it ended with exit status {self.code}"

    async def send(self, line: bytes) -> None:
        """Write a line.

        Raises:
            Lost: it reads no more.
        """
        try:
            assert self.process.stdin is not None  # noqa: S101 - it has pipes
            await self.process.stdin.send(line + b"\n")
        except _GONE as error:
            raise Lost("its input is closed") from error

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield what it writes, line by line.

        Ends when it writes no more, or a line that is longer than can be kept.
        """
        parts: list[bytes] = []
        size = 0
        try:
            async for chunk in _chunks(self.process.stdout):
                *whole, rest = chunk.split(b"\n")
                for line in whole:
                    yield b"".join([*parts, line])
                    parts, size = [], 0
                parts.append(rest)
                size += len(rest)
                if size > MAX_LINE_BYTES:
                    self.problem = f"it wrote a line of over {MAX_LINE_BYTES >> 20} MB"
                    return
            if size:
                yield b"".join(parts)
        finally:
            self.gone.set()

    async def drain(self) -> None:
        """Read standard error to its end, and keep the last of it."""
        size = 0
        async for chunk in _chunks(self.process.stderr):
            self._tail.append(chunk)
            size += len(chunk)
            while size - len(self._tail[0]) >= TAIL_BYTES:
                size -= len(self._tail.popleft())
            self._is_cut = self._is_cut or size > TAIL_BYTES


async def _chunks(stream: object) -> AsyncIterator[bytes]:
    assert isinstance(stream, anyio.abc.ByteReceiveStream)  # noqa: S101 - it has pipes
    with suppress(*_GONE):
        while True:
            yield await stream.receive(1 << 16)


@asynccontextmanager
async def open_child(command: Command) -> AsyncIterator[Child]:
    """Start a process; when the block is left, it and what it started are gone.

    It gets a moment to end by itself first; by then, or within two seconds more, it is
    dead, also where the caller is being cancelled.

    Raises:
        OSError: it cannot be started.
    """
    argv, pass_fds = list(command.argv), list[int]()
    number = -1
    if command.hidden:
        number = os.memfd_create("options")
        os.write(number, command.hidden)
        os.lseek(number, 0, os.SEEK_SET)
        argv = [part.replace("{hidden}", str(number)) for part in argv]
        pass_fds = [number]
    try:
        process = await anyio.open_process(
            argv,
            env=dict(command.env),
            cwd=command.cwd,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    finally:
        if number >= 0:
            os.close(number)
    child = Child(process)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(child.drain)
            try:
                yield child
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(child)
                group.cancel_scope.cancel()
    finally:
        _let_go(process)


async def _end(child: Child) -> None:
    process = child.process
    with suppress(*_GONE):
        assert process.stdin is not None  # noqa: S101 - it has pipes
        await process.stdin.aclose()
    if await _ended(process):
        child.code = process.returncode
    else:
        _signal(process, signal.SIGTERM)
        await _ended(process)
    # Also where it has ended: what it left in its group goes with it.
    _signal(process, signal.SIGKILL)
    await _ended(process)
    for stream in (process.stdout, process.stderr):
        with suppress(*_GONE):
            assert stream is not None  # noqa: S101 - it has pipes
            await stream.aclose()


async def _ended(process: Process) -> bool:
    """Wait a moment and return whether it has ended.

    Not by `wait`: that also waits for whoever inherited its pipes.
    """
    with anyio.move_on_after(LEAVING_S):
        while process.returncode is None:  # noqa: ASYNC110 - see above
            await anyio.sleep(_POLL_S)
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    """Send a signal to the process and to all in its group.

    The group lives as long as anything in it, so that its number cannot be another's
    while the process itself has not been waited for; later it may be empty.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _let_go(process: Process) -> None:
    """Close what is left open where a process outside of the group holds the pipes."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()
