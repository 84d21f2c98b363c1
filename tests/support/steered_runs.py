"""A lead that reads line after line at an endpoint, while people steer it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson
from explore_policy import replies_in
from fake_endpoint import Answer, stream, tool_use
from live_process import wait_until

from orchestrator.messages import text_of
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events

__all__ = ["HEARD", "Reading", "lay_work", "said_in", "told_in"]

LINES = 40
HEARD = "The person whose task this is says:\n\n"
"""How the program ends its own words before those of a person; reminders do not."""


def lay_work(folder: Path) -> None:
    """A workspace of one file, and a task that is about it."""
    root = folder / "work"
    root.mkdir(parents=True)
    lines = (f"Rule {number}: a refund takes 14 days.\n" for number in range(LINES))
    (root / "rules.md").write_text("".join(lines))
    (folder / "task.yaml").write_text(
        "name: steered\nobjective: Explain how long refunds take.\n"
        "workspace: work\nmodel: claude-haiku-5-5\ncontext: []\nagents: []\n"
    )


@dataclass
class Reading:
    """Answers with a read each time, and with a report after some.

    Attributes:
        steps: reads before the report.
        pause_s: before each answer.
        gate: answers wait while so many replies were given; None: they do not.
        waiting: requests that wait.
    """

    steps: int = 8
    pause_s: float = 0.01
    gate: int | None = None
    waiting: int = 0
    bodies: list[bytes] = field(default_factory=list)

    async def __call__(self, asked: dict[str, Any]) -> Answer:
        done = replies_in(asked)
        self.bodies.append(orjson.dumps(asked))
        self.waiting += 1
        await anyio.sleep(self.pause_s)
        await anyio.to_thread.run_sync(wait_until, partial(self._is_open, done))
        self.waiting -= 1
        if done < self.steps:
            block = tool_use(
                f"toolu_{done}", "read_file", path="rules.md", first_line=done + 1
            )
        else:
            report = "It takes 14 days [rules.md:1]."
            block = tool_use(f"toolu_{done}", "finish", report=report)
        return stream(block)

    def _is_open(self, done: int) -> bool:
        return self.gate is None or done < self.gate


def said_in(body: bytes) -> str:
    """All that a request says, in order."""
    return "\n".join(
        text_of(message["content"]) for message in orjson.loads(body)["messages"]
    )


def told_in(run: RunFolder) -> Iterable[tuple[int, str]]:
    """What the lead was told of people: `seq` of what they said, and the text."""
    for event in read_events(run.events, Artifacts(run.artifacts)):
        if event.kind == "text.added" and event.data["reason"] == "steer":
            yield event.cause, event.data["text"]
