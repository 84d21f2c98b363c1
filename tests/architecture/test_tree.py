"""The tree is about the project, not about the machine it was written on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_OURS = {".git", ".venv", "build", "dist", "node_modules", "__pycache__"}
THIS = Path(__file__).name

MACHINE = re.compile(
    r"(?<![\w./~-])/(?:work|root|tmp|workspace|Users)/[\w.-]+/[\w.-]"
    r"|(?<![\w./~-])/(?:work/(?:main|shared)|opt/(?:pypi|wheels))\b"
    r"|\.\./shared/"
)
REGISTRY = re.compile(
    r"index-url|PIP_INDEX_URL|UV_INDEX|find-links"
    r"|\b(?:pypi\.org|pythonhosted\.org|npmjs\.org)\b"
    r"|https?://[^\s/]*(?:artifactory|nexus|mirror|registry)[^\s/]*/"
)


def our_files() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder)
        folders[:] = [
            name
            for name in sorted(folders)
            if name not in NOT_OURS
            and not name.endswith(("_cache", ".egg-info"))
            and name != ".hypothesis"
            and (here != ROOT or name != "runs")
        ]
        # In a worktree `.git` is a file, which says where the repository is.
        yield from (here / name for name in files if name not in (THIS, ".git"))


FILES = list(our_files())


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    return found


def test_the_walk_sees_the_project() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in FILES}

    assert {"pyproject.toml", ".ci/run", "orchestrator/errors.py"} <= names


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY], ids=["path", "registry"])
def test_no_line_names_a_path_or_registry_of_a_machine(
    pattern: re.Pattern[str],
) -> None:
    assert lines_with(pattern) == []


def test_no_line_names_this_checkout() -> None:
    # A place as short as `/app` is a word that any text may hold.
    places = [place for place in {str(ROOT), str(Path.home())} if len(place) > 6]

    for place in places:
        assert lines_with(re.compile(rf"{re.escape(place)}\b")) == []


@pytest.mark.parametrize(
    "manual",
    [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))],
    ids=lambda path: path.name,
)
def test_links_of_a_manual_lead_somewhere(manual: Path) -> None:
    text = manual.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    places = re.findall(r"\]\(#([^)\s]+)\)", text)
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    there = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in titles}

    assert [link for link in links if not (manual.parent / link).exists()] == []
    assert [place for place in places if place not in there] == []
