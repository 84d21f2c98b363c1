"""Whether what is printed has the fields of its schema: all of them, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["closed", "fields_of", "filled_in"]

Json = Any


def closed(schema: Json) -> Json:
    """A schema in which an object holds nothing that is not told of."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    if "properties" in schema and "title" in schema:
        found.setdefault("additionalProperties", False)
    return found


def fields_of(schema: Json, at: Json, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the path of each field that a schema has."""
    if "$ref" in at:
        at = schema["$defs"][at["$ref"].rpartition("/")[2]]
    for each in at.get("anyOf", ()):
        yield from fields_of(schema, each, path, depth)
    if "items" in at:
        yield from fields_of(schema, at["items"], path, depth)
    if isinstance(at.get("additionalProperties"), dict):
        yield from fields_of(schema, at["additionalProperties"], f"{path}.*", depth)
    for name, each in at.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from fields_of(schema, each, f"{path}.{name}", depth + 1)


def filled_in(value: Json, names: set[str], path: str = "") -> Iterator[str]:
    """Yield the paths of the fields of a value; names of maps are `*`."""
    if isinstance(value, list):
        for each in value:
            yield from filled_in(each, names, path)
    if isinstance(value, dict):
        for name, each in value.items():
            at = f"{path}.{name}" if f"{path}.{name}" in names else f"{path}.*"
            yield at
            yield from filled_in(each, names, at)
