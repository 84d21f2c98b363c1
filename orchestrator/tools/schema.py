"""JSON Schemas of tool inputs, in the plain form that every endpoint takes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

__all__ = ["input_schema", "keys_at"]

Schema = dict[str, Any]

# What pydantic adds and no model needs: that a text is not empty goes without saying,
# and nobody counts characters; what is too long is refused with its limit.
_NOISE = (
    "$defs", "discriminator", "maxItems", "maxLength", "minItems", "minLength", "title",
)  # fmt: skip


@lru_cache(maxsize=256)
def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of `model` for a tool definition. Read it, never change it.

    `$defs` are written out where they are used, "or null" is left out (an optional
    key may simply be absent), and neither titles nor empty defaults are there.

    Raises:
        TypeError: the model refers to itself, so that it cannot be written out.
    """
    raw = model.model_json_schema()
    schema = _plain(raw, raw.get("$defs", {}), frozenset())
    schema.pop("description", None)  # the tool's own description says more
    schema.setdefault("properties", {})
    return schema


def keys_at(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are known at `place` in an input, or none if unclear."""
    node: Schema = input_schema(model)
    for step in place:
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step, {})
    return list(node.get("properties", {}))


def _plain(node: Schema, defs: Schema, above: frozenset[str]) -> Schema:
    node = _resolved(node, defs, above)
    above = node.pop("$above", above)
    return {
        key: _plain_value(key, value, defs, above)
        for key, value in node.items()
        if key not in _NOISE and not _is_empty_default(key, value)
    }


def _plain_value(key: str, value: Any, defs: Schema, above: frozenset[str]) -> Any:  # noqa: ANN401 - any JSON
    if key == "properties":
        return {name: _plain(child, defs, above) for name, child in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return _plain(value, defs, above)
    if key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [_plain(child, defs, above) for child in value]
    return value


def _resolved(node: Schema, defs: Schema, above: frozenset[str]) -> Schema:
    """Return `node` with its reference, or its only real choice, written out."""
    node = dict(node)
    choices = node.get("anyOf")
    if choices is not None:
        real = [choice for choice in choices if choice.get("type") != "null"]
        if len(real) == 1:
            del node["anyOf"]
            node = {**real[0], **node}
        else:
            node["anyOf"] = real
    reference = node.pop("$ref", None)
    if reference is None:
        return node
    name = reference.rpartition("/")[2]
    if name in above:
        raise TypeError(f"the input model `{name}` refers to itself")
    inner = _resolved(defs[name], defs, above | {name})
    return {"$above": above | {name}, **inner, **node}


def _is_empty_default(key: str, value: object) -> bool:
    """Return whether a default says nothing, or nothing that JSON can hold."""
    if key != "default":
        return False
    if isinstance(value, float):
        return not math.isfinite(value)
    return value is None or value == "" or isinstance(value, (list, dict))
