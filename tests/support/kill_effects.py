"""Tools that leave a line behind and take a moment, for runs to be killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import anyio
from pydantic import BaseModel

from orchestrator.tools.base import Effects, ToolContext

__all__ = ["RAISES", "STAYS", "Enter", "Look"]

HALF_S = 0.012
"""Before the line is there, and after it: a kill may land in either."""
STAYS = "stays"
"""What the key begins with of a call that does not end the first time."""
RAISES = "raises"
"""What the key begins with of a call that breaks."""


class KeyArgs(BaseModel):
    """Arguments of both tools."""

    key: str


class Enter:
    """Adds a line to a ledger: the agent, the call and what it enters."""

    name: ClassVar[str] = "enter"
    description: ClassVar[str] = "Enters a key in the ledger, for good."
    Args: ClassVar[type[BaseModel]] = KeyArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 30

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    async def run(self, args: KeyArgs, context: ToolContext) -> str:
        await anyio.sleep(HALF_S)
        line = f"{context.agent} {context.call} {args.key}\n".encode()
        handle = os.open(self._ledger, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode=0o644)
        try:
            is_first = line not in os.pread(handle, 1 << 20, 0)
            os.write(handle, line)
        finally:
            os.close(handle)
        if args.key.startswith(RAISES):
            raise RuntimeError("made to break")
        if args.key.startswith(STAYS) and is_first:
            await anyio.sleep_forever()
        await anyio.sleep(HALF_S)
        return f"{args.key} is there."


class Look(Enter):
    """Leaves the same line, so that its calls can be counted; it may be repeated."""

    name: ClassVar[str] = "look"
    description: ClassVar[str] = "Looks a key up."
    effects: ClassVar[Effects] = "reads"
