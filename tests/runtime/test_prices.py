"""Prices of a run: on record where it begins and where it goes on; limits of agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from refund_runs import FILES, QUOTE, READ, sent
from run_bench import RunBench, brief, delegate, finish, submit

from orchestrator.api import Orchestrator
from orchestrator.errors import SpecError
from orchestrator.events import Event
from orchestrator.models.base import Usage
from orchestrator.runtime.host import Host
from orchestrator.runtime.resume import read_past
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, ScriptedModel, conversations, reply

REPORT = finish("It takes 14 days [a1#1].")
USAGE = Usage(input_tokens=1000, output_tokens=100)
FREE = '"m*": {input: 0, output: 0, source: our server, date: 2026-11-01}\n'


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


@dataclass(frozen=True)
class PriceFile:
    """The user's own prices."""

    path: Path

    def says(self, text: str) -> None:
        self.path.write_text(text)


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PriceFile:
    made = PriceFile(tmp_path / "prices.yaml")
    made.says(FREE)
    monkeypatch.setenv("ORCHESTRATE_PRICES", str(made.path))
    return made


def script() -> Any:
    worker = [reply(READ, usage=USAGE), reply(submit(QUOTE), usage=USAGE)]
    lead = [reply(sent("One"), usage=USAGE), reply(REPORT, usage=USAGE)]
    return conversations({"# Objective\n": lead, "# One\n": worker})


async def test_the_price_of_each_model_is_on_record_with_its_source(
    bench: RunBench, prices: PriceFile
) -> None:
    models = {"lead": "claude-opus-5-5", "subagents": "mine"}
    ended = await bench.run(ScriptedModel(script()), model=models, limits={"usd": 1})

    [started] = ended.events("run.started")
    told = started.data["prices"]
    assert set(told) == {"claude-opus-5-5", "mine"}
    assert told["claude-opus-5-5"]["source"].startswith("genai-prices ")
    assert told["mine"]["source"] == f"our server ({prices.path})"
    assert told["mine"]["date"] == "2026-11-01"
    assert ended.result.state == "done"


async def test_what_is_free_costs_nothing_and_its_limit_holds(
    bench: RunBench, prices: PriceFile
) -> None:
    ended = await bench.run(ScriptedModel(script()), model="mine", limits={"usd": 0.01})

    assert ended.result.state == "done"
    assert ended.result.totals.usd == 0


async def test_a_resumed_run_has_the_prices_of_today_and_keeps_what_was_booked(
    bench: RunBench, prices: PriceFile
) -> None:
    scope = anyio.CancelScope()

    def on_event(event: Event) -> None:
        if event.kind == "subagent.ended":
            scope.cancel()

    prices.says("mine: {input: 1, output: 1}\n")
    task = bench.task(model="mine", limits={"usd": 1})
    model = ScriptedModel(script())
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        with scope:
            await here.run(task, on_event=on_event)
    [run] = bench.runs.glob("2*")
    assert not changes_of(bench, run)
    prices.says("mine: {input: 100, output: 100}\n")
    assert changes_of(bench, run) == [
        f"prices have changed since: `mine`, before $1 in, $1 out ({prices.path}), now "
        f"$100 in, $100 out ({prices.path}); what is booked stays as it is"
    ]
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        result = await here.resume(run)

    assert result.state == "done"
    cheap, dear = 1100 / 1e6, 110_000 / 1e6
    assert result.totals.usd == pytest.approx(3 * cheap + dear)


def changes_of(bench: RunBench, run: Path) -> list[str]:
    """Return what one is told of prices who goes on with a run now."""
    host = Host.of_process(runs_dir=bench.runs, model=ScriptedModel([]))
    notices = read_past(RunFolder(run), host).notices
    return [each for each in notices if "prices" in each]


async def test_a_price_file_that_makes_no_sense_ends_before_anything_is_spent(
    bench: RunBench, prices: PriceFile
) -> None:
    prices.says("mine: cheap\n")

    with pytest.raises(SpecError, match=r"prices\.yaml:1: `mine`"):
        Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script()))


@pytest.mark.parametrize(
    ("of_task", "of_profile", "of_brief", "turns"),
    [
        pytest.param(9, 7, 5, 5, id="brief"),
        pytest.param(9, 4, 5, 4, id="profile"),
        pytest.param(3, 7, 5, 3, id="task"),
    ],
)
async def test_a_subagent_gets_the_least_of_task_profile_and_brief(
    bench: RunBench, of_task: int, of_profile: int, of_brief: int, turns: int
) -> None:
    page = "---\nname: scout\ndescription: Looks.\nmaxTurns: {}\n---\nYou look.\n"
    bench.write("agents/scout.md", page.format(of_profile))
    asked = limited(of_brief)

    ended = await bench.play(
        [delegate(asked), REPORT],
        {"One": [READ, submit(QUOTE)]},
        agents=["scout"],
        limits={"turns": of_task},
    )

    [started] = ended.events("agent.started", "a1")
    assert started.data["limits"]["turns"] == turns


def limited(turns: int) -> dict[str, Any]:
    return brief("One", agent="scout", limits={"turns": turns})
