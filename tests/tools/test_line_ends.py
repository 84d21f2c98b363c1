"""Line numbers are the same for every tool, however the lines of a file end."""

from __future__ import annotations

import pytest
from tool_bench import ToolBench

WORDS = ["one line of text", "two line of text", "three line of text"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
async def test_grep_and_read_file_number_lines_alike(
    bench: ToolBench, end: str
) -> None:
    bench.write("notes/a.txt", end.join([*WORDS, ""]))

    read = await bench.text("read_file", path="notes/a.txt")
    for path in ("notes", "notes/a.txt"):
        for number, words in enumerate(WORDS, 1):
            assert f"\n{number}\t{words}" in read
            found = await bench.text("grep", pattern=words, path=path)
            assert found.split("\n")[0] == f"notes/a.txt:{number}:{words}"


async def test_lines_after_a_progress_bar_are_numbered_as_read(
    bench: ToolBench,
) -> None:
    bench.write("build.txt", "start\n10 %\r50 %\r100 %\nERROR: no space\r\nend\n")

    read = await bench.text("read_file", path="build.txt")
    found = await bench.text("grep", pattern="ERROR", context_lines=1)

    assert "\n5\tERROR: no space" in read
    assert "build.txt:5:ERROR: no space" in found
    assert "build.txt-6-end" in found


async def test_matches_that_share_a_stretch_of_bare_ends_are_announced(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "\r".join(WORDS))

    found = await bench.text("grep", pattern="line of")

    assert found.startswith("a.txt:1:one line of text\n")
    assert "only the first match is shown" in found
