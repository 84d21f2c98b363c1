"""Run this example on a copy, with a recorded model: no key, no cost, real commands.

.venv/bin/python examples/fix-test/replay.py [--runs-dir DIR]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from orchestrator import Orchestrator, RunResult, load_task
from orchestrator.testing import ScriptedModel, call

HERE = Path(__file__).resolve().parent
TESTS = "python3 -m unittest discover -s tests -t ."
REPORT = """\
# Why the test failed, and the change

`discount` cut the fraction off where the shop rounds half up [prices.py:6-9]: 15 % of
1,050 is 157.5 cents, which became 157 and has to be 158
[tests/test_prices.py:12-13]. It now adds a half before it divides, in whole numbers,
so that no fraction is lost on the way. All three tests pass; they were not changed.
"""

STEPS = (
    call("bash", command=TESTS),
    [
        call("read_file", path="prices.py"),
        call("read_file", path="tests/test_prices.py"),
    ],
    call(
        "edit_file",
        path="prices.py",
        old="    return int(cents * percent / 100)",
        new="    return (cents * percent + 50) // 100",
    ),
    call("bash", command=TESTS),
    call("finish", report=REPORT),
)


async def play(task: Path, runs_dir: Path) -> RunResult:
    """Return what came of the task in the file `task`."""
    async with Orchestrator(runs_dir=runs_dir, model=ScriptedModel(STEPS)) as here:
        return await here.run(load_task(task, {"model": "offline"}))


def main() -> int:
    """Copy the shop to a temporary folder, mend it there, show report and diff."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    runs_dir: Path = parser.parse_args().runs_dir
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "fix-test"
        shutil.copytree(HERE, copy)
        result = anyio.run(play, copy / "task.yaml", runs_dir)
    print(result.report)
    command = [sys.executable, "-m", "orchestrator", "show", str(result.folder)]
    subprocess.run([*command, "--changes"], check=True)
    print(f"\nthe run: {result.folder}")
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
