"""Replaying a run: the same program on what is on record, compared as it goes."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio.lowlevel
import orjson

from orchestrator.clock import SystemClock
from orchestrator.errors import SpecError
from orchestrator.events import (
    Event,
    ModelRequested,
    ReportSubmitted,
    RunStarted,
)
from orchestrator.ids import sha256
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.again import prepared_again
from orchestrator.runtime.host import Host, ModelPool
from orchestrator.runtime.live import Live
from orchestrator.runtime.past import Past
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.replaying.answers import RecordedModel
from orchestrator.runtime.replaying.comparing import Difference, first_difference
from orchestrator.runtime.replaying.conductor import Conductor
from orchestrator.runtime.replaying.lookups import RecordedOutside
from orchestrator.runtime.replaying.record import Part, Record, read_record
from orchestrator.runtime.replaying.results import RecordedAsker, recorded_tools
from orchestrator.runtime.replaying.saying import Person
from orchestrator.runtime.replaying.virtual import VirtualClock, run_virtual
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.start import Origin, resume_run, start
from orchestrator.settings import Settings
from orchestrator.spec.foreign import NEEDS, OUR_TOOLS, available_tools
from orchestrator.spec.skills import Skill
from orchestrator.store.layout import RunFolder

__all__ = ["Replayed", "replay"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay.

    Attributes:
        run: id of the run.
        requests: requests of the run that were made again.
        same: those of them whose bytes were the same.
        differences: of each agent the first request that differs, in the order of the
            replay; those behind it mostly follow from it.
        extra: events that the run did not have, as `agent kind`, in order.
        missing: events of the run that did not happen again, as `seq agent kind`.
        events: events that happened again.
        total: events of the run.
        state: in which the run ended, and the replay.
        report_is_same: whether the lead handed in the same words.
        has_report: whether it handed in any.
        parts: processes that were at work on the run.
        recorded_s: seconds that the run took, from its first event to its last.
        took_s: seconds that the replay took.
    """

    run: str
    requests: int
    same: int
    differences: tuple[Difference, ...]
    extra: tuple[str, ...]
    missing: tuple[str, ...]
    events: int
    total: int
    state: tuple[str, str]
    report_is_same: bool
    has_report: bool
    parts: int
    recorded_s: float
    took_s: float

    @property
    def first(self) -> Difference | None:
        """Return the first difference, or None."""
        return self.differences[0] if self.differences else None

    @property
    def is_same(self) -> bool:
        """Return whether all that was sent is the same, byte for byte, and the end."""
        is_whole = self.requests == self.same and not self.differences
        return is_whole and self.report_is_same and self.state[0] == self.state[1]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "run": self.run,
            "is_same": self.is_same,
            "requests": self.requests,
            "same": self.same,
            "differences": [each.to_dict() for each in self.differences],
            "extra": list(self.extra),
            "missing": list(self.missing),
            "events": self.events,
            "total": self.total,
            "state": {"recorded": self.state[0], "now": self.state[1]},
            "report_is_same": self.report_is_same,
            "parts": self.parts,
            "recorded_s": round(self.recorded_s, 3),
            "took_s": round(self.took_s, 3),
        }


def replay(folder: RunFolder, *, inputs: Path | None = None) -> Replayed:
    """Run a run again, from its record alone, and compare what would be sent.

    Nothing is asked, called, looked up or paid for, and nothing is written into the
    folder of the run. It blocks, and may be called where an event loop runs.

    Args:
        folder: of a run; one that is at work is replayed as far as it is.
        inputs: a folder whose `agents/` and `prompts/` are tried, with what ships for
            what is not there; None: the copies that the run keeps.

    Raises:
        StoreError: the log cannot be read, or does not tell how the run began.
        SpecError: a prompt or profile in `inputs` is wrong, or there is none.
    """
    if _has_event_loop():
        with ThreadPoolExecutor(1, thread_name_prefix="replay") as threads:
            return threads.submit(replay, folder, inputs=inputs).result()
    if inputs is not None:
        _check_inputs(inputs)
    record = read_record(folder)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="replay-") as scratch:
        stage = _Stage.set_up(record, Path(scratch).resolve(), inputs)
        for part in record.parts:
            _play(stage, part)
    return stage.result(time.perf_counter() - began)


def _check_inputs(folder: Path) -> None:
    """Refuse a folder in which there is nothing to try."""
    names = ("agents", "prompts", ".claude/agents")
    if not any((folder / name).is_dir() for name in names):
        raise SpecError(
            f"`{folder}` has neither `agents/` nor `prompts/`: there is nothing to try",
            field="inputs",
        )


def _has_event_loop() -> bool:
    try:
        anyio.lowlevel.current_token()
    except RuntimeError:
        return False
    return True


@dataclass(slots=True)
class _Stage:
    """Where a replay plays, and what came of it up to now."""

    record: Record
    runs_dir: Path
    prepared: Prepared
    same: int = 0
    differences: dict[str, Difference] = field(default_factory=dict)
    """The first of each agent."""
    extra: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    events: int = 0
    state: str = ""
    report: object = None

    @classmethod
    def set_up(cls, record: Record, scratch: Path, inputs: Path | None) -> _Stage:
        """Return the stage, with a workspace whose top level looks like it did."""
        begun = record.begun
        workspace = scratch / "workspace" / (begun.root_name or "workspace")
        workspace.mkdir(parents=True)
        for name in begun.top_level or ():
            with suppress(OSError, ValueError):  # a name that no disk of ours takes
                path = workspace / name
                path.mkdir() if name.endswith("/") else path.touch()
        return cls(record, scratch / "runs", _prepared(record, workspace, inputs))

    @property
    def folder(self) -> RunFolder:
        """Return the folder of the run that is played."""
        return RunFolder(self.runs_dir / self.record.events[0].run)

    def host(self, part: Part, conductor: Conductor) -> Host:
        """Return what a process offers that only has the record."""
        record, on_request = self.record, partial(self.compare, part)
        model = RecordedModel(
            conductor, on_request, caches_prompts=record.caches_prompts
        )
        host = _bare_host(record, part, self.runs_dir)
        return replace(
            host,
            clock=conductor.clock,
            pool=ModelPool(model, conductor.clock),
            tools=recorded_tools((), conductor, extra=self._tools_of_others()),
            asker=RecordedAsker(conductor) if self._can_ask() else None,
            outside=RecordedOutside(conductor, record.hashes),
            through=partial(recorded_tools, conductor=conductor, extra={}),
        )

    def _tools_of_others(self) -> dict[str, dict[str, Any]]:
        """Return what agents were told of the tools that are not the program's."""
        task = self.prepared.task
        there = available_tools(task.permissions, has_memory=task.memory.has_entries)
        return {
            name: told
            for name, told in self.record.definitions.items()
            if name not in OUR_TOOLS or (name in NEEDS and name not in there)
        }

    def _can_ask(self) -> bool:
        """Return whether a person was there: agents had what is to be asked for."""
        permissions = self.prepared.task.permissions
        asked = {name for name, how in permissions.items() if how == "ask"}
        return any(NEEDS.get(name) in asked for name in self.record.allowed)

    def compare(self, part: Part, intent: int, request: ModelRequest) -> None:
        """Take note of a request that would be sent.

        Args:
            part: that is played.
            intent: place of its intent among the events of the part, or -1.
            request: what would be sent.
        """
        if intent < 0:
            return  # told by its event, unless it is beyond what there was time for
        event = part.events[intent]
        if event.data["sha256"] != sha256(request.body):
            before = self.record.events[: part.first + intent]
            found = first_difference(before, event, request)
            self.differences.setdefault(event.agent, found)

    def played(self, conductor: Conductor) -> None:
        """Take note of what a part came to."""
        self.events += conductor.compared
        self.same += conductor.same
        for each in conductor.extra:
            self.extra.append(f"{each.agent} {each.kind}".strip())
            if each.kind == ModelRequested.KIND:
                turn, said = each.data["turn"], f"{each.data['bytes']:,} bytes"
                more = Difference(each.agent, 0, turn, "one more request", "", said)
                self.differences.setdefault(each.agent, more)
        left = [*conductor.missing, *conductor.left()]
        self.missing += [f"{each.seq} {each.agent} {each.kind}" for each in left]

    def result(self, took_s: float) -> Replayed:
        """Return what came of it all."""
        events, ended = self.record.events, self.record.parts[-1].ended
        first, last = (datetime.fromisoformat(events[at].at) for at in (0, -1))
        sent = sum(each.kind == ModelRequested.KIND for each in events)
        state = ended.state if ended else "crashed"
        return Replayed(
            run=events[0].run,
            requests=sent,
            same=self.same,
            differences=tuple(self.differences.values()),
            extra=tuple(self.extra),
            missing=tuple(self.missing),
            events=self.events,
            total=len(events),
            state=(state, self.state),
            report_is_same=self.report == _reported(events),
            has_report=self.report is not None,
            parts=len(self.record.parts),
            recorded_s=(last - first).total_seconds(),
            took_s=took_s,
        )


def _play(stage: _Stage, part: Part) -> None:
    """Do again what one process did."""
    clock = VirtualClock(datetime.fromisoformat(part.events[0].at))
    person = Person(stage.folder)
    conductor = Conductor(part, clock, say=person.say)
    host = replace(stage.host(part, conductor), on_open=person.hears)

    def follow(event: Event) -> None:
        if event.kind == RunStarted.KIND:
            _bring(stage.record.folder.artifacts, stage.folder.artifacts)
        elif event.kind == ReportSubmitted.KIND:
            stage.report = _handed_in(event)
        conductor.follow(event)

    async def work() -> str:
        # It belongs to this event loop. What comes after a pause is another part.
        live = Live(on_event=follow, keeps_paused=False)
        conductor.stop = live.stop
        if part.first == 0:
            begun = stage.record.begun
            origin = Origin(part.events[0].run, bytes.fromhex(begun.salt))
            result = await start(stage.prepared, host, live, origin=origin)
        else:
            result = await resume_run(_past(stage, part, host), host, live)
        return result.state

    state = run_virtual(work, clock, conductor.idle)
    stage.state = "crashed" if conductor.is_killed else state
    stage.played(conductor)


def _past(stage: _Stage, part: Part, host: Host) -> Past:
    """Return the run as the processes before this one left it, byte for byte."""
    folder = stage.folder
    whole = stage.record.folder.events.read_bytes()
    folder.events.write_bytes(whole[: part.offset])
    for each in (folder.snapshot, folder.progress):
        each.unlink(missing_ok=True)
    overrides = {
        f"limits.{name}": orjson.dumps(value).decode()
        for name, value in part.limits.items()
    }
    question = part.reopened.question if part.reopened else ""
    return read_past(folder, host, overrides, question=question)


def _bare_host(record: Record, part: Part, runs_dir: Path) -> Host:
    """Return a host without anything that only a live process has."""
    settings = replace(Settings.load({}), endpoint_lacks=record.without)
    clock = SystemClock()
    return Host(
        runs_dir=runs_dir,
        settings=settings,
        env={},
        clock=clock,
        pool=ModelPool(None, clock),
        price=record.prices(part),
        brings_model=True,
    )


def _prepared(record: Record, workspace: Path, inputs: Path | None) -> Prepared:
    """Return the task, its profiles and prompts; what runs outside is on record only.

    Raises:
        SpecError: one of them is wrong.
    """
    host = _bare_host(record, record.parts[0], workspace)
    prepared = prepared_again(
        record.folder,
        host,
        {"workspace": str(workspace)},
        record.begun,
        inputs=inputs,
        has_extras=False,
    )
    without: dict[str, Any] = {"mcp_servers": {}, "tools": (), "skills": ()}
    return replace(
        prepared,
        task=prepared.task.model_copy(update=without),
        skills=tuple(map(_skill, record.begun.skills)),
    )


def _bring(artifacts: Path, to: Path) -> None:
    """Put what is stored of a run where its replay finds it; the disk is not filled."""
    for path in artifacts.glob("art_*"):
        try:
            os.link(path, to / path.name)
        except OSError:  # another file system, or one without links
            shutil.copyfile(path, to / path.name)


def _skill(told: Mapping[str, str]) -> Skill:
    return Skill(told["name"], told["description"], Path(told["folder"]))


def _handed_in(event: Event) -> object:
    return event.data.get("report"), event.data.get("result")


def _reported(events: Sequence[Event]) -> object:
    """Return what the lead handed in last, or None."""
    found = [each for each in events if each.kind == ReportSubmitted.KIND]
    return _handed_in(found[-1]) if found else None
