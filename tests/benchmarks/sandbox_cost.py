"""What it costs to run a command in a sandbox, and to tell what it changed.

    python tests/benchmarks/sandbox_cost.py [TIMES] [FILES]

The command does nothing (`true`), so that what is left is the start and the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import anyio
from shell_bench import ShellBench
from stopwatch import median_of, print_table

from orchestrator.security.sandbox import Limits, Sandbox, make_group
from orchestrator.security.sandbox.sight import look
from orchestrator.security.workspace import Workspace
from orchestrator.tools.baseline import Baseline

TIMES, FILES = 50, 5_000
BARE = (
    *("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"),
    *("--proc", "/proc", "--dev", "/dev", "true"),
)


def main(times: int = TIMES, files: int = FILES) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        starts = [
            (name, f"{median_of(times, work).wall_s * 1e3:.1f}")
            for name, work in ways(root / "empty")
        ]
        for name, writable in (("reads", False), ("may write", True)):
            (root / name).mkdir()
            taken_s = anyio.run(calls, root / name, writable, times)
            starts.append((f"a call of bash that {name}", f"{taken_s * 1e3:.1f}"))
        print_table(f"`true`, median of {times}", ("", "ms"), starts)
        print_table(f"{files} files", ("", "ms"), list(passes(root / "tree", files)))


def ways(root: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is compared."""
    root.mkdir()
    sandbox = Sandbox(Workspace(root))

    def in_group() -> None:
        group = make_group(Limits())
        try:
            run(group.enter(sandbox.command(["true"], counted=group.controllers)))
        finally:
            group.close()

    yield "no sandbox", lambda: run(["true"])
    yield "bubblewrap alone", lambda: run(BARE)
    yield "ours", lambda: run(sandbox.command(["true"]))
    in_group()  # what can be had is found out once
    yield "ours, with limits of the kernel", in_group


def run(command: Sequence[str]) -> None:
    """Run a command to its end."""
    subprocess.run(
        command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


async def calls(folder: Path, writable: bool, times: int) -> float:
    """Return the median of whole calls, in seconds."""
    bench = ShellBench(folder, writable=writable)
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await bench.text("bash", command="true")
        taken.append(time.perf_counter() - began)
    return sorted(taken)[len(taken) // 2]


def passes(root: Path, files: int) -> Iterator[tuple[str, str]]:
    """Yield what it takes to look through a tree before and after a command."""
    for number in range(files):
        path = root / f"{number // 500}" / f"{number // 25}" / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {number}\n" * (number % 600))
    plain, patterns = Workspace(root), Workspace(root, exclude=("*.pem", "**/.env"))
    baseline = Baseline(plain)
    for name, work, times in (
        ("what is hidden", lambda: look(plain), 5),
        ("what is hidden, by patterns", lambda: look(patterns), 5),
        ("baseline, the first time", baseline.refresh, 1),
        ("baseline, again", baseline.refresh, 5),
    ):
        yield name, f"{median_of(times, work).wall_s * 1e3:.1f}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
