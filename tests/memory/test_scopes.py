"""Scopes lie beside each other, and nothing leads from one into another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from memory_desk import AUTHOR, Desk

from orchestrator.errors import SpecError, StoreError, ToolError
from orchestrator.memory.keeping import Put
from orchestrator.memory.memory import Memory
from orchestrator.memory.places import OWN_FOLDER, scope_folder

SECRET = "The harbour code is Quetzal."


class TestPlaces:
    def test_a_project_has_its_own_below_the_workspace(self, tmp_path: Path) -> None:
        folder = scope_folder("project", workspace=tmp_path, memory_dir=None, env={})

        assert folder == tmp_path / OWN_FOLDER / "memory"
        assert not folder.parent.exists()

    def test_two_workspaces_of_one_name_have_two(self, tmp_path: Path) -> None:
        folders = [
            scope_folder(
                "project",
                workspace=tmp_path / above / "app",
                memory_dir=tmp_path / "m",
                env={},
            )
            for above in "ab"
        ]

        assert folders[0] != folders[1]
        assert {f.parent for f in folders} == {tmp_path / "m" / "projects"}
        assert {f.name[:4] for f in folders} == {"app-"}

    def test_one_workspace_by_two_names_has_one(self, tmp_path: Path) -> None:
        (tmp_path / "work").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "work")
        one, two = (
            scope_folder(
                "project", workspace=tmp_path / name, memory_dir=tmp_path, env={}
            )
            for name in ("work", "link")
        )

        assert one == two

    @pytest.mark.parametrize(
        ("env", "memory_dir", "folder"),
        [
            ({"HOME": "/h"}, None, "/h/.local/share/orchestrate/memory"),
            ({"XDG_DATA_HOME": "/d", "HOME": "/h"}, None, "/d/orchestrate/memory"),
            ({"XDG_DATA_HOME": "d", "HOME": "/h"}, None,
             "/h/.local/share/orchestrate/memory"),
            ({"HOME": "/h"}, Path("/m"), "/m/user"),
        ],
    )  # fmt: skip
    def test_a_user_has_one_for_all_projects(
        self, env: dict[str, str], memory_dir: Path | None, folder: str
    ) -> None:
        found = scope_folder(
            "user", workspace=Path("/w"), memory_dir=memory_dir, env=env
        )

        assert found == Path(folder)

    @pytest.mark.parametrize("name", [OWN_FOLDER, f"{OWN_FOLDER}/memory"])
    def test_a_link_in_the_way_is_refused(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "other").mkdir()
        link = tmp_path / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(tmp_path / "other")

        with pytest.raises(SpecError, match="is a link"):
            scope_folder("project", workspace=tmp_path, memory_dir=None, env={})


@pytest.fixture
def other(desk: Desk) -> Memory:
    """A scope in the next folder, with a secret of its own."""
    folder = desk.folder.parent / "other"
    memory = Memory(folder, workspace=None, redact=str, today=lambda: desk.day)
    memory.keep([Put("harbour.md", "harbour code", SECRET)], AUTHOR)
    return memory


QUERIES = [
    "harbour code", "*", "har*", '"', '" OR "', "key:harbour", "topic:*",
    "NEAR(harbour code)", "harbour' OR 1=1 --", "x; DROP TABLE entries",
    "../other/harbour.md", "ｈａｒｂｏｕｒ", "\u202eruobrah", "harb\u00adour", "(",
    "^harbour", "harbour AND NOT x", "\0harbour", "",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_no_query_finds_what_is_in_another_scope(
    desk: Desk, other: Memory, query: str
) -> None:
    desk.put("lighthouse", "It blinks twice.")
    memory = desk.memory()

    assert "harbour code" not in [k.entry.key for k in memory.recall([query, "code"])]
    assert memory.with_key(query) is None
    assert memory.forget([query]) == []
    assert [k.entry.value for k in other.entries()] == [SECRET]


@pytest.mark.parametrize(
    "path",
    [
        "../other/harbour.md",
        "/memories/../other/harbour.md",
        "..",
        "other/../../other/x.md",
    ],
)
def test_no_path_reaches_another_scope(desk: Desk, other: Memory, path: str) -> None:
    assert desk.put("k", "v", path).what == "refused"
    commands = desk.memory().commands(AUTHOR)
    for command in ("view", "delete"):
        with pytest.raises(ToolError):
            commands.run({"command": command, "path": f"/memories/{path}"})
    assert [k.entry.value for k in other.entries()] == [SECRET]


def test_links_in_the_folder_are_not_followed(desk: Desk, other: Memory) -> None:
    desk.put("k", "v")
    (desk.folder / "harbour.md").symlink_to(other.folder / "harbour.md")
    (desk.folder / "all").symlink_to(other.folder)
    memory = desk.memory()

    assert desk.keys() == ["k"]
    assert memory.recall(["harbour code"]) == []
    assert desk.put("other", "w", "b.md").what == "new"
    for path in ("harbour.md", "all/new.md"):
        outcome, fine = desk.keep(Put(path, "new", "w"), Put("b.md", path, "fine"))
        assert outcome.what == "refused"
        assert "cannot be" in outcome.why
        assert fine.what == "new"
    assert [p.name for p in sorted(other.folder.glob("*.md"))] == [
        "MEMORY.md", "harbour.md"
    ]  # fmt: skip


def test_an_index_that_is_a_link_is_made_anew(desk: Desk, other: Memory) -> None:
    other.recall(["harbour"])
    before = (other.folder / ".index" / "search.sqlite").stat().st_ino
    desk.put("k", "zebra")
    index = desk.folder / ".index" / "search.sqlite"
    for ending in ("", "-wal", "-shm"):
        Path(f"{index}{ending}").unlink(missing_ok=True)
    index.symlink_to(other.folder / ".index" / "search.sqlite")

    assert [k.entry.key for k in desk.memory().recall(["zebra"])] == ["k"]
    assert not index.is_symlink()
    assert (other.folder / ".index" / "search.sqlite").stat().st_ino == before
    assert [k.entry.key for k in other.recall(["harbour"])] == ["harbour code"]


def test_a_folder_that_is_a_link_is_refused(desk: Desk, other: Memory) -> None:
    desk.folder.symlink_to(other.folder)
    memory = desk.memory()

    assert "is a link" in memory.problem()
    for work in (memory.topics, memory.entries, lambda: desk.put("k", "v")):
        with pytest.raises(StoreError):
            work()


LOOKS = """
import json, sys
from pathlib import Path
from orchestrator.errors import StoreError
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory

memory = Memory(
    Path(sys.argv[1]), workspace=None, redact=str, today=lambda: "2026-11-29"
)
try:
    memory.keep([Put("a.md", "l", "v")], Author("r", "lead"))
    kept = ""
except StoreError as error:
    kept = str(error)
print(json.dumps({
    "problem": memory.problem(),
    "topics": [about.path for about in memory.topics()],
    "found": [known.entry.key for known in memory.recall(["zebra"])],
    "notice": memory.notice,
    "kept": kept,
}))
"""
"""Uses a memory, and tells what came of it."""


def test_what_can_only_be_read_is_read_and_searched(desk: Desk) -> None:
    desk.put("k", "zebra")
    # An administrator may write everywhere but on what is mounted read-only.
    away = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm"]
    script = [sys.executable, "-c", LOOKS, str(desk.folder)]
    done = subprocess.run(
        [*away, "--setenv", "TMPDIR", "/dev/shm", *script],
        capture_output=True,
        check=True,
    )

    told = json.loads(done.stdout)
    assert "the file system is read-only" in told["problem"]
    assert told["topics"] == ["auth.md"]
    assert told["found"] == ["k"]
    assert "the index is not kept" in told["notice"]
    assert "cannot be" in told["kept"]


def test_a_file_in_the_way_of_the_folder_is_told(desk: Desk) -> None:
    desk.folder.parent.write_text("a file")

    assert "is no folder" in desk.memory().problem()
    with pytest.raises(StoreError, match="cannot be written"):
        desk.put("k", "v")


def test_where_nothing_is_wrong_nothing_is_said_or_made(desk: Desk) -> None:
    assert desk.memory().problem() == ""
    assert not desk.folder.parent.exists()
    desk.put("k", "v")
    assert desk.memory().problem() == ""
    assert desk.memory().notice == ""


def test_a_damaged_index_is_made_anew_from_the_files(desk: Desk) -> None:
    desk.put("k", "zebra")
    desk.memory().recall(["zebra"])
    (desk.folder / ".index" / "search.sqlite").write_bytes(b"no database " * 500)

    assert [k.entry.key for k in desk.memory().recall(["zebra"])] == ["k"]
    assert desk.put("K", "giraffe").what == "updated"


def test_an_index_that_went_while_it_was_used_is_made_anew(desk: Desk) -> None:
    memory = desk.memory()
    memory.keep([Put("a.md", "k", "zebra")], AUTHOR)
    assert memory.recall(["zebra"])
    for path in (desk.folder / ".index").glob("search.sqlite*"):
        path.unlink()

    assert [k.entry.key for k in memory.recall(["zebra"])] == ["k"]
    (outcome,) = memory.keep([Put("b.md", "k", "giraffe")], AUTHOR)
    assert (outcome.what, outcome.topic) == ("updated", "a.md")
