from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from tool_bench import ToolBench
from written_documents import HTML, docx_of, pdf_of

from orchestrator.messages import text_of
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.converted import Converted, Limits, may_name_documents
from orchestrator.tools.ripgrep import lines_of_ripgrep
from orchestrator.tools.search import Grep, GrepArgs

NOT_INSTALLED = (
    "PDF/DOCX files were not searched: an optional package is not installed (the user "
    "can install it in the folder of orchestrator: pip install -e '.[documents]'); go "
    "on without them and say so: "
)


@pytest.fixture
def papers(bench: ToolBench) -> ToolBench:
    bench.write("a/notes.md", "Delivery is late\n")
    bench.write("b.docx", docx_of())
    bench.write("c.pdf", pdf_of("Delivery by ship", "And Delivery by air"))
    bench.write("d.txt", "Delivery\n")
    return bench


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    load = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name.partition(".")[0] in ("pypdf", "docx", "selectolax"):
            raise ImportError(name)
        return load(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)


async def limited(bench: ToolBench, limits: Limits, pattern: str) -> str:
    output = Grep(limits).run(GrepArgs(pattern=pattern), bench.context())
    return str(output.text)


def seen_in(bench: ToolBench) -> dict[str, str]:
    return {each["path"]: each["artifact"] for each in bench.events[-1].data["files"]}


async def test_documents_are_searched_beside_other_files_in_path_order(
    papers: ToolBench,
) -> None:
    assert await papers.text("grep", pattern="Delivery") == (
        "a/notes.md:1:Delivery is late\n"
        "b.docx:2:Delivery within 30 days.\n"
        "c.pdf:2:Delivery by ship\n"
        "c.pdf:5:And Delivery by air\n"
        "d.txt:1:Delivery"
    )
    assert await papers.text("grep", pattern="Delivery", output="files") == (
        "a/notes.md\nb.docx\nc.pdf\nd.txt"
    )
    assert await papers.text("grep", pattern="Delivery", output="count") == (
        "a/notes.md:1\nb.docx:1\nc.pdf:2\nd.txt:1"
    )
    assert await papers.text("grep", pattern="by air", context_lines=1) == (
        "c.pdf-4-[page 2]\nc.pdf:5:And Delivery by air"
    )


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        pytest.param({"path": "c.pdf"}, ["c.pdf:2", "c.pdf:5"], id="one document"),
        pytest.param({"glob": "*.docx"}, ["b.docx:2"], id="glob"),
        pytest.param({"glob": "*.md"}, ["a/notes.md:1"], id="another glob"),
        pytest.param({"path": "a"}, ["a/notes.md:1"], id="folder"),
        pytest.param(
            {"max_matches": 3}, ["a/notes.md:1", "b.docx:2", "c.pdf:2"], id="bounded"
        ),
    ],
)
async def test_documents_are_chosen_as_other_files_are(
    papers: ToolBench, given: dict[str, Any], rows: list[str]
) -> None:
    text = await papers.text("grep", pattern="Delivery", **given)

    found = [row for row in text.split("\n") if not row.startswith("[")]
    assert [row.rpartition(":")[0] for row in found] == rows
    assert ("there are more" in text) == ("max_matches" in given)


async def test_ignored_and_excluded_documents_are_not_searched(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, exclude=("secret",))
    bench.write(".gitignore", "build/\n")
    for folder in ("build", "secret", "open", ".hidden"):
        bench.write(f"{folder}/a.pdf", pdf_of("Delivery"))

    assert await bench.text("grep", pattern="Delivery", output="files") == "open/a.pdf"


async def test_grep_and_read_file_show_one_and_the_same_text(bench: ToolBench) -> None:
    files: dict[str, str | bytes] = {
        "a.pdf": pdf_of("the Guide"),
        "b.docx": docx_of(),
        "c.html": HTML,
    }
    for name, content in files.items():
        bench.write(name, content)
    await bench.text("grep", pattern="Guide|30 days|k .. v")
    seen = seen_in(bench)

    for name in files:
        await bench.text("read_file", path=name)
        assert seen[name] == seen_in(bench)[name]


async def test_a_page_is_searched_as_it_is_read(bench: ToolBench) -> None:
    bench.write("c.html", HTML)

    for path in (".", "c.html"):
        assert await bench.text("grep", pattern="One two", path=path) == (
            "c.html:5:One two"
        )
        assert "No match" in await bench.text("grep", pattern="evil", path=path)
    page = await bench.text("read_file", path="c.html")
    assert "\n5\tOne two\n" in page


async def test_without_the_extra_pages_are_searched_and_read_as_source(
    bench: ToolBench, no_extra: None
) -> None:
    bench.write("c.html", HTML)
    bench.write("a.pdf", pdf_of("evil"))
    bench.write("b/b.docx", docx_of())

    found = await bench.text("grep", pattern="evil", output="files")
    nothing = await bench.text("grep", pattern="nowhere")
    alone = await bench.text("grep", pattern="evil", path="a.pdf")

    assert found == f"c.html\n[2 {NOT_INSTALLED}`a.pdf`, `b/b.docx`]"
    assert nothing.startswith("No match for `nowhere`")
    assert nothing.endswith(f"\n[2 {NOT_INSTALLED}`a.pdf`, `b/b.docx`]")
    assert alone.endswith(f"\n[1 {NOT_INSTALLED}`a.pdf`]")


async def test_what_cannot_be_read_is_named_with_the_reason(bench: ToolBench) -> None:
    bench.write("broken.docx", b"PK\x03\x04 broken")
    bench.write("good.pdf", pdf_of("Delivery"))
    bench.write("scan.pdf", pdf_of("", ""))

    text = await bench.text("grep", pattern="Delivery")

    row, note = text.split("\n")
    assert row == "good.pdf:2:Delivery"
    assert note.startswith("[2 PDF/DOCX files were not searched: this DOCX file cannot")
    assert note.endswith("no text; it may be a scan: `scan.pdf`]")


@pytest.mark.parametrize(
    ("limits", "left_out"),
    [
        pytest.param(Limits(files=1), "too many for one search", id="files"),
        pytest.param(Limits(bytes=10), "too many for one search", id="bytes"),
        pytest.param(Limits(seconds=-1), "no time left; the same search", id="time"),
    ],
)
async def test_the_limits_of_a_search_hold_and_are_told(
    bench: ToolBench, limits: Limits, left_out: str
) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        bench.write(name, pdf_of("Delivery"))

    text = await limited(bench, limits, "Delivery")

    assert text.count(":2:Delivery") == (1 if limits.files == 1 else 0)
    assert re.search(rf"\[[23] PDF/DOCX files were not searched: {left_out}", text)


async def test_pages_beyond_the_limits_are_searched_as_source(bench: ToolBench) -> None:
    bench.write("a.html", "<p>a <b>refund</b>")
    bench.write("b.html", "<p>a <b>refund</b>")

    assert await limited(bench, Limits(files=1), "refund") == (
        "a.html:1:a refund\n"
        "b.html:1:<p>a <b>refund</b>\n"
        "[1 HTML files were searched as source, not as `read_file` shows them: too "
        "many for one search; narrow `path` or `glob`: `b.html`]"
    )


async def test_copies_of_a_document_are_each_found(bench: ToolBench) -> None:
    for name in ("a.pdf", "b.pdf", "z/a.pdf"):
        bench.write(name, pdf_of("Delivery", "Delivery"))
    bench.write("b.txt", "Delivery")

    text = await bench.text("grep", pattern="Delivery", output="count")

    assert text == "a.pdf:2\nb.pdf:2\nb.txt:1\nz/a.pdf:2"
    assert set(seen_in(bench)) == set()
    await bench.text("grep", pattern="Delivery")
    assert set(seen_in(bench)) == {"a.pdf", "b.pdf", "b.txt", "z/a.pdf"}


async def test_a_changed_document_is_read_anew(bench: ToolBench) -> None:
    bench.write("a.pdf", pdf_of("old"))
    await bench.text("grep", pattern="old")
    bench.write("a.pdf", pdf_of("new"))

    assert await bench.text("grep", pattern="old|new") == "a.pdf:2:new"


async def test_agents_that_search_at_once_find_the_same(bench: ToolBench) -> None:
    for number in range(4):
        bench.write(f"{number}.pdf", pdf_of("Delivery"))
    calls = [CallSpec(f"t{n}", "grep", {"pattern": "Delivery"}) for n in range(4)]

    results = await bench.run(*calls)

    assert len({text_of(result.content) for result in results}) == 1


async def test_other_encodings_are_searched_for_what_is_beyond_ascii(
    bench: ToolBench,
) -> None:
    bench.write("gbk.txt", "第一行\n合同价格为四十二元，含税。\n".encode("gb18030"))
    bench.write("mark.txt", "合同价格\n".encode("utf-16"))
    bench.write("plain.txt", "合同价格\n")
    bench.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256)))

    text = await bench.text("grep", pattern="合同价格")
    assert text == (
        "gbk.txt:2:合同价格为四十二元，含税。\nmark.txt:1:合同价格\nplain.txt:1:合同价格"
    )
    assert await bench.text("grep", pattern=r"\p{Han}+价", output="files") == (
        "gbk.txt\nmark.txt\nplain.txt"
    )


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-16-le"])
async def test_one_file_in_another_encoding_is_searched(
    bench: ToolBench, encoding: str
) -> None:
    text = "a line in ASCII that is long enough\n合同 price\n"
    bench.write("one.txt", text.encode(encoding))

    for pattern in ("合同", "price"):
        found = await bench.text("grep", pattern=pattern, path="one.txt")
        assert found == "one.txt:2:合同 price"


def test_a_file_that_cannot_be_read_is_no_refusal_and_is_told(
    bench: ToolBench,
) -> None:
    bench.write("good.txt", "token\n")
    unread: list[str] = []

    rows = lines_of_ripgrep(
        ["token", "./gone.txt", "./good.txt"], folder=bench.root, unread=unread
    )

    assert list(rows) == [b"./good.txt:token"]
    assert unread == ["gone.txt"]
    assert Converted(bench.context(), Limits()).note(unread) == (
        "[1 files could not be read: `gone.txt`]"
    )


async def test_a_damaged_document_prints_nothing_and_says_so(
    bench: ToolBench, capfd: pytest.CaptureFixture[str]
) -> None:
    damaged = pdf_of("Delivery").replace(b"startxref\n", b"startxref\n9")
    bench.write("a.pdf", damaged)

    text = await bench.text("read_file", path="a.pdf")

    assert (
        "which is damaged and may lack parts (incorrect startxref pointer(2))" in text
    )
    assert "Delivery" in text
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["*.py", "src/**/*.{ts,tsx}", "a.b.c"])
def test_a_glob_for_other_files_costs_no_look_for_documents(text: str) -> None:
    assert not may_name_documents(text)


@pytest.mark.parametrize(
    "text", ["", "*", "docs/**", "*.PDF", "{a.docx,b.md}", "*.{md,html}", "a.?d?"]
)
def test_a_glob_that_may_mean_documents_does(text: str) -> None:
    assert may_name_documents(text)
