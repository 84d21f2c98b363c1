"""Stopped in any way, a run leaves nothing at work, loses nothing and can go on."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from explore_policy import TASK, ExplorePolicy, lay_parts, part_of, replies_in
from fake_endpoint import Answer, FakeEndpoint, raw, stream, tool_use
from live_process import ORCHESTRATE, LiveProcess, environment, live

from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import text_of
from orchestrator.store.reading import read_events

PARTS = 8
GONE_S = 2.0
"""How soon after a signal nothing may be left."""
NEVER = r"[a-z]+ [0-9]{7}x"


AFTER = 2
"""Calls of a worker before it comes to a halt."""


@dataclass
class Searching(ExplorePolicy):
    """Workers of some parts search for a long time, and hand in after that."""

    searching: frozenset[int] = frozenset()

    def _worker(self, asked: dict[str, Any], done: int) -> list[dict[str, Any]]:
        part = part_of(asked)
        if part in self.searching and done == AFTER:
            path = f"part{part}/hay"
            return [tool_use("toolu_slow", "grep", pattern=NEVER, path=path)]
        return super()._worker(asked, done)


@dataclass
class Held:
    """An exploring run in which every worker comes to a halt, most in a request."""

    policy: Searching = field(default_factory=lambda: Searching(PARTS, 4))
    is_open: bool = False
    held: set[int] = field(default_factory=set)

    def __call__(self, asked: dict[str, Any]) -> Answer:
        part = part_of(asked)
        done = replies_in(asked)
        if self.is_open or not part or done < AFTER:
            return self.policy(asked)
        self.held.add(part)
        if part in self.policy.searching:
            return self.policy(asked)
        return raw(ending="hang")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lay_parts(tmp_path / "work", PARTS)
    (tmp_path / "task.yaml").write_text(TASK)
    return tmp_path


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def endpoint(held: Held) -> Iterator[FakeEndpoint]:
    with FakeEndpoint(held) as server:
        yield server


def lay_hay(hay: Path) -> None:
    """A search in here takes many seconds: one file under many names."""
    hay.mkdir()
    line = "these words are looked at one by one and never matched 123456\n"
    (hay / "0.txt").write_text(line * 150_000)
    for number in range(1, 2000):
        os.link(hay / "0.txt", hay / f"{number}.txt")


def run_command(*more: str) -> list[str]:
    return [*ORCHESTRATE, "run", "task.yaml", "--quiet", *more]


def orchestrate(place: Path, url: str, *given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ORCHESTRATE, *given],
        cwd=place,
        env=environment(place, url),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def answered(endpoint: FakeEndpoint, work: LiveProcess) -> list[tuple[str, int]]:
    """Agent and turn of each reply that the log holds."""
    return [
        (event.agent, event.data["turn"])
        for event in read_events(work.run.events)
        if event.kind == "model.answered"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_with_eight_at_work_leaves_nothing_and_resume_completes(
    place: Path, held: Held, endpoint: FakeEndpoint, number: signal.Signals
) -> None:
    held.policy.searching = frozenset({2, 5})
    for part in held.policy.searching:
        lay_hay(place / "work" / f"part{part}" / "hay")
    env = environment(place, endpoint.url)
    with live(run_command(), place, env) as work:
        work.until(lambda: len(held.held) == PARTS)
        work.until(lambda: len(work.children()) == 2)

        began = work.send(number)
        status, out, err = work.ended(GONE_S + 3)
        took = time.monotonic() - began
        sent = len(endpoint.requests)

        assert (status, out) == (130, "")
        assert err.splitlines()[0] == "stopping; once more to end at once"
        assert "Traceback" not in err
        assert took < GONE_S
        assert not work.alive()
        assert work.view().state == "interrupted"
        before = answered(endpoint, work)

    for part in held.policy.searching:
        shutil.rmtree(place / "work" / f"part{part}" / "hay")
    held.is_open = True
    resumed = orchestrate(place, endpoint.url, "resume", "last", "--quiet")

    assert resumed.returncode == 0, resumed.stderr
    assert work.view().state == "done"
    assert endpoint.violations == held.policy.violations == []
    after = answered(endpoint, work)
    assert len(set(after)) == len(after)
    assert set(before) < set(after)
    # One call of each that hung; whoever searched got its answer before.
    assert len(endpoint.requests) - sent == len(after) - len(before)


@pytest.mark.slow
def test_a_terminal_that_closes_sends_more_than_one_signal(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    env = environment(place, endpoint.url)
    with live(run_command(), place, env) as work:
        work.until(lambda: len(held.held) == PARTS)
        for _ in range(3):
            work.send(signal.SIGHUP)
        status, _, _ = work.ended(GONE_S + 3)

    assert status == 130
    assert work.view().state == "interrupted"


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    script = place / "script.py"
    script.write_text(STUBBORN)
    env = environment(place, endpoint.url)
    with live([sys.executable, str(script)], place, env) as work:
        assert work.process.stdout is not None
        assert work.process.stdout.readline() == "it is at work\n"
        work.send(signal.SIGINT)
        assert work.process.stdout.readline() == "it is asked to end\n"

        began = work.send(signal.SIGINT)
        status, _, err = work.ended()

        assert time.monotonic() - began < 0.5
        assert status == -signal.SIGINT
        assert "Traceback" not in err

    assert work.view().state == "crashed"


STUBBORN = """
from pathlib import Path
from typing import ClassVar
import anyio
from pydantic import BaseModel
from orchestrator.cli.signals import stop_on_signal
from orchestrator.runtime.host import Host
from orchestrator.runtime.prepare import prepare
from orchestrator.runtime.live import Live
from orchestrator.runtime.start import start
from orchestrator.spec.task import Task
from orchestrator.testing import ScriptedModel, call

class No(BaseModel):
    pass

class Stubborn:
    name: ClassVar[str] = "stubborn"
    description: ClassVar[str] = "Does not end."
    Args: ClassVar[type[BaseModel]] = No
    effects: ClassVar[str] = "effects"
    timeout_s: ClassVar[float] = 60

    async def run(self, args, context):
        try:
            print("it is at work", flush=True)
            await anyio.sleep_forever()
        finally:
            print("it is asked to end", flush=True)
            with anyio.CancelScope(shield=True):
                await anyio.sleep_forever()

async def main():
    host = Host.of_process(
        runs_dir=Path("runs"),
        model=ScriptedModel([call("stubborn")]),
        tools=(Stubborn(),),
    )
    task = Task(objective="Try it.", workspace="work", context=(), model="offline")
    prepared = prepare(
        task, settings=host.settings, env=host.env, price_of=host.price,
        task_folder=Path("work"), needs_credentials=False,
    )
    live = Live()
    async with anyio.create_task_group() as group:
        await group.start(stop_on_signal, live)
        await start(prepared, host, live)
        group.cancel_scope.cancel()

anyio.run(main)
"""


@pytest.mark.slow
def test_stop_from_another_terminal_is_like_ctrl_c(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    env = environment(place, endpoint.url)
    with live(run_command(), place, env) as work:
        work.until(lambda: len(held.held) == PARTS)

        stopped = orchestrate(place, endpoint.url, "stop", "last")
        status, _, err = work.ended()

    assert (stopped.returncode, stopped.stderr) == (0, "")
    name = work.run.id
    assert stopped.stdout == (
        f"interrupted: runs/{name}; `orchestrate resume {name}` goes on\n"
    )
    assert status == 130
    assert "Traceback" not in err
    assert work.view().state == "interrupted"
    assert list(work.run.control.iterdir()) == []
    held.is_open = True
    assert orchestrate(place, endpoint.url, "resume", "last").returncode == 0


@pytest.mark.slow
def test_one_subagent_is_stopped_for_good_and_its_siblings_go_on(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    env = environment(place, endpoint.url)
    with live(run_command(), place, env) as work:
        work.until(lambda: len(held.held) == PARTS)

        stopped = orchestrate(place, endpoint.url, "stop", "last", "--agent", "a3")
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert stopped.stdout.startswith("cancelled: a3 (run ")
        assert work.counts("subagent.ended") == 1
        again = orchestrate(place, endpoint.url, "stop", "last", "--agent", "a3")
        assert again.returncode == 2
        assert "`a3` has ended already (cancelled)" in again.stderr
        assert orchestrate(place, endpoint.url, "stop", "last").returncode == 0
        assert work.ended()[0] == 130

    held.is_open = True
    resumed = orchestrate(place, endpoint.url, "resume", "last", "--quiet")

    assert resumed.returncode == 3, resumed.stderr
    [missing] = work.view().missing
    assert missing.startswith("subagent a3 (Part 3) was cancelled: a person stopped it")
    assert missing in (work.run.path / "report.md").read_text()
    told = text_of(endpoint.requests[-1]["messages"][-1]["content"])
    assert "cancelled (a person stopped it with `orchestrate stop`)" in told
    assert endpoint.violations == held.policy.violations == []
    ended = {agent.id: agent.label for agent in work.view().subagents}
    assert ended.pop("a3") == "cancelled"
    assert set(ended.values()) == {"complete"}
    shown = orchestrate(place, endpoint.url, "show", "last").stdout
    assert re.search(r"a3 Part 3 +cancelled", shown)


@pytest.mark.slow
def test_the_end_of_one_lets_the_run_end_when_nobody_else_is_at_work(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    held.policy = Searching(1, 4)
    env = environment(place, endpoint.url)
    with live(run_command(), place, env) as work:
        work.until(lambda: len(held.held) == 1)
        assert orchestrate(
            place, endpoint.url, "stop", "last", "--agent", "a1"
        ).returncode in (0, 2)
        status, out, _ = work.ended()

    assert status == 3
    assert "was cancelled" in out


STARTS = (0.0, 0.05, 0.2, 0.5, 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_first_second_is_one_line_and_no_traceback(
    place: Path, number: signal.Signals
) -> None:
    # Once the interpreter runs code of ours; what comes before is not in our hands.
    ready = "import sys; print(flush=True); from orchestrator.cli.entry import main"
    command = [sys.executable, "-c", f"{ready}; sys.exit(main())"]
    seen: list[str] = []
    for delay in STARTS:
        shutil.rmtree(place / "runs", ignore_errors=True)
        with FakeEndpoint(lambda _asked: raw(ending="hang")) as hanging:
            env = environment(place, hanging.url)
            with live([*command, "run", "task.yaml", "--quiet"], place, env) as work:
                assert work.process.stdout is not None
                work.process.stdout.readline()
                work.until(lambda: heard(work.process.pid, number))
                time.sleep(delay)
                work.send(number)
                status, _, err = work.ended()
        assert status == 130, (delay, err)
        assert "Traceback" not in err
        seen.append(err)
        runs = list((place / "runs").glob("2*"))
        if err == "interrupted\n":
            assert runs == []
        else:
            [run] = runs
            assert err.splitlines()[-1].startswith(f"interrupted: runs/{run.name}")
    assert "interrupted\n" in seen


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_run_is_being_set_up_leaves_a_whole_run_or_none(
    place: Path, number: signal.Signals
) -> None:
    with FakeEndpoint(lambda _asked: raw(ending="hang")) as hanging:
        env = environment(place, hanging.url)
        with live(run_command(), place, env) as work:
            work.until(lambda: any((place / "runs").glob("2*")))
            work.send(number)
            status, _, err = work.ended()

    assert status == 130
    assert err.splitlines()[0] == "stopping; once more to end at once"
    assert err.splitlines()[-1].startswith(f"interrupted: runs/{work.run.id}")
    assert work.view().state == "interrupted"


def heard(pid: int, number: signal.Signals) -> bool:
    """Whether a process catches a signal by a handler of its own."""
    status = Path(f"/proc/{pid}/status").read_text()
    [caught] = re.findall(r"SigCgt:\s*(\w+)", status)
    is_caught = bool(int(caught, 16) >> (number - 1) & 1)
    # Python catches SIGINT itself, from the start; SIGTERM comes after ours.
    if number == signal.SIGINT:
        return is_caught and heard(pid, signal.SIGTERM)
    return is_caught


@pytest.mark.slow
def test_a_closed_terminal_stops_the_run_gently(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    master, slave = pty.openpty()
    env = {**environment(place, endpoint.url), "TERM": "xterm"}
    process = subprocess.Popen(
        ["setsid", "--ctty", *ORCHESTRATE, "run", "task.yaml"],
        cwd=place,
        env=env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    work = LiveProcess(process, place, set())
    try:
        work.until(lambda: len(held.held) == PARTS)
        os.close(master)
        assert process.wait(10) == 130
    finally:
        process.kill()
        process.wait()

    assert work.view().state == "interrupted"


@pytest.mark.slow
def test_under_nohup_a_closed_terminal_is_nothing(
    place: Path, held: Held, endpoint: FakeEndpoint
) -> None:
    env = environment(place, endpoint.url)
    with live(["nohup", *run_command()], place, env) as work:
        work.until(lambda: len(held.held) == PARTS)
        work.send(signal.SIGHUP)
        work.send(signal.SIGTERM)
        status, _, err = work.ended()

    assert status == 130
    assert err.count("stopping; once more") == 1


INTERRUPTED = """
import sys, time
from pathlib import Path
from typing import ClassVar
from pydantic import BaseModel
from orchestrator import Task, run_task, Orchestrator
import anyio

class No(BaseModel):
    pass

class Sleeps:
    name: ClassVar[str] = "appends"
    description: ClassVar[str] = "Appends a line, slowly."
    Args: ClassVar[type[BaseModel]] = No
    effects: ClassVar[str] = "effects"
    timeout_s: ClassVar[float] = 60

    def run(self, args, context):
        with Path("lines.txt").open("a") as file:
            file.write("a line\\n")
        time.sleep(30)
        return "appended"

async def resume():
    async with Orchestrator(tools=[Sleeps()]) as here:
        print((await here.resume("last")).report)

if sys.argv[1] == "run":
    task = Task(
        objective="Append a line.", workspace="work", context=(),
        model="claude-haiku-5-5",
    )
    try:
        print(run_task(task, tools=[Sleeps()]).state)
    except KeyboardInterrupt:
        sys.exit(130)
else:
    anyio.run(resume)
"""


@pytest.mark.slow
def test_a_call_that_was_interrupted_is_answered_before_the_run_goes_on(
    place: Path, held: Held
) -> None:
    (place / "script.py").write_text(INTERRUPTED)
    report = tool_use("toolu_2", "finish", report="A line was appended, or not.")
    script = [stream(tool_use("toolu_1", "appends")), stream(report)]
    with FakeEndpoint(script) as endpoint:
        env = environment(place, endpoint.url)
        command = [sys.executable, "script.py"]
        with live([*command, "run"], place, env) as work:
            work.until((place / "lines.txt").exists)
            began = datetime.now(UTC)
            work.send(signal.SIGINT)
            status, _, err = work.ended(GONE_S + 3)
            assert status == 130, err
            last = list(read_events(work.run.events))[-1]
            assert (datetime.fromisoformat(last.at) - began).total_seconds() < GONE_S
            assert work.view().state == "interrupted"
            assert len(endpoint.requests) == 1
        with live([*command, "resume"], place, env) as again:
            status, out, err = again.ended()

    assert status == 0, err
    assert "A line was appended, or not." in out
    assert endpoint.violations == []
    [result] = endpoint.requests[1]["messages"][-1]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "toolu_1")
    assert result["is_error"]
    assert text_of([result]) == UNKNOWN
    assert (place / "lines.txt").read_text() == "a line\n"
