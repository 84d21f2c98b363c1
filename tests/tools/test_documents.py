from __future__ import annotations

import importlib
from typing import Any

import pytest
from tool_bench import ToolBench
from written_documents import HTML, docx_of, pdf_of

from orchestrator.ids import sha256


async def test_pdf_docx_and_html_come_as_text(bench: ToolBench) -> None:
    bench.write("a.pdf", pdf_of("Hello page one", "And page two"))
    bench.write("b.docx", docx_of())
    bench.write("c.html", HTML)

    pdf = await bench.text("read_file", path="a.pdf")
    word = await bench.text("read_file", path="b.docx")
    html = await bench.text("read_file", path="c.html")

    assert "[page 1]" in pdf
    assert "And page two" in pdf
    assert "\t# 合同\n2\tDelivery within 30 days.\n3\tprice | 42" in word
    assert "text of the HTML file" in html
    lines = [row.partition("\t")[2] for row in html.split("\n")[1:]]
    assert [line for line in lines if line] == [
        *("Guide", "## Use", "One two", "a", "b", "k | v", "x", "y")
    ]
    [seen] = bench.events[-1].data["files"]
    assert seen["sha256"] == sha256(HTML.encode())
    assert "One two" in bench.artifacts.read_text(seen["artifact"])


async def test_without_the_extra_it_says_how_to_install_it(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name.partition(".")[0] in ("pypdf", "docx", "selectolax"):
            raise ImportError(name)
        return load(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)
    bench.write("a.pdf", pdf_of("x"))
    bench.write("c.html", HTML)

    assert "pip install -e '.[documents]'" in await bench.error(
        "read_file", path="a.pdf"
    )
    assert "<h2>Use</h2>" in await bench.text("read_file", path="c.html")


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.pdf", b"%PDF-1.7 broken"), ("a.docx", b"PK\x03\x04 broken")],
)
async def test_a_broken_document_is_an_error(
    bench: ToolBench, name: str, data: bytes
) -> None:
    bench.write(name, data)

    assert "cannot be read" in await bench.error("read_file", path=name)


async def test_a_pdf_without_text_says_that_it_may_be_a_scan(bench: ToolBench) -> None:
    bench.write("scan.pdf", pdf_of("", ""))

    told = await bench.error("read_file", path="scan.pdf")

    assert told == "this PDF file has 2 pages but no text; it may be a scan"


async def test_a_page_nested_beyond_reason_is_read_as_plain_text(
    bench: ToolBench,
) -> None:
    bench.write("deep.html", "<div>" * 100_000 + "refund")

    text = await bench.text("read_file", path="deep.html")

    assert text.startswith("deep.html: ")
    assert "<div><div>" in text


async def test_a_long_flat_page_is_no_deep_one(bench: ToolBench) -> None:
    page = "<ul>" + "<li>one<br><b>two</b>" * 8000 + "</ul>"
    bench.write("flat.html", page)

    text = await bench.text("read_file", path="flat.html")

    assert "<li>" not in text
    assert "one\n" in text
