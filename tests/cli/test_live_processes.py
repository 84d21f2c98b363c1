"""The live view of real runs: processes of their own, on terminals of the system."""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_process import ORCHESTRATE, environment, wait_until
from terminal import Terminal, strange_sequences

from orchestrator.inspection.reading import load_run
from orchestrator.store.layout import list_runs

pytestmark = pytest.mark.slow

NONE: Mapping[str, str] = {}
QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart.yaml"
COMMAND = [*ORCHESTRATE, "run", str(QUICKSTART), "--model", "offline"]


@dataclass
class Seen:
    """A run on a terminal, and somebody who looks at it."""

    process: subprocess.Popen[bytes]
    hand: int
    terminal: Terminal
    folder: Path

    def looks(self) -> str:
        """What is in the window now."""
        try:
            while data := os.read(self.hand, 65536):
                self.terminal.write(data.decode())
        except (BlockingIOError, OSError):  # nothing new, or the run is over
            pass
        return self.terminal.text

    def until(self, is_so: Callable[[str], bool]) -> str:
        wait_until(lambda: is_so(self.looks()))
        return self.terminal.text

    def resize(self, columns: int, rows: int) -> None:
        self.looks()
        self.terminal.resize(columns, rows)
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.hand, termios.TIOCSWINSZ, size)

    def ends(self) -> tuple[int, str]:
        """Wait for the end: its status and what came on stdout."""
        assert self.process.stdout is not None
        while self.process.poll() is None:
            self.looks()
            time.sleep(0.01)
        self.looks()
        return self.process.returncode, self.process.stdout.read().decode()


@contextmanager
def on_a_terminal(
    folder: Path,
    columns: int,
    rows: int,
    *,
    hangs_up: bool = True,
    command: Sequence[str] = COMMAND,
    env: Mapping[str, str] = NONE,
) -> Iterator[Seen]:
    """Run the first example; its stdout is a pipe, all else a terminal."""
    hand, seat = os.openpty()
    terminal = Terminal(columns, rows)
    size = struct.pack("HHHH", rows, columns, 0, 0)
    fcntl.ioctl(seat, termios.TIOCSWINSZ, size)
    os.set_blocking(hand, False)

    def takes_it() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if not hangs_up:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment(folder), "TERM": "xterm-256color", **env},
        stdin=seat,
        stdout=subprocess.PIPE,
        stderr=seat,
        start_new_session=True,
        preexec_fn=takes_it,  # noqa: PLW1509 - no other thread is at work here
    )
    os.close(seat)
    seen = Seen(process, hand, terminal, folder)
    try:
        yield seen
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        if seen.hand >= 0:
            os.close(seen.hand)


def test_in_the_background_the_terminal_is_left_to_the_shell(tmp_path: Path) -> None:
    shell = ["sh", "-c", f"set -m; {shlex.join(COMMAND)} & wait; echo ended >&2"]
    with on_a_terminal(tmp_path, 80, 24, command=shell) as seen:
        status, report = seen.ends()

    shown = seen.terminal.text
    assert status == 0
    assert report.startswith("# ")
    assert "model: offline" in shown
    assert "done: " in shown
    assert "agent  " not in shown
    assert "\x1b[" not in seen.terminal.getvalue()


def state(folder: Path) -> str:
    [run] = list_runs(folder / "runs")
    return load_run(run).state


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60)])
def test_a_run_is_seen_at_work_and_at_its_end(
    columns: int, rows: int, tmp_path: Path
) -> None:
    with on_a_terminal(tmp_path, columns, rows) as seen:
        signs = ("├ a1 ", "◌ waits for a1", "● ")
        at_work = seen.until(lambda text: all(sign in text for sign in signs))
        status, report = seen.ends()

    assert "  running  " in at_work
    assert "lead quickstart" in at_work
    assert status == 0
    assert report.startswith("# ")
    last = seen.terminal.text.split("\n")
    assert last[0] == "model: offline (as the task says)"
    assert last[1].split()[1] == "done"
    assert "✓" in last[4]
    assert "complete" in last[4]
    assert last[-1].startswith("done: ")
    assert strange_sequences(seen.terminal.getvalue()) == ""
    assert not seen.terminal.screen.cursor.hidden


def test_a_run_follows_its_window_through_all_sizes(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, 200, 60) as seen:
        seen.until(lambda text: "├ a1 " in text)
        os.write(seen.hand, b"\nwhat is it doing?\n\n")
        for columns, rows in ((80, 24), (200, 60), (20, 5), (80, 24)):
            seen.resize(columns, rows)
            wide = "quickstart" if columns > 20 else "running"
            seen.until(lambda text, wide=wide: wide in text)  # type: ignore[misc]
        status, _ = seen.ends()

    text = seen.terminal.text
    assert status == 0
    assert text.count("-quickstart-") == 2  # on top, and where the run is said to be
    assert text.count("└ a6 ") == 1
    assert "what is it doing?" not in text


@pytest.mark.parametrize(
    ("variable", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")], ids=["dumb", "plain"]
)
def test_a_plain_terminal_gets_what_it_can_show(
    variable: str, value: str, tmp_path: Path
) -> None:
    with on_a_terminal(tmp_path, 80, 24, env={variable: value}) as seen:
        status, _ = seen.ends()

    told = seen.terminal.getvalue()
    assert status == 0
    assert "\x1b[3" not in told
    assert ("\x1b" in told) == (variable == "NO_COLOR")


@pytest.mark.parametrize("hangs_up", [True, False], ids=["hangs up", "nohup"])
def test_a_terminal_that_is_closed_ends_a_run_gently_or_not_at_all(
    hangs_up: bool, tmp_path: Path
) -> None:
    with on_a_terminal(tmp_path, 80, 24, hangs_up=hangs_up) as seen:
        seen.until(lambda text: "├ a1 " in text)
        os.close(seen.hand)
        seen.hand = -1
        assert seen.process.stdout is not None
        report = seen.process.stdout.read().decode()
        status = seen.process.wait(30)

    if hangs_up:
        assert (status, state(tmp_path)) == (130, "interrupted")
    else:
        assert (status, state(tmp_path)) == (0, "done")
        assert report.startswith("# ")
