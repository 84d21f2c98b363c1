"""Run one command of an agent in a process of its own.

As a script it takes a folder and a command, and writes by how many KiB it has grown and
the result.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import anyio
from shell_bench import ShellBench

from orchestrator.messages import text_of

__all__ = ["finished", "started"]


def started(
    folder: Path, command: str, *, path: str | None = None
) -> subprocess.Popen[str]:
    """Return the process, at work.

    Args:
        folder: for its workspace and its run.
        command: of the agent.
        path: where it finds programs, if not where we do.
    """
    modules = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), command],
        env={"PATH": path or os.environ["PATH"], "PYTHONPATH": modules},
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(folder: Path, command: str, *, path: str | None = None) -> tuple[int, str]:
    """Return by how many KiB the process grew, and the result."""
    out, _ = started(folder, command, path=path).communicate(timeout=30)
    grown, _, text = out.partition(" ")
    return int(grown), text


async def _main(folder: Path, command: str) -> None:
    bench = ShellBench(folder, writable=True)
    await bench.call("bash", command="true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await bench.call("bash", command=command)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    sys.stdout.write(f"{grown} {text_of(result.content)}")


if __name__ == "__main__":
    anyio.run(_main, Path(sys.argv[1]), sys.argv[2])
