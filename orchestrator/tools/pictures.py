"""Which pictures a conversation can take, so that none makes its requests refused."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from orchestrator.block_sizes import image_sides
from orchestrator.messages import Block

__all__ = ["MAX_PICTURES", "judged", "media_type", "problem_of"]

MAX_BYTES = 5_000_000
MAX_SIDE = 2000
"""In pixels. The service takes 8,000, but in a request of over 20 pictures no more than
this, and refuses that request and all that follow it for one that is larger."""
MAX_PICTURES = 20
"""Of one result."""
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def media_type(raw: bytes) -> str:
    """Return the media type by content, for a wrong one is refused; "": no picture."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for head, kind in _KINDS if raw.startswith(head)), "")


def problem_of(raw: bytes, *, before: int = 0) -> str:
    """Return why a picture is not sent, or "".

    Args:
        raw: its bytes.
        before: pictures of the same result that are.
    """
    if not media_type(raw):
        return "not a picture that can be shown"
    if len(raw) > MAX_BYTES:
        return "too big to be shown"
    width, height = image_sides(raw)
    if max(width, height) > MAX_SIDE:
        return f"{width}×{height} pixels, at most {MAX_SIDE:,} on a side can be shown"
    if min(width, height) <= 0:
        return "damaged"
    return "left out: too many pictures" if before >= MAX_PICTURES else ""


def judged(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """Return the blocks that can be sent, and a note for each picture that cannot.

    Args:
        blocks: of a result, without its texts.
    """
    kept: list[Block] = []
    notes: list[str] = []
    for block in blocks:
        problem = _problem_in(block, before=len(kept))
        if problem:
            notes.append(f"[picture: {problem}]")
        else:
            kept.append(block)
    return kept, notes


def _problem_in(block: Block, *, before: int) -> str:
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, dict):
        return ""
    if source.get("type") != "base64":
        return ""
    try:
        raw = base64.b64decode(str(source.get("data", "")), validate=True)
    except (binascii.Error, ValueError):
        return "damaged, not base64"
    if source.get("media_type") != media_type(raw) and media_type(raw):
        return f"it is {media_type(raw)}, and not what it is said to be"
    return problem_of(raw, before=before)
