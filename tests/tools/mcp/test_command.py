from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import SpecError
from orchestrator.security.sandbox import Sandbox
from orchestrator.security.workspace import Workspace
from orchestrator.spec.mcp_servers import mcp_servers
from orchestrator.tools.mcp.command import command_of
from orchestrator.tools.mcp.process import Command


class Place:
    """A home with programs, and a workspace beside it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()

    def put(self, name: str, text: str = "#!/bin/sh\n") -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def command(self, **entry: Any) -> Command:
        [(name, server)] = mcp_servers({"s": entry}, {}).items()
        return command_of(
            name,
            server,
            workspace=self.work,
            sandbox=Sandbox(Workspace(self.work)),
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], "KEY": "ours"},
        )

    def shown(self, **entry: Any) -> set[str]:
        """Return what of the home is seen inside, relative to it."""
        parts = self.command(**entry).hidden.decode().split("\0")
        targets = [
            b for a, b in zip(parts, parts[2:], strict=False) if a == "--ro-bind"
        ]
        return {
            str(Path(each).relative_to(self.home))
            for each in targets
            if Path(each).is_relative_to(self.home)
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_installation_is_seen_whole(place: Place) -> None:
    program = place.put("venv/bin/server")

    assert place.shown(command=str(program)) == {"venv"}


def test_links_are_followed_to_where_the_program_lies(place: Place) -> None:
    real = place.put("tools/x/bin/server")
    link = place.home / ".local/bin/server"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)

    assert place.shown(command=str(link)) == {".local/bin/server", "tools/x"}


def test_the_interpreter_of_a_script_is_seen(place: Place) -> None:
    python = place.put("venvs/a/bin/python")
    script = place.put(".local/bin/server", f"#!{python} -s\n")

    assert place.shown(command=str(script)) == {".local/bin/server", "venvs/a"}


def test_a_home_is_not_seen_for_a_program_in_it(place: Place) -> None:
    place.put(".ssh/id", "private")
    place.put("server.py", "")

    assert place.shown(command=str(place.put("bin/server"))) == {"bin/server"}
    seen = place.shown(command="sh", args=[str(place.home / "server.py")])
    assert seen == {"server.py"}


def test_a_script_is_seen_with_its_project(place: Place) -> None:
    place.put("code/weather/pyproject.toml", "")
    script = place.put("code/weather/src/server.py")
    module = place.put("node/node_modules/@org/x/dist/index.js")

    assert place.shown(command="sh", args=[str(script)]) == {"code/weather"}
    assert place.shown(command="sh", args=[str(module)]) == {"node/node_modules"}


def test_a_folder_that_is_named_is_seen(place: Place) -> None:
    (place.home / "documents").mkdir()

    seen = place.shown(command="sh", args=[str(place.home / "documents"), "relative"])

    assert seen == {"documents"}


def test_the_environment_is_the_entrys_own(place: Place) -> None:
    boxed = place.command(command="sh", env={"A": "b"})
    free = place.command(command="sh", env={"A": "b"}, sandbox=False)

    assert set(boxed.env) == {"PATH"}
    assert b"--setenv\0A\0b\0" in boxed.hidden
    assert free.env["A"] == "b"
    assert "KEY" not in free.env
    assert free.hidden == b""


def test_a_program_of_the_workspace_counts_from_there(place: Place) -> None:
    (place.work / "serve").write_text("#!/bin/sh\n")
    with pytest.raises(SpecError, match="no program"):
        place.command(command="./serve", sandbox=False)

    (place.work / "serve").chmod(0o755)

    found = place.command(command="./serve", sandbox=False)
    assert found.argv == [str(place.work / "serve")]
