"""A person at another terminal: says things, pauses and lets go on, and kills."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.store.control import GO_ON, PAUSE, STEER, Request, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder

__all__ = ["Person"]


@dataclass
class Person:
    """Says things, pauses and lets go on, and kills, at moments of the log.

    Attributes:
        chance: chooses the moments.
        place: where the run is.
        said: the words, in order.
        kills: how often it may still kill.
        most: things that it says.
        share: of the moments at which it does something.
        seen: records that it has looked at.
        left: looks until it kills; 0: it does not.
        pauses: how often it has paused the run.
    """

    chance: random.Random
    place: Path
    said: list[str] = field(default_factory=list)
    kills: int = 2
    most: int = 6
    share: float = 0.15
    seen: int = 0
    left: int = 0
    pauses: int = 0

    def __call__(self, records: list[dict[str, Any]]) -> bool:
        """Act on what is new in the log; return whether to kill now."""
        if len(records) == self.seen:
            if self.left:  # a moment after the last act
                self.left -= 1
                return self.left == 0
            return False
        self.seen = len(records)
        last = records[-1]
        is_paused = (last["kind"], last["data"].get("state")) == ("run.ended", "paused")
        if last["kind"] == "run.ended" and not is_paused:
            self.left = 0
            return False
        if is_paused or self.chance.random() < self.share:
            self._acts(is_paused=is_paused)
            if self.kills and self.chance.random() < 0.5:
                self.kills -= 1
                self.left = self.chance.randint(1, 150)  # looks, of two milliseconds
        return False

    def _acts(self, *, is_paused: bool) -> None:
        [path] = (self.place / "runs").glob("2*")
        run = RunFolder(path)
        if len(self.said) < self.most and self.chance.random() < 0.7:
            words = f"Word number {len(self.said)}, please."
            send(run.control, Request(STEER, None, text=words))
            self.said.append(words)
        elif not is_paused:
            send(run.control, Request(PAUSE, holder(run.lock)))
            self.pauses += 1
        if is_paused:
            send(run.control, Request(GO_ON, holder(run.lock)))
