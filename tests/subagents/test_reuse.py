from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.brief import Brief
from orchestrator.brief.paths import MAX_ENTRIES
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.reuse import is_same_work, tree_hash

BRIEF: dict[str, Any] = {
    "title": "Token checks",
    "objective": "Which functions check a token, and what happens when it expired?",
    "questions": ["Where is `Token` made?", "Is n < 3 allowed?"],
    "background": "Tokens are JWTs.",
    "scope": {"include": ["src", "docs/"], "exclude": ["*.pem"]},
    "deliverable": {"form": "one item per function", "max_tokens": 800},
    "tools": ["grep", "read_file"],
}


def brief(**changed: Any) -> Brief:
    return Brief.model_validate(BRIEF | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"title": "token  CHECKS!"},
        {"objective": str(BRIEF["objective"]).replace(" ", "\n ")},
        {"background": "Tokens are JWTs"},
        {"questions": [*reversed(BRIEF["questions"])]},
        {"scope": {"include": ["./docs", "src/"], "exclude": ["*.pem"]}},
        {"tools": ["read_file", "grep"]},
        {"limits": {"usd": 0.1}},
    ],
)
def test_the_same_work_in_other_clothes_is_the_same(changed: dict[str, Any]) -> None:
    assert is_same_work(brief(), brief(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "Session checks"},
        {"objective": "Which functions check a session?"},
        {"questions": ["Where is `token` made?", "Is n < 3 allowed?"]},
        {"questions": ["Where is `Token` made?", "Is n > 3 allowed?"]},
        {"questions": BRIEF["questions"][:1]},
        {"background": "Tokens are opaque."},
        {"scope": {"include": ["src"], "exclude": ["*.pem"]}},
        {"scope": {"include": ["src", "docs"]}},
        {"deliverable": {"form": "one item per function", "max_tokens": 900}},
        {"deliverable": {"form": "one item per file", "max_tokens": 800}},
        {"tools": None},
        {"tools": ["grep"]},
        {"agent": "reviewer"},
    ],
)
def test_other_work_is_other_work(changed: dict[str, Any]) -> None:
    assert not is_same_work(brief(), brief(**changed))
    assert not is_same_work(brief(**changed), brief())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/a.py", "src/deep/b.py", "docs/c.md", ".git/index", "top.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}\n")
    return tmp_path


def in_scope(root: Path, *include: str, exclude: tuple[str, ...] = ()) -> str:
    return tree_hash(Workspace(root).narrowed(include, exclude))


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "one more line\n")


def edit_same_size(path: Path) -> None:
    """Change a file so that only its time of change tells; clocks tick in steps."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text(path.read_text().upper())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    """Put another file of the same size and time in its place."""
    before = path.stat()
    other = path.with_name("other")
    other.write_text(path.read_text().upper())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


CHANGES: list[Callable[[Path], object]] = [
    lambda root: edit(root / "src/a.py"),
    lambda root: edit_same_size(root / "src/a.py"),
    lambda root: replace(root / "src/deep/b.py"),
    lambda root: (root / "src/new.py").write_text(""),
    lambda root: (root / "src/deep/b.py").unlink(),
    lambda root: (root / "src/a.py").rename(root / "src/z.py"),
    lambda root: (root / "src/deep").rename(root / "src/other"),
    lambda root: (root / "src/empty").mkdir(),
    lambda root: (root / "src/link").symlink_to("a.py"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_in_scope_changes_the_hash(
    root: Path, change: Callable[[Path], object]
) -> None:
    whole, part, file = in_scope(root), in_scope(root, "src"), in_scope(root, "src/*")
    other = in_scope(root, "docs"), in_scope(root, "top.txt")

    change(root)

    assert in_scope(root) != whole
    assert in_scope(root, "src") != part
    assert in_scope(root, "src/*") != file
    assert (in_scope(root, "docs"), in_scope(root, "top.txt")) == other
    assert all(len(each) == 64 for each in (whole, part, file, *other))


def test_what_stays_gives_the_same_hash_wherever_it_is_read_from(root: Path) -> None:
    link = root.parent / f"{root.name}-link"
    link.symlink_to(root)

    edit_nothing = in_scope(root)
    (root / "src/a.py").read_text()

    assert in_scope(root) == edit_nothing == tree_hash(Workspace(link))


def test_what_is_out_of_scope_does_not_count(root: Path) -> None:
    before = in_scope(root, exclude=("docs", "*.txt"))

    edit(root / "docs/c.md")
    edit(root / "top.txt")

    assert in_scope(root, exclude=("docs", "*.txt")) == before


def test_what_belongs_to_no_project_counts_only_where_it_is_named(root: Path) -> None:
    whole, git = in_scope(root), in_scope(root, ".git")

    edit(root / ".git/index")

    assert in_scope(root) == whole
    assert in_scope(root, ".git") != git


def test_folders_of_runs_do_not_count(root: Path) -> None:
    run = root / "runs" / "20261129-201500-survey-7f3a"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    log = run / "events.jsonl"
    log.write_text("{}\n")
    (run / "report.md").write_text("It is so.\n")
    before, report = in_scope(root), in_scope(root, f"runs/{run.name}/report.md")

    edit(log)
    (run / "agents").mkdir()

    assert in_scope(root) == before
    assert in_scope(root, f"runs/{run.name}/report.md") == report
    edit(run / "report.md")
    assert in_scope(root, f"runs/{run.name}/report.md") != report


def test_a_link_counts_by_itself_not_by_what_it_leads_to(root: Path) -> None:
    (root / "src/link").symlink_to(root / "docs")
    (root / "src/loop").symlink_to(root / "src")
    before = in_scope(root, "src")

    edit(root / "docs/c.md")

    assert before
    assert in_scope(root, "src") == before


def test_odd_names_are_taken_as_they_are(root: Path) -> None:
    hashes = {in_scope(root)}
    for name in ("a\nb", "中文.md", "[id]", " ", "x" * 255):
        (root / name).write_text("")
        hashes.add(in_scope(root))
    (root / os.fsdecode(b"\xff\xfe.txt")).write_text("")
    hashes.add(in_scope(root))

    assert len(hashes) == 7
    assert "" not in hashes


def test_a_tree_that_cannot_be_looked_at_is_not_known(root: Path) -> None:
    assert tree_hash(Workspace(root / "nowhere")) == ""
    assert tree_hash(Workspace(root / "top.txt")) == ""


@pytest.mark.slow
def test_a_tree_with_too_many_entries_is_not_known(root: Path) -> None:
    many = root / "many"
    many.mkdir()
    for number in range(MAX_ENTRIES + 1):
        (many / str(number)).touch()

    assert in_scope(root) == ""
    assert in_scope(root, "src") != ""
    assert in_scope(root, "many/1?") != ""
    shutil.rmtree(many)
