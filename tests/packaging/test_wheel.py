"""What is in the wheel, and that nothing else is needed to use it."""

from __future__ import annotations

import email
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
Command = Callable[..., str]


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def command(wheel: Path, install: Callable[..., Command]) -> Command:
    return install(wheel)


def in_tree(folder: str, pattern: str) -> set[str]:
    found = (ROOT / folder).rglob(pattern)
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_wheel_holds_the_package_and_its_metadata_alone(names: set[str]) -> None:
    top = {name.split("/")[0] for name in names}

    assert sorted(each.split("-")[0] for each in top) == ["orchestrator"] * 2
    assert all(each == "orchestrator" or each.endswith(".dist-info") for each in top)


def test_every_module_is_in_the_wheel(names: set[str]) -> None:
    modules = in_tree("orchestrator", "*.py")

    assert {name for name in names if name.endswith(".py")} == modules
    assert "orchestrator/py.typed" in names


def test_agents_and_prompts_are_in_the_wheel_word_for_word(
    wheel: Path, names: set[str]
) -> None:
    data = in_tree("agents", "*.md") | in_tree("prompts", "*.md")
    inside = {f"orchestrator/_data/{name}" for name in data}

    assert {name for name in names if name.startswith("orchestrator/_data/")} == inside
    with zipfile.ZipFile(wheel) as archive:
        for name in data:
            packed = archive.read(f"orchestrator/_data/{name}")
            assert packed == (ROOT / name).read_bytes()


def test_metadata_name_the_licence_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {
            name.split("/", 1)[1]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }

    metadata = email.message_from_string(files["METADATA"])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in files["licenses/LICENSE"]
    assert "orchestrate = orchestrator.cli.entry:main" in files["entry_points.txt"]


def test_command_works_in_a_clean_environment(command: Command) -> None:
    shown = command("orchestrate", "--help")

    assert "Usage: orchestrate" in shown
    assert shown == command("python", "-m", "orchestrator", "--help")


def test_shipped_profiles_are_found_without_the_checkout(command: Command) -> None:
    shown = command("orchestrate", "agents")

    for profile in in_tree("agents", "*.md"):
        assert Path(profile).stem in shown


def test_a_run_works_in_a_clean_environment(command: Command) -> None:
    command("python", "-c", "open('facts.md', 'w').write('The tower is 93 m tall.\\n')")

    report = command(
        "orchestrate", "run", "--objective", "How tall is the tower?",
        "--model", "offline", "--quiet",
    )  # fmt: skip

    assert "[facts.md:1" in report
