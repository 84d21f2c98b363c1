from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tool_bench import ToolBench

from orchestrator.context.tokens import estimate
from orchestrator.ids import sha256
from orchestrator.messages import text_of
from orchestrator.tools import versions
from orchestrator.tools.decoding import encoding_of

CHINESE = (
    "第一条 供应商交货期为三十天,违约金按日千分之五计算。\n第二条 付款方式:货到付款。\n"
)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


async def test_a_small_file_is_shown_whole_with_numbers(bench: ToolBench) -> None:
    bench.write("src/a.py", "import os\n\nprint(1)\n")

    text = await bench.text("read_file", path="src/a.py")

    assert text == "src/a.py: all 3 lines\n1\timport os\n2\t\n3\tprint(1)"


async def test_a_page_ends_at_a_line_end_and_says_how_to_read_on(
    bench: ToolBench,
) -> None:
    bench.write("long.txt", "".join(f"this is line {n}\n" for n in range(1, 5001)))

    first = await bench.text("read_file", path="long.txt")
    next_line = int(first.rpartition("first_line=")[2].rstrip("]"))
    second = await bench.text("read_file", path="long.txt", first_line=next_line)

    assert first.startswith(f"long.txt: lines 1-{next_line - 1} of 5000\n1\tthis is")
    assert f"\n{next_line - 1}\tthis is line {next_line - 1}\n[" in first
    assert f"[{5001 - next_line} more lines; go on with" in first
    assert f"\n{next_line}\tthis is line {next_line}\n" in second
    assert 7000 < estimate(first) <= 8000


async def test_pages_together_are_the_whole_file(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, read_tokens=300)
    lines = [f"value {n * 7919} of {n}" for n in range(1, 400)]
    bench.write("data.txt", "\n".join(lines))

    seen: list[str] = []
    while len(seen) < len(lines):
        text = await bench.text("read_file", path="data.txt", first_line=len(seen) + 1)
        rows = [row for row in text.split("\n")[1:] if "\t" in row]
        assert rows
        seen += [row.partition("\t")[2] for row in rows]

    assert seen == lines


async def test_max_lines_bounds_a_page(bench: ToolBench) -> None:
    bench.write("a.txt", "a\nb\nc\nd\n")

    text = await bench.text("read_file", path="a.txt", first_line=2, max_lines=2)

    assert text == (
        "a.txt: lines 2-3 of 4\n2\tb\n3\tc\n[1 more lines; go on with first_line=4]"
    )


async def test_a_page_behind_the_end_is_refused_with_the_length(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "a\nb\n")

    told = await bench.error("read_file", path="a.txt", first_line=3)

    assert "`a.txt` has 2 lines; `first_line` must be 1 to 2, found 3" in told


async def test_a_line_of_100_kb_is_cut_and_the_rest_is_two_calls_away(
    bench: ToolBench,
) -> None:
    line = "".join(f"<{n}>" for n in range(20_000))
    assert len(line) > 100_000
    bench.write("one.json", f"first\n{line}\nlast\n")

    result = await bench.call("read_file", path="one.json", first_line=1, max_lines=50)
    text = text_of(result.content)
    ref = text.partition('read_ref("')[2].partition('"')[0]
    middle = await bench.text("read_ref", ref=ref, pattern="<10000>")

    assert result.tokens <= 8000
    assert "characters left out" in text
    assert text.endswith("<19999>\n3\tlast")
    assert "<10000>" not in text
    assert "<10000>" in middle


@pytest.mark.parametrize("letter", ["字", "🎉", "é", "9"])
async def test_no_page_is_over_its_limit_whatever_the_script(
    tmp_path: Path, letter: str
) -> None:
    bench = ToolBench(tmp_path, read_tokens=400)
    bench.write("wide.txt", f"{letter * 30_000}\nnext\n")

    result = await bench.call("read_file", path="wide.txt")

    assert "1\t" in text_of(result.content)
    assert result.tokens <= 600


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-8-sig", CHINESE),
        ("utf-16", CHINESE),
        ("utf-16-be", "\ufeff" + CHINESE),
        ("utf-16-le", "plain words\n"),
        ("utf-32", CHINESE),
        ("gb18030", CHINESE),
        ("gb18030", "name=张三\nid=42\n"),
        ("big5", "供應商交貨期為三十天,違約金按日千分之五計算。\n"),
        ("shift_jis", "これは日本語のテキストです。エラーが発生しました。\n"),
        ("euc_kr", "이것은 한국어 텍스트입니다. 오류가 발생했습니다.\n" * 3),
        ("cp1252", "Übergrößenträger für Straßenbahnfahrer, schön\n"),
        ("cp1252", "café\n"),
        ("cp1251", "Это русский текст, ошибка подключения.\n"),
    ],
)
async def test_the_encoding_of_a_file_is_found(
    bench: ToolBench, encoding: str, content: str
) -> None:
    bench.write("f.txt", content.encode(encoding))

    text = await bench.text("read_file", path="f.txt")

    assert content.removeprefix("\ufeff").split("\n")[0] in text


async def test_bytes_that_are_no_utf8_do_not_end_anything(bench: ToolBench) -> None:
    bench.write("odd.txt", b"\x41\xf0\x42\xff")
    bench.write("mostly.txt", "很多文字在这里。".encode() * 20 + b"\xff end")

    assert "A" in await bench.text("read_file", path="odd.txt")
    assert "很多文字在这里。\ufffd end" in await bench.text(
        "read_file", path="mostly.txt"
    )


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0",
            "a PNG image of 640×480 pixels, 24 bytes",
        ),
        (b"\x7fELF\x02\x01\0\0\0", "an ELF program or library"),
        (b"PK\x03\x04\0\0\0", "a ZIP archive"),
        (bytes(range(256)), "binary data, 256 bytes"),
    ],
    ids=["png", "elf", "zip", "unknown"],
)
async def test_binary_files_are_described_and_not_dumped(
    bench: ToolBench, head: bytes, what: str
) -> None:
    bench.write("thing.bin", head)

    text = await bench.text("read_file", path="thing.bin")

    assert what in text
    assert len(text) < 200


async def test_what_is_no_file_is_answered_clearly_and_without_hanging(
    bench: ToolBench,
) -> None:
    bench.write("config.yaml", "a: 1")
    bench.write("empty.txt", "")
    os.mkfifo(bench.root / "pipe")

    assert "did you mean `config.yaml`" in await bench.error(
        "read_file", path="confg.yaml"
    )
    assert "is a folder" in await bench.error("read_file", path=".")
    assert "pipe" in await bench.error("read_file", path="pipe")
    assert "`empty.txt` is empty" in await bench.text("read_file", path="empty.txt")


@pytest.mark.parametrize("path", ["a\0b", "a\ud83d", "x" * 5000, "no/such/dir/f.txt"])
async def test_a_path_that_is_none_is_a_bounded_error(
    bench: ToolBench, path: str
) -> None:
    for tool in ("read_file", "list_dir", "grep", "glob"):
        given = {"pattern": "x"} if tool in ("grep", "glob") else {}
        assert len(await bench.error(tool, path=path, **given)) < 500


async def test_no_link_leads_out_and_one_that_stays_inside_works(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle")
    bench = ToolBench(tmp_path)
    bench.write("in/real.txt", "needle inside\n")
    (bench.root / "door").symlink_to(outside)
    (bench.root / "file").symlink_to(outside / "secret.txt")
    (bench.root / "alias.txt").symlink_to(bench.root / "in" / "real.txt")

    for path in ("door/secret.txt", "file", "../outside/secret.txt", "/etc/passwd"):
        assert "outside the workspace" in await bench.error("read_file", path=path)
    assert "outside" in await bench.error("list_dir", path="door")
    assert "outside" in await bench.error("grep", pattern="needle", path="door")
    found = await bench.text("grep", pattern="needle")
    assert found.split("\n") == ["in/real.txt:1:needle inside"]
    assert await bench.text("glob", pattern="*.txt") == "in/real.txt"
    assert "needle inside" in await bench.text("read_file", path="alias.txt")


async def test_a_root_that_is_a_link_works(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.txt").write_text("needle\n")
    (tmp_path / "work").symlink_to(real)
    bench = ToolBench(tmp_path)

    assert "1\tneedle" in await bench.text("read_file", path="a.txt")
    assert "1\tneedle" in await bench.text("read_file", path=str(bench.root / "a.txt"))
    assert await bench.text("grep", pattern="needle") == "a.txt:1:needle"
    assert "a.txt" in await bench.text("list_dir")


async def test_the_version_shown_is_kept_whole_and_redacted(bench: ToolBench) -> None:
    content = "".join(f"line {n}\r\n" for n in range(3000)) + f"token = '{KEY}'\n"
    bench.write("a.py", content)

    await bench.call("read_file", path="a.py", max_lines=5)

    [seen] = bench.events[-1].data["files"]
    kept = bench.artifacts.read_text(seen["artifact"])
    assert seen["path"] == "a.py"
    assert seen["sha256"] == sha256(content.encode())
    assert seen["lines"] == 3001
    assert kept.startswith("line 0\nline 1\n")
    assert KEY not in kept
    assert "[secret:" in kept


async def test_a_secret_never_reaches_the_model_nor_does_a_colour_code(
    bench: ToolBench,
) -> None:
    bench.write("log.txt", f"\x1b[31mfailed\x1b[0m with {KEY}\n")

    text = await bench.text("read_file", path="log.txt")

    assert "failed with [secret:" in text
    assert KEY not in text


async def test_a_big_file_is_paged_without_a_copy(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.tools.files.MAX_KEPT_BYTES", 10_000)
    monkeypatch.setattr(versions, "_CHUNK_BYTES", 777)
    content = "".join(f"行 {n} 内容\r\n" for n in range(1, 2001))
    bench.write("big.log", content)

    text = await bench.text("read_file", path="big.log", first_line=1500, max_lines=2)
    last = await bench.text("read_file", path="big.log", first_line=2000)

    [seen] = bench.events[-1].data["files"]
    assert "\n1500\t行 1500 内容\n1501\t行 1501 内容\n[499 more" in text
    assert "lines 1500-1501 of 2000" in text
    assert last.endswith("2000\t行 2000 内容")
    assert (seen["artifact"], seen["lines"]) == ("", 2000)
    assert seen["sha256"] == sha256(content.encode())


async def test_a_file_that_may_not_be_read_is_an_error(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a.txt", "x")

    opened = os.open

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        if path == "a.txt":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)  # root may read everything

    assert "Permission denied" in await bench.error("read_file", path="a.txt")


async def test_a_folder_is_listed_with_sizes_and_without_what_is_excluded(
    tmp_path: Path,
) -> None:
    bench = ToolBench(tmp_path, exclude=("secrets/", "*.pem"))
    bench.write("src/a.py", "x" * 1234)
    bench.write("secrets/key.txt", "x")
    bench.write("cert.pem", "x")
    bench.write("README.md", "hello")
    bench.write(".gitignore", "")
    (bench.root / "link").symlink_to(bench.root / "src")

    assert await bench.text("list_dir") == (
        ".: 1 folders, 3 files\nsrc/\n.gitignore (0 bytes)\nREADME.md (5 bytes)\n"
        "link (link)"
    )
    assert "a.py (1,234 bytes)" in await bench.text("list_dir", path="src")


async def test_a_long_listing_is_bounded(bench: ToolBench) -> None:
    for n in range(510):
        bench.write(f"f{n:03}", "")

    assert "[10 more; narrow with `glob`]" in await bench.text("list_dir")


async def test_a_file_is_not_listed_and_a_missing_folder_is_named(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "x")

    assert "use `read_file`" in await bench.error("list_dir", path="a.txt")
    assert "cannot list `nope`" in await bench.error("list_dir", path="nope")


def test_a_character_cut_by_the_sample_does_not_change_the_encoding() -> None:
    data = "中文".encode()[:-1]

    assert encoding_of(data, is_whole=False) == "utf-8"


@pytest.mark.parametrize("path", ["secrets/a.txt", "src/b.pem"])
async def test_scope_is_enforced_for_every_tool(tmp_path: Path, path: str) -> None:
    bench = ToolBench(tmp_path, exclude=("secrets", "*.pem"))
    bench.write(path, "needle")
    bench.write("src/ok.txt", "needle")

    assert "excluded" in await bench.error("read_file", path=path)
    assert "excluded" in await bench.error("grep", pattern="needle", path=path)
    assert await bench.text("grep", pattern="needle") == "src/ok.txt:1:needle"
    assert await bench.text("glob", pattern="**/*") == "src/ok.txt"
