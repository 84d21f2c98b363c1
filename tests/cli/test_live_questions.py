"""A person is asked while the tree is shown: all of it on one screen."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest
from run_bench import RunBench, finish, in_turn
from terminal import Terminal

from orchestrator import Orchestrator
from orchestrator.cli.asking import TerminalAsker
from orchestrator.cli.live_view import LiveView
from orchestrator.testing import ScriptedModel, call


class Asked(Terminal):
    """A terminal whose person types a line at each question, which it echoes."""

    hand = -1
    questions = 0

    def write(self, text: str) -> int:
        done = super().write(text)
        if "[N]o?" in text:
            self.questions += 1
            os.write(self.hand, b"y\n")
            super().write("y\n")
        return done


async def test_questions_stay_above_the_tree_and_no_old_tree_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    bench, terminal = RunBench(tmp_path), Asked(80, 40)
    terminal.hand, seat = pty.openpty()
    asker = TerminalAsker(seat, terminal)
    steps = [call("write_file", path=f"{n}.txt", text=f"part {n}\n") for n in "ab"]
    model = ScriptedModel(in_turn(*steps, finish("Done.")))
    terminal.write("$ orchestrate run task.yaml\n")

    with LiveView(terminal, size=terminal.size) as view:
        view.show()
        asker.paused = view.paused
        async with Orchestrator(runs_dir=bench.runs, model=model, asker=asker) as here:
            task = bench.task(allow=[{"write": "ask"}])
            result = await here.run(task, on_event=view.on_event)
    os.close(terminal.hand)
    os.close(seat)

    text = terminal.whole
    assert (result.state, terminal.questions) == ("done", 2)
    assert text.startswith(
        "$ orchestrate run task.yaml\n\nlead wants to use write_file"
    )
    assert text.count("wants to use write_file") == 2
    assert text.count("[N]o? y\n") == 2
    assert text.count(result.folder.name) == 1
    assert text.index("part b") < text.index(result.folder.name)
    assert "starting" not in text
