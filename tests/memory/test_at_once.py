"""Many write at once, and nothing that anybody wrote is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from memory_desk import AUTHOR, Desk
from memory_writers import started, writes

from orchestrator.errors import StoreError
from orchestrator.memory.entries import parse_topic
from orchestrator.memory.folder import Folder
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory


def with_tidying(desk: Desk, writers: Sequence[subprocess.Popen[str]]) -> None:
    """Let processes write while another one tidies without a pause."""
    desk.folder.mkdir(parents=True)
    tidying = started(desk.folder, "tidy")
    try:
        assert tidying.stdout is not None
        assert tidying.stdin is not None
        tidying.stdout.readline()
        tidying.stdin.write("\n")
        tidying.stdin.flush()
        writes(writers)
        (desk.folder / "stop").touch()
        tidying.communicate(timeout=30)
    finally:
        tidying.kill()
    assert tidying.returncode == 0


def agrees(desk: Desk, keys: set[str]) -> None:
    """Check that files, index and page have exactly these keys."""
    memory = desk.memory()
    assert sorted(desk.keys()) == sorted(keys)
    for key in keys:
        known = memory.with_key(key)
        assert known is not None
        assert not known.entry.is_by_a_person
    assert sum(about.entries for about in memory.topics()) == len(keys)
    page = desk.read("MEMORY.md")
    for about in memory.topics():
        count = "1 entry" if about.entries == 1 else f"{about.entries} entries"
        assert f"({about.path}): {about.title} ({count}, newest" in page


def test_two_processes_write_while_another_tidies(desk: Desk) -> None:
    with_tidying(desk, [started(desk.folder, "keep", name, 10) for name in "ab"])

    agrees(desk, {f"{name} {number}" for name in "ab" for number in range(10)})


@pytest.mark.slow
def test_eight_processes_of_fifty_lose_nothing(desk: Desk) -> None:
    names = "abcdefgh"
    with_tidying(desk, [started(desk.folder, "keep", name, 50) for name in names])

    agrees(desk, {f"{name} {number}" for name in names for number in range(50)})


@pytest.mark.slow
def test_seven_processes_insert_into_one_file_at_once(desk: Desk) -> None:
    desk.write("t0.md", "# All\n")
    names = "abcdefg"
    writes([started(desk.folder, "edit", name, 3) for name in names])

    agrees(desk, {f"{name} {number}" for name in names for number in range(3)})
    assert desk.read("t0.md").startswith("# All\n\n## ")


def test_seven_agents_remember_at_once_and_seven_facts_are_there(desk: Desk) -> None:
    memory = desk.memory()

    def remember(number: int) -> None:
        put = Put("all.md", f"fact {number}", f"Part {number} has {number} doors.")
        (outcome,) = memory.keep([put], Author("run", f"a{number}"))
        assert outcome.what == "new"

    in_threads(remember, 7)

    agrees(desk, {f"fact {number}" for number in range(7)})


def test_seven_agents_with_their_own_commands_write_seven(desk: Desk) -> None:
    memory = desk.memory()
    desk.write("all.md", "# All\n")

    def write(number: int) -> None:
        commands = memory.commands(Author("run", f"a{number}"))
        text = f"## fact {number}\n\nPart {number} has {number} doors.\n"
        insert = {"path": "/memories/all.md", "insert_line": 1, "insert_text": text}
        assert "edited" in commands.run({"command": "insert", **insert})

    in_threads(write, 7)

    agrees(desk, {f"fact {number}" for number in range(7)})


def test_one_key_from_many_becomes_one_entry_with_its_history(desk: Desk) -> None:
    def remember(number: int) -> None:
        put = Put(f"t{number}.md", "the key", f"Its value is {number}.")
        desk.memory().keep([put], AUTHOR)

    in_threads(remember, 6)

    (known,) = desk.memory().entries()
    values = {known.entry.value, *(each.value for each in known.entry.was)}
    assert len(values) == 4
    assert len(list(desk.folder.glob("t*.md"))) == 1


def in_threads(work: object, count: int) -> None:
    failed: list[BaseException] = []

    def one(number: int) -> None:
        try:
            work(number)  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_an_edit_by_hand_between_reading_and_writing_is_not_lost(desk: Desk) -> None:
    """A person saves while the program judges: what it wrote is made anew from that."""
    desk.put("one", "zebra")
    memory = desk.memory()
    by_hand = "\n## By hand\n\nOnly on Tuesdays.\n"
    saved: list[str] = []

    def redact_and_save(text: str) -> str:
        if not saved and text == "w":
            saved.append(by_hand)
            with (desk.folder / "auth.md").open("a") as file:
                file.write(by_hand)
        return text

    slow = Memory(
        desk.folder, workspace=None, redact=redact_and_save, today=lambda: desk.day
    )
    assert memory.recall(["zebra"])
    slow.keep([Put("auth.md", "two", "w")], AUTHOR)

    assert desk.keys() == ["one", "By hand", "two"]
    assert by_hand.strip() in desk.read("auth.md")


def test_a_file_that_changes_under_the_lock_is_read_again(desk: Desk) -> None:
    """The last moment: between the reading under the lock and the replacing."""
    desk.put("one", "v")
    by_hand = "\n## By hand\n\nOnly on Tuesdays.\n"
    days: list[str] = []

    def today() -> str:  # asked under the lock, with the file read
        days.append(desk.day)
        if len(days) == 2:
            with (desk.folder / "auth.md").open("a") as file:
                file.write(by_hand)
        return desk.day

    slow = Memory(desk.folder, workspace=None, redact=str, today=today)
    commands = slow.commands(AUTHOR)
    replace = {"path": "/memories/auth.md", "old_str": "\nv\n", "new_str": "\nw\n"}
    commands.run({"command": "str_replace", **replace})
    commands.run(
        {"command": "str_replace", **replace, "old_str": "\nw\n", "new_str": "\nx\n"}
    )

    assert desk.read("auth.md").endswith(by_hand)
    assert len(days) >= 3
    known = desk.memory().with_key("one")
    assert known is not None
    assert known.entry.value == "x"


def test_whoever_holds_the_lock_for_long_is_named(desk: Desk) -> None:
    folder = Folder(desk.folder)
    who = f"process {os.getpid()}, since"
    with folder.lock(), pytest.raises(StoreError, match=who), folder.lock(limit_s=0.01):
        pass
    with folder.lock():
        pass


KILLED = """
import os, sys
from pathlib import Path
from orchestrator.memory.keeping import Author, Drop, Put
from orchestrator.memory.memory import Memory
day = lambda: "2026-11-29"
memory = Memory(Path(sys.argv[1]), workspace=None, redact=str, today=day)
author = Author("r", "a")
print("go", flush=True)
for number in range(100_000):
    key = f"k{number % 7}"
    memory.keep([Put(f"t{number % 2}.md", key, f"Value {number}. " * 50)], author)
    if number % 5 == 0:
        memory.keep([Drop(key)], author)
    if number % 11 == 0:
        memory.forget([f"k{number % 3 + 10}"])
    print(number, flush=True)
"""


def killed(desk: Desk, count: int) -> None:
    """Kill a writer at odd moments, and look at what it leaves each time."""
    for number in range(count):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(desk.folder)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        for _ in range(2 + number % 5):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        is_whole(desk.folder)
    memory = desk.memory()
    keys = desk.keys()
    assert len(keys) == len(set(keys)) <= 7
    for key in keys:
        assert memory.with_key(key) is not None
    assert memory.keep([Put("after.md", "after", "It works.")], AUTHOR)[0].what == "new"
    found = [known.entry.key for known in memory.recall(["after it works"])]
    assert found[0] == "after"


def is_whole(folder: Path) -> None:
    for path in folder.glob("*.md"):
        text = path.read_text()
        topic = parse_topic(text, path.name)
        assert path.name == "MEMORY.md" or topic.entries
        assert not any(entry.is_by_a_person for entry in topic.entries)
        assert text.endswith("\n")


def test_a_killed_writer_leaves_whole_files(desk: Desk) -> None:
    killed(desk, 3)


@pytest.mark.slow
def test_a_hundred_killed_writers_leave_whole_files(desk: Desk) -> None:
    killed(desk, 100)


def test_what_a_killed_writer_left_is_cleared_by_the_next_pass(desk: Desk) -> None:
    desk.put("one", "v")
    old = desk.folder / ".auth.md.0123456789ab.tmp"
    new = desk.folder / ".auth.md.ba9876543210.tmp"
    others = desk.folder / ".auth.md.swp"
    for path in (old, new, others):
        path.write_text("half")
    os.utime(old, (1, 1))

    desk.memory().tidy()
    assert [path.exists() for path in (old, new, others)] == [False, True, True]
    desk.memory().forget(["one"])
    assert [path.exists() for path in (new, others)] == [False, True]
