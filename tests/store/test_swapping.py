"""A file that is written anew under the hands of people who edit it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.store.swapping import (
    KEPT_S,
    MAX_READ_BYTES,
    MOST_TRIES,
    Exchange,
    SwappedFile,
)

WAYS = [
    pytest.param(None, id="exchanged"),
    pytest.param(lambda _one, _other: False, id="moved away first"),
]


@pytest.fixture(params=WAYS)
def file(tmp_path: Path, request: pytest.FixtureRequest) -> SwappedFile:
    exchange: Exchange | None = request.param
    return SwappedFile(tmp_path / "progress.md", exchange=exchange)


def put(file: SwappedFile, text: bytes) -> list[Path]:
    beside, _ = file.write_beside(text)
    return file.swap(beside)


def test_the_first_one_has_nothing_to_be_swapped_with(file: SwappedFile) -> None:
    assert put(file, b"new") == []
    assert file.path.read_bytes() == b"new"
    assert [each.name for each in file.path.parent.iterdir()] == ["progress.md"]


def test_what_stood_there_is_still_there(file: SwappedFile) -> None:
    file.path.write_bytes(b"of a person")

    [old] = put(file, b"new")

    assert old.read_bytes() == b"of a person"
    assert file.path.read_bytes() == b"new"
    assert file.old_files() == [old]


def test_what_others_put_there_at_the_same_time_is_kept_as_well(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"
    files = iter([b"second", b"third"])

    def exchange(_one: Path, _other: Path) -> bool:
        return False

    class Raced(SwappedFile):
        def _moved_away(self) -> list[Path]:
            moved = super()._moved_away()
            if (data := next(files, None)) is not None:
                path.write_bytes(data)
            return moved

    file = Raced(path, exchange=exchange)
    path.write_bytes(b"first")

    old = put(file, b"new")

    assert [each.read_bytes() for each in old] == [b"first", b"second", b"third"]
    assert path.read_bytes() == b"new"


def test_every_later_change_has_another_stamp(file: SwappedFile) -> None:
    beside, stamp = file.write_beside(b"as it was")
    file.swap(beside)
    assert file.stamp() == stamp

    with file.path.open("r+b") as opened:
        opened.write(b"AS")

    assert file.stamp() != stamp


def test_who_has_it_open_is_known_and_keeps_it(file: SwappedFile) -> None:
    file.path.write_bytes(b"one")
    with file.path.open("ab") as editor:
        [old] = put(file, b"new")
        found = file.read(old)
        assert found is not None
        assert found.is_open
        assert not file.drop(old, found.stamp, age_s=KEPT_S - 1)
        editor.write(b" two")

    later = file.read(old)
    assert later is not None
    assert (later.data, later.is_open) == (b"one two", False)
    assert not file.drop(old, found.stamp, age_s=0)
    assert file.drop(old, later.stamp, age_s=0)
    assert not old.exists()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_left_alone(file: SwappedFile, kind: str) -> None:
    if kind == "folder":
        file.path.mkdir()
        (file.path / "mine").write_bytes(b"x")
    else:
        os.mkfifo(file.path)

    with pytest.raises(StoreError, match="it is not a file; move it away"):
        file.stamp()
    if kind == "pipe":
        assert file.read() is None
    assert [each.name for each in file.path.parent.iterdir()] == ["progress.md"]


def test_a_link_is_not_followed(file: SwappedFile) -> None:
    secret = file.path.with_name("secret")
    secret.write_bytes(b"of somebody")
    file.path.symlink_to(secret)

    assert file.read() is None
    [old] = put(file, b"new")

    assert file.path.read_bytes() == b"new"
    assert secret.read_bytes() == b"of somebody"
    assert file.drop(old, file.stamp(old), age_s=0)
    assert not old.is_symlink()


def test_no_more_is_read_than_notes_can_have(file: SwappedFile) -> None:
    file.path.write_bytes(b"x" * (MAX_READ_BYTES + 5))

    found = file.read()

    assert found is not None
    assert len(found.data) == MAX_READ_BYTES + 1


def test_what_is_set_aside_has_a_name_of_its_own(file: SwappedFile) -> None:
    file.path.write_bytes(b"first")
    first = file.set_aside(file.path)
    again = file.set_aside(file.path)
    [old] = put(file, b"new")
    second = file.set_aside(file.path)

    assert (first.name, again, second.name) == (
        "progress.kept-1.md",
        first,
        "progress.kept-2.md",
    )
    assert file.set_aside(old) == first
    assert first.read_bytes() == b"first"


def test_nothing_is_left_of_what_could_not_be_written(tmp_path: Path) -> None:
    file = SwappedFile(tmp_path / "gone" / "progress.md")

    with pytest.raises(StoreError, match="cannot write"):
        file.write_beside(b"new")
    assert file.stamp() is None
    assert file.read() is None
    assert file.old_files() == []


def test_a_swap_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def exchange(_one: Path, _other: Path) -> bool:
        raise OSError(errno.EIO, "input/output error")

    file = SwappedFile(tmp_path / "progress.md", exchange=exchange)
    file.path.write_bytes(b"as it was")

    with pytest.raises(StoreError, match="the disk reports an error"):
        put(file, b"new")

    assert [each.name for each in tmp_path.iterdir()] == ["progress.md"]
    assert file.path.read_bytes() == b"as it was"


def test_who_is_always_faster_is_let_go_first(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"

    class Raced(SwappedFile):
        def _moved_away(self) -> list[Path]:
            moved = super()._moved_away()
            path.write_bytes(b"of a person")
            return moved

    file = Raced(path, exchange=lambda _one, _other: False)

    with pytest.raises(StoreError, match="cannot write"):
        put(file, b"new")

    assert path.read_bytes() == b"of a person"
    assert len(file.old_files()) == MOST_TRIES - 1
