"""Another context policy on a recorded run: how true the columns are, and caveats."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from cache_model import CachingModel
from golden import copied
from long_work import LongWork, careful, is_summary, lay_parts
from run_bench import (
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    played,
    submit,
)

from orchestrator.api import Orchestrator
from orchestrator.errors import SpecError, StoreError
from orchestrator.inspection.reading import load_run
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.replaying.figures import Figures
from orchestrator.runtime.replaying.policies import compare_policies
from orchestrator.runtime.replaying.policy_comparison import PolicyComparison
from orchestrator.spec.loader import load_task
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.policy_file import read_policy
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, reply, say

PARTS = 24
WINDOW = 14_000
MODEL = "claude-sonnet-5-5"
ROOT = Path(__file__).resolve().parents[2]


def path_of(part: int) -> str:
    return f"parts/p{part * 37 % 101:03}_{part}.md"


def part(number: int) -> str:
    lines = [f"The code of this part is K-{number * 37 + 1000}."]
    lines += [f"Line {line} of it is as any other line is." for line in range(60)]
    return "\n".join([*lines, f"Go on with {path_of(number + 1)}.", ""])


@dataclass
class ReadsOn:
    """Reads part after part, each named by the one before; then tells all codes."""

    turn: int = 0

    def __call__(self, request: ModelRequest) -> Step:
        if is_summary(request):
            return careful(request)
        self.turn += 1
        if self.turn > PARTS:
            codes = ", ".join(f"K-{each * 37 + 1000}" for each in range(1, PARTS + 1))
            return finish(f"The codes are {codes}.")
        if self.turn % 6 == 0:
            text = f"Has K-{(self.turn - 1) * 37 + 1000}."
            return call("update_notes", section="Facts", mode="append", text=text)
        said = say(f"On to part {self.turn}.")
        return reply(said, call("read_file", path=path_of(self.turn)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with prices, a cache, clears and compactions."""
    files = {path_of(n): part(n) for n in range(1, PARTS + 2)}
    bench = RunBench(tmp_path_factory.mktemp("policies"), files)
    clock = FakeClock()
    model = CachingModel(ScriptedModel(ReadsOn()), clock)

    async def run() -> Path:
        ended = await bench.run(
            model,
            clock=clock,
            model=MODEL,
            objective=f"Tell the codes of all parts, beginning with {path_of(1)}.",
            context_policy={"window_tokens": WINDOW, "every_turns": 9},
        )
        return ended.folder

    return RunFolder(anyio.run(run))


def compared(folder: RunFolder, **fields: Any) -> PolicyComparison:
    return compare_policies(folder, ContextPolicy(**fields))


def written(folder: RunFolder) -> dict[str, tuple[int, int]]:
    found = (each for each in folder.path.rglob("*") if each.is_file())
    return {str(each): (each.stat().st_mtime_ns, each.stat().st_size) for each in found}


def near(one: float, two: float, *, share: float) -> bool:
    return abs(two - one) <= share * one


# ---- the run's own policy, computed, against what the run did ------------------------


def test_computed_the_own_policy_does_what_the_run_did(folder: RunFolder) -> None:
    found = compared(folder, preset="short").total
    was, own = found.was, found.own

    assert was.compactions == 2
    assert was.clears > 4
    assert own.compactions == was.compactions
    assert abs(own.clears - was.clears) <= 1
    assert own.requests == was.requests == PARTS + 1 + 2
    assert near(was.peak_tokens, own.peak_tokens, share=0.03)
    assert near(was.mean_tokens, own.mean_tokens, share=0.05)


def test_the_bill_of_the_own_policy_is_right_within_five_per_cent(
    folder: RunFolder,
) -> None:
    found = compared(folder, preset="short").total
    billed = load_run(folder)

    assert found.was.usd == pytest.approx(billed.cost.usd)
    assert found.was.cache_read_tokens == billed.tokens.cache_read > 100_000
    assert found.was.cache_write_tokens == billed.tokens.cache_write
    assert found.was.input_tokens == billed.tokens.input
    assert found.was.output_tokens == billed.tokens.output
    assert found.own.usd is not None
    assert near(billed.cost.usd, found.own.usd, share=0.05)
    assert near(found.was.cache_read_tokens, found.own.cache_read_tokens, share=0.05)


def test_each_agent_has_the_numbers_that_it_had(folder: RunFolder) -> None:
    [agent] = compared(folder, preset="short", window_tokens=9000).agents
    started = next(
        event for event in read_events(folder.events) if event.kind == "agent.started"
    )

    assert (agent.id, agent.profile, agent.model) == ("lead", "lead", MODEL)
    assert agent.own.window_tokens == WINDOW
    assert agent.own.every_turns == 9
    assert agent.own.output_tokens == started.data["settings"]["max_output_tokens"]
    assert agent.other.window_tokens == 9000
    assert agent.other.output_tokens < agent.own.output_tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "policy"),
    [
        pytest.param(40, {"window_tokens": 8000}, id="a small window"),
        pytest.param(30, {"window_tokens": 10_000}, id="many clears"),
        pytest.param(60, {"window_tokens": 14_000, "keep_results": 1}, id="one spared"),
        pytest.param(40, {"window_tokens": 20_000, "every_turns": 12}, id="by turns"),
        pytest.param(60, {"policy": "window", "last_steps": 8}, id="last steps"),
        pytest.param(60, {"preset": "short", "window_tokens": 16_000}, id="what fits"),
        pytest.param(300, {}, id="a large window"),
    ],
)
def test_whatever_the_policy_the_own_one_is_computed_as_it_went(
    tmp_path: Path, lines: int, policy: dict[str, Any]
) -> None:
    bench, clock = lay_parts(tmp_path, 40, lines=lines), FakeClock()
    model = CachingModel(ScriptedModel(LongWork(40)), clock)

    async def run() -> Path:
        limits = {"usd": 50, "tokens": 50_000_000}
        ended = await bench.run(
            model, clock=clock, model=MODEL, context_policy=policy, limits=limits
        )
        return ended.folder

    found = compared(RunFolder(anyio.run(run)), preset="dialogue", window_tokens=30_000)

    was, own = found.total.was, found.total.own
    assert was.clears + was.compactions >= 4
    assert abs(own.clears - was.clears) <= max(was.clears / 10, 1)
    assert abs(own.compactions - was.compactions) <= max(was.compactions / 8, 1)
    assert was.usd is not None
    assert own.usd == pytest.approx(was.usd, rel=0.06)  # a clear may fall a turn early
    assert own.billed_tokens == pytest.approx(was.billed_tokens, rel=0.03)


@pytest.mark.slow
def test_an_offline_run_of_the_example_is_computed_as_it_went(tmp_path: Path) -> None:
    task = load_task(
        ROOT / "examples" / "long-document.yaml",
        {"model": "offline", "context_policy.window_tokens": "17000"},
    )

    async def run() -> Path:
        async with Orchestrator(runs_dir=tmp_path) as here:
            return (await here.run(task)).folder

    folder = RunFolder(anyio.run(run))
    found = compared(folder, preset="long", keep_results=1)

    summarizer = next(each for each in found.agents if each.id == "a1").columns
    assert summarizer.was.compactions >= 2
    assert summarizer.was.clears >= 8
    assert abs(summarizer.own.compactions - summarizer.was.compactions) <= 1
    assert abs(summarizer.own.clears - summarizer.was.clears) <= 2
    # A decision near a mark may fall a turn early: one request of some twenty more.
    assert near(found.total.was.input_tokens, found.total.own.input_tokens, share=0.10)
    assert near(summarizer.was.peak_tokens, summarizer.own.peak_tokens, share=0.08)
    assert found.total.was.usd == found.total.own.usd == found.total.other.usd == 0
    assert found.unpriced == ()


# ---- the other policy ----------------------------------------------------------------


def test_the_same_policy_comes_to_the_same(folder: RunFolder) -> None:
    found = compared(folder, window_tokens=WINDOW, every_turns=9)

    assert found.changes == ()
    assert found.total.other == found.total.own


def test_a_window_of_steps_asks_for_no_summary_and_shows_less(
    folder: RunFolder,
) -> None:
    found = compared(folder, policy="window", last_steps=4, window_tokens=WINDOW)
    own, other = found.total.own, found.total.other

    assert other.clears == 0
    assert other.compactions > own.compactions
    assert other.requests == other.turns == PARTS + 1
    assert other.mean_tokens < own.mean_tokens + 1500
    assert other.sight.visible < other.sight.uses == own.sight.uses
    assert {each.name for each in found.changes} == {
        "policy", "last_steps", "every_turns",
    }  # fmt: skip


def test_without_bounds_nothing_goes_and_all_stays_in_sight(folder: RunFolder) -> None:
    found = compared(folder, policy="budget", window_tokens=200_000)
    other = found.total.other

    assert (other.clears, other.compactions) == (0, 0)
    assert other.peak_tokens > 1.5 * found.total.was.peak_tokens
    assert other.sight.visible == other.sight.uses > 30
    assert other.cache_write_tokens < found.total.own.cache_write_tokens
    assert other.input_tokens == 0


def test_a_smaller_page_cuts_results_shorter_and_says_what_that_leaves_out(
    folder: RunFolder,
) -> None:
    found = compared(folder, read_tokens=300, window_tokens=WINDOW)

    [agent] = found.agents
    assert agent.shorter >= PARTS - 6
    assert agent.columns.other.sent_tokens < agent.columns.own.sent_tokens
    assert agent.columns.other.sight.visible < agent.columns.own.sight.visible
    assert any("shorter on entry" in each for each in found.caveats)


def test_what_is_not_computed_is_said(folder: RunFolder, tmp_path: Path) -> None:
    told = " ".join(compared(folder, preset="short", window_tokens=WINDOW).caveats)
    assert told.startswith("No model was asked: both policies are computed")
    assert "as the 2 compactions of this run left on average" in told
    assert "Reminders are taken to stand where they stood." in told
    assert "read from one" not in told  # the service told of its cache

    judged = compared(folder, judge="claude-haiku-5-5", window_tokens=WINDOW).caveats
    assert "What judges of summaries cost is in the first column only." in judged

    unknown = without(
        folder,
        tmp_path / "unknown",
        lambda _at, line: b'"context.compacted"' not in line,
    )
    log = unknown.events.read_bytes().replace(MODEL.encode(), b"llama-9")
    unknown.events.write_bytes(log)
    told = " ".join(compared(unknown, policy="window", last_steps=4).caveats)
    assert f"that of the run holds, {WINDOW:,} tokens" in told
    assert "the usual sizes, since this run compacted nothing" in told


def test_subagents_that_share_a_head_read_what_others_have_cached(
    tmp_path: Path,
) -> None:
    paper = "A refund takes 14 days.\n" + "It is as usual, see part K-1037.\n" * 150
    bench = RunBench(tmp_path, {f"p{n}.md": paper for n in range(6)})
    claim = item("It takes 14 days.", "p1.md:1", "A refund takes 14 days.")
    workers = {
        name: in_turn(
            *(call("read_file", path=f"p{n}.md") for n in range(6)), submit(claim)
        )
        for name in ("One", "Two")
    }
    lead = in_turn(delegate(*map(brief, workers)), finish("14 days [p1.md:1]."))
    clock = FakeClock()
    model = CachingModel(played(lead, workers), clock)

    async def run() -> Path:
        policy = {"window_tokens": 20_000}
        ended = await bench.run(model, clock=clock, model=MODEL, context_policy=policy)
        return ended.folder

    found = compared(RunFolder(anyio.run(run)), preset="short")

    first, second = (each.columns for each in found.agents if each.parent)
    assert second.was.cache_write_tokens < first.was.cache_write_tokens - 1500
    assert second.own.cache_write_tokens < first.own.cache_write_tokens - 1500
    assert found.total.was.usd is not None
    assert found.total.own.usd == pytest.approx(found.total.was.usd, rel=0.03)
    assert found.total.own.clears == found.total.was.clears > 4


def test_a_policy_that_does_not_fit_the_window_is_refused_as_check_does(
    folder: RunFolder, tmp_path: Path
) -> None:
    bare, task = tmp_path / "bare.yaml", tmp_path / "task.yaml"
    bare.write_text("hard: 0.8\nwindow_tokens: 4000\n")
    task.write_text("objective: x\n\ncontext_policy:\n  window_tokens: 4000\n")

    for path, place in (
        (bare, f"{bare}:2: `window_tokens`"),
        (task, f"{task}:4: `context_policy.window_tokens`"),
    ):
        with pytest.raises(SpecError) as raised:
            compare_policies(folder, read_policy(path), source=path)
        assert str(raised.value).startswith(
            f"{place}: profile `lead` on `{MODEL}`: the window has 4,000 tokens"
        )

    with pytest.raises(SpecError, match="the window has 4,000 tokens") as raised:
        compared(folder, window_tokens=4000)
    assert raised.value.field == "context_policy.window_tokens"


# ---- what it reads, and what it leaves alone -----------------------------------------


def test_nothing_is_written_and_all_is_plain_data(folder: RunFolder) -> None:
    before = written(folder)

    found = compared(folder, preset="dialogue", window_tokens=WINDOW)

    assert written(folder) == before
    told = orjson.loads(orjson.dumps(found.to_dict()))
    assert told["run"] == folder.path.name
    assert told["agents"][0]["other"]["compactions"] == found.total.other.compactions
    assert told["total"]["own"]["sight"]["uses"] > 30
    assert {"field": "policy", "own": "ladder", "other": "window"} in told["changes"]


def without(folder: RunFolder, to: Path, keep: Any) -> RunFolder:
    """Return a copy of a run with those lines of its log that `keep` is true of."""
    to.mkdir(parents=True)
    lines = folder.events.read_bytes().splitlines(keepends=True)
    kept = [line for at, line in enumerate(lines) if keep(at, line)]
    copy = RunFolder(to)
    copy.events.write_bytes(b"".join(kept))
    copy.task.write_bytes(folder.task.read_bytes())
    return copy


def test_without_prices_there_are_only_tokens(
    folder: RunFolder, tmp_path: Path
) -> None:
    bare = without(folder, tmp_path / "bare", lambda _at, _line: True)
    log = bare.events.read_bytes()
    priced = log.replace(b'"prices":{"claude-sonnet-5-5"', b'"prices":{"another"')
    assert priced != log
    bare.events.write_bytes(priced)

    found = compared(bare, preset="short")

    assert found.unpriced == (MODEL,)
    assert found.total.own.usd is None
    assert found.total.other.usd is None
    assert found.total.own.billed_tokens > 100_000


def test_an_agent_that_took_no_turn_has_nothing(
    folder: RunFolder, tmp_path: Path
) -> None:
    begun = without(
        folder,
        tmp_path / "begun",
        lambda _at, line: b'"run.started"' in line or b'"agent.started"' in line,
    )

    found = compared(begun, preset="short")

    assert [each.id for each in found.agents] == ["lead"]
    for figures in (found.total.was, found.total.own, found.total.other):
        assert figures == Figures()


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_log_costs_what_is_lost(
    folder: RunFolder, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    damaged = without(
        folder, tmp_path / "damaged", lambda at, _line: chance.random() > 0.2
    )
    with damaged.events.open("r+b") as log:
        log.seek(chance.randrange(2000, damaged.events.stat().st_size - 2000))
        log.write(b"\x00\xff{" * 40)

    found = compared(damaged, preset="dialogue", window_tokens=WINDOW)

    assert 0 < found.total.was.turns < PARTS + 1
    assert found.total.own.turns == found.total.was.turns == found.total.other.turns
    assert any("could not be read" in each for each in found.caveats)


ODD: tuple[Any, ...] = (
    None, 0, -(10**6), 10**18, 1.5, "", "x", True, [], {}, [None], [{}], {"a": 1},
    {"$artifact": "art_0123456789ab", "bytes": 3},
)  # fmt: skip


def oddly(value: Any, chance: random.Random) -> Any:
    """Return JSON with something in it that is gone, or something else."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        changed = oddly(value.pop(key), chance)
        return value if chance.random() < 0.2 else value | {key: changed}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], oddly(value[at], chance), *value[at + 1 :]]
    return chance.choice(ODD)


@pytest.mark.slow
def test_no_record_whatever_is_in_it_breaks_a_comparison(
    folder: RunFolder, tmp_path: Path
) -> None:
    chance = random.Random(7)
    lines = folder.events.read_bytes().splitlines()
    copy = without(folder, tmp_path / "odd", lambda _at, _line: True)
    for _ in range(120):
        odd = list(lines)
        for _ in range(3):
            at = chance.randrange(len(odd))
            record = orjson.loads(odd[at])
            record["data"] = oddly(record["data"], chance)
            odd[at] = orjson.dumps(record)
        copy.events.write_bytes(b"\n".join(odd) + b"\n")

        found = compared(copy, policy="window", window_tokens=200_000)

        assert orjson.dumps(found.to_dict())
        assert found.total.was.turns >= PARTS - 3


def test_a_log_of_an_older_version_and_lost_texts_are_read_as_far_as_they_go(
    folder: RunFolder, tmp_path: Path
) -> None:
    old = without(folder, tmp_path / "old", lambda _at, _line: True)
    records = [orjson.loads(line) for line in folder.events.read_bytes().splitlines()]
    for record in records:
        record["data"].pop("composition", None)
        if record["kind"] == "tool.ended":
            lost = {"$artifact": "art_0123456789ab", "bytes": 9}
            record["data"]["content"] = lost
    old.events.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in records))

    found = compared(old, preset="short").total
    whole = compared(folder, preset="short").total

    assert found.was.usd == whole.was.usd
    assert found.own.clears == whole.own.clears
    assert found.own.usd == pytest.approx(whole.own.usd, rel=0.03)
    assert found.was.sight.uses == 0


def test_a_run_without_a_log_is_told(folder: RunFolder, tmp_path: Path) -> None:
    empty = without(folder, tmp_path / "empty", lambda _at, _line: False)
    empty.events.unlink()

    with pytest.raises(StoreError):
        compared(empty)


def test_a_run_that_was_killed_and_has_subagents_is_compared(tmp_path: Path) -> None:
    folder = copied("v1", tmp_path)

    found = compared(folder, preset="short")

    view = load_run(folder)
    assert {each.id for each in found.agents} <= set(view.agents)
    assert len(found.agents) > 1
    assert found.total.was.input_tokens == view.tokens.input
    assert found.total.was.output_tokens == view.tokens.output
    for name in ("requests", "turns", "input_tokens", "output_tokens", "clears"):
        of_agents = sum(getattr(each.columns.other, name) for each in found.agents)
        assert getattr(found.total.other, name) == of_agents
    lead = next(each for each in found.agents if each.id == "lead")
    assert all(each.parent == "lead" for each in found.agents if each is not lead)


# ---- reading a policy ----------------------------------------------------------------


IN_TASK = "objective: x\ncontext_policy:\n"
FAULTS = (
    ("softt: 0.5\n", 1, "softt", "unknown key; did you mean `soft`?"),
    ("soft: 0.5\nkeep_results: 0\n", 2, "keep_results", "must be 1 or more"),
    ("soft: 0.5\npolicy: windows\n", 2, "policy", "`window`"),
    ("soft: 0.5\nhard: 0.4\n", 1, "soft", "must be below `hard` 0.4"),
    ("soft: 0.5\nshares: {recent: 0.9}\n", 2, "shares", "sum to"),
    ("soft: 0.5\nclip_tokens: [1]\n", 2, "clip_tokens", "a whole number"),
    (f"{IN_TASK}  tail_stepz: 2\n", 3, "context_policy.tail_stepz", "tail_steps"),
    ("objective: x\nsoft: 0.5\n", 2, "soft", "unknown key"),
    (IN_TASK, 2, "context_policy", "is empty"),
    ("- soft\n", 1, "", "must hold `key: value` lines"),
    ("soft: 0.5\nsoft: 0.6\n", 2, "soft", "is given twice"),
)


@pytest.mark.parametrize(("text", "line", "field", "message"), FAULTS)
def test_a_fault_in_a_policy_is_one_message_with_its_place(
    tmp_path: Path, text: str, line: int, field: str, message: str
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)

    with pytest.raises(SpecError) as raised:
        read_policy(path)

    error = raised.value
    assert (error.file, error.line, error.field) == (str(path), line, field)
    assert message in error.message


def test_a_policy_is_read_alone_or_out_of_a_task(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"

    path.write_text("preset: dialogue\nlast_steps: 7\n")
    alone = read_policy(path)
    path.write_text("objective: x\ncontext_policy: {preset: dialogue, last_steps: 7}\n")
    in_task = read_policy(path)
    path.write_text("objective: x\n")

    assert alone == in_task
    assert (alone.policy, alone.last_steps, alone.clip_tokens) == ("window", 7, 2000)
    assert read_policy(path) == ContextPolicy()
    with pytest.raises(SpecError, match="no such context policy"):
        read_policy(tmp_path / "other.yaml")
