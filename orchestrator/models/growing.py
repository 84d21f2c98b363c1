"""Content blocks of a streamed answer, from their pieces to what can be sent back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchestrator.messages import Block
from orchestrator.models.sse import joined, loads, mended

__all__ = [
    "MAX_DEPTH",
    "Growing",
    "block_problem",
    "digest",
    "in_place",
    "is_deeper",
]

MAX_BROKEN_CHARS = 2000
MAX_DEPTH = 100
"""Of what a block holds. Deeper, it could not be written down or sent again."""

# What blocks of known types grow by; with anything else they could not go back.
_PIECES_OF: Final = {"text": "text", "thinking": "thinking", "tool_use": "input"}


class Growing:
    """One content block and the pieces that arrived for it."""

    __slots__ = ("block", "citations", "json_pieces", "pieces", "place")

    def __init__(self, block: Block, place: int | str | None = None) -> None:
        self.block = block
        self.place = place
        self.pieces: dict[str, list[str]] = {}
        self.json_pieces: list[str] | None = None
        self.citations: list[Any] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take in one delta, in order of arrival."""
        kind = delta.get("type")
        if kind == "text_delta":
            self._append("text", delta.get("text"))
        elif kind == "input_json_delta":
            if self.json_pieces is None:
                self.json_pieces = []
            self.json_pieces.append(str(delta.get("partial_json") or ""))
        elif kind == "thinking_delta":
            self._append("thinking", delta.get("thinking"))
        elif kind == "citations_delta":
            self.citations.append(delta.get("citation"))
        else:
            # A signature comes whole; so does what we do not know.
            self.block.update({k: v for k, v in delta.items() if k != "type"})

    def _append(self, name: str, piece: object) -> None:
        self.pieces.setdefault(name, []).append(str(piece or ""))

    @property
    def has_strange_pieces(self) -> bool:
        """Whether a block that is known got pieces of another one."""
        own = _PIECES_OF.get(str(self.block.get("type")))
        if own is None:
            return False
        has_json = self.json_pieces is not None
        return bool(self.pieces.keys() - {own}) or (has_json and own != "input")

    def said(self) -> bytes:
        """Return what the model has said in it so far, ids and signatures aside."""
        texts = [text for pieces in self.pieces.values() for text in pieces]
        named = str(self.block.get("name") or "")
        whole = "".join([named, *texts, *(self.json_pieces or ())])
        return whole.encode("utf-8", "surrogatepass")

    def finish(self) -> Block:
        """Return the block with all its pieces in it but those of its input."""
        for name, pieces in self.pieces.items():
            self.block[name] = joined([str(self.block.get(name) or ""), *pieces])
        if self.citations:
            given = self.block.get("citations")
            known = given if isinstance(given, list) else []
            self.block["citations"] = [*known, *self.citations]
        return self.block

    def set_input(self, no_objects: dict[str, str]) -> None:
        """Parse the input; one that is no JSON object becomes `{}`.

        Args:
            no_objects: gets the id of such a call → that text, bounded.
        """
        text = joined(self.json_pieces or [])
        value: object = self.block.get("input")
        if text.strip():
            try:
                value = mended(loads(text.encode()))
            except ValueError:
                value = None
        elif value is None:
            value = {}
        is_deep = is_deeper(value, MAX_DEPTH - 1)
        if is_deep or not isinstance(value, dict):
            text = text or ("nested too deep" if is_deep else json.dumps(value))
            no_objects[str(self.block.get("id") or "")] = text[:MAX_BROKEN_CHARS]
            value = {}
        self.block["input"] = value


def digest(parts: Iterable[bytes]) -> str:
    """Return what tells this sequence of bytes from others; short."""
    found = hashlib.blake2b(digest_size=12)
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()


def in_place(blocks: list[Growing]) -> list[Growing]:
    """Return blocks in the order of their places, where each has one of its own."""
    by_place = {each.place: each for each in blocks if isinstance(each.place, int)}
    if len(by_place) < len(blocks):
        return blocks
    return [by_place[place] for place in sorted(by_place)]


def block_problem(block: Block) -> str:
    """Return why `block` can be neither kept nor sent back, or ""."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return "a block does not say of what type it is"
    if kind == "tool_result":
        return "the reply holds a `tool_result`, which only requests may hold"
    if kind in ("text", "thinking") and not isinstance(block.get(kind), str):
        return f"the {kind} of a block is no text"
    if is_deeper(block, MAX_DEPTH):
        return f"a block is nested more than {MAX_DEPTH} deep"
    return ""


def is_deeper(value: object, levels: int) -> bool:
    """Return whether `value` holds more than `levels` of lists and objects."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_deeper(each, levels - 1) for each in inner)
