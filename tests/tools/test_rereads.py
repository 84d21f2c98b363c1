"""A file that is read again unchanged comes back as one line that points there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tool_bench import ToolBench

from orchestrator.context.showings import Showings
from orchestrator.events import FileSeen
from orchestrator.tools.base import ToolContext

ROWS = "".join(f"row {n}\n" for n in range(1, 401))


class Reader(ToolBench):
    """Knows what its results show, as an agent does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.showings = Showings()

    def context(self, call: str = "t1") -> ToolContext:
        return replace(super().context(call), shown=self.showings.find)

    async def read(self, path: str = "a.txt", **given: int) -> str:
        text = await self.text("read_file", path=path, **given)
        ended = self.events[-1].data
        files = [FileSeen.stored(each) for each in ended["files"]]
        ref = f"h{len(self.events) // 2}"
        self.showings.add(ended["call"], files, ref=ref)
        return text


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    reader = Reader(tmp_path)
    reader.write("a.txt", ROWS)
    return reader


POINTER = (
    'a.txt: unchanged since h1, which shows lines 1-400: see there, or read_ref("h1").'
)


async def test_the_same_read_is_one_line(reader: Reader) -> None:
    assert "400\trow 400" in await reader.read()
    assert await reader.read() == POINTER
    # The pointer shows nothing itself.
    assert await reader.read() == POINTER


async def test_a_smaller_range_is_in_sight_too(reader: Reader) -> None:
    await reader.read()
    told = await reader.read(first_line=20, max_lines=5)
    assert told.startswith("a.txt: unchanged since h1, which shows lines 20-24: see")


async def test_a_range_that_is_not_all_in_sight_is_read(reader: Reader) -> None:
    await reader.read(max_lines=100)
    assert "101\trow 101" in await reader.read(first_line=90, max_lines=20)


async def test_a_file_that_changed_is_read_anew(reader: Reader) -> None:
    await reader.read()
    reader.write("a.txt", ROWS.replace("row 7\n", "row seven\n"))
    assert "7\trow seven" in await reader.read()


async def test_what_was_cleared_is_read_again(reader: Reader) -> None:
    await reader.read()
    reader.showings.forget(reader.events[-1].data["call"])
    assert "400\trow 400" in await reader.read()


async def test_a_file_too_big_to_keep_is_known_by_its_lines_too(
    reader: Reader,
) -> None:
    reader.write("big.txt", ("x" * 99 + "\n") * 60_000)
    assert "1\txxx" in await reader.read("big.txt", max_lines=3)
    assert "unchanged since h1" in await reader.read("big.txt", max_lines=2)


async def test_a_hit_of_a_search_is_no_page(reader: Reader) -> None:
    await reader.text("grep", pattern="row 7$")
    files = [FileSeen.stored(each) for each in reader.events[-1].data["files"]]
    assert [(each.first, each.last) for each in files] == [(0, 0)]
