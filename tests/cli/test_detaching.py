"""What a process in the background prints, and what who started it is told.

The whole of it, with its terminal closed, stands in the acceptance tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

SCRIPT = """
import os, sys
from pathlib import Path
from orchestrator.cli.detaching import OutputFile
print("before")
output = OutputFile(
    Path("output.log"), lambda text: text.replace("hunter2", "***"), max_bytes=4000
)
output.take_over()
print("the report")
for number in range(500):
    print(f"line {number} hunter2", file=sys.stderr)
os.write(2, b"not \\xff text\\n")
os.system("echo from a child 1>&2")
"""


@pytest.fixture
def printed(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )


@pytest.mark.slow
def test_its_output_is_in_two_files_that_do_not_grow(
    tmp_path: Path, printed: subprocess.CompletedProcess[str]
) -> None:
    assert (printed.stdout, printed.stderr) == ("before\n", "")
    newer = (tmp_path / "output.log").read_text()
    older = (tmp_path / "output.1.log").read_text()
    assert max(len(newer), len(older)) <= 4000
    kept = (older + newer).splitlines()
    assert kept[-2:] == ["not \ufffd text", "from a child"]
    assert kept[-3] == "line 499 ***"
    numbers = [int(line.split()[1]) for line in kept[:-2]]
    assert numbers == list(range(numbers[0], 500))
    assert {path.name for path in tmp_path.iterdir()} == {
        "output.log",
        "output.1.log",
    }


BACKGROUND = """
import os, sys
from pathlib import Path
from orchestrator.cli.detaching import Background
from orchestrator.store.layout import RunFolder
folder = RunFolder(Path("20261130-120000-x-1234"))
folder.path.mkdir()
told = int(sys.argv[1])
own = Background(told)
assert not os.get_inheritable(told)
own.begun(folder, str)
print("and now", file=sys.stderr)
"""


@pytest.mark.slow
def test_who_started_it_is_told_what_it_is_called(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", BACKGROUND, str(writer)],
        cwd=tmp_path,
        pass_fds=[writer],
    ) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            told = orjson.loads(pipe.read())
        assert process.wait(30) == 0

    name = "20261130-120000-x-1234"
    assert told == {
        "id": name,
        "handle": name,
        "path": str(tmp_path / name),
        "pid": process.pid,
        "state": "running",
    }
    assert (tmp_path / name / "output.log").read_text() == "and now\n"
