from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from orchestrator.tools.mcp.results import of_call, of_resource
from orchestrator.tools.pictures import MAX_PICTURES


def png(width: int = 2, height: int = 2) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (width + 1) * min(height, 4))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows)
    return base64.b64encode(data + chunk(b"IEND", b"")).decode()


PICTURE = png()


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def image(data: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": kind}


def test_an_image_is_an_image_once_and_never_text() -> None:
    url = f"data:image/png;base64,{PICTURE}"
    structured = {"caption": "a dot", "image": PICTURE, "url": url}

    output = of_call({"content": [image(PICTURE)], "structuredContent": structured})

    [block] = output.blocks
    assert block["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": PICTURE,
    }
    assert PICTURE not in output.text
    assert json.loads(output.text)["caption"] == "a dot"


def test_the_media_type_is_what_the_bytes_are() -> None:
    output = of_call({"content": [image(PICTURE, "image/jpeg")]})

    assert output.blocks[0]["source"]["media_type"] == "image/png"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param("!!!", "damaged", id="no base64"),
        pytest.param(base64.b64encode(b"<svg/>").decode(), "not a picture", id="svg"),
        pytest.param(png(2001, 2), "2001×2 pixels, at most 2,000", id="too wide"),
        pytest.param(
            base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 5_100_000).decode(),
            "too big",
            id="too big",
        ),
        pytest.param(
            base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), "damaged", id="cut off"
        ),
    ],
)
def test_what_the_api_would_refuse_is_told_in_words(data: str, told: str) -> None:
    output = of_call({"content": [image(data)]})

    assert output.blocks == ()
    assert told in output.text
    assert len(output.text) < 200


def test_only_so_many_images_are_shown() -> None:
    output = of_call({"content": [image(PICTURE)] * (MAX_PICTURES + 3)})

    assert len(output.blocks) == MAX_PICTURES
    assert output.text.count("too many pictures") == 3


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        pytest.param(['{"a": [1, 2]}'], {"a": [1, 2]}, id="the same as JSON"),
        pytest.param(["plain"], {"result": "plain"}, id="a text, wrapped"),
        pytest.param(["5"], {"result": 5}, id="a number, wrapped"),
        pytest.param(['{"a": 1}', "{}"], {"result": [{"a": 1}, {}]}, id="items"),
        pytest.param(["x", "y"], {"result": ["x", "y"]}, id="texts"),
        pytest.param(["12", "x"], {"result": ["12", "x"]}, id="texts like numbers"),
    ],
)  # fmt: skip
def test_structured_content_that_repeats_the_text_is_left_out(
    texts: list[str], structured: dict[str, Any]
) -> None:
    content = [text(each) for each in texts]

    output = of_call({"content": content, "structuredContent": structured})

    assert output.text == "\n".join(texts)


def test_structured_content_that_says_more_is_told() -> None:
    result = {"content": [text("2 orders")], "structuredContent": {"orders": [1, 2]}}

    assert of_call(result).text == '2 orders\n{"orders": [1, 2]}'


def test_where_fields_are_chosen_structured_content_stands_alone() -> None:
    result = {"content": [text("2 orders")], "structuredContent": {"orders": [1, 2]}}

    assert of_call(result, fields=("orders",)).text == '{"orders": [1, 2]}'


def test_an_error_is_one() -> None:
    output = of_call({"content": [text("no such order")], "isError": True})

    assert output.is_error
    assert output.text == "no such order"


def test_other_content_is_named_in_a_line() -> None:
    link = {
        "type": "resource_link",
        "uri": "memo://b",
        "name": "b",
        "description": "more",
    }
    inner = {"uri": "memo://a", "text": "hello"}
    blob = {"uri": "memo://c", "blob": base64.b64encode(b"\0" * 999).decode()}
    audio = {"type": "audio", "data": "AAAA" * 500, "mimeType": "audio/wav"}

    output = of_call({"content": [
        link, {"type": "resource", "resource": inner},
        {"type": "resource", "resource": blob}, audio,
    ]})  # fmt: skip

    assert output.text.splitlines() == [
        "[link to resource memo://b (b): more]",
        "[resource memo://a]",
        "hello",
        "[memo://c: 999 bytes, not a picture that can be shown]",
        "[audio left out: audio/wav, 1,500 bytes]",
    ]


def test_a_resource_is_its_text_and_its_picture() -> None:
    output = of_resource([{"uri": "a", "text": "hello"}, {"uri": "b", "blob": PICTURE}])

    assert output.text == "hello\n[image b]"
    assert len(output.blocks) == 1
