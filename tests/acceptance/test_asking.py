"""Runs in which a person is asked: what waiting for an answer may and may not do."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from run_bench import Ended, RunBench, finish, in_turn

from orchestrator import Orchestrator
from orchestrator.messages import Block
from orchestrator.security.permissions import Answer, Ask
from orchestrator.testing import ScriptedModel, call, fail


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path)


async def test_an_answer_holds_when_the_run_is_resumed(bench: RunBench) -> None:
    asked: list[Ask] = []

    async def allows_once(agent: str, tool: str, ask: Ask) -> Answer:
        asked.append(ask)
        return "once"

    def write(text: str) -> Block:
        return call("write_file", path="a.txt", text=text)

    task = bench.task(allow=[{"write": "ask"}])
    first = ScriptedModel(in_turn(write("one\n"), fail("quota_exhausted")))
    async with Orchestrator(
        runs_dir=bench.runs, model=first, asker=allows_once
    ) as here:
        parked = await here.run(task)
    assert parked.state == "parked"
    (bench.root / "a.txt").unlink()

    later = ScriptedModel(in_turn(write("one\n"), write("two\n"), finish("Done.")))
    async with Orchestrator(
        runs_dir=bench.runs, model=later, asker=allows_once
    ) as here:
        result = await here.resume("last")

    assert result.state == "done"
    assert [each.effect.splitlines()[-1] for each in asked] == ["one", "+two"]


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
        with anyio.fail_after(30):
            ended = Ended(await here.run(task), model)

    assert ended.result.state == "partial"
    assert len(asked) == 1
    assert ["Stopped: " in each for each in ended.results("bash")] == [True] * 3
    assert not (bench.root / "made.txt").exists()


async def test_what_a_person_said_holds_when_the_run_goes_on(bench: RunBench) -> None:
    asked: list[str] = []
    answers: dict[str, Answer] = {"one": "once", "two": "no", "three": "no"}

    async def says(agent: str, tool: str, ask: Ask) -> Answer:
        word = ask.effect.split()[2]
        asked.append(word)
        return answers[word]

    def echo(word: str) -> Block:
        return call("bash", command=f"echo {word}")

    first = ScriptedModel([echo("one"), echo("two"), fail("quota_exhausted")])
    then = ScriptedModel([echo("one"), echo("two"), finish("Done.")])
    later = ScriptedModel([echo("one"), echo("three"), finish("Done.")])
    async with Orchestrator(runs_dir=bench.runs, model=first, asker=says) as here:
        await here.run(bench.task(allow=[{"shell": "ask"}]))
    async with Orchestrator(runs_dir=bench.runs, model=then, asker=says) as here:
        await here.resume("last")
    async with Orchestrator(runs_dir=bench.runs, model=later, asker=says) as here:
        ended = Ended(await here.ask("last", "And what else?"), later)

    assert asked == ["one", "two", "three"]
    may = [text.startswith("exit status 0") for text in ended.results("bash")]
    assert may == [True, False, True, False, True, False]
