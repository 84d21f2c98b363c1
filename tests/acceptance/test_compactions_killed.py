"""A run that dies around a compaction sends the same bytes and pays nothing twice."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from kill_bench import records_of
from long_work import REPORT, careful, is_summary, lay_parts, seen_in
from run_bench import Ended, finish, last_results

from orchestrator.api import Orchestrator
from orchestrator.ids import sha256
from orchestrator.models.base import ModelRequest
from orchestrator.testing import (
    FakeClock,
    ScriptedModel,
    Step,
    call,
    fail,
    reply,
    say,
    think,
)

PARTS = 13
RULES = ("Never write below vendor/.",)
WHAT_WAS_MADE = ("turn", "why", "how", "text", "stubs", "thinking", "tokens_after")
EDITS = ("context.compacted", "context.cleared")


def plays(request: ModelRequest) -> Step:
    """Read on from what is in sight; nothing else is known."""
    if is_summary(request):
        return careful(request)
    seen = seen_in(request)
    told = re.findall(r"(\d+) parts are read|'path': 'part(\d+)\.md'", seen)
    done = max((int(a or b) for a, b in told), default=0)
    thought = think(f"After {done} comes {done + 1}.")
    does = call("read_file", path=f"part{done + 1}.md")
    if done == PARTS:
        does = finish(REPORT)
    return reply(thought, say("On."), {**does, "id": f"toolu_{done + 1}"})


def fails(request: ModelRequest) -> Step:
    """The same, where the service fails at each summary."""
    return fail("overloaded") if is_summary(request) else plays(request)


def calls(request: ModelRequest) -> Step:
    """The same, where a call is the first answer to each request of a summary."""
    if not is_summary(request) or "could not be taken" in last_results(request):
        return plays(request)
    return {**call("read_file", path="part1.md"), "id": "toolu_aside"}


def judged(request: ModelRequest) -> Step:
    """The same, where another model compares each summary."""
    if "what the summary must not lose" in last_results(request):
        return "- The invoice of Anna Weiss was paid twice."
    return plays(request)


WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "compacted": (plays, {"every_turns": 4}),
    "cleared and compacted": (plays, {"window_tokens": 7200, "every_turns": 6}),
    "without summaries": (fails, {"every_turns": 4}),
    "asked again": (calls, {"every_turns": 4}),
    "judged": (judged, {"every_turns": 4, "judge": "claude-haiku-5-5"}),
}


@dataclass(frozen=True)
class Finished:
    """A run that nothing disturbed."""

    ended: Ended
    lines: list[bytes]
    plays: Any = plays

    @property
    def records(self) -> list[dict[str, Any]]:
        return records_of(b"".join(self.lines))

    @property
    def bodies(self) -> set[str]:
        return {sha256(each.body) for each in self.ended.requests}

    @property
    def edits(self) -> list[tuple[str, Any]]:
        return edits_of(self.records)

    def around_edits(self) -> Iterator[int]:
        """How many records to keep, around the last compaction."""
        places = [n for n, each in enumerate(self.records) if each["kind"] == EDITS[0]]
        near = {places[-1] + by for by in range(-4, 2)}
        return iter(sorted(near))

    def cut(self, to: Path, keep: int) -> Path:
        """A copy of the run as if it had died after so many records."""
        run = to / f"runs{keep}" / self.ended.folder.name
        shutil.copytree(self.ended.folder, run)
        (run / "events.jsonl").write_bytes(b"".join(self.lines[:keep]))
        for derived in ("report.md", "run.json", "progress.md"):
            (run / derived).unlink()
        return run

    async def resumed(self, run: Path) -> Ended:
        """Go on with a run; its model says what the first one did."""
        model = ScriptedModel(self.plays)
        async with Orchestrator(
            runs_dir=run.parent, model=model, clock=FakeClock()
        ) as here:
            return Ended(await here.resume(run), model)


def edits_of(records: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Kind and content of each edit, in order."""
    return [
        (each["kind"], {name: each["data"].get(name) for name in WHAT_WAS_MADE})
        for each in records
        if each["kind"] in EDITS
    ]


def played(folder: Path, script: Any, **policy: Any) -> Finished:
    bench = lay_parts(folder, PARTS, lines=90)
    fields: dict[str, Any] = {"context_policy": policy, "constraints": RULES}
    if "judge" in policy:
        fields["model"] = "a-model-of-our-own"
    ended = anyio.run(lambda: bench.run(ScriptedModel(script), **fields))
    assert ended.result.state == "done", ended.result
    log = (ended.folder / "events.jsonl").read_bytes()
    return Finished(ended, log.splitlines(keepends=True), script)


@pytest.fixture(
    scope="module",
    params=[
        "compacted",
        pytest.param("cleared and compacted", marks=pytest.mark.slow),
        pytest.param("without summaries", marks=pytest.mark.slow),
        "asked again",
        "judged",
    ],
)
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Finished:
    script, policy = WAYS[request.param]
    return played(tmp_path_factory.mktemp("finished"), script, **policy)


def check_cut(whole: Finished, to: Path, keep: int) -> None:
    """Go on after `keep` records: all is as if nothing had happened."""
    run = whole.cut(to, keep)
    ended = anyio.run(whole.resumed, run)
    records = records_of((run / "events.jsonl").read_bytes())
    assert ended.result.state == "done", (keep, ended.result)
    assert ended.result.report == whole.ended.result.report
    strange = {sha256(each.body) for each in ended.requests} - whole.bodies
    assert not strange, (keep, whole.records[keep - 1]["kind"])
    assert edits_of(records) == whole.edits, keep
    kinds = [each["kind"] for each in records]
    answered = [each["kind"] for each in whole.records].count("model.answered")
    assert kinds.count("model.answered") == answered, keep
    if whole.records[keep]["kind"] in EDITS:
        assert "text" not in records[keep]["data"]  # until then the old history holds


def test_the_runs_are_cleared_and_compacted(finished: Finished) -> None:
    kinds = [kind for kind, _ in finished.edits]

    assert kinds.count("context.compacted") >= 2
    if finished.plays is plays:
        assert "mechanical" not in str(finished.edits)
    assert any(data["thinking"] for _, data in finished.edits)


def test_killed_around_an_edit_the_same_bytes_leave_and_no_summary_is_paid_twice(
    finished: Finished, tmp_path: Path
) -> None:
    for keep in finished.around_edits():
        check_cut(finished, tmp_path, keep)


@pytest.mark.slow
@pytest.mark.parametrize(
    "finished", ["compacted", "cleared and compacted"], indirect=True
)
def test_killed_at_any_event_the_same_bytes_leave_and_nothing_is_paid_twice(
    finished: Finished, tmp_path: Path
) -> None:
    kinds = [each["kind"] for each in finished.records]
    for keep in range(kinds.index("model.requested"), len(finished.lines)):
        check_cut(finished, tmp_path, keep)


@pytest.mark.parametrize("lost", [-1, 0, 1], ids=["summary", "edit", "request"])
def test_a_damaged_record_of_a_compaction_costs_no_run(
    finished: Finished, tmp_path: Path, lost: int
) -> None:
    kinds = [each["kind"] for each in finished.records]
    place = max(n for n, kind in enumerate(kinds) if kind == EDITS[0])
    run = finished.cut(tmp_path, place + 5)
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    lines[place + lost] = b"\0" * len(lines[place + lost][:-1]) + b"\n"
    (run / "events.jsonl").write_bytes(b"".join(lines))

    ended = anyio.run(finished.resumed, run)

    assert ended.result.state == "done", ended.result
    assert ended.result.report == finished.ended.result.report
