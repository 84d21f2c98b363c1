"""Files that the open work needs are shown afresh after a compaction."""

from __future__ import annotations

from pathlib import Path

import pytest
from tool_bench import ToolBench

from orchestrator.agent.reopening import reopen, wanted_files
from orchestrator.testing import call

TOUCHED = {"docs/a.md": "read in h1", "b.py": "changed in h2", "c.py": "read in h3"}


@pytest.mark.parametrize(
    ("open_work", "wanted"),
    [
        ("- mend b.py, then docs/a.md", ["b.py", "docs/a.md"]),
        ("- see a.md", ["docs/a.md"]),
        ("- [x] b.py\n- [ ] c.py", []),
        ("- nothing", []),
    ],
)
def test_named_ones_that_are_out_of_sight_are_wanted_the_newest_first(
    open_work: str, wanted: list[str]
) -> None:
    tail = [{"role": "assistant", "content": [call("read_file", path="c.py")]}]

    assert wanted_files(TOUCHED, open_work, tail=tail, most=5) == wanted


def test_no_more_are_wanted_than_there_is_room_for() -> None:
    work = "a.md b.py c.py"
    assert wanted_files(TOUCHED, work, tail=[], most=2) == ["c.py", "b.py"]


async def test_they_are_shown_as_they_are_now_or_named(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    bench.write("small.md", "one\ntwo\n")
    bench.write("large.md", "a line of some words\n" * 400)
    paths = ["small.md", "large.md", "gone.md"]

    small, large, gone = await reopen(paths, 300, context=bench.context)

    assert "2\ttwo" in small.text
    assert [seen.path for seen in small.files] == ["small.md"]
    assert large.text == "`large.md` has 400 lines: `read_file` opens it."
    assert large.files == ()
    assert gone.text.startswith("`gone.md`: ")


def test_a_page_is_not_opened_as_a_file() -> None:
    touched = {"https://x.org/a/": "read in h1", "a.py": "read in h2"}
    work = "Compare https://x.org/a/ with a.py."

    assert wanted_files(touched, work, tail=[], most=5) == ["a.py"]
