"""A record with fields that are gone, or of another type, is damage like any other."""

from __future__ import annotations

import random
import shutil
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from bound_policy import PAPER, BoundPolicy
from run_bench import RunBench
from store_parts import RUN

from orchestrator.api import Orchestrator
from orchestrator.events import KINDS, Event, ToolEnded
from orchestrator.events.soundness import is_sound
from orchestrator.runtime.readable import is_readable
from orchestrator.runtime.snapshots import read_history
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel

pytestmark = pytest.mark.slow

EVENTS = 88
ODD: tuple[Any, ...] = (1, "x", [], {}, True, [1], {"a": 1}, -1, 1e300, None)
BLOCK = {"type": "text", "text": "x"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run, with its workspace beside it."""
    bench = RunBench(tmp_path_factory.mktemp("finished"), {"refunds.md": PAPER})
    ended = anyio.run(bench.run, ScriptedModel(BoundPolicy()))
    assert ended.result.state == "done", ended.result
    return ended.folder


def copied(finished: Path, to: Path, lines: list[bytes]) -> Path:
    run = to / "runs" / finished.name
    shutil.copytree(finished, run)
    (run / "events.jsonl").write_bytes(b"".join(lines))
    for derived in ("report.md", "run.json", "progress.md"):
        (run / derived).unlink(missing_ok=True)
    return run


def made_odd(line: bytes, dice: random.Random) -> bytes:
    """The record with one of its fields gone, or something else, at any depth."""
    record = orjson.loads(line)
    within: dict[str, Any] = record["data"]
    while True:
        name = dice.choice(sorted(within))
        inner = within[name]
        if isinstance(inner, list) and inner:
            inner = inner[0]
        if not isinstance(inner, dict) or not inner or dice.random() < 0.6:
            break
        within = inner
    if dice.random() < 0.4:
        del within[name]
    else:
        within[name] = dice.choice(ODD)
    return orjson.dumps(record) + b"\n"


async def goes_on(finished: Path, to: Path, place: int, seed: int) -> None:
    dice = random.Random(seed)
    lines = (finished / "events.jsonl").read_bytes().splitlines(keepends=True)
    lines[place] = made_odd(lines[place], dice)
    run = copied(finished, to, lines[: dice.randrange(place + 1, EVENTS)])
    told = lines[place].decode()[-400:]

    async with Orchestrator(
        runs_dir=run.parent, model=ScriptedModel(BoundPolicy()), clock=FakeClock()
    ) as here:
        result = await here.resume(run)

    assert result.state in ("done", "partial"), (result, told)
    assert not result.reason.startswith("a fault"), (result, told)


@pytest.mark.parametrize("place", range(EVENTS - 1))
async def test_an_odd_record_never_stops_a_run(
    finished: Path, tmp_path: Path, place: int
) -> None:
    await goes_on(finished, tmp_path, place, seed=place)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(EVENTS - 1))
async def test_however_odd_it_is(finished: Path, tmp_path: Path, place: int) -> None:
    for seed in range(8):
        to = tmp_path / str(seed)
        to.mkdir()
        await goes_on(finished, to, place, seed=1000 * (seed + 1) + place)


def test_every_record_of_a_real_run_is_readable(finished: Path) -> None:
    events = list(read_events(finished / "events.jsonl"))

    assert len(events) == EVENTS
    assert [event for event in events if not is_readable(event)] == []


def event_of(kind: str, data: dict[str, Any]) -> Event:
    return Event(1, "", RUN, "a1", kind, 0, data)


def test_a_field_without_a_default_is_needed_and_one_with_it_is_not(
    finished: Path,
) -> None:
    events = {event.kind: event for event in read_events(finished / "events.jsonl")}
    assert len(events) >= 14

    for kind, event in events.items():
        for field in fields(KINDS[kind]):
            has_none = field.default is MISSING and field.default_factory is MISSING
            data = {n: v for n, v in event.data.items() if n != field.name}
            assert is_sound(event_of(kind, data)) is not has_none, (kind, field.name)


ENDED: dict[str, Any] = {
    "call": "t1", "name": "grep", "content": "x", "is_error": False, "seconds": 1,
    "tokens": 1, "full_tokens": 1,
}  # fmt: skip
SEEN = {"path": "a.md", "sha256": "ab", "artifact": "", "lines": 3}
APART = {"$artifact": "art_0123456789ab", "bytes": 20_000}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"later": 1},
        {"seconds": 0.5},
        {"content": [BLOCK]},
        {"content": []},
        {"content": APART, "files": APART},
        {"files": [SEEN, {**SEEN, "later": 1}]},
    ],
)
def test_what_a_kind_may_hold_is_sound(more: dict[str, Any]) -> None:
    assert is_sound(event_of(ToolEnded.KIND, ENDED | more))


@pytest.mark.parametrize(
    "more",
    [
        {"call": 1},
        {"tokens": 1.5},
        {"tokens": True},
        {"seconds": "1"},
        {"seconds": None},
        {"content": None},
        {"content": [1]},
        {"content": [{"type": "tool_use", "id": "t1"}]},
        {"content": {"$artifact": 5}},
        {"files": [{"path": "a.md"}]},
        {"files": {}},
        {"ends": None},
    ],
)
def test_what_it_cannot_hold_is_not(more: dict[str, Any]) -> None:
    assert not is_sound(event_of(ToolEnded.KIND, ENDED | more))


def test_kinds_of_later_versions_are_sound() -> None:
    assert is_sound(event_of("zeta.born", {"any": ["thing"]}))


def test_what_is_wrong_is_told_with_its_line(finished: Path, tmp_path: Path) -> None:
    lines = (finished / "events.jsonl").read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'"tool.started"' in line)
    record = orjson.loads(lines[place])
    del record["data"]["effects"]
    lines[place] = orjson.dumps(record) + b"\n"
    run = copied(finished, tmp_path, lines)

    history = read_history(RunFolder(run))

    assert history.damage == [
        f"line {place + 1}: `tool.started`, seq {place + 1}: fields are missing or of "
        "another type"
    ]
    assert (history.lost, history.last_seq) == (1, EVENTS)
