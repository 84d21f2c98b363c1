"""Servers that others made and many use, in the sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp_bench import calling

pytestmark = pytest.mark.slow

BESIDE = Path(sys.executable).parent
NODE_FOLDER = Path(sys.prefix) / "share" / "mcp-servers"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"


async def test_the_time_server_tells_the_time(tmp_path: Path) -> None:
    entry = {
        "command": str(BESIDE / "mcp-server-time"),
        "args": ["--local-timezone", "Europe/Oslo"],
        "start_s": 60,
        "context_fields": {"convert_time": ["time_difference"]},
    }

    async with calling(tmp_path, time=entry) as bench:
        assert "get_current_time" in bench.registry.names
        now = json.loads(await bench.text("get_current_time", timezone="Asia/Tokyo"))
        assert now["timezone"] == "Asia/Tokyo"
        said = await bench.text(
            "convert_time",
            source_timezone="Asia/Tokyo",
            time="12:00",
            target_timezone="Asia/Kolkata",
        )
        assert '"-3.5h"' in said
        assert "Kolkata" not in said
        assert "`timezone` is missing" in await bench.error("get_current_time")
        assert "Mars" in await bench.error("get_current_time", timezone="Mars/Base")


async def test_the_git_server_reads_the_workspace_and_cannot_change_it(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    (work / "a.txt").write_text("one\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "the first"]):
        await anyio.run_process([*git, *command])
    (work / "a.txt").write_text("two\n")
    entry = {"command": str(BESIDE / "mcp-server-git"), "start_s": 60}

    async with calling(tmp_path, git=entry) as bench:
        log = await bench.text("git_log", repo_path=str(work), max_count="3")
        assert "the first" in log
        assert "+two" in await bench.text("git_diff_unstaged", repo_path=str(work))
        said = await bench.error("git_add", repo_path=str(work), files=["a.txt"])
        assert "Read-only file system" in said


@pytest.mark.skipif(shutil.which("npm") is None, reason="Node.js is not installed")
async def test_the_server_with_everything(tmp_path: Path) -> None:
    script = node_server()
    entry = {"command": "node", "args": [str(script), "stdio"], "start_s": 60}

    async with calling(tmp_path, all=entry) as bench:
        names = set(bench.registry.names)
        assert {"echo", "get-sum", "get-tiny-image", "mcp_resource"} <= names
        assert await bench.text("echo", message="hello") == "Echo: hello"
        assert "5" in await bench.text("get-sum", a="2", b=3)
        image = (await bench.call("get-tiny-image")).content
        assert isinstance(image, list)
        assert [each["type"] for each in image].count("image") == 1
        assert len(json.dumps(bench.registry.definitions())) < 40_000
        listed = await bench.text("mcp_resource", server="all")
        uri = listed.split(" ")[0]
        assert await bench.text("mcp_resource", server="all", uri=uri)


def node_server() -> Path:
    """Return the script of the server; it is installed once, beside these packages."""
    packages = NODE_FOLDER / "node_modules"
    found = packages / EVERYTHING.rpartition("@")[0] / "dist" / "index.js"
    if not found.exists():
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        subprocess.run(
            ["npm", "install", "--prefix", str(NODE_FOLDER), *quiet, EVERYTHING],
            check=True,
            timeout=300,
        )
    return found
