"""Tools of a user's own whose arguments have no order; what a run with them sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field
from run_bench import Prints, RunBench, finish

from orchestrator.testing import FakeClock, ScriptedModel

__all__ = ["OWN", "first_body"]


class ZebraArgs(BaseModel):
    """Arguments with everything that has no order of its own."""

    kind: Literal["b", "a", "c"] = "a"
    sizes: dict[str, int] = Field(default_factory=dict)
    words: set[str] = {"one", "two", "three", "four", "five"}
    tags: frozenset[str] = Field(default=frozenset({"x", "y", "z"}), min_length=1)


class Zebra(Prints):
    """A tool of the user's own."""

    name: ClassVar[str] = "zebra"
    Args: ClassVar[type[BaseModel]] = ZebraArgs


class Aardvark(Prints):
    """Another one."""

    name: ClassVar[str] = "aardvark"


OWN = (Zebra(str), Aardvark(str))


async def first_body(folder: Path, *tools: Any) -> bytes:
    """The bytes of the first request of a run with these tools."""
    bench, clock = RunBench(folder, {"a.md": "Here."}), FakeClock()
    model = ScriptedModel([finish("All is said.")])
    ended = await bench.run(model, tools=tools, clock=clock, model="claude-haiku-5-5")
    return ended.requests[0].body
