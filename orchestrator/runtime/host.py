"""What a process offers to the runs in it: folder, clock, models, prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.agent.outside import LIVE, Outside
from orchestrator.clock import Clock, SystemClock
from orchestrator.errors import ModelError
from orchestrator.models.base import Model
from orchestrator.models.choose import open_model
from orchestrator.models.governor import Governor, OnClosed
from orchestrator.models.price_file import price_book
from orchestrator.models.pricing import Price, price_of
from orchestrator.security.permissions import Asker
from orchestrator.settings import MOST_AT_ONCE, OFFLINE, Settings
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import Tool

__all__ = ["Host", "ModelPool"]


class ModelPool:
    """The open models of the process, shared by all its runs.

    One that needs an endpoint answers for every id that the endpoint knows, so that
    there is one, with one governor: whoever shares a key shares its limits.
    """

    def __init__(
        self, own: Model | None, clock: Clock, *, most_at_once: int = MOST_AT_ONCE
    ) -> None:
        """Open nothing yet.

        Args:
            own: the caller's model, used as it is for every name; None: open them.
            clock: the time.
            most_at_once: requests of one model under way at the same time.
        """
        self._own = own
        self._clock, self._most_at_once = clock, most_at_once
        self._open: dict[bool, Model] = {}
        self._listeners: list[OnClosed] = []
        self._forget: list[Callable[[], None]] = []
        """Ends what a model of the caller's, which lives on, tells this pool."""
        if isinstance(own, Governor):
            self._forget.append(own.on_closed(self._closed))

    def open(self, name: str) -> Model:
        """Return the model behind `name`, a bare id or `offline`; open it if needed."""
        if self._own is not None:
            return self._own
        key = name == OFFLINE
        if key not in self._open:
            model = self._open[key] = open_model(
                name, clock=self._clock, most_at_once=self._most_at_once
            )
            if isinstance(model, Governor):
                model.on_closed(self._closed)
        return self._open[key]

    def on_closed(self, listener: OnClosed) -> Callable[[], None]:
        """Tell `listener` when the service refuses the key, or says it is used up.

        Whichever run's call it was: every live run of the process is to be told. A
        model that the caller brought tells it only if it is a `Governor`.

        Args:
            listener: called with the error before that call ends; must not raise.

        Returns:
            What ends that.
        """
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def _closed(self, error: ModelError) -> None:
        for listener in tuple(self._listeners):
            listener(error)

    async def aclose(self) -> None:
        """Close all models that were opened here; the caller's own is left open."""
        while self._forget:
            self._forget.pop()()
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
        cwd: the working directory.
        asker: puts questions to a person; None: nobody is there.
        on_open: told of the log of each run, once it is open.
        outside: what the program itself takes from outside of its runs.
        through: the tools of a run, before agents are given them → those they are
            given.
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
    asker: Asker | None = None
    on_open: Callable[[EventLog], None] = lambda _log: None
    outside: Outside = LIVE
    through: Callable[[Sequence[Tool[Any]]], Sequence[Tool[Any]]] = tuple

    @classmethod
    def of_process(
        cls,
        *,
        runs_dir: Path | None = None,
        model: Model | None = None,
        clock: Clock | None = None,
        tools: tuple[Tool[Any], ...] = (),
        asker: Asker | None = None,
    ) -> Host:
        """Return the host that this process's environment describes.

        Raises:
            SpecError: a setting, or the file of prices, cannot be meant.
        """
        settings = Settings.load(os.environ)
        clock = clock or SystemClock()
        return cls(
            runs_dir=runs_dir or settings.runs_dir,
            settings=settings,
            env=os.environ,
            clock=clock,
            pool=ModelPool(model, clock, most_at_once=settings.max_connections),
            price=price_book(settings.prices),
            tools=tools,
            brings_model=model is not None,
            asker=asker,
        )
