"""Logs of later versions, which add fields anywhere, are gone on with as any other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from bound_policy import PAPER, BoundPolicy
from run_bench import RunBench, brief, delegate, finish, item, submit

from orchestrator.api import Orchestrator
from orchestrator.messages import text_of
from orchestrator.testing import FakeClock, ScriptedModel, call

Record = dict[str, Any]
WHERE = ("usage", "files", "brief", "findings", "limits", "settings")
"""Fields that hold a structure of ours."""
EVENTS = 88


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run, with its workspace beside it."""
    bench = RunBench(tmp_path_factory.mktemp("finished"), {"refunds.md": PAPER})
    ended = anyio.run(bench.run, ScriptedModel(BoundPolicy()))
    assert ended.result.state == "done", ended.result
    return ended.folder


def with_more(value: Any) -> Any:
    """The value with one more field in each object, but in what is sent as it is."""
    if isinstance(value, dict):
        more = {
            key: each if key == "request" else with_more(each)
            for key, each in value.items()
        }
        return {"later": "x", **more}
    return [with_more(each) for each in value] if isinstance(value, list) else value


def later(record: Record) -> Record:
    """The record as a later version might write it."""
    data = {
        name: with_more(value) if name in WHERE else value
        for name, value in record["data"].items()
    }
    return {**record, "v": 2, "later": [1], "data": {**data, "later": {"x": 1}}}


def copied(
    finished: Path, to: Path, *, cut: int, change: Callable[[Record], Record]
) -> Path:
    """A copy of a run whose process died after `cut` records, each changed."""
    run = to / "runs" / finished.name
    shutil.copytree(finished, run)
    lines = (run / "events.jsonl").read_bytes().splitlines()[:cut]
    changed = [orjson.dumps(change(orjson.loads(line))) + b"\n" for line in lines]
    (run / "events.jsonl").write_bytes(b"".join(changed))
    for derived in ("report.md", "run.json", "progress.md"):
        (run / derived).unlink(missing_ok=True)
    return run


@pytest.mark.slow
async def test_fields_of_later_versions_change_nothing(
    finished: Path, tmp_path: Path
) -> None:
    for cut in range(6, EVENTS, 8):
        sent: list[dict[str, bytes]] = []
        for name, change in (("now", dict), ("later", later)):
            run = copied(finished, tmp_path / f"{name}{cut}", cut=cut, change=change)
            policy = BoundPolicy()
            model = ScriptedModel(policy)
            async with Orchestrator(
                runs_dir=run.parent, model=model, clock=FakeClock()
            ) as here:
                result = await here.resume(run)
            assert (result.state, policy.refused) == ("done", []), (cut, result)
            firsts: dict[str, bytes] = {}
            for each in model.requests:
                firsts.setdefault(text_of(each.messages[0]["content"]), each.body)
            sent.append(firsts)

        assert sent[0] == sent[1], cut


async def test_what_a_model_hands_in_is_still_taken_strictly(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, {"refunds.md": PAPER})
    given = item("14 days.", "refunds.md:1", "A refund takes 14 days.")
    wrong = submit(given, later=1)
    right = submit(given)
    read = call("read_file", path="refunds.md")

    ended = await bench.play(
        [delegate(brief("With", later=1)), delegate(brief("With")), finish("Done.")],
        {"With": [read, wrong, right]},
    )

    assert "later" in ended.results("delegate")[0]
    assert "later" in ended.results("submit_findings", "a1")[0]
