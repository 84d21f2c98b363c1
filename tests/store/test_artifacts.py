from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_parts import full_disk

from orchestrator.errors import StoreError
from orchestrator.ids import artifact_id
from orchestrator.store.artifacts import Artifacts


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path)


def test_a_content_is_named_by_its_hash_and_comes_back(artifacts: Artifacts) -> None:
    ref = artifacts.put("höhe\n".encode(), "md")

    assert ref == artifact_id("höhe\n".encode())
    assert artifacts.path(ref).name == f"{ref}.md"
    assert artifacts.read_text(ref) == "höhe\n"
    assert artifacts.exists(ref)


def test_the_same_content_is_stored_once_whatever_its_extension(
    artifacts: Artifacts,
) -> None:
    refs = {artifacts.put(b"same"), artifacts.put(b"same", "json")}
    refs.add(Artifacts(artifacts.folder).put(b"same"))

    assert len(refs) == 1
    assert len(list(artifacts.folder.iterdir())) == 1


def test_threads_that_store_the_same_at_once_do_no_harm(artifacts: Artifacts) -> None:
    contents = [b"%d" % (n % 4) * 5000 for n in range(64)]

    with ThreadPoolExecutor(8) as pool:
        refs = list(pool.map(artifacts.put, contents))

    assert [artifacts.read(ref) for ref in refs] == contents
    assert len(list(artifacts.folder.iterdir())) == 4


def test_a_reader_finds_what_a_writer_stored_later(artifacts: Artifacts) -> None:
    reader = Artifacts(artifacts.folder)
    artifacts.put(b"first")
    reader.exists(artifact_id(b"first"))

    later = artifacts.put(b"second")

    assert reader.read(later) == b"second"


@pytest.mark.parametrize("ref", ["", "../x", "art_0123", "art_" + "G" * 12, "x" * 999])
def test_what_is_no_reference_is_refused(artifacts: Artifacts, ref: str) -> None:
    assert not artifacts.exists(ref)
    with pytest.raises(StoreError, match="is no reference") as caught:
        artifacts.path(ref)
    assert len(str(caught.value)) < 200


def test_an_unknown_reference_is_an_error(artifacts: Artifacts) -> None:
    with pytest.raises(StoreError, match=r"nothing is stored as `art_0{12}`"):
        artifacts.read_text("art_" + "0" * 12)


def test_a_missing_folder_holds_nothing(tmp_path: Path) -> None:
    assert not Artifacts(tmp_path / "none").exists("art_" + "0" * 12)


def test_an_extension_cannot_lead_elsewhere(artifacts: Artifacts) -> None:
    with pytest.raises(ValueError, match="`ext` must be"):
        artifacts.put(b"x", "../../x")


def test_a_damaged_content_is_an_error_when_read_and_healed_when_stored_again(
    artifacts: Artifacts,
) -> None:
    ref = artifacts.put(b"whole")
    artifacts.path(ref).write_bytes(b"who")

    with pytest.raises(StoreError, match="is damaged"):
        artifacts.read(ref)
    artifacts.put(b"whole")

    assert artifacts.read(ref) == b"whole"


def test_an_unreadable_content_is_an_error(artifacts: Artifacts) -> None:
    ref = artifact_id(b"x")
    (artifacts.folder / f"{ref}.txt").mkdir()

    with pytest.raises(StoreError, match="cannot read"):
        artifacts.read(ref)


def test_a_deleted_content_is_stored_again(artifacts: Artifacts) -> None:
    ref = artifacts.put(b"x")
    artifacts.path(ref).unlink()

    assert not artifacts.exists(ref)
    assert artifacts.put(b"x") == ref
    assert artifacts.read(ref) == b"x"


def test_a_full_disk_leaves_nothing_behind(artifacts: Artifacts) -> None:
    with full_disk(1000), pytest.raises(StoreError, match="cannot write"):
        artifacts.put(b"x" * 5000)

    assert list(artifacts.folder.iterdir()) == []


def test_a_deleted_folder_is_a_clear_error(artifacts: Artifacts) -> None:
    shutil.rmtree(artifacts.folder)

    with pytest.raises(StoreError, match="the file or its folder is gone"):
        artifacts.put(b"x")


def test_a_folder_in_the_place_of_a_content_leaves_no_half_file(
    artifacts: Artifacts,
) -> None:
    (artifacts.folder / f"{artifact_id(b'x')}.txt").mkdir()

    with pytest.raises(StoreError, match="cannot write"):
        artifacts.put(b"x")

    assert len(list(artifacts.folder.iterdir())) == 1


def test_two_contents_with_one_name_are_an_error_and_never_a_wrong_answer(
    artifacts: Artifacts,
) -> None:
    # Found by search: the first 48 bits of their SHA-256 are the same.
    first, second = b"c6007198", b"c8086181"
    ref = artifacts.put(first)
    assert artifact_id(second) == ref

    with pytest.raises(StoreError, match=f"two contents have the same name `{ref}`"):
        artifacts.put(second)

    assert artifacts.read(ref) == first
    assert len(list(artifacts.folder.iterdir())) == 1
