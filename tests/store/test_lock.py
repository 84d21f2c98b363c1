from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from store_parts import full_disk, new_log, reopened

from orchestrator.errors import RunBusy, StoreError
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock, _lock_now, holder, is_held

HOLD = """
import sys, pathlib
from orchestrator.store.lock import RunLock
lock = RunLock(pathlib.Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_held_lock_refuses_a_second_writer_and_names_the_first(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"

    with RunLock(path) as first:
        first.acquire()
        held = holder(path)
        assert is_held(RunFolder(path.parent))
        assert held is not None
        with pytest.raises(RunBusy, match=f"in use by process {held.pid}, since 20"):
            RunLock(path).acquire()

    assert not is_held(RunFolder(path.parent))
    assert holder(path) is None


def test_a_killed_writer_leaves_the_lock_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert is_held(RunFolder(path.parent))
        process.kill()
        process.wait()

    assert not is_held(RunFolder(path.parent))
    RunLock(path).acquire()


def test_a_lock_that_tells_no_holder_is_still_busy(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        path.write_text("{}")
        with pytest.raises(RunBusy, match="another process"):
            RunLock(path).acquire()


def test_release_twice_and_release_unheld_do_nothing(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "lock")
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()

    assert not is_held(RunFolder(tmp_path))


def test_no_file_means_not_held(tmp_path: Path) -> None:
    assert not is_held(RunFolder(tmp_path))
    assert holder(tmp_path / "lock") is None


def test_readers_that_look_do_not_keep_a_writer_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            is_held(RunFolder(path.parent))

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(20):
            with RunLock(path):
                pass
    finally:
        done.set()
        for reader in readers:
            reader.join()


def test_a_replaced_lock_file_lets_nobody_in_by_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        path.unlink()
        with RunLock(path):
            assert is_held(RunFolder(path.parent))


def test_a_lock_on_a_file_that_was_replaced_meanwhile_does_not_count(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    with path.open("w") as old:
        path.rename(tmp_path / "old")
        assert not _lock_now(old.fileno(), path)
        path.touch()
        assert not _lock_now(old.fileno(), path)


def test_a_folder_that_is_gone_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot lock"):
        RunLock(tmp_path / "none" / "lock").acquire()


def test_a_full_disk_takes_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    with full_disk(0), pytest.raises(StoreError, match="cannot lock"):
        RunLock(path).acquire()

    assert not is_held(RunFolder(path.parent))


def test_a_log_has_one_writer_even_without_the_lock_file(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    assert is_held(RunFolder(tmp_path))
    with pytest.raises(RunBusy, match="in use by another process"):
        reopened(tmp_path)

    log.close()
    assert not is_held(RunFolder(tmp_path))
    reopened(tmp_path).close()
