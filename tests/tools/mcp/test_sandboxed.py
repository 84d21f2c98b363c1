"""Servers in the sandbox: what they see, what they may, and that nothing is left."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp_bench import MADE, RAW, calling, have_ended, raw

from orchestrator.errors import SpecError
from orchestrator.security.sandbox import Sandbox
from orchestrator.security.workspace import Workspace

pytestmark = pytest.mark.slow

BOXED = {"sandbox": True, "env": {"TOKEN": "t0p-s3cret-value"}}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return a server that lies in the workspace."""
    work = tmp_path / "work"
    work.mkdir()
    return Path(shutil.copy(RAW, work / "server.py"))


async def test_a_server_sees_the_workspace_and_its_own_environment_only(
    tmp_path: Path, script: Path
) -> None:
    async with calling(tmp_path, s=raw(script=script, options=BOXED)) as bench:
        place = json.loads(await bench.text("place"))

    assert place["cwd"] == str(tmp_path / "work")
    assert place["written"] == "OSError"
    assert "TOKEN" in place["env"]
    known = {"HOME", "LANG", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "SHLVL", "TERM",
             "TMPDIR", "TOKEN", "USER", "_", "LC_CTYPE"}  # fmt: skip
    assert set(place["env"]) <= known


async def test_writing_is_allowed_where_the_task_allows_it(
    tmp_path: Path, script: Path
) -> None:
    sandbox = Sandbox(Workspace(script.parent), writable=True)
    entry = raw(script=script, options=BOXED)

    async with calling(tmp_path, sandbox, s=entry) as bench:
        assert json.loads(await bench.text("place"))["written"] == "written"

    assert (script.parent / "new-file").read_text() == "x"


async def test_the_environment_is_not_in_the_list_of_processes(
    tmp_path: Path, script: Path
) -> None:
    async with calling(tmp_path, s=raw(script=script, options=BOXED)) as bench:
        await bench.text("echo")
        lines = command_lines().values()

    assert any(b"server.py" in line for line in lines)
    assert not any(b"t0p-s3cret" in line for line in lines)


async def test_what_left_its_group_ends_with_the_server(
    tmp_path: Path, script: Path
) -> None:
    mark = f"600.{id(script) % 100_000:05}"
    entry = raw(script=script, options=BOXED)

    async with calling(tmp_path, s=entry) as bench:
        await bench.text("child", away=True, seconds=mark)
        with anyio.fail_after(30):
            while not (found := sleeping(mark)):  # noqa: ASYNC110 - not ours
                await anyio.sleep(0.01)

    assert await have_ended(*found)


def sleeping(mark: str) -> list[int]:
    """Return the processes that sleep for so long, as they are seen from outside."""
    wanted = f"sleep\0{mark}\0".encode()
    return [number for number, line in command_lines().items() if line == wanted]


def command_lines() -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found[int(path.parent.name)] = path.read_bytes()
    return found


async def test_what_fetches_its_server_is_told_that_there_is_no_network(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    program = tmp_path / "work" / "npx"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)

    with pytest.raises(SpecError, match="`npx` fetches what it starts"):
        async with calling(tmp_path, s={"command": "./npx"}):
            pass


async def test_a_server_of_an_environment_of_its_own_finds_its_packages(
    tmp_path: Path,
) -> None:
    """The SDK lies in the environment of these tests, the script beside them."""
    entry = {"command": sys.executable, "args": [str(MADE), "stdio"], "start_s": 60}

    async with calling(tmp_path, made=entry) as bench:
        assert await bench.text("add", a=1) == "2"
        content = (await bench.call("dot_twice")).content
        assert isinstance(content, list)
        assert [block["type"] for block in content] == ["text", "image"]
