from __future__ import annotations

import errno
from pathlib import Path

import pytest
from store_parts import full_disk

from orchestrator.errors import StoreError
from orchestrator.store.disk import (
    reason,
    remove_halves,
    write_atomic,
    write_beside,
    write_derived,
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
        (errno.ENOTDIR, "a file is where a folder is needed"),
        (errno.EXDEV, "cross-device"),
    ],
)
def test_every_refusal_of_the_disk_is_told_in_plain_words(
    code: int, words: str
) -> None:
    assert words in reason(OSError(code, "cross-device link"))


def test_an_error_without_a_code_is_told_as_it_is() -> None:
    assert reason(OSError("odd")) == "odd"


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"old")

    write_atomic(path, b"new")

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"old")

    with full_disk(100), pytest.raises(StoreError, match="file-size limit"):
        write_atomic(path, b"n" * 1000)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_derived_file_is_replaced_as_a_whole_too(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"
    path.write_bytes(b"old")

    write_derived(path, b"new")
    with full_disk(100), pytest.raises(StoreError, match="file-size limit"):
        write_derived(path, b"n" * 1000)

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_way_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.mkdir()

    with pytest.raises(StoreError, match=r"cannot write `.*run.json`"):
        write_atomic(path, b"x")

    assert list(tmp_path.iterdir()) == [path]


def test_missing_folders_are_made_below_one_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "agents" / "a1" / "notes.md"

    write_derived(path, b"new", within=tmp_path)

    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("within", [True, False])
def test_a_folder_that_was_deleted_does_not_come_back(
    tmp_path: Path, within: bool
) -> None:
    run = tmp_path / "run"

    with pytest.raises(StoreError, match="the file or its folder is gone"):
        write_derived(run / "a1" / "notes.md", b"x", within=run if within else None)

    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_is_to_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "agents").write_bytes(b"")

    with pytest.raises(StoreError, match="a file is where a folder is needed"):
        write_derived(tmp_path / "agents" / "a1" / "x", b"x", within=tmp_path)


def test_what_a_killed_process_left_half_written_goes_and_nothing_else(
    tmp_path: Path,
) -> None:
    half = write_beside(tmp_path / "run.json", b"{")
    others = {"run.json", "notes.tmp", ".hidden.tmp", ".run.json.swp"}
    for name in others:
        (tmp_path / name).write_text("kept")

    remove_halves(tmp_path)
    remove_halves(tmp_path / "gone")

    assert not half.exists()
    assert {path.name for path in tmp_path.iterdir()} == others
