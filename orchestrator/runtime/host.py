"""What a process offers to the runs in it: folder, clock, models, prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.clock import Clock, SystemClock
from orchestrator.models.base import Model
from orchestrator.models.choose import open_model
from orchestrator.models.pricing import Price, price_of
from orchestrator.settings import OFFLINE, Settings
from orchestrator.tools.base import Tool

__all__ = ["Host", "ModelPool"]


class ModelPool:
    """The open models of the process, shared by all its runs.

    One that needs an endpoint answers for every id that the endpoint knows, so that
    there is one, unless tasks differ in how long an outage may last.
    """

    def __init__(self, own: Model | None, clock: Clock) -> None:
        self._own = own
        self._clock = clock
        self._open: dict[tuple[bool, float], Model] = {}

    def open(self, name: str, *, outage_s: float) -> Model:
        """Return the model behind `name`, opening it at first use.

        Args:
            name: bare id, or `offline`.
            outage_s: longest time its endpoint may be down, in seconds.
        """
        if self._own is not None:
            return self._own
        key = (name == OFFLINE, outage_s)
        if key not in self._open:
            self._open[key] = open_model(name, clock=self._clock, outage_s=outage_s)
        return self._open[key]

    async def aclose(self) -> None:
        """Close all models that were opened here; the caller's own is left open."""
        while self._open:
            _, model = self._open.popitem()
            await model.aclose()


@dataclass(frozen=True, slots=True)
class Host:
    """What the runs of one process share.

    Attributes:
        runs_dir: where run folders are made.
        settings: the user's.
        env: the environment, for credentials.
        clock: the time.
        pool: open models.
        price: bare id → price, or None if unknown.
        tools: the caller's own tools, for every agent.
        brings_model: the caller brought a model, so that no credentials are needed.
    """

    runs_dir: Path
    settings: Settings
    env: Mapping[str, str]
    clock: Clock
    pool: ModelPool
    price: Callable[[str], Price | None] = price_of
    tools: tuple[Tool[Any], ...] = ()
    brings_model: bool = False
    cwd: Path = field(default_factory=Path.cwd)

    @classmethod
    def of_process(
        cls,
        *,
        runs_dir: Path | None = None,
        model: Model | None = None,
        clock: Clock | None = None,
        tools: tuple[Tool[Any], ...] = (),
    ) -> Host:
        """Return the host that this process's environment describes."""
        settings = Settings.load(os.environ)
        clock = clock or SystemClock()
        return cls(
            runs_dir=runs_dir or settings.runs_dir,
            settings=settings,
            env=os.environ,
            clock=clock,
            pool=ModelPool(model, clock),
            tools=tools,
            brings_model=model is not None,
        )
