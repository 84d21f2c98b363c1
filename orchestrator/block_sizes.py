"""Estimate the tokens of content blocks: texts by a count, images by their pixels.

What a service charges for pictures and pages has nothing to do with the length of their
base64, which is never counted as text.
"""

from __future__ import annotations

import binascii
import importlib
import io
import itertools
import math
import re
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from orchestrator.messages import Block, encode

__all__ = ["block_tokens", "content_tokens", "image_sides"]

Count = Callable[[str], int]

# Images, as told for the models since Opus 4.7; older ones stop at 1568 pixels and 1568
# tokens, so that this is too much for large images there, and never too little. Source:
# https://platform.claude.com/docs/en/build-with-claude/vision, read in November 2026.
_PATCH_PIXELS: Final = 28
_LONGEST_PIXELS: Final = 2576
_MOST_IMAGE_TOKENS: Final = 4784
_IMAGES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_HEAD_CHARS = 1 << 20
"""Of base64: the size of an image stands before its pixels."""

# Each page is text and an image. Told: 1,500 to 3,000 tokens of text a page; measured
# with Claude 5.5 for text, a table, a scan: 2,330, 2,480 and 1,600 in all
# (https://huggingface.co/datasets/JOHNISKING/pdf-token-cost, October 2026).
_PAGE_TOKENS: Final = 3000
_PAGE_BYTES: Final = 20_000
_MOST_PAGES: Final = 600
_UNSEEN_PAGES: Final = 10
_TREE = re.compile(rb"/Type\s{0,9}/Pages\b")
_PAGE = re.compile(rb"/Type\s{0,9}/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s{1,9}(\d{1,6})")
_NEAR_BYTES = 300
_STREAM = re.compile(rb"stream\r?\n")
# So that no document takes long, whatever is in it.
_MOST_TREES, _MOST_PACKED = 1000, 1000
_MOST_STREAM_BYTES, _MOST_UNPACKED_BYTES = 1 << 19, 1 << 24

_BYTES_PER_TOKEN: Final = 4
"""Of blocks that are not known, and of what is encrypted in base64."""


def content_tokens(content: str | Iterable[Block], *, count: Count) -> int:
    """Return the estimated tokens of a content: a text, or blocks.

    Args:
        content: of a message or of a tool's result.
        count: estimates the tokens of a text.
    """
    if isinstance(content, str):
        return count(content)
    return sum(block_tokens(block, count=count) for block in content)


def block_tokens(block: Block, *, count: Count) -> int:
    """Return the estimated tokens of a content block, of whatever type.

    A cautious figure where the size cannot be known: an image or a document behind an
    address or in the service's store, and damaged data. What the service adds for each
    block is not in it.

    Args:
        block: as the API has it; one of an unknown type goes by its length.
        count: estimates the tokens of a text.
    """
    match block:
        case {"type": "text", "text": str(text)}:
            tokens = count(text)
        case {"type": "tool_use", "input": given}:
            tokens = count(str(block.get("name"))) + count(encode(given).decode())
        case {"type": "tool_result"}:
            tokens = content_tokens(block.get("content") or "", count=count)
        case {"type": "thinking", "thinking": str(text)}:
            # What is shown may be a summary; the signature carries the whole.
            tokens = max(count(text), len(str(block.get("signature") or "")) // 5)
        case {"type": "image", "source": dict(source)}:
            tokens = _image_tokens(source)
        case {"type": "document", "source": dict(source)}:
            named = (str(block.get(name) or "") for name in ("title", "context"))
            tokens = _document_tokens(source, count) + sum(map(count, named))
        case _:
            tokens = math.ceil(len(encode(block)) / _BYTES_PER_TOKEN)
    return tokens


def _image_tokens(source: dict[str, Any]) -> int:
    data = source.get("data")
    if not isinstance(data, str):
        return _MOST_IMAGE_TOKENS
    head = _decoded(data[:_HEAD_CHARS])
    if not head.startswith(_IMAGES):
        return _MOST_IMAGE_TOKENS
    sides = image_sides(head)
    if min(sides) < 1:
        return _MOST_IMAGE_TOKENS
    shrink = min(1.0, _LONGEST_PIXELS / max(sides))
    columns, rows = (max(math.ceil(side * shrink / _PATCH_PIXELS), 1) for side in sides)
    return min(columns * rows, _MOST_IMAGE_TOKENS)


def image_sides(data: bytes) -> tuple[int, int]:
    """Return width and height of an image in pixels; (-1, -1): they are not in `data`.

    Args:
        data: of a PNG, JPEG, GIF or WebP file, at least its head.
    """
    # Loaded when it is needed: it takes longer to load than most commands may.
    sides: tuple[int, int] = importlib.import_module("imagesize").get(io.BytesIO(data))
    return sides


def _document_tokens(source: dict[str, Any], count: Count) -> int:
    match source:
        case {"type": "text", "data": str(text)}:
            return count(text)
        case {"type": "content", "content": content}:
            return content_tokens(content, count=count)
        case {"data": str(data)}:
            return _pages(_decoded(data)) * _PAGE_TOKENS
    return _UNSEEN_PAGES * _PAGE_TOKENS


def _pages(document: bytes) -> int:
    """Return how many pages a PDF has, by its size in bytes where it does not say."""
    if not document:
        return _UNSEEN_PAGES
    told = leaves = 0
    for objects in (document, *_unpacked(document)):
        for tree in itertools.islice(_TREE.finditer(objects), _MOST_TREES):
            start = max(tree.start() - _NEAR_BYTES, 0)
            near = objects[start : tree.end() + _NEAR_BYTES]
            told = max([told, *map(int, _COUNT.findall(near))])
        leaves += len(_PAGE.findall(objects))
    pages = max(told, leaves) or math.ceil(len(document) / _PAGE_BYTES)
    return min(pages, _MOST_PAGES)


def _unpacked(document: bytes) -> Iterable[bytes]:
    """Yield what the object streams of a PDF hold: most keep their pages there."""
    at, room = 0, _MOST_UNPACKED_BYTES
    for _ in range(_MOST_PACKED):
        at = document.find(b"/ObjStm", at) + 1
        stream = _STREAM.search(document, at, at + _NEAR_BYTES) if at else None
        if not at or room <= 0:
            return
        if stream:
            start, end = stream.end(), stream.end() + _MOST_STREAM_BYTES
            ended = document.find(b"endstream", start, end)
            objects = _inflated(document[start : ended if ended > 0 else end], room)
            room -= len(objects)
            yield objects


def _inflated(stream: bytes, most_bytes: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream, most_bytes)
    except zlib.error:
        return b""


def _decoded(data: str) -> bytes:
    """Return what base64 holds; nothing where it is damaged."""
    if "\n" in data:
        data = "".join(data.split())
    try:
        return binascii.a2b_base64(data[: len(data) // 4 * 4])
    except ValueError:
        return b""
