"""Many runs side by side in this process, results as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio.abc import ObjectSendStream, TaskGroup

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
    error: Exception | None = None


def run_all(
    tasks: Iterable[T],
    run_one: Callable[[T], Awaitable[RunResult]],
    *,
    concurrency: int,
    group: TaskGroup,
) -> AsyncIterator[BatchItem[T]]:
    """Yield what became of each task, in order of completion.

    A task is taken from `tasks` when there is room for it; as many finished ones may
    wait for whoever iterates, then no more are begun. One that fails is an item, never
    the end of the batch. Ending the iteration early, or cancelling it, cancels the
    runs at work.

    Args:
        tasks: any number; read one at a time. What it raises, the iteration raises,
            after what had finished.
        run_one: runs a task.
        concurrency: runs at work at the same time, 1 or more.
        group: where the runs live; it outlives the iteration.

    Raises:
        ValueError: `concurrency` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"`concurrency` must be 1 or more, got {concurrency}")
    return _iterate(_Feed(tasks, run_one, concurrency), group)


@dataclass(slots=True)
class _Feed(Generic[T]):
    """Begins runs while there is room, and sends what became of them."""

    tasks: Iterable[T]
    run_one: Callable[[T], Awaitable[RunResult]]
    concurrency: int
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    failure: Exception | None = None
    """Raised by `tasks`."""

    async def run(self, send: ObjectSendStream[BatchItem[T]]) -> None:
        """Work until all tasks are done, or the scope is cancelled."""
        room = anyio.Semaphore(self.concurrency)
        with self.scope:
            async with send, anyio.create_task_group() as runs:
                await room.acquire()
                for index, task in enumerate(self._given()):
                    runs.start_soon(self._work, index, task, room, send)
                    await room.acquire()

    def _given(self) -> Iterable[T]:
        try:
            yield from self.tasks
        except Exception as error:  # noqa: BLE001 - the caller's own, and raised there
            self.failure = error

    async def _work(
        self,
        index: int,
        task: T,
        room: anyio.Semaphore,
        send: ObjectSendStream[BatchItem[T]],
    ) -> None:
        try:
            item = BatchItem(index, task, result=await self.run_one(task))
        except Exception as error:  # noqa: BLE001 - one item's, and told in it
            item = BatchItem(index, task, error=error)
        await send.send(item)
        room.release()


async def _iterate(feed: _Feed[T], group: TaskGroup) -> AsyncIterator[BatchItem[T]]:
    send, receive = anyio.create_memory_object_stream[BatchItem[T]](feed.concurrency)
    group.start_soon(feed.run, send)
    try:
        async with receive:
            async for item in receive:
                yield item
    finally:
        feed.scope.cancel()
    if feed.failure is not None:
        raise feed.failure
