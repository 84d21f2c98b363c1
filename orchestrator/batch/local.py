"""Many runs side by side in this process, results as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from orchestrator.errors import OrchestratorError
from orchestrator.runtime.result import RunResult

__all__ = ["BatchItem", "run_all"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchItem(Generic[T]):
    """What became of one task of a batch.

    Attributes:
        index: its place in the batch, from 0.
        task: as it was given.
        result: of its run, or None if the run could not begin.
        error: why it could not begin, or None.
    """

    index: int
    task: T
    result: RunResult | None = None
    error: OrchestratorError | None = None


async def run_all(
    tasks: Iterable[T],
    run_one: Callable[[T], Awaitable[RunResult]],
    *,
    concurrency: int,
    group: TaskGroup,
) -> AsyncIterator[BatchItem[T]]:
    """Yield what became of each task, in order of completion.

    A task is taken from `tasks` when there is room for it. One that fails is an item,
    never the end of the batch. Ending the iteration early, or cancelling it, cancels
    the runs at work.

    Args:
        tasks: any number; read one at a time.
        run_one: runs a task.
        concurrency: runs at work at the same time, 1 or more.
        group: where the runs live; it outlives the iteration.

    Raises:
        ValueError: `concurrency` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"`concurrency` must be 1 or more, got {concurrency}")
    send, receive = anyio.create_memory_object_stream[BatchItem[T]](0)
    scope = anyio.CancelScope()
    group.start_soon(_feed, tasks, run_one, concurrency, send, scope)
    try:
        async with receive:
            async for item in receive:
                yield item
    finally:
        scope.cancel()


async def _feed(
    tasks: Iterable[T],
    run_one: Callable[[T], Awaitable[RunResult]],
    concurrency: int,
    send: anyio.abc.ObjectSendStream[BatchItem[T]],
    scope: anyio.CancelScope,
) -> None:
    room = anyio.Semaphore(concurrency)

    async def work(index: int, task: T) -> None:
        try:
            item = BatchItem(index, task, result=await run_one(task))
        except OrchestratorError as error:
            item = BatchItem(index, task, error=error)
        finally:
            room.release()
        await send.send(item)

    with scope:
        async with send, anyio.create_task_group() as runs:
            for index, task in enumerate(tasks):
                await room.acquire()
                runs.start_soon(work, index, task)
