"""Turn what a server gives back into what our tools give back."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.messages import Block, one_line, with_texts
from orchestrator.tools.base import ToolOutput
from orchestrator.tools.mcp.session import Json
from orchestrator.tools.pictures import media_type, problem_of

__all__ = ["of_call", "of_resource"]

_NAME_CHARS = 300


def of_call(result: Mapping[str, Any], *, fields: Sequence[str] = ()) -> ToolOutput:
    """Return the output of a call.

    Images become image blocks, once. Structured content is told where the text does
    not say the same already; where `fields` choose parts of it, in place of the text.

    Args:
        result: of the server: content, structuredContent, isError.
        fields: the dotted names that are shown of results that are JSON.
    """
    parts = _Parts()
    for block in result.get("content", ()):
        parts.add(block)
    structured = result.get("structuredContent")
    if structured is not None:
        if fields:
            parts.texts = [_json(structured)]
        elif not _is_told(structured, parts.texts):
            parts.texts.append(_json(_without(structured, parts.encoded)))
    text = "\n".join(parts.texts)
    return ToolOutput(
        text, is_error=bool(result.get("isError")), blocks=tuple(parts.images)
    )


def of_resource(contents: Iterable[Mapping[str, Any]]) -> ToolOutput:
    """Return the contents of a resource: its texts, and its images."""
    parts = _Parts()
    for each in contents:
        parts.resource(each, named=False)
    return ToolOutput("\n".join(parts.texts), blocks=tuple(parts.images))


@dataclass(slots=True)
class _Parts:
    texts: list[str] = field(default_factory=list)
    images: list[Block] = field(default_factory=list)
    encoded: set[str] = field(default_factory=set)
    """Base64 of what is shown or described, so that it is not told as text too."""

    def add(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self.texts.append(block["text"])
            case "image":
                self.image(block["data"], "")
            case "audio":
                self.encoded.add(block["data"])
                self.texts.append(_left_out(block, "audio", block["data"]))
            case "resource":
                self.resource(block["resource"], named=True)
            case "resource_link":
                self.texts.append(_link(block))

    def resource(self, inner: Mapping[str, Any], *, named: bool) -> None:
        uri = one_line(str(inner.get("uri", "")), _NAME_CHARS)
        if "text" in inner:
            self.texts += [f"[resource {uri}]", inner["text"]] if named else []
            self.texts += [] if named else [inner["text"]]
            return
        data = str(inner.get("blob", ""))
        self.image(data, uri)

    def image(self, data: str, name: str) -> None:
        """Take what base64 holds: as an image where the API takes it, else in words."""
        self.encoded.add(data)
        try:
            raw = base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            self.texts.append(f"[{name or 'image'}: damaged, not base64]")
            return
        problem = problem_of(raw, before=len(self.images))
        if problem:
            self.texts.append(f"[{name or 'image'}: {len(raw):,} bytes, {problem}]")
            return
        if name:
            self.texts.append(f"[image {name}]")
        source = {
            "type": "base64",
            "media_type": media_type(raw),
            "data": base64.b64encode(raw).decode(),
        }
        self.images.append({"type": "image", "source": source})


def _left_out(block: Mapping[str, Any], what: str, data: str) -> str:
    kind = one_line(str(block.get("mimeType", "")), _NAME_CHARS)
    return f"[{what} left out: {kind}, {len(data) * 3 // 4:,} bytes]"


def _link(block: Mapping[str, Any]) -> str:
    parts = [block.get("mimeType"), block.get("description")]
    told = "; ".join(one_line(str(part), _NAME_CHARS) for part in parts if part)
    name = one_line(str(block.get("name", "")), _NAME_CHARS)
    uri = one_line(str(block.get("uri", "")), _NAME_CHARS)
    return f"[link to resource {uri} ({name}){told and f': {told}'}]"


def _is_told(structured: Json, texts: Sequence[str]) -> bool:
    """Return whether the texts say the same: as JSON, or item by item."""
    if not texts:
        return False
    wanted: list[Any] = [structured]
    if set(structured) == {"result"}:  # how SDKs wrap what is no object
        wanted.append(structured["result"])
    whole = "\n".join(texts)
    read = list(_read([whole, *texts]))
    items = [_value(text) for text in texts]
    return any(
        each in read or each == whole or each in (items, list(texts)) for each in wanted
    )


def _read(texts: Iterable[str]) -> Iterator[Any]:
    for text in texts:
        try:
            yield json.loads(text)
        except (ValueError, RecursionError):
            continue


def _value(text: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _without(structured: Json, encoded: set[str]) -> Any:  # noqa: ANN401 - any JSON
    if not encoded:
        return structured

    def change(text: str) -> str:
        is_same = text in encoded or text.rpartition("base64,")[2] in encoded
        return "[left out: see above]" if is_same else text

    return with_texts(structured, change)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
