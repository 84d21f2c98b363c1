"""Turn any JSON Schema of a server into a small one that stands alone.

Servers write for every draft, refer to parts of their own, put choices on top and
recurse. What comes out is of draft 2020-12, has no references and no recursion, and is
bounded in depth and number of nodes, whatever went in: a hostile schema costs no more
than a big one. Nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Schema", "written_out"]

Schema = dict[str, Any]

MAX_DEPTH = 16
MAX_NODES = 3000
MAX_TEXT_CHARS = 600
MAX_VALUES = 100
"""Longest list of allowed values."""
_SAME_REFERENCE = 2
"""So often a part may stand within itself; below that it is left open."""
_POINTER_STEPS = 32

_SIZES = frozenset(
    {
        "maxContains", "maxItems", "maxLength", "maxProperties",
        "minContains", "minItems", "minLength", "minProperties",
    }
)  # fmt: skip
_BOUNDS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_TEXTS = frozenset({"description", "title", "format"})
_MAX_NUMBER = 2**53
_ONE = frozenset(
    {
        "additionalProperties", "contains", "else", "if", "items", "not",
        "propertyNames", "then",
    }
)  # fmt: skip
"""Keys that hold one schema."""
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"dependentSchemas", "properties"})
_TYPES = frozenset(
    {"array", "boolean", "integer", "null", "number", "object", "string"}
)


def written_out(schema: object, *, max_depth: int = MAX_DEPTH) -> Schema:
    """Return `schema` without references, recursion and what 2020-12 does not know.

    What is too deep, refers to elsewhere or cannot be understood is `{}`: anything may
    stand there, and the server checks it.

    Args:
        schema: of a server: an object, a boolean, or nonsense.
        max_depth: levels below the top that are kept.
    """
    return _Writer(schema if isinstance(schema, dict) else {}, max_depth).schema(
        schema, _Place()
    )


@dataclass(frozen=True, slots=True)
class _Place:
    depth: int = 0
    above: tuple[str, ...] = ()
    """References that lead here."""

    def below(self) -> _Place:
        return _Place(self.depth + 1, self.above)


class _Writer:
    def __init__(self, root: Mapping[str, Any], max_depth: int) -> None:
        self._root, self._max_depth = root, max_depth
        self._nodes = 0

    def schema(self, node: object, place: _Place) -> Schema:
        """Return one schema written out."""
        if node is False:
            return {"not": {}}
        self._nodes += 1
        too_much = place.depth > self._max_depth or self._nodes > MAX_NODES
        if not isinstance(node, dict) or too_much:
            return {}
        if "$ref" in node:
            return self._referred(node, place)
        plain = dict(self._members(_of_2020(node), place))
        kinds = _kinds(node)
        if kinds is not None:
            plain["type"] = kinds
        return plain

    def _referred(self, node: Mapping[str, Any], place: _Place) -> Schema:
        """Return what a reference points to, with what stands beside it."""
        reference = node["$ref"]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        own = self.schema(beside, place)
        if not isinstance(reference, str):
            return own
        if place.above.count(reference) >= _SAME_REFERENCE:
            return own
        target = self._target(reference)
        inner = _Place(place.depth, (*place.above, reference))
        if len(inner.above) > _POINTER_STEPS:
            return own
        return {**self.schema(target, inner), **own}

    def _target(self, reference: str) -> object:
        """Return the part of the schema that a reference names; None: not in it."""
        if reference == "#":
            return self._root
        if not reference.startswith("#/"):
            return None
        here: object = self._root
        for step in reference[2:].split("/")[:_POINTER_STEPS]:
            key = step.replace("%25", "%").replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict):
                here = here.get(key)
            elif isinstance(here, list) and key.isdigit() and int(key) < len(here):
                here = here[int(key)]
            else:
                return None
        return here

    def _members(
        self, node: Mapping[str, Any], place: _Place
    ) -> Iterator[tuple[str, Any]]:
        below = place.below()
        for key, value in node.items():
            if key in _ONE:
                if isinstance(value, dict | bool):
                    yield key, self._single(key, value, below)
            elif key in _LISTS:
                if isinstance(value, list) and value:
                    yield key, [self.schema(each, below) for each in value[:MAX_VALUES]]
            elif key in _NAMED:
                if isinstance(value, dict):
                    yield (
                        key,
                        {
                            name: self.schema(each, below)
                            for name, each in value.items()
                        },
                    )
            else:
                yield from _leaf(key, value)

    def _single(self, key: str, value: object, below: _Place) -> object:
        if key == "additionalProperties" and isinstance(value, bool):
            return value  # every endpoint knows these two
        return self.schema(value, below)


def _leaf(key: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield a key that holds no schema, where the draft has it so."""
    if key in _TEXTS and isinstance(value, str):
        yield key, value[:MAX_TEXT_CHARS]
    elif (
        key in ("const", "default") or _is_limit(key, value) or _is_pattern(key, value)
    ):
        yield key, value
    elif key == "required":
        yield key, _strings(value)
    elif key == "uniqueItems" and value is True:
        yield key, value
    elif key == "enum" and isinstance(value, list) and value:
        yield from (
            [(key, value)] if len(value) <= MAX_VALUES else [("examples", value[:5])]
        )
    elif key == "dependentRequired" and isinstance(value, dict):
        yield key, {name: _strings(each) for name, each in value.items()}


def _is_limit(key: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if key in _SIZES:
        return isinstance(value, int) and 0 <= value < _MAX_NUMBER
    if key == "multipleOf":
        return 0 < value < _MAX_NUMBER
    return key in _BOUNDS and -_MAX_NUMBER < value < _MAX_NUMBER


def _is_pattern(key: str, value: object) -> bool:
    """Return whether a pattern is one; endpoints refuse a request with a broken one."""
    if key != "pattern" or not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return list(dict.fromkeys(each for each in value if isinstance(each, str)))


def _kinds(node: Mapping[str, Any]) -> str | list[str] | None:
    """Return the types of a schema, or None where it names none that exists."""
    value = node.get("type")
    named = value if isinstance(value, list) else [value]
    kinds = list(dict.fromkeys(x for x in named if isinstance(x, str) and x in _TYPES))
    if kinds and node.get("nullable") is True and "null" not in kinds:
        kinds.append("null")
    if not kinds:
        return None
    return kinds if len(kinds) > 1 else kinds[0]


def _of_2020(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the forms of earlier drafts turned into those of 2020-12."""
    found = {key: value for key, value in node.items() if key != "type"}
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if isinstance(found.get("additionalItems"), dict | bool):
            found["items"] = found["additionalItems"]
    for bound, strict in (
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ):
        if found.get(strict) is True and bound in found:
            found[strict] = found.pop(bound)
    needs = found.get("dependencies")
    for name, each in needs.items() if isinstance(needs, dict) else ():
        key = "dependentRequired" if isinstance(each, list) else "dependentSchemas"
        found[key] = {**(found.get(key) or {}), name: each}
    return found
