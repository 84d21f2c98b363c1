"""The Python API: run tasks from a program, one or many."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal

from orchestrator.batch.local import BatchItem, run_all
from orchestrator.clock import Clock
from orchestrator.errors import SpecError
from orchestrator.events import Event
from orchestrator.models.base import Model
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.prepare import Prepared, prepare
from orchestrator.runtime.result import RunResult
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.start import resume_run, start
from orchestrator.security.permissions import Asker
from orchestrator.spec.loader import load_task, resolve_task
from orchestrator.spec.task import Task
from orchestrator.store.layout import find_run
from orchestrator.tools.base import Tool
from orchestrator.tools.loading import as_tool

__all__ = ["Orchestrator", "run_batch_sync", "run_task"]

DEFAULT_BATCH_CONCURRENCY = 4

T = TypeVar("T")


class Orchestrator:
    """Runs tasks; its runs share models, connections and the runs folder.

    Use it as an async context manager; leaving it cancels what is still at work.

    Args:
        runs_dir: where run folders are made; default `./runs`.
        model: a model of your own for every agent (a `ScriptedModel` in tests);
            default: the one each task names; `TypeError` for a name.
        tools: your own tools, or plain functions, for every agent; `TypeError` where
            one cannot be a tool.
        clock: the time; default: the machine's.
        asker: answers where a task says `ask`: is given agent, tool, and what would
            happen; returns `once`, `always` or `no`. Without one it means no.
    """

    def __init__(
        self,
        *,
        runs_dir: Path | str | None = None,
        model: Model | None = None,
        tools: Sequence[Tool[Any]] = (),
        clock: Clock | None = None,
        asker: Asker | None = None,
    ) -> None:
        if isinstance(model, str):
            raise TypeError(f"`model` is an object; name `{model}` in the task")
        self._host = Host.of_process(
            runs_dir=None if runs_dir is None else Path(runs_dir),
            model=model,
            tools=tuple(map(as_tool, tools)),
            clock=clock,
            asker=asker,
        )
        self._group: TaskGroup | None = None
        self._live: list[Live] = []
        """Runs at work, whichever task they are in."""
        self._over = anyio.Event()

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        group, self._group = self._opened(), None
        group.cancel_scope.cancel()
        for live in self._live:
            live.stop()
        try:
            # Not told of the caller's own error, which leaves as it is: wrapped in a
            # group, `except SpecError` would miss it.
            await group.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                while self._live:  # each has a moment to end
                    await self._over.wait()
                await self._host.pool.aclose()

    async def run(
        self,
        task: Task | Path | str,
        *,
        on_event: Callable[[Event], None] | None = None,
        live: Live | None = None,
    ) -> RunResult:
        """Run one task and return what it came to.

        Where the run is paused, this waits until it goes on. Cancelling the caller
        cancels the run; it can be resumed. So does leaving the context while another
        task waits here: what that one gets is `interrupted`.

        Args:
            task: a `Task`, or the path of a task file.
            on_event: told of each event of the log, live; it must not block.
            live: a handle by which to stop, pause and steer the run; for this one.

        Raises:
            SpecError: the task is wrong; nothing was spent.
            StoreError: the run folder cannot be written.
        """
        self._opened()
        prepared = self._prepare(task)
        with self._working(on_event, live) as handle:
            return await start(prepared, self._host, handle)

    async def resume(
        self,
        run: Path | str,
        *,
        limits: Mapping[str, float] | None = None,
        on_event: Callable[[Event], None] | None = None,
        live: Live | None = None,
    ) -> RunResult:
        """Go on with a run that was stopped, killed, paused or parked, or is partial.

        Finished work is taken from its log. In a partial run the lead is told what is
        missing, and does it.

        Args:
            run: an id, the start of one, a path, or `last`.
            limits: those that change, by name: `{"usd": 5}`.
            on_event: told of each new event.
            live: as for `run`.

        Raises:
            UnknownRun: no run has that name.
            SpecError: it is done or failed, or a limit that stopped it is not raised.
            RunBusy: another process works on it.
            StoreError: its folder cannot be read or written.
        """
        return await self._go_on(run, "", limits, on_event, live)

    async def ask(
        self,
        run: Path | str,
        text: str,
        *,
        limits: Mapping[str, float] | None = None,
        on_event: Callable[[Event], None] | None = None,
        live: Live | None = None,
    ) -> RunResult:
        """Put a further question to a finished run and return what it came to.

        The lead goes on with all that it knows; what the run has used counts. The
        report of before becomes `report.1.md`.

        Args:
            run: as for `resume`.
            text: the question.
            limits: those that change, by name.
            on_event: told of each new event.
            live: as for `run`.

        Raises:
            UnknownRun: no run has that name.
            SpecError: it has not finished, or the text is empty.
            RunBusy: another process works on it.
            StoreError: its folder cannot be read or written.
        """
        if not text.strip():
            raise SpecError("the question is empty")
        return await self._go_on(run, text, limits, on_event, live)

    async def _go_on(
        self,
        run: Path | str,
        question: str,
        limits: Mapping[str, float] | None,
        on_event: Callable[[Event], None] | None,
        handle: Live | None,
    ) -> RunResult:
        self._opened()
        folder = find_run(self._host.runs_dir, str(run))
        overrides = {
            f"limits.{name}": str(each) for name, each in (limits or {}).items()
        }
        # It may have a long log.
        past = await anyio.to_thread.run_sync(
            partial(read_past, folder, self._host, overrides, question=question)
        )
        with self._working(on_event, handle) as live:
            return await resume_run(past, self._host, live)

    def run_batch(
        self,
        tasks: Iterable[Task | Path | str],
        *,
        concurrency: int = DEFAULT_BATCH_CONCURRENCY,
    ) -> AsyncIterator[BatchItem[Task | Path | str]]:
        """Run many tasks and yield each one's end, in order of completion.

        A task that fails is an item, never the end of the batch. Leaving the loop
        early cancels the runs at work.

        Args:
            tasks: read one at a time, when there is room.
            concurrency: runs at work at the same time, 1 or more.

        Raises:
            ValueError: `concurrency` is below 1.
        """
        return run_all(tasks, self.run, concurrency=concurrency, group=self._opened())

    def _prepare(self, task: Task | Path | str) -> Prepared:
        if isinstance(task, Task):
            loaded, folder = resolve_task(task), None
        else:
            path = Path(task)
            loaded, folder = load_task(path, {}), path.absolute().parent
        host = self._host
        return prepare(
            loaded,
            settings=host.settings,
            env=host.env,
            price_of=host.price,
            task_folder=folder,
            needs_credentials=not host.brings_model,
        )

    @contextmanager
    def _working(
        self, on_event: Callable[[Event], None] | None, live: Live | None
    ) -> Iterator[Live]:
        """Keep the handle of a run, by which leaving the context stops it."""
        live = live or Live()
        live.on_event = on_event or live.on_event
        self._live.append(live)
        try:
            yield live
        finally:
            self._live.remove(live)
            self._over.set()
            self._over = anyio.Event()

    def _opened(self) -> TaskGroup:
        if self._group is None:
            raise RuntimeError("use it as `async with Orchestrator(...) as it:`")
        return self._group


def run_task(task: Task | Path | str, **options: Any) -> RunResult:  # noqa: ANN401 - those of `Orchestrator`
    """Run one task from a script and return what it came to.

    It blocks; in a running event loop (a notebook) too. Async code uses
    `Orchestrator`.

    Args:
        task: a `Task`, or the path of a task file.
        **options: of `Orchestrator`.

    Raises:
        SpecError: the task is wrong; nothing was spent.
        StoreError: the run folder cannot be written.
    """

    async def work() -> RunResult:
        async with Orchestrator(**options) as here:
            return await here.run(task)

    return _run(work)


def run_batch_sync(
    tasks: Iterable[Task | Path | str],
    *,
    concurrency: int = DEFAULT_BATCH_CONCURRENCY,
    **options: Any,  # noqa: ANN401 - those of `Orchestrator`
) -> list[BatchItem[Task | Path | str]]:
    """Run many tasks from a script and return their ends, in order of completion.

    Args:
        tasks: read one at a time.
        concurrency: runs at work at the same time, 1 or more.
        **options: of `Orchestrator`.
    """

    async def work() -> list[BatchItem[Task | Path | str]]:
        async with Orchestrator(**options) as here:
            return [
                item async for item in here.run_batch(tasks, concurrency=concurrency)
            ]

    return _run(work)


def _run(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` to its end, in a thread where this one has an event loop already."""
    try:
        anyio.lowlevel.current_token()
    except RuntimeError:
        return anyio.run(work)
    with start_blocking_portal() as portal:
        return portal.call(work)
