"""One server over a run: started, asked, started once more if it dies.

A task of its own opens and closes the connection, since what opens a scope must close
it; calls come from the tasks of agents.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import structlog

from orchestrator.errors import OrchestratorError, SpecError, ToolError
from orchestrator.messages import one_line
from orchestrator.tools.mcp.session import Json, Lost, Refused, Session, leaf

__all__ = ["Connection", "Link", "Opener"]

T = TypeVar("T")

LIVES = 2
"""A server that dies is started once more; then it stays dead."""
LEAVING_S = 4.0
_SAID_CHARS = 300

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Connection:
    """What is known of one life of a server, filled in while it lasts."""

    gone: anyio.Event = field(default_factory=anyio.Event)
    """Set by whoever notices that it is over."""
    is_open: bool = False
    """Whether it ever offered its tools."""
    ended: anyio.Event = field(default_factory=anyio.Event)
    """Set when nothing of it is left, and why it ended is known."""
    story: Callable[[], str] = field(default=lambda: "")
    """How it ended and what it said, bounded."""


Opener = Callable[[Connection], AbstractAsyncContextManager[Session]]


class Link:
    """A server, its session while it has one, and its tools, which stay the same.

    Args:
        name: of the server.
        start_s: time to start and to list the tools.
        open_: starts it and opens a session.
        redact: for what it says when it fails.
        leaving_s: how long taking leave of it may take, and a call waits to hear how
            it died.
    """

    def __init__(
        self,
        name: str,
        *,
        start_s: float,
        open_: Opener,
        redact: Callable[[str], str],
        leaving_s: float = LEAVING_S,
    ) -> None:
        self.name, self.start_s = name, start_s
        self.tools: list[Json] = []
        """As listed when it first started."""
        self.has_resources = False
        self.failure = ""
        """Why it is not there, "" while it is or has not been started."""
        self.fault: SpecError | None = None
        """What in its entry is wrong, where that is why it did not start."""
        self.first = anyio.Event()
        """Set when it has started for the first time, or failed to."""
        self._open, self._redact, self._leaving_s = open_, redact, leaving_s
        self._session: Session | None = None
        self._there: frozenset[str] = frozenset()
        self._is_dead = self._is_listed = False
        self._wanted, self._changed = anyio.Event(), anyio.Event()
        self._life: Connection | None = None
        self._lives = 0
        self._stopping = anyio.Event()

    async def run(self) -> None:
        """Keep the server until `stop`, or until it has died as often as it may."""
        while not self._is_dead:
            if self._lives:
                await self._wanted.wait()
            if self._stopping.is_set():
                return
            self._lives += 1
            await self._live()

    def stop(self) -> None:
        """Let the server end; `run` returns when it has."""
        self._stopping.set()
        self._wanted.set()
        if self._life is not None:
            self._life.gone.set()

    async def ask(
        self, operation: Callable[[Session], Awaitable[T]], *, tool: str = ""
    ) -> T:
        """Return what `operation` gets from the server; restart it where it has died.

        Args:
            operation: one request.
            tool: the server's tool that it calls, "" for none.

        Raises:
            ToolError: the server is dead, died, refused, or has the tool no longer.
        """
        session = await self._session_now()
        if tool and tool not in self._there:
            raise ToolError(
                f"MCP server `{self.name}` was restarted and no longer has `{tool}`; "
                "do without it."
            )
        life = self._life
        assert life is not None  # noqa: S101 - a session has one
        try:
            return await operation(session)
        except Refused as error:
            raise ToolError(f"MCP server `{self.name}`: {error}") from error
        except Lost as error:
            life.gone.set()
            with anyio.move_on_after(self._leaving_s):
                await life.ended.wait()
            raise ToolError(self._died(str(error))) from error

    def _died(self, why: str) -> str:
        again = (
            "It is not started again."
            if self._is_dead
            else "It is started again with the next call; what this one did is unknown."
        )
        what = self.failure or why
        return f"MCP server `{self.name}` was lost in the call: {what}. {again}"

    async def _session_now(self) -> Session:
        while self._session is None:
            if self._is_dead:
                raise ToolError(
                    f"MCP server `{self.name}` is dead ({self.failure}); do without "
                    "its tools."
                )
            self._wanted.set()
            await self._changed.wait()
        return self._session

    async def _live(self) -> None:
        """Start the server, serve until it is gone, and note why."""
        life = self._life = Connection()
        began = anyio.current_time()
        why = ""
        with anyio.CancelScope(deadline=began + self.start_s) as scope:
            why = await self._serve(life, scope)
        if scope.cancelled_caught and not life.is_open:
            waited = anyio.current_time() - began
            why = f"no answer within {min(waited, self.start_s):g} s"
        if not self._stopping.is_set():
            told = "; ".join(part for part in (why, life.story()) if part)
            told = told or "the connection is closed"
            self.failure = self._redact(told)
            if self._is_listed:  # else it is the error with which all of it ends
                log.warning("mcp.server_lost", server=self.name, why=self.failure)
        self._session = None
        self._is_dead = self._lives >= LIVES or not self._is_listed
        life.ended.set()
        self._tell()

    async def _serve(self, life: Connection, scope: anyio.CancelScope) -> str:
        """Return why it is over."""
        try:
            async with self._open(life) as session:
                tools = await session.tools()
                self._there = frozenset(tool["name"] for tool in tools)
                if not self._is_listed:
                    self.tools, self._is_listed = tools, True
                    self.has_resources = session.has_resources
                scope.deadline = math.inf
                self._session, life.is_open = session, True
                self._tell()
                await life.gone.wait()
                self._session = None
                # Taking leave of it may not take for ever either.
                scope.deadline = anyio.current_time() + self._leaving_s
        except Exception as group:  # noqa: BLE001 - whatever the SDK lets out ends this life
            error = leaf(group)
            if isinstance(error, SpecError):
                self.fault = error
            return _why(error, self._redact)
        return ""

    def _tell(self) -> None:
        self.first.set()
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def _why(error: BaseException, redact: Callable[[str], str]) -> str:
    said = one_line(redact(str(error)), _SAID_CHARS)
    if isinstance(error, Lost | Refused | OrchestratorError):
        return said
    return f"{type(error).__name__}{said and f': {said}'}"
