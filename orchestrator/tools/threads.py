"""Run sync tools in threads that nobody has to wait for.

A call that cannot be stopped is left behind: neither the run nor the end of the process
waits for it. anyio's own worker threads would hold the process up until they end.
"""

from __future__ import annotations

import contextvars
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

import anyio
import anyio.from_thread
from anyio.lowlevel import EventLoopToken, RunVar, current_token

from orchestrator.errors import ToolError

__all__ = ["calls_at_work", "in_thread", "stop_if_abandoned"]

MAX_THREADS = 40
LEAVING_S = 0.2
"""Time that a call has to see that it is abandoned, and to clear up."""
IDLE_S = 5.0
"""A thread that has nothing to do for so long ends."""

T = TypeVar("T")

# Under this name sniffio keeps what runs the event loop, which is not this thread.
_LIBRARY = "current_async_library_cvar"
_current: contextvars.ContextVar[_Call] = contextvars.ContextVar("current_call")


async def in_thread(function: Callable[..., T], *args: object, kind: str = "") -> T:
    """Call `function` in a thread and return what it returns.

    Cancelling drops its result; `stop_if_abandoned` tells the thread, which is left
    behind where it does not end at once.

    Args:
        function: what to call.
        *args: its arguments.
        kind: at most 40 calls of a kind are waited for at a time in an event loop, so
            that those which block hold up nothing but their like.
    """
    pool = _pool_of_loop()
    async with pool.rooms[kind]:
        call = _Call(function, args)
        pool.begin(call)
        try:
            await call.ended.wait()
        finally:
            call.is_abandoned = True
            if not call.ended.is_set():  # what it started should not outlive us
                with anyio.move_on_after(LEAVING_S, shield=True):
                    await call.ended.wait()
    if call.error is not None:
        raise call.error
    return cast("T", call.result)


def stop_if_abandoned() -> None:
    """End the call that this thread works on, if nobody waits for it any more.

    Raises:
        ToolError: nobody does; nobody hears of it either.
    """
    call = _current.get(None)
    if call is not None and call.is_abandoned:
        raise ToolError("nobody waits for this call any more")


def calls_at_work() -> Callable[[], int]:
    """Return what counts the calls of this event loop that are waited for."""
    rooms = _pool_of_loop().rooms
    return lambda: sum(room.borrowed_tokens for room in rooms.values())


@dataclass(slots=True)
class _Call:
    """One call, and what came of it."""

    function: Callable[..., Any]
    args: tuple[object, ...]
    token: EventLoopToken = field(default_factory=current_token)
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    ended: anyio.Event = field(default_factory=anyio.Event)
    is_abandoned: bool = False
    result: object = None
    error: BaseException | None = None

    def work(self) -> None:
        """Make the call and keep what comes of it."""
        try:
            self.result = self.context.run(self._call)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.error = error

    def _call(self) -> object:
        for variable in list(self.context):
            if variable.name == _LIBRARY:
                variable.set(None)
        _current.set(self)
        return self.function(*self.args)


class _Pool:
    """The threads of one event loop that have nothing to do, newest last."""

    def __init__(self) -> None:
        self.rooms: defaultdict[str, anyio.CapacityLimiter] = defaultdict(
            lambda: anyio.CapacityLimiter(MAX_THREADS)
        )
        self._idle: deque[_Thread] = deque()
        self._lock = threading.Lock()

    def begin(self, call: _Call) -> None:
        """Give `call` to a thread."""
        with self._lock:
            thread = self._idle.pop() if self._idle else None
        if thread is None:
            thread = _Thread(self)
            thread.start()
        thread.calls.put(call)

    def rest(self, thread: _Thread) -> None:
        """Let `thread` wait for calls."""
        with self._lock:
            self._idle.append(thread)

    def dismiss(self, thread: _Thread) -> bool:
        """Return whether `thread` may end: no call is on its way to it."""
        with self._lock:
            is_idle = thread in self._idle
            if is_idle:
                self._idle.remove(thread)
        return is_idle


class _Thread(threading.Thread):
    """Makes one call after the other; the end of the process does not wait for it."""

    def __init__(self, pool: _Pool) -> None:
        super().__init__(name="tool", daemon=True)
        self.calls: SimpleQueue[_Call] = SimpleQueue()
        self._pool = pool

    def run(self) -> None:
        while True:
            try:
                call = self.calls.get(timeout=IDLE_S)
            except Empty:
                if self._pool.dismiss(self):
                    return
                continue
            call.work()
            try:
                anyio.from_thread.run_sync(self._hand_over, call, token=call.token)
            except RuntimeError:  # the event loop has ended meanwhile
                return
            del call

    def _hand_over(self, call: _Call) -> None:
        """Let whoever waits go on, with this thread free again; in the event loop."""
        self._pool.rest(self)
        call.ended.set()


_pools: RunVar[_Pool] = RunVar("tool_threads")


def _pool_of_loop() -> _Pool:
    try:
        return _pools.get()
    except LookupError:
        pool = _Pool()
        _pools.set(pool)
        return pool
