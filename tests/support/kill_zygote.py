"""A process that has imported everything and forks one child per run.

Run as a script, it reads a command per line from stdin and answers each with a line of
JSON on stdout. It has no thread and no event loop, so that a fork is whole: a child
begins its run within milliseconds, in a session of its own, and can be killed with all
that it starts.

    {"do": "run" | "resume", ...}   → {"pid": N}       the fields of `Order`
    {"do": "wait", "pid": N}        → {"status": N}    negative: the signal
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import orjson
from kill_effects import Enter, Look

from orchestrator.api import Orchestrator
from orchestrator.errors import OrchestratorError
from orchestrator.models.pricing import price_of
from orchestrator.runtime.result import RunResult
from orchestrator.security.redaction import Redactor

__all__ = ["Order", "main"]

LATE_IMPORTS = (
    "anyio._backends._asyncio",
    "anthropic.types",
    "aiohttp",
    "genai_prices",
    "jsonschema",
    "orchestrator.clock",
)
"""What a run loads by name, or only when it is under way."""


@dataclass(frozen=True)
class Order:
    """One child to fork.

    Attributes:
        do: `run` a task or `resume` a run.
        what: the task file, or the run's folder.
        runs: where run folders are made.
        said: where the child writes what came of it, as JSON; its stderr is beside it.
        url: the endpoint.
        ledger: not empty: there are tools that add lines to this file.
    """

    do: str
    what: str
    runs: str
    said: str
    url: str
    ledger: str = ""


def main() -> None:
    """Serve commands until stdin ends."""
    _warm_up()
    for line in sys.stdin.buffer:
        command = orjson.loads(line)
        if command["do"] == "wait":
            _, status = os.waitpid(command["pid"], 0)
            answer = {"status": os.waitstatus_to_exitcode(status)}
        else:
            answer = {"pid": _fork(Order(**command))}
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()


def _warm_up() -> None:
    """Load what a first use would load, and leave nothing of it to the children."""
    for name in LATE_IMPORTS:
        importlib.import_module(name)
    price_of("claude-haiku-5-5")
    Redactor(b"salt").redact("token = 'made up, but long enough to be looked at'")
    gc.collect()
    gc.freeze()


def _fork(order: Order) -> int:
    """Fork a child and return its pid once it leads a group of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.setsid()
            os.close(reader)
            os.close(writer)
            status = _child(order)
        finally:
            os._exit(status)
    os.close(writer)
    os.read(reader, 1)  # ends when the child has closed its end
    os.close(reader)
    return pid


def _child(order: Order) -> int:
    said = Path(order.said)
    _turn_away(said.with_suffix(".err"))
    os.environ["ANTHROPIC_BASE_URL"] = order.url
    os.environ["ANTHROPIC_API_KEY"] = "none"
    began = time.monotonic()
    answer: dict[str, Any]
    try:
        result = anyio.run(partial(_work, order))
    except OrchestratorError as error:
        answer, status = {"error": type(error).__name__, "text": str(error)}, 2
    except BaseException:  # noqa: BLE001 - told to the test, which fails
        answer, status = {"error": "bug", "text": traceback.format_exc()}, 70
    else:
        answer = {
            "state": result.state,
            "report": result.report,
            "reason": result.reason,
            "missing": list(result.missing),
            "folder": str(result.folder),
        }
        status = result.exit_code
    said.write_bytes(orjson.dumps({**answer, "began": began}))
    return status


def _turn_away(errors: Path) -> None:
    """Keep stdin and stdout, the lines to the test, out of the child's hands."""
    nothing = os.open(os.devnull, os.O_RDWR)
    kept = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(kept, 2)
    os.closerange(3, max(nothing, kept) + 1)


async def _work(order: Order) -> RunResult:
    ledger = Path(order.ledger)
    tools = [Enter(ledger), Look(ledger)] if order.ledger else []
    async with Orchestrator(runs_dir=order.runs, tools=tools) as here:
        if order.do == "run":
            return await here.run(order.what)
        return await here.resume(order.what)


if __name__ == "__main__":
    main()
