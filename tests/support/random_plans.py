"""Plans of directing that a seed chooses: who is sent, waited for, asked, cancelled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
from directed_policy import HANG, LEAD, READ, Plans, handed_in, sent
from run_bench import finish

from orchestrator.messages import Block
from orchestrator.testing import call, say

__all__ = ["DEPTH", "RandomPace", "random_plans"]

DEPTH = 3
MOST = 14
"""Subagents of one run, about."""


def random_plans(seed: int) -> Plans:
    """The plans of a lead and of all that may be sent below it."""
    plans = _Plans(random.Random(seed))
    plans.make(LEAD, 0)
    return plans.made


@dataclass
class _Plans:
    """Makes plans without a step twice: a conversation tells how far it is."""

    dice: random.Random
    made: dict[str, list[Block | Sequence[Block]]] = field(default_factory=dict)
    number: int = 0

    def make(self, title: str, level: int) -> None:
        """Make the plan of one agent, and of those below it."""
        steps: list[Block | Sequence[Block]] = [READ]
        self.made[title] = steps
        mine: list[str] = []
        for _ in range(self.dice.randint(3, 8) if level == 0 else 4):
            at_once = self.dice.choice((1, 1, 2, 3))
            steps.append([self._block(title, level, mine) for _ in range(at_once)])
        if self.dice.random() < 0.4:
            steps.append(say(f"{title} waits."))
        if self.dice.random() < 0.3:
            steps.append(call("wait_for", mode="all", timeout_s=50 + level))
        steps.append(finish("All: @cites") if level == 0 else handed_in(title))

    def _block(self, title: str, level: int, mine: list[str]) -> Block:
        dice, self.number = self.dice, self.number + 1
        kind = dice.choice(("send", "send", "wait", "ask", "cancel", "look", "hand in"))
        if kind == "send" and self.number < MOST and level < DEPTH:
            return self._send(level, mine)
        if kind == "wait":
            some = dice.sample(mine, dice.randint(0, len(mine)))
            agents = {"agents": [f"@{each}" for each in some]} if some else {}
            longest = dice.choice((0, 0.003, 30)) + self.number / 1e6
            mode = dice.choice(("any", "all"))
            return call("wait_for", mode=mode, timeout_s=longest, **agents)
        if kind == "ask" and mine:
            whom, question = dice.choice(mine), f"And in case {self.number}?"
            return call("follow_up", agent=f"@{whom}", question=question)
        if kind == "cancel" and mine:
            return call("cancel", agent=f"@{dice.choice(mine)}", reason="Enough.")
        if kind == "hand in" and level == 0 and dice.random() < 0.3:
            return finish(f"Early {self.number}: @cites")
        return call("grep", pattern=f"word {self.number}")

    def _send(self, level: int, mine: list[str]) -> Block:
        dice = self.dice
        new = [f"T{self.number} {n}" for n in range(dice.randint(1, 3))]
        splits = [each for each in new if level + 1 < DEPTH and dice.random() < 0.4]
        mine += new
        for each in new:
            if each in splits:
                self.make(each, level + 1)
            elif dice.random() < 0.2:
                self.made[each] = [READ, HANG, handed_in(each)]
        return sent(*new, wait=dice.choice(("all", "first", "none")), splits=splits)


class RandomPace:
    """Lets everybody take a moment that a seed chooses."""

    def __init__(self, seed: int, *, hangs_s: float = 0.03) -> None:
        self._dice = random.Random(seed)
        self._hangs_s = hangs_s

    async def before(self, _title: str, _done: int, parts: Sequence[Block]) -> bool:
        """Wait as long as an answer takes."""
        if parts == [HANG]:
            await anyio.sleep(self._hangs_s)
        if self._dice.random() < 0.4:
            await anyio.sleep(self._dice.random() * 0.006)
        for _ in range(self._dice.randrange(12)):
            await anyio.lowlevel.checkpoint()
        return True
