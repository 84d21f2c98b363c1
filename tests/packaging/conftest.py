"""The wheel of this tree, built once, and a clean environment to install it in."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Command = Callable[..., str]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return its stdout; a failure shows what it said."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "ORCHESTRATE_", "PYTHON", "VIRTUAL_ENV"))
    }
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel"]
    run(*pip, "--quiet", "--no-deps", "-w", folder, ROOT, cwd=folder)
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Command]:
    """Return a function that installs into a new environment.

    What it returns runs a program of that environment, away from the checkout.
    """

    def install_all(*requirements: str | Path) -> Command:
        folder = tmp_path_factory.mktemp("installed")
        venv.create(folder / "venv", with_pip=True)
        bin_ = folder / "venv" / "bin"
        python = bin_ / "python"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "install", "--quiet", *requirements, cwd=folder)
        run(*pip, "check", cwd=folder)
        return lambda name, *args: run(bin_ / name, *args, cwd=folder)

    return install_all
