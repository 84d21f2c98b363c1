"""Tokens of content blocks: base64 is never text, pixels and pages are what counts."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_documents import pdf_of

from orchestrator.block_sizes import block_tokens, content_tokens
from orchestrator.messages import text_block, tool_result

MOST = 4784
PAGE = 3000
PADDING = bytes(200_000)


def png(width: int, height: int) -> bytes:
    size = struct.pack(">II", width, height)
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x06\0\0\0" + PADDING


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + PADDING


def jpeg(width: int, height: int) -> bytes:
    told = b"\xff\xe1" + struct.pack(">H", 60_000) + bytes(59_998)
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return b"\xff\xd8" + told * 3 + frame + PADDING


def webp(width: int, height: int) -> bytes:
    size = (struct.pack("<I", side - 1)[:3] for side in (width, height))
    head = b"RIFF" + struct.pack("<I", 100) + b"WEBPVP8X" + struct.pack("<II", 10, 0)
    return head + b"".join(size) + PADDING


def image(data: bytes) -> dict[str, Any]:
    told = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "image/png", "data": told}
    return {"type": "image", "source": source}


def document(data: bytes, **more: str) -> dict[str, Any]:
    told = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": told}
    return {"type": "document", "source": source, **more}


def tokens(block: dict[str, Any]) -> int:
    return block_tokens(block, count=len)


@pytest.mark.parametrize("form", [png, gif, jpeg, webp])
@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        # As counted by the service for the models of 2026, its preamble taken off:
        # https://huggingface.co/datasets/JOHNISKING/image-token-cost
        pytest.param(256, 256, 100, id="small"),
        pytest.param(1024, 1024, 1369, id="square"),
        pytest.param(1920, 1080, 2691, id="screen"),
        pytest.param(1080, 1920, 2691, id="upright"),
        # By the rule that it tells.
        pytest.param(1, 1, 1, id="one pixel"),
        pytest.param(2576, 28, 92, id="as long as can be"),
        pytest.param(8000, 28, 92, id="a longer one is made smaller"),
        pytest.param(4000, 3000, MOST, id="no image is dearer"),
    ],
)
def test_an_image_costs_a_token_for_each_patch_of_28_pixels(
    form: Any, width: int, height: int, expected: int
) -> None:
    assert tokens(image(form(width, height))) == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"type": "url", "url": "https://example.org/a.png"}, id="url"),
        pytest.param({"type": "file", "file_id": "file_1"}, id="file"),
        pytest.param({"type": "base64", "data": "A" * 50_000}, id="no image"),
        pytest.param({"type": "base64", "data": "A"}, id="no base64"),
        pytest.param({"type": "base64", "data": "äöü" * 9}, id="no ASCII"),
        pytest.param({"type": "base64", "data": None}, id="no data"),
        pytest.param(image(png(9, 9)[:18])["source"], id="cut"),
        pytest.param(image(png(0, 9))["source"], id="no width"),
        pytest.param(
            image(b"<svg width='1' height='1'></svg>")["source"], id="not of these"
        ),
    ],
)
def test_an_image_of_unknown_size_costs_as_much_as_any(source: dict[str, Any]) -> None:
    assert tokens({"type": "image", "source": source}) == MOST


def test_wrapped_base64_is_read_as_well() -> None:
    wrapped = base64.encodebytes(png(280, 280)).decode()

    assert tokens({"type": "image", "source": {"data": wrapped}}) == 100


def packed(objects: bytes) -> bytes:
    stream = zlib.compress(objects)
    head = (
        b"1 0 obj\n<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode >>\nstream\r\n"
    )
    return b"%PDF-1.7\n" + head + stream + b"\nendstream\nendobj\n"


OTHER = b"<< /Type /Font /BaseFont /Helvetica >>"
TREE = b"<< /Count 7 /Kids [2 0 R] /Type /Pages >>"


@pytest.mark.parametrize(
    ("data", "pages"),
    [
        pytest.param(pdf_of("one", "two", "three"), 3, id="of a library"),
        pytest.param(b"%PDF <</Type/Page/Parent 1 0 R>>" * 4, 4, id="leaves only"),
        pytest.param(packed(TREE), 7, id="packed"),
        pytest.param(packed(OTHER) + packed(TREE), 7, id="packed behind others"),
        pytest.param(packed(OTHER) * 600, 5, id="says nothing: by its bytes"),
        pytest.param(
            b"%PDF /ObjStm stream\nnothing", 1, id="damaged stream, few bytes"
        ),
        pytest.param(b"%PDF" + PADDING * 100, 600, id="never more than allowed"),
        pytest.param(b"", 10, id="nothing"),
    ],
)
def test_a_document_costs_by_its_pages(data: bytes, pages: int) -> None:
    assert tokens(document(data)) == pages * PAGE


def test_a_document_elsewhere_is_taken_for_ten_pages() -> None:
    away = {"type": "document", "source": {"type": "url", "url": "https://x.org/a"}}

    assert tokens(away) == 10 * PAGE


def test_a_document_of_text_is_text_and_so_is_what_is_said_of_it() -> None:
    plain = {"type": "text", "media_type": "text/plain", "data": "ten letter"}
    parts = {"type": "content", "content": [text_block("abc"), image(png(56, 56))]}

    assert tokens({"type": "document", "source": plain, "title": "abc"}) == 13
    assert tokens({"type": "document", "source": parts, "context": "ab"}) == 9


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(text_block("abcd"), 4, id="text"),
        pytest.param(
            {"type": "tool_use", "id": "t1", "name": "go", "input": {"to": 1}},
            len('go{"to":1}'),
            id="call",
        ),
        pytest.param(tool_result("t1", "abc"), 3, id="result of text"),
        pytest.param(
            tool_result("t1", [text_block("ab"), image(png(56, 28))]),
            4,
            id="result with an image",
        ),
        pytest.param({"type": "tool_result", "tool_use_id": "t1"}, 0, id="no content"),
        pytest.param(
            {"type": "thinking", "thinking": "abc", "signature": "s"}, 3, id="thinking"
        ),
        pytest.param(
            {"type": "thinking", "thinking": "", "signature": "s" * 500},
            100,
            id="thinking that is not shown",
        ),
        pytest.param(
            {"type": "new", "data": "x" * 375}, 100, id="unknown, by its length"
        ),
        pytest.param({"type": "text"}, 4, id="text without a text"),
    ],
)
def test_each_kind_of_block_has_its_size(block: dict[str, Any], expected: int) -> None:
    assert tokens(block) == expected


def test_a_content_is_a_text_or_the_sum_of_its_blocks() -> None:
    assert content_tokens("abc", count=len) == 3
    assert content_tokens([text_block("ab"), text_block("c")], count=len) == 3
    assert content_tokens([], count=len) == 0


@given(st.sampled_from([png, gif, jpeg, webp]), st.data())
def test_no_damage_to_an_image_is_an_error(form: Any, data: st.DataObject) -> None:
    whole = bytearray(form(640, 480)[:60])
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(whole)))

    assert 1 <= tokens(image(bytes(whole[:size]))) <= MOST
