"""What is taken away or moved below a folder, and that no link leads out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.security.beneath import (
    is_there,
    move,
    remove_file,
    remove_folder,
    replace_file,
    stat_of,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder beside another one that is not to be reached."""
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "x.md").write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "y.md").write_text("y")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "a" / "link.md").symlink_to(tmp_path / "outside" / "y.md")
    return root


def found(root: Path, path: str) -> os.stat_result:
    there = stat_of(root, path)
    assert there is not None
    return there


def test_a_file_is_taken_away_as_it_was_found(root: Path) -> None:
    remove_file(root, "a/x.md", found=found(root, "a/x.md"))

    assert not (root / "a" / "x.md").exists()


def test_a_file_that_changed_meanwhile_stays(root: Path) -> None:
    before = found(root, "a/x.md")
    (root / "a" / "x.md").write_text("longer")

    with pytest.raises(OSError, match="changed meanwhile") as caught:
        remove_file(root, "a/x.md", found=before)
    assert caught.value.errno == errno.ESTALE
    assert (root / "a" / "x.md").read_text() == "longer"


def test_a_folder_goes_only_when_it_is_empty(root: Path) -> None:
    with pytest.raises(OSError, match="not empty"):
        remove_folder(root, "a")
    (root / "b" / "c").mkdir(parents=True)
    remove_folder(root, "b/c")

    assert (root / "b").is_dir()
    assert not (root / "b" / "c").exists()


def test_what_moves_makes_its_folders(root: Path) -> None:
    move(root, "a/x.md", "n/m/z.md")
    move(root, "n", "k")

    assert (root / "k" / "m" / "z.md").read_text() == "x"
    assert not (root / "n").exists()


def test_nothing_is_replaced_by_what_moves(root: Path) -> None:
    (root / "b.md").write_text("b")

    with pytest.raises(FileExistsError):
        move(root, "a/x.md", "b.md")
    with pytest.raises(FileNotFoundError):
        move(root, "a/no.md", "n/m/z.md")
    assert (root / "b.md").read_text() == "b"
    assert (root / "a" / "x.md").read_text() == "x"
    assert not (root / "n").exists()


@pytest.mark.parametrize(
    "work",
    [
        lambda root: remove_file(root, "out/y.md", found=(root / "out/y.md").stat()),
        lambda root: remove_folder(root, "out"),
        lambda root: move(root, "out/y.md", "y.md"),
        lambda root: move(root, "a/x.md", "out/x.md"),
        lambda root: move(root, "../outside/y.md", "y.md"),
        lambda root: move(root, "a/x.md", "../outside/x.md"),
        lambda root: replace_file(root, "out/z.md", b"z", found=None),
        lambda root: replace_file(root, "a/link.md", b"z", found=None),
    ],
)
def test_no_link_and_no_dots_lead_out(
    root: Path, tmp_path: Path, work: Callable[[Path], None]
) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        work(root)

    assert [p.name for p in (tmp_path / "outside").iterdir()] == ["y.md"]
    assert (tmp_path / "outside" / "y.md").read_text() == "y"
    assert (root / "a" / "x.md").exists()


def test_a_link_itself_is_seen_and_not_followed(root: Path) -> None:
    assert is_there(root, "a/link.md")
    assert stat_of(root, "out/y.md") is None
    assert stat_of(root, "no/x.md") is None


def test_what_is_derived_is_written_whole_too(root: Path) -> None:
    replace_file(root, "d.md", b"one", found=None, is_derived=True)
    replace_file(root, "d.md", b"two", found=found(root, "d.md"), is_derived=True)

    assert (root / "d.md").read_bytes() == b"two"
    assert sorted(p.name for p in root.iterdir()) == ["a", "d.md", "out"]
