"""What people and their tools leave in the folder breaks nothing, and nothing of it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from memory_desk import AUTHOR, Desk

from orchestrator.errors import StoreError, ToolError
from orchestrator.memory.entries import Place, parse_topic
from orchestrator.memory.folder import Changed, Folder
from orchestrator.memory.keeping import Drop, Put
from orchestrator.memory.rules import FORGOTTEN, PERSONS
from orchestrator.runtime.toolbox import workspace_of
from orchestrator.spec.task import Task

VALUE = "Tokens live for 15 minutes."


def command(desk: Desk, **args: object) -> str:
    return desk.memory().commands(AUTHOR).run(args)


@pytest.fixture
def large(desk: Desk) -> Desk:
    """A file with so much by a person that its end is not read."""
    desk.put("Tokens", VALUE)
    more = "".join(f"\n## Mine {n}\n\n{'x' * 3_900}\n" for n in range(60))
    desk.write("auth.md", desk.read("auth.md") + more)
    return desk


def test_a_file_that_is_read_in_part_is_never_written(large: Desk) -> None:
    before = large.read("auth.md")

    assert "over 200 kB" in large.keep(Drop("Tokens"))[0].why
    with pytest.raises(StoreError, match="nothing was forgotten"):
        large.memory().forget(["Tokens"])
    with pytest.raises(ToolError, match=r"nothing was deleted: .* over 200 kB"):
        command(large, command="delete", path="/memories/auth.md")
    large.day = "2029-01-01"
    assert large.memory().tidy() == []

    assert large.read("auth.md") == before
    assert not (large.folder / ".forgotten").exists()


def test_a_name_that_is_no_utf8_is_passed_over(desk: Desk) -> None:
    desk.put("Tokens", VALUE)
    with open(os.path.join(os.fsencode(desk.folder), b"caf\xe9.md"), "wb") as file:  # noqa: PTH118, PTH123
        file.write(b"## Other\n\nOther words.\n")

    assert [each.entry.key for each in desk.memory().recall(["tokens"])] == ["Tokens"]
    assert "caf" not in command(desk, command="view", path="/memories")
    assert desk.put("Sign", "Signed with RS256.").what == "new"


def test_a_byte_order_mark_hides_no_entry(desk: Desk) -> None:
    desk.write("x.md", "\ufeff## Deploys\r\n\r\nOn Tuesdays.\r\n")

    assert desk.keys() == ["Deploys"]
    assert desk.put("deploys", "On Fridays.").why == PERSONS
    assert desk.read("x.md").startswith("\ufeff## Deploys")


def test_signs_that_are_no_text_do_not_get_into_a_file(desk: Desk) -> None:
    text = "# Ti\ud800tle\n\nAbout \x00it.\n\n## K\udc80ey\n\nValue.\n"
    command(desk, command="create", path="/memories/a.md", file_text=text)
    command(
        desk,
        command="create",
        path="/memories/b.md",
        file_text="# B\n\n## \udcff\n\nv\n",
    )

    assert desk.read("a.md").startswith("# Ti\ufffdtle\n\nAbout it.\n\n## K\ufffdey\n")
    assert [each.title for each in desk.memory().topics()] == ["Ti\ufffdtle", "B"]


@pytest.mark.parametrize("field", ["was", "source", "evidence"])
def test_a_long_run_of_blanks_is_read_at_once(field: str) -> None:
    text = f"## Key\n\nValue.\n\n- {field}: a{' ' * 50_000}b\n"
    start = time.perf_counter()

    assert len(parse_topic(text, "x.md").entries) == 1

    assert time.perf_counter() - start < 2  # it was 7 s, and four times that for 100k


@pytest.mark.parametrize("name", ["notes.txt", "pictures", "link.md"])
def test_what_is_no_topic_is_not_renamed(desk: Desk, name: str) -> None:
    desk.put("Tokens", VALUE)
    (desk.folder / "notes.txt").write_text("mine")
    (desk.folder / "pictures").mkdir()
    (desk.folder / "link.md").symlink_to(desk.work)

    with pytest.raises(ToolError, match="does not exist"):
        command(
            desk, command="rename", old_path=f"/memories/{name}", new_path="/memories/z"
        )


def test_forgetting_finds_half_written_files_everywhere(desk: Desk) -> None:
    desk.put("Tokens", VALUE)
    desk.write("api/.new.md.0123456789ab.tmp", VALUE)
    desk.write(".auth.md.0123456789ab.tmp", VALUE)
    later = time.time() + 9_999  # the clock was set back
    os.utime(desk.folder / ".auth.md.0123456789ab.tmp", (later, later))

    desk.memory().forget(["Tokens"])

    assert not list(desk.folder.rglob("*.tmp"))


def test_what_was_forgotten_outlives_the_index(desk: Desk) -> None:
    desk.put("Tokens", VALUE)
    desk.memory().forget(["Tokens"])
    shutil.rmtree(desk.folder / ".index")

    assert desk.put("Tokens", VALUE).why == FORGOTTEN


def test_a_lock_that_was_deleted_is_none(desk: Desk) -> None:
    desk.put("Tokens", VALUE)
    folder = Folder(desk.folder)
    with folder.lock() as lease:
        before = folder.read("auth.md")
        shutil.rmtree(desk.folder / ".index")
        other = desk.put("Sign", "Signed with RS256.", "sign.md")  # by another lock
        assert other.what == "new"
        with pytest.raises(Changed):
            folder.write(lease, "auth.md", "", before=before)

    assert desk.keys() == ["Tokens", "Sign"]


def test_an_open_block_of_code_above_the_entries_is_refused(desk: Desk) -> None:
    desk.put("Tokens", VALUE)

    with pytest.raises(ToolError, match="a block of code is not closed"):
        command(
            desk,
            command="insert",
            path="/memories/auth.md",
            insert_line=1,
            insert_text="```\n",
        )


def test_no_seal_is_taken_of_a_line_with_a_secret(desk: Desk) -> None:
    desk.redacted = {"4711": "[secret:pin:00000000]"}
    (desk.work / "a.env").write_text("PIN=4711\nPORT=80\n")
    places = (Place("a.env", 1), Place("a.env", 2))

    desk.keep(Put("auth.md", "Settings", "They are in a.env.", places))

    (known,) = desk.memory().entries()
    assert known.states == ("unknown", "unchanged")


def test_memory_of_a_project_within_is_hidden(tmp_path: Path) -> None:
    task = Task(objective="x", workspace=tmp_path)
    for name in (".orchestrate/memory/a.md", "sub/.orchestrate/memory/a.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("## Key\n\nValue.\n")

        with pytest.raises(ToolError, match="excluded"):
            workspace_of(task, None).resolve_file(name)
