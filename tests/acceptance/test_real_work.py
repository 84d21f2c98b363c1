"""Agents that write, run commands and use strangers' tools: real work, no harm."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from made_up_secrets import FORMS
from mcp_bench import RAW, raw
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    last_results,
    submit,
)
from web_bench import DOCS, Allowed, FakeWeb, page

from orchestrator import Orchestrator
from orchestrator.cli.main import main
from orchestrator.errors import SpecError
from orchestrator.models.base import ModelRequest
from orchestrator.security.permissions import Answer, Ask
from orchestrator.testing import ScriptedModel, Step, call, fail

EXAMPLE = Path(__file__).parents[2] / "examples" / "fix-test"
IN_PAGE, IN_SERVER = FORMS["slack"], FORMS["stripe"]
IN_OUTPUT, IN_ENVIRONMENT = FORMS["github"], FORMS["npm"]
PASSWORD = "vK9" + "-tr41n_Qx7"
SECRETS = {
    "file": PASSWORD,
    "page": IN_PAGE,
    "server": IN_SERVER,
    "output": IN_OUTPUT,
    "environment": IN_ENVIRONMENT,
}

Capture = pytest.CaptureFixture[str]


def digests(folder: Path) -> dict[str, str]:
    """Path → digest of each file below `folder`."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_the_shipped_example_mends_a_program_and_nothing_else(tmp_path: Path) -> None:
    copy, elsewhere = tmp_path / "fix-test", tmp_path / "elsewhere"
    shutil.copytree(EXAMPLE, copy)
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("as it was\n")
    before = digests(EXAMPLE) | digests(elsewhere)

    done = subprocess.run(
        [sys.executable, str(copy / "replay.py"), "--runs-dir", str(tmp_path / "runs")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=elsewhere,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "-    return int(cents * percent / 100)" in done.stdout
    assert "+    return (cents * percent + 50) // 100" in done.stdout
    assert "1 file changed" in done.stdout
    assert digests(EXAMPLE) | digests(elsewhere) == before
    assert digests(copy) == {
        path.replace(str(EXAMPLE), str(copy)): digest
        for path, digest in digests(EXAMPLE).items()
    }


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    text = f"Ask for the door at noon.\nThe hook is {IN_PAGE} for all.\n"
    with FakeWeb({"/door": page(text)}).served() as served:
        yield served


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    text = f"The service starts at seven.\npassword = '{PASSWORD}'\nIt stops at nine.\n"
    return RunBench(tmp_path, {"service.md": text})


def put_together(secret: str) -> str:
    """Return a command that prints a secret which does not stand in it."""
    half = len(secret) // 2
    return f"printf '%s%s\\n' 'key: {secret[:half]}' '{secret[half:]}'"


@pytest.mark.slow
async def test_secrets_from_everywhere_get_nowhere_and_quotes_around_them_hold(
    bench: RunBench, web: FakeWeb, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", IN_ENVIRONMENT)
    parts = [f"the key is {IN_SERVER[:9]}", f"{IN_SERVER[9:]} now"]
    url = f"https://{DOCS}/door"

    def edits(request: ModelRequest) -> Step:
        [line] = [
            row.split("\t")[1]
            for row in last_results(request).splitlines()
            if "\tpassword" in row
        ]
        return call("edit_file", path="service.md", old=line, new=f"{line}  # kept")

    def hands_in(request: ModelRequest) -> Step:
        rows = last_results(request).splitlines()
        [quote] = [row.split("\t")[1] for row in rows if "\tThe hook is" in row]
        return submit(item("The hook has a door of its own.", f"{url}:2", quote))

    ended = await bench.play(
        in_turn(
            [
                call("read_file", path="service.md"),
                call("join", parts=parts),
                call(
                    "bash",
                    command=f"{put_together(IN_OUTPUT)}; env; cat /proc/*/environ",
                ),
            ],
            edits,
            call("bash", command="cat service.md; cut -d\\' -f2 service.md"),
            delegate(brief("Door")),
            finish("It starts at seven [service.md:1], see [a1#1]."),
        ),
        {"Door": in_turn(call("fetch_url", url=url), hands_in)},
        tools=[Allowed(web)],
        allow=["write", "shell"],
        mcp_servers={"stranger": raw()},
    )

    assert ended.result.state == "done", ended.result.missing
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    assert f"password = '{PASSWORD}'  # kept" in (bench.root / "service.md").read_text()
    for name, secret in SECRETS.items():
        needle = secret.encode()
        assert [r for r in ended.requests if needle in r.body] == [], f"{name}: sent"
        kept = [file for file, data in ended.everything() if needle in data]
        assert kept == [], f"{name}: on disk"
    run = str(ended.folder)
    for command in (
        *(["show"], ["show", "--changes"], ["notes"], ["logs"]),
        *(["transcript", "lead"], ["transcript", "a1"]),
    ):
        assert main([command[0], run, *command[1:]]) == 0
    shown = "".join(capsys.readouterr())
    assert [name for name, secret in SECRETS.items() if secret in shown] == []
    assert "# kept" in shown


async def test_a_secret_goes_into_a_command_only_where_the_task_allows_it(
    bench: RunBench,
) -> None:
    def uses(request: ModelRequest) -> Step:
        rows = last_results(request).splitlines()
        [row] = [each for each in rows if "\tpassword" in each]
        mark = row.partition("'")[2].rpartition("'")[0]
        return call("bash", command=f"printf %s '{mark}' | wc -c")

    async def run(allow: list[Any]) -> str:
        ended = await bench.play(
            in_turn(call("read_file", path="service.md"), uses, finish("Done.")),
            {},
            allow=allow,
        )
        return last_results(ended.requests[-1])

    assert f"stdout:\n{len(PASSWORD)}" in await run(["shell", "secrets"])
    assert "does not allow `secrets`" in await run(["shell"])


def printed(ended: Ended) -> str:
    return last_results(ended.requests[-1])


async def test_a_subagent_without_tools_that_write_runs_commands_that_cannot(
    bench: RunBench,
) -> None:
    results: list[str] = []

    def reports(request: ModelRequest) -> Step:
        results.append(last_results(request))
        return submit(status="nothing_found")

    await bench.play(
        in_turn(
            call("bash", command="echo lead > by-lead.txt"),
            delegate(brief("Reading")),
            finish("Done."),
        ),
        {"Reading": in_turn(call("bash", command="echo a1 > by-a1.txt"), reports)},
        allow=["write", "shell"],
    )

    assert (bench.root / "by-lead.txt").read_text() == "lead\n"
    assert not (bench.root / "by-a1.txt").exists()
    assert "Read-only file system" in results[0]


async def test_one_subagent_at_a_time_changes_files_until_it_has_ended(
    bench: RunBench,
) -> None:
    for name in ("first", "second"):
        profile = (
            f"---\nname: {name}\ndescription: Writes.\ntools: [write_file]\n---\nX\n"
        )
        bench.write(f"agents/{name}.md", profile)
    has_written, has_tried = anyio.Event(), anyio.Event()
    told: list[str] = []

    async def first(request: ModelRequest) -> Step:
        if len(request.messages) == 1:
            return call("write_file", path="first.txt", text="1\n")
        has_written.set()
        await has_tried.wait()
        return submit(status="nothing_found")

    async def second(request: ModelRequest) -> Step:
        await has_written.wait()
        if len(request.messages) == 1:
            return call("write_file", path="second.txt", text="2\n")
        told.append(last_results(request))
        has_tried.set()
        return submit(status="nothing_found")

    await bench.play(
        in_turn(
            delegate(brief("One", agent="first"), brief("Two", agent="second")),
            delegate(brief("Three", agent="second")),
            call("write_file", path="lead.txt", text="3\n"),
            finish("Done."),
        ),
        {"One": first, "Two": second, "Three": second},
        allow=["write"],
        agents=["first", "second"],
    )

    assert "`a1` is changing files, and one agent at a time may" in told[0]
    assert "created second.txt" in told[1]
    assert (bench.root / "first.txt").exists()
    assert (bench.root / "lead.txt").exists()


async def test_a_server_that_does_not_start_costs_nothing_and_leaves_nothing(
    bench: RunBench,
) -> None:
    model = ScriptedModel([])

    with pytest.raises(SpecError, match=r"mcp_servers.gone`: the server did not start"):
        await bench.run(
            model, mcp_servers={"gone": {"command": "/bin/false", "start_s": 10}}
        )

    assert model.requests == []
    assert [path for path in bench.runs.iterdir() if path.is_dir()] == []


@pytest.mark.slow
async def test_a_server_that_is_gone_on_resume_is_left_out(bench: RunBench) -> None:
    there = bench.folder / "server.py"
    shutil.copy(RAW, there)
    parked = await bench.run(
        ScriptedModel([call("echo", n=7), fail("quota_exhausted")]),
        mcp_servers={"stranger": raw(script=there)},
    )
    assert parked.result.state == "parked"
    there.unlink()

    model = ScriptedModel(in_turn(call("echo", n=8), finish("It says seven.")))
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        result = await here.resume("last")

    assert result.state == "done"
    assert "`echo` is no longer available" in last_results(model.requests[-1])


async def test_edits_and_commands_of_one_step_change_files_one_after_the_other(
    bench: RunBench,
) -> None:
    bench.write("a.txt", "one\n")
    ended = await bench.play(
        in_turn(
            call("read_file", path="a.txt"),
            [
                call("bash", command="x=$(cat a.txt); sleep 0.3; echo $x two > a.txt"),
                call("edit_file", path="a.txt", old="one", new="three"),
                call("write_file", path="b.txt", text="new\n"),
                call("bash", command="cat b.txt; echo old > c.txt"),
            ],
            finish("Done."),
        ),
        {},
        allow=["write", "shell"],
    )

    first, second = ended.results("bash")
    assert (bench.root / "a.txt").read_text() == "one two\n"
    assert "has changed since you read it" in ended.results("edit_file")[0]
    assert "Changed: a.txt\n" in first
    assert "Changed: c.txt (new)\nstdout:\nnew" in second


async def test_what_a_person_is_asked_is_written_down_without_secrets(
    bench: RunBench,
) -> None:
    shown: list[str] = []

    async def says_yes(agent: str, tool: str, ask: Ask) -> Answer:
        shown.append(ask.effect)
        return "once"

    model = ScriptedModel(
        in_turn(
            call("bash", command=f"test {IN_OUTPUT}"),
            call("bash", command=f"test {IN_OUTPUT}"),
            finish("Done."),
        )
    )
    async with Orchestrator(runs_dir=bench.runs, model=model, asker=says_yes) as here:
        ended = Ended(await here.run(bench.task(allow=[{"shell": "ask"}])), model)

    [asked] = ended.events("permission.asked")
    assert len(shown) == 1
    assert f"run: test {IN_OUTPUT}\n" in shown[0]
    assert "run: test [secret:" in asked.data["effect"]


async def test_a_secret_in_the_name_of_a_file_gets_nowhere_and_the_file_is_usable(
    bench: RunBench,
) -> None:
    bench.write(f"key-{IN_OUTPUT}.txt", "The door opens at noon.\n")

    def name(request: ModelRequest) -> str:
        [found] = [
            row.split(" (")[0]
            for row in last_results(request).splitlines()
            if row.startswith("key-")
        ]
        return found

    def reads(request: ModelRequest) -> Step:
        return call("read_file", path=name(request))

    def hands_in(request: ModelRequest) -> Step:
        shown = last_results(request).partition(".txt")[0] + ".txt"
        return submit(item("It opens at noon.", f"{shown}:1", "The door opens at noon"))

    def edits(request: ModelRequest) -> Step:
        shown = last_results(request).partition(".txt")[0] + ".txt"
        return [
            call("edit_file", path=shown, old="noon", new="one"),
            call("write_file", path=f"key-{IN_SERVER}.txt", text="new\n"),
        ]

    ended = await bench.play(
        in_turn(
            delegate(brief("Door")),
            call("list_dir", path=""),
            reads,
            edits,
            finish("It opens at noon [a1#1]."),
        ),
        {"Door": in_turn(call("list_dir", path=""), reads, hands_in)},
        allow=["write"],
    )

    assert ended.result.state == "done", ended.result.missing
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    changed = bench.root / f"key-{IN_OUTPUT}.txt"
    assert changed.read_text() == "The door opens at one.\n"
    assert [r for r in ended.requests if IN_OUTPUT.encode() in r.body] == []
    kept = [name for name, data in ended.everything() if IN_OUTPUT.encode() in data]
    assert kept == []
    told = [event for event in ended.events() if event.kind != "model.answered"]
    assert IN_SERVER not in repr(told)


async def test_a_server_gets_its_secret_again_on_resume_and_tells_it_to_nobody(
    bench: RunBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "plain-" + "words-of-9-team"
    says = "import os, sys; print(os.environ['API_TOKEN'], file=sys.stderr)"
    script = f"{says}\n{RAW.read_text()}".replace(
        "from __future__ import annotations", ""
    )
    script = script.replace("does {name}", "does {name} as {os.environ['API_TOKEN']}")
    there = bench.write("server.py", script)
    entry = raw(script=there, options={"env": {"API_TOKEN": token}})
    place = call("give", content=[{"type": "text", "text": f"I am {token}"}])

    parked = await bench.run(
        ScriptedModel([place, fail("quota_exhausted")]), mcp_servers={"s": entry}
    )
    monkeypatch.setenv("API_TOKEN", token)
    model = ScriptedModel([call("echo", n=7), call("die"), finish("Done.")])
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        ended = Ended(await here.resume("last"), model)

    assert parked.result.state == "parked"
    assert ended.results("echo") == ['{"n": 7}']
    assert "[secret:credential:" in ended.results("die")[0]
    described = [tool for tool in model.requests[0].tools if tool["name"] == "echo"]
    assert "does echo as [secret:credential:" in described[0]["description"]
    requests = [*parked.requests, *ended.requests]
    assert [r for r in requests if any(token in str(t) for t in r.tools)] == []
    events = [each for each in ended.events() if each.kind != "model.answered"]
    assert token not in repr(events)
    assert token not in ended.text("task.yaml")


async def test_commands_are_refused_where_they_could_change_earlier_runs(
    bench: RunBench,
) -> None:
    async with Orchestrator(runs_dir=bench.root, model=ScriptedModel([])) as here:
        with pytest.raises(SpecError, match="could change earlier ones"):
            await here.run(bench.task(allow=["write", "shell"]))
