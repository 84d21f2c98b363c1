"""Damage in the log of a directed run costs that record, and no result comes twice."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from damage_bench import WAYS, answered, check, check_readers, damaged, lines_of
from directed_bench import SCENES, Whole, events_of, go_on, whole_run
from directed_checks import deliveries, frames
from directed_policy import DirectedPolicy, Pace, title_of
from run_bench import Ended

from orchestrator.events import Event
from orchestrator.messages import Message

NEAR = 12
"""So many records behind the lost one the log ends, every other time."""
STEP = 3
"""Calls that a lost record may cost: a reply, the one it led to, and a wait anew."""
COSTS = {"subagent.accepted": 12, "agent.started": 6}
"""Kind of a lost record → calls that may be made again, where more."""
SHARDS = 16
EVERY = int(os.environ.get("EVERY", "3"))
"""Of how many records one is damaged in the slow test; 1 takes some five minutes."""
OFTEN = ("subagent.ended", "subagent.asked", "text.added", "control.received")
TOO_LATE = "its findings came too late for the report"
NOT_READ = "the evidence of this item was not found in its source"


@pytest.fixture(scope="module")
def directed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole_run(SCENES["all ways"], tmp_path_factory.mktemp("whole"))


@dataclass
class Case:
    """A log with a damaged record.

    Attributes:
        whole: where it is from.
        lost: the record.
    """

    whole: Whole
    lost: Event

    async def goes_on(self, run: Path) -> int:
        """Resume, and return how many model calls were answered; all must be well."""
        scene = self.whole.scene
        pace = Pace(scene.gates, patience_s=0.02, hangs_s=0.5)
        policy = DirectedPolicy(scene.plans, pace.before)

        ended = await go_on(run, policy)

        assert policy.refused == []
        assert ended.result.state == "done" or self.explains(ended), (
            ended.result.missing
        )
        check(run)
        check_readers(run, ended)
        newest: dict[str, list[Message]] = {
            title_of(each.messages): each.messages for each in ended.requests
        }
        for title, messages in newest.items():
            assert set(frames(messages).values()) <= {1}, title
        made = deliveries(events_of(run))
        assert set(made.values()) <= {1}, made
        return policy.answered

    def explains(self, ended: Ended) -> bool:
        """Whether a run is partial for what the record alone had told.

        That results had arrived, or that an agent had read its evidence; that is sent
        back then, for which the agent may have no turn left.
        """
        lines = ended.result.missing
        why = TOO_LATE if self.lost.data.get("delivers") else ""
        if self.lost.data.get("files"):
            why = NOT_READ
            no_turn = f"subagent {self.lost.agent} "
            lines = [
                each
                for each in lines
                if not (each.startswith(no_turn) and "`turns` reached" in each)
            ]
        return bool(why and lines) and all(why in each for each in lines)


async def survives(whole: Whole, to: Path, place: int, way: str, seed: int) -> None:
    """Damage one record, cut, resume; cut what came of that, and resume again."""
    dice = random.Random(seed)
    last = len(whole.lines) - 1
    cut = dice.randrange(place + 1, min(last, place + NEAR) if seed % 2 else last)
    run = whole.copy(to, b"".join(damaged(list(whole.lines[:cut]), place, way)))
    # Of two that are swapped, the one that went ahead is not believed.
    case = Case(whole, whole.events[place + (way == "swapped" and place + 1 < cut)])

    made = await case.goes_on(run)

    before = answered(list(whole.events[:cut]))
    again = before + made - answered(list(whole.events))
    assert again <= COSTS.get(case.lost.kind, STEP), (case.lost.kind, cut, again)
    lines = lines_of(run)
    later = dice.randrange(min(cut, len(lines) - 2), len(lines) - 1)
    await case.goes_on(whole.copy(to / "again", b"".join(lines[:later])))


@pytest.mark.slow
@pytest.mark.parametrize("kind", OFTEN)
@pytest.mark.parametrize("number", range(3))
async def test_one_damaged_record_of_directing_costs_no_more_than_itself(
    directed: Whole, tmp_path: Path, kind: str, number: int
) -> None:
    places = [n for n, event in enumerate(directed.events) if event.kind == kind]
    place = places[number * len(places) // 3]

    await survives(directed, tmp_path, place, WAYS[number], seed=place)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_whatever_is_damaged_the_run_goes_on_and_nothing_comes_twice(
    directed: Whole, tmp_path: Path, shard: int
) -> None:
    for place in range(shard, len(directed.lines) - 2, SHARDS)[::EVERY]:
        way = WAYS[(place // SHARDS + shard) % len(WAYS)]
        to = tmp_path / f"{place}-{way}"

        await survives(directed, to, place, way, seed=2 * place + shard % 2)
