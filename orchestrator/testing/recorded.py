"""Recorded runs as tests: does what is sent to models stay as it was?"""

from __future__ import annotations

from pathlib import Path

from orchestrator.runtime.replaying.replay import Replayed
from orchestrator.runtime.replaying.replay import replay as run_again
from orchestrator.store.layout import find_run

__all__ = ["replay"]


def replay(run: Path | str, *, inputs: Path | str | None = None) -> Replayed:
    """Run a recorded run again, free of cost, and return how it compares.

    Keep the folder of a good run beside your tests, and a change of a prompt, a
    profile or this package that alters a request is found, with its place:

        found = replay("tests/runs/20261129-201500-survey-7f3a", inputs=".")
        assert found.is_same, found.first

    No model is asked, no tool runs, the workspace is not needed, and nothing is
    written into the folder. It blocks, also where an event loop runs.

    Args:
        run: the folder of a run, wherever it lies.
        inputs: a folder whose `agents/` and `prompts/` are tried, with what ships for
            what is not there; None: the copies that the run keeps.

    Raises:
        UnknownRun: there is no run.
        StoreError: its log cannot be read, or does not tell how it began.
        SpecError: a prompt or profile in `inputs` is wrong.
    """
    folder = find_run(Path(run).parent, str(run))
    return run_again(folder, inputs=None if inputs is None else Path(inputs))
