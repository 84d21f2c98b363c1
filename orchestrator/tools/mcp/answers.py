"""Mend what servers answer before it is checked: the rest of it is still good."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.messages import one_line
from orchestrator.tools.mcp.session import Json

__all__ = ["mended"]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_NEEDED: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
_SHOWN_CHARS = 60


def mended(method: str, raw: Json) -> Json:
    """Return an answer in which what is broken is left out or described.

    Args:
        method: of the request that it answers.
        raw: the `result` as it came; not changed.
    """
    mend = _MENDED.get(method)
    return raw if mend is None else {**raw, **mend(raw)}


def _tools(raw: Json) -> Json:
    tools = raw.get("tools")
    if not isinstance(tools, list):
        return {}
    return {"tools": [_tool(each) for each in tools if _is_named(each)]}


def _is_named(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def _tool(tool: Json) -> Json:
    schema = tool.get("inputSchema")
    found: Json = {"name": tool["name"]}
    # On top there is always an object: arguments have names.
    rest = schema if isinstance(schema, dict) else {}
    if not isinstance(rest.get("properties", {}), dict):
        rest = {key: value for key, value in rest.items() if key != "properties"}
    found["inputSchema"] = {**rest, "type": "object"}
    for key in ("title", "description"):
        if isinstance(tool.get(key), str):
            found[key] = tool[key]
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        found["annotations"] = {
            key: hints[key] for key in _HINTS if isinstance(hints.get(key), bool)
        }
    return found


def _result(raw: Json) -> Json:
    content = raw.get("content")
    found: Json = {
        "content": [
            block if _is_whole(block) else _described(block)
            for block in (content if isinstance(content, list) else [])
        ]
    }
    structured = raw.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        found["structuredContent"] = {"result": structured}
    if "isError" in raw:
        found["isError"] = raw["isError"] is True
    return found


def _is_whole(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if kind == "resource":
        inner = block.get("resource")
        return isinstance(inner, dict) and all(
            isinstance(inner.get(key), str)
            for key in ("uri", "text" if "text" in inner else "blob")
        )
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    return needed is not None and all(isinstance(block.get(key), str) for key in needed)


def _described(block: object) -> Json:
    kind = block.get("type") if isinstance(block, dict) else None
    shown = one_line(str(kind), _SHOWN_CHARS) if kind else "no known kind"
    return {"type": "text", "text": f"[content that is not readable: {shown}]"}


_MENDED: dict[str, Callable[[Json], Json]] = {
    "tools/list": _tools,
    "tools/call": _result,
}
