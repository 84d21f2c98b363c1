"""How an endpoint behaves in runs whose lead directs, and that are killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from directed_bench import AGENTS
from directed_policy import FILES, HANG, PLAN, parts_of, title_of
from explore_policy import ExplorePolicy, replies_in
from fake_endpoint import Answer
from kill_bench import KillBench, kill_bench
from kill_policy import Slow

from orchestrator.messages import Block

__all__ = ["DirectingPolicy", "directing_bench"]

HANGS_S = 1.5
"""How long one that hangs does; it is cancelled before, unless all is slow."""


@dataclass
class DirectingPolicy(ExplorePolicy):
    """All ways to direct, at two levels; what is said follows from the request."""

    parts: int = 0

    def _lead(self, asked: dict[str, Any], done: int) -> list[Block]:
        return self._next(asked)

    def _worker(self, asked: dict[str, Any], done: int) -> list[Block]:
        return self._next(asked)

    def _next(self, asked: dict[str, Any]) -> list[Block]:
        title = title_of(asked["messages"])
        parts = parts_of(PLAN, title, asked["messages"], hung=True)
        done = replies_in(asked)
        for place, part in enumerate(parts):
            if part["type"] == "tool_use":
                part["id"] = f"toolu_{title}_{done}_{place}"
        return parts


class _Directing(Slow):
    """Answers those that hang after a long while."""

    async def __call__(self, asked: dict[str, Any]) -> Answer:
        answer = await super().__call__(asked)
        messages = asked["messages"]
        if parts_of(PLAN, title_of(messages), messages) == [HANG]:
            await anyio.sleep(HANGS_S)
        return answer


@contextmanager
def directing_bench(folder: Path) -> Iterator[KillBench]:
    """A bench for runs whose lead directs subagents, two levels of them."""
    limits = {"depth": 2, "concurrency": 4, "subagents": 20}
    slow = _Directing(DirectingPolicy())
    with kill_bench(folder, slow, agents=AGENTS, limits=limits) as bench:
        for name, text in FILES.items():
            for path in (folder / name, folder / "work" / name):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        yield bench
