"""Runs in which a person is asked: what waiting for an answer may and may not do."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from run_bench import Ended, RunBench, finish, in_turn

from orchestrator import Orchestrator
from orchestrator.security.permissions import Answer, Ask
from orchestrator.testing import ScriptedModel, call


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path)


async def test_nobody_is_waited_for_beyond_the_time_of_the_run(
    bench: RunBench,
) -> None:
    asked: list[Ask] = []

    async def never_answers(agent: str, tool: str, ask: Ask) -> Answer:
        asked.append(ask)
        await anyio.sleep_forever()
        raise AssertionError

    calls = [call("bash", command=f"echo {number} > made.txt") for number in range(3)]
    model = ScriptedModel(in_turn(calls, finish("Done.")))
    task = bench.task(allow=["write", {"shell": "ask"}], limits={"minutes": 0.005})
    async with Orchestrator(
        runs_dir=bench.runs, model=model, asker=never_answers
    ) as here:
        with anyio.fail_after(10):
            ended = Ended(await here.run(task), model)

    assert ended.result.state == "partial"
    assert len(asked) == 1
    assert ["Stopped: " in each for each in ended.results("bash")] == [True] * 3
    assert not (bench.root / "made.txt").exists()
