"""Many write to one memory at once, a person among them, and nothing is lost."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import ToolError
from orchestrator.memory.commands import Commands
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory

TODAY = "2026-11-29"
BY_HAND = "## Who owns it\n\nThe platform team owns the gateway.\n"

WRITES = """
import sys
from pathlib import Path
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory
folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
memory = Memory(folder, workspace=None, redact=str, today=lambda: "2026-11-29")
for n in range(count):
    fact = f"Server {name}{n} answers on port {9000 + n} of rack {name}."
    put = Put("servers.md", f"Server {name}{n}", fact)
    (told,) = memory.keep([put], Author("r", name))
    assert told.what == "new", told
"""
TIDIES = """
import sys
from pathlib import Path
from orchestrator.memory.memory import Memory
folder, stop = map(Path, sys.argv[1:])
memory = Memory(folder, workspace=None, redact=str, today=lambda: "2026-11-29")
rounds = 0
while not stop.exists() or not rounds:
    memory.tidy()
    rounds += 1
"""


def memory_in(folder: Path, redact: Callable[[str], str] = str) -> Memory:
    return Memory(folder, workspace=None, redact=redact, today=lambda: TODAY)


def keys(folder: Path) -> set[str]:
    return {known.entry.key for known in memory_in(folder).entries()}


def started(script: str, *given: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, *map(str, given)])


def writers_and_a_tidy_loop(folder: Path, writers: int, each: int) -> None:
    stop = folder.with_name("stop")
    tidying = started(TIDIES, folder, stop)
    writing = [started(WRITES, folder, chr(97 + n), each) for n in range(writers)]
    try:
        codes = [process.wait() for process in writing]
    finally:
        stop.touch()
    assert codes == [0] * writers
    assert tidying.wait() == 0
    wanted = {f"Server {chr(97 + n)}{k}" for n in range(writers) for k in range(each)}
    assert keys(folder) == wanted


def test_two_processes_write_and_nothing_of_either_is_lost(tmp_path: Path) -> None:
    writers_and_a_tidy_loop(tmp_path / "memory", writers=2, each=8)


@pytest.mark.slow
def test_two_processes_add_fifty_entries_each_while_it_is_tidied(
    tmp_path: Path,
) -> None:
    writers_and_a_tidy_loop(tmp_path / "memory", writers=2, each=50)


def commands(folder: Path, agent: str = "lead") -> Commands:
    return memory_in(folder).commands(Author("run", agent))


def run(desk: Commands, command: str, **args: object) -> str:
    return desk.run({"command": command, **args})


def with_a_paper(folder: Path) -> tuple[Commands, Path]:
    """A topic file that an agent wrote and looked at."""
    desk = commands(folder)
    text = "# Gateway\n\n## Limit\n\nThe gateway takes 40 requests at once.\n"
    run(desk, "create", path="/memories/gateway.md", file_text=text)
    run(desk, "view", path="/memories/gateway.md")
    return desk, folder / "gateway.md"


def by_hand(file: Path) -> None:
    file.write_text(f"{file.read_text()}\n{BY_HAND}")


def test_an_edit_by_hand_after_the_view_survives_a_replacement(tmp_path: Path) -> None:
    desk, file = with_a_paper(tmp_path / "memory")
    by_hand(file)

    run(
        desk,
        "str_replace",
        path="/memories/gateway.md",
        old_str="takes 40 requests",
        new_str="takes 60 requests",
    )

    text = file.read_text()
    assert "takes 60 requests" in text
    assert BY_HAND in text


def test_an_insert_by_lines_of_before_is_refused(tmp_path: Path) -> None:
    desk, file = with_a_paper(tmp_path / "memory")
    file.write_text(f"{BY_HAND}\n{file.read_text()}")
    before = file.read_bytes()

    with pytest.raises(ToolError, match="changed since you viewed it"):
        run(
            desk,
            "insert",
            path="/memories/gateway.md",
            insert_line=2,
            insert_text="## Port\n\nIt listens on 8443.\n",
        )

    assert file.read_bytes() == before


def test_a_file_of_before_is_not_written_over_a_larger_one(tmp_path: Path) -> None:
    desk, file = with_a_paper(tmp_path / "memory")
    by_hand(file)
    before = file.read_bytes()

    with pytest.raises(ToolError, match="already exists"):
        run(
            desk,
            "create",
            path="/memories/gateway.md",
            file_text="# Gateway\n\n## Limit\n\nNo limit.\n",
        )

    assert file.read_bytes() == before


@pytest.mark.parametrize("moment", range(1, 9))
def test_an_edit_by_hand_at_any_moment_of_a_write_is_kept(
    tmp_path: Path, moment: int
) -> None:
    folder, moments = tmp_path / "memory", itertools.count(1)
    limit = Put("gateway.md", "Limit", "The gateway takes 40 requests at once.")
    port = Put("gateway.md", "Port", "The gateway listens on 8443.")
    memory_in(folder).keep([limit], Author("run", "lead"))

    def edited(text: str = TODAY) -> str:
        """What a write asks for on its way; the file is edited at one such moment."""
        if next(moments) == moment:
            by_hand(folder / "gateway.md")
        return text

    memory = Memory(folder, workspace=None, redact=edited, today=edited)
    (told,) = memory.keep([port], Author("run", "a1"))
    while next(moments) <= moment:
        by_hand(folder / "gateway.md")

    text = (folder / "gateway.md").read_text()
    assert told.what == "new"
    assert "takes 40 requests" in text
    assert "listens on 8443" in text
    assert BY_HAND in text


def at_once(count: int, work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []
    ready = threading.Barrier(count)

    def begin(number: int) -> None:
        try:
            ready.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_seven_subagents_remember_at_once_and_seven_entries_are_there(
    tmp_path: Path,
) -> None:
    memory = memory_in(tmp_path / "memory")

    def remember(number: int) -> None:
        text = f"## Rack {number}\n\nRack {number} holds {40 + number} servers.\n"
        run(
            memory.commands(Author("run", f"a{number}")),
            "create",
            path=f"/memories/rack{number}.md",
            file_text=text,
        )

    at_once(7, remember)

    assert keys(tmp_path / "memory") == {f"Rack {number}" for number in range(7)}


def test_seven_subagents_add_to_one_file_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    _, file = with_a_paper(folder)
    memory = memory_in(folder)
    path = "/memories/gateway.md"

    def remember(number: int) -> None:
        desk = memory.commands(Author("run", f"a{number}"))
        text = f"\n## Rack {number}\n\nRack {number} holds {40 + number} servers.\n"
        while True:
            run(desk, "view", path=path)
            lines = file.read_text().count("\n")
            try:
                run(desk, "insert", path=path, insert_line=lines, insert_text=text)
            except ToolError as error:
                # What the model is told to do, too.
                if "view it again" not in str(error) and "insert_line" not in str(
                    error
                ):
                    raise
            else:
                return

    at_once(7, remember)

    assert keys(folder) == {"Limit", *(f"Rack {number}" for number in range(7))}
