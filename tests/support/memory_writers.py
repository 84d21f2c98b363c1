"""Processes that write one scope of memory at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import ToolError
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory

__all__ = ["DAY", "started", "writes"]

DAY = "2026-11-29"


def started(folder: Path, job: str, *args: object) -> subprocess.Popen[str]:
    """Start a process that does a job on a scope; it says "go" and waits for a line.

    Args:
        folder: of the scope.
        job: `keep NAME COUNT`, `tidy`, or `edit NAME COUNT`.
        *args: of the job.
    """
    words = [sys.executable, __file__, str(folder), job, *map(str, args)]
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def writes(processes: Sequence[subprocess.Popen[str]], *, limit_s: float = 60) -> None:
    """Let processes begin together, and wait for their end.

    Raises:
        AssertionError: one of them failed.
    """
    for each in processes:
        assert each.stdout is not None
        assert each.stdout.readline() == "go\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in processes:
        each.communicate(timeout=limit_s)
        assert each.returncode == 0


def _memory(folder: Path) -> Memory:
    return Memory(folder, workspace=None, redact=str, today=lambda: DAY)


def _keep(folder: Path, name: str, count: str) -> None:
    memory = _memory(folder)
    for number in range(int(count)):
        put = Put(f"t{number % 3}.md", f"{name} {number}", f"{name} has {number}.")
        (outcome,) = memory.keep([put], Author("run", name))
        assert outcome.what == "new", outcome


def _edit(folder: Path, name: str, count: str) -> None:
    """Write entries with the memory commands, all into one file."""
    commands = _memory(folder).commands(Author("run", name))
    for number in range(int(count)):
        text = f"## {name} {number}\n\n{name} has {number}.\n"
        insert = {"path": "/memories/t0.md", "insert_line": 0, "insert_text": text}
        is_in = False
        while not is_in:  # others write between the look and the insertion
            commands.run({"command": "view", "path": "/memories/t0.md"})
            with suppress(ToolError):
                is_in = bool(commands.run({"command": "insert", **insert}))


def _tidy(folder: Path) -> None:
    memory = _memory(folder)
    while not (folder / "stop").exists():
        assert memory.tidy() == []


def _main() -> None:
    folder, job, *args = sys.argv[1:]
    sys.stdout.write("go\n")
    sys.stdout.flush()
    sys.stdin.readline()
    if job == "tidy":
        _tidy(Path(folder))
    else:
        work = {"keep": _keep, "edit": _edit}[job]
        work(Path(folder), *args)


if __name__ == "__main__":
    _main()
