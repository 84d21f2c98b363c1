"""The input schema that a model is shown: an object on top, whatever the server wrote.

The API takes no choice (`oneOf`, `anyOf`, `allOf`) on top and only plain property
names. What the flat form cannot say goes into notes for the tool's description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.messages import encode, one_line, shortened
from orchestrator.tools.mcp.schemas import Schema, written_out

__all__ = ["Shown", "known_keys", "shown_schema"]

MAX_CHARS = 12_000
"""Of a schema as JSON: some 3,000 tokens."""
_DEPTHS = (12, 6, 4, 3, 2, 1)
_LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")  # what the API takes as a property
_NOTED = 12
_OTHERS = (
    "additionalProperties", "patternProperties", "propertyNames",
    "unevaluatedProperties",
)  # fmt: skip
_NOTE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Shown:
    """A schema for a tool definition, and what it cannot say."""

    schema: Schema
    notes: tuple[str, ...] = ()


def shown_schema(schema: object) -> Shown:
    """Return what a model is shown of the input schema of a server's tool.

    Its top is an object with `properties`; choices there are merged: their properties
    side by side, required what every choice requires. Too big a schema is shown less
    deep.
    """
    for depth in _DEPTHS:
        flat = _Flat.of(written_out(schema, max_depth=depth))
        shown = flat.shown()
        if _size(shown.schema) <= MAX_CHARS:
            return shown
    few = {
        name: {key: one[key] for key in ("type",) if key in one}
        for name, one in list(shown.schema["properties"].items())[:100]
    }
    needed = [name for name in shown.schema.get("required", ()) if name in few]
    left = len(shown.schema["properties"]) - len(few)
    note = (f"{left} more arguments are not shown.",) if left > 0 else ()
    small = {"type": "object", "properties": few, "required": needed}
    return Shown(small, note)


def known_keys(schema: object) -> frozenset[str] | None:
    """Return all keys on top of an input schema; None: it leaves room for others.

    A schema that names its keys and says nothing of others means these: most are made
    from the parameters of a function, and a misspelt one would be lost unseen.
    """
    flat = _Flat.of(written_out(schema))
    if flat.is_open or not flat.properties or _leaves_room(schema):
        return None
    return frozenset(flat.properties)


def _leaves_room(schema: object, below: int = 4) -> bool:
    """Return whether a schema speaks of keys that it does not name.

    Args:
        schema: as the server has it; anything at all.
        below: choices within choices that are looked into.
    """
    if not isinstance(schema, Mapping):
        return False
    if any(schema.get(key, False) is not False for key in _OTHERS):
        return True
    choices = [schema.get(key) for key in ("allOf", "anyOf", "oneOf")] if below else []
    return any(
        _leaves_room(each, below - 1)
        for parts in choices
        if isinstance(parts, list)
        for each in parts
    )


def _size(schema: Schema) -> int:
    try:
        return len(encode(schema))
    except TypeError:  # a number that JSON of ours cannot hold
        return MAX_CHARS + 1


@dataclass(slots=True)
class _Flat:
    """The top of a schema, its choices merged."""

    properties: dict[str, list[Schema]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    is_closed: bool = False
    is_open: bool = False
    """It speaks of keys that it does not name, or is elsewhere."""
    choices: list[list[str]] = field(default_factory=list)
    """What each choice requires beyond the rest."""
    merged: bool = False

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> _Flat:
        flat = cls()
        flat._add(schema.get("properties"))
        flat._need(schema.get("required", ()))
        flat.is_closed = schema.get("additionalProperties") is False
        flat.is_open = not schema or _leaves_room(schema)
        for part in schema.get("allOf", ()):
            flat._join(cls.of(part), is_needed=True)
        for key in ("anyOf", "oneOf"):
            branches = [cls.of(each) for each in schema.get(key, ())]
            flat._choose(branches)
        optional = [schema.get(key) for key in ("if", "then", "else")]
        optional += (schema.get("dependentSchemas") or {}).values()
        for part in optional:
            if isinstance(part, Mapping):
                flat._join(cls.of(part), is_needed=False)
        return flat

    def _add(self, properties: Mapping[str, Schema] | None) -> None:
        for name, one in (properties or {}).items():
            known = self.properties.setdefault(name, [])
            if one not in known:
                known.append(one)

    def _need(self, names: Iterable[str]) -> None:
        self.required += [name for name in names if name not in self.required]

    def _join(self, other: _Flat, *, is_needed: bool) -> None:
        self.merged = True
        self.is_open |= other.is_open
        for name, each in other.properties.items():
            for one in each:
                self._add({name: one})
        if is_needed:
            self._need(other.required)
            self.choices += other.choices

    def _choose(self, branches: list[_Flat]) -> None:
        for branch in branches:
            self._join(branch, is_needed=False)
        if not branches:
            return
        shared = [
            name
            for name in branches[0].required
            if all(name in branch.required for branch in branches)
        ]
        self._need(shared)
        needs = [
            [name for name in branch.required if name not in self.required]
            for branch in branches
        ]
        if any(needs):
            self.choices += [names for names in needs if names not in self.choices]

    def shown(self) -> Shown:
        notes: list[str] = []
        properties: dict[str, Schema] = {}
        for name, each in self.properties.items():
            one = _united(each)
            if _LEGAL.fullmatch(name):
                properties[name] = _legal_within(one)
            elif len(notes) < _NOTED:
                notes.append(_note(name, one, is_needed=name in self.required))
        schema: Schema = {"type": "object", "properties": properties}
        if required := [name for name in self.required if name in properties]:
            schema["required"] = required
        if (
            self.is_closed
            and not self.merged
            and len(properties) == len(self.properties)
        ):
            schema["additionalProperties"] = False
        if len(self.choices) > 1:
            sets = ["+".join(names) or "none of them" for names in self.choices[:8]]
            told = one_line("; or ".join(sets), _NOTE_CHARS * 2)
            notes.append(f"Needs one of: {told}.")
        return Shown(schema, tuple(notes))


def _united(each: list[Schema]) -> Schema:
    """Return one schema for a property that several choices have."""
    if len(each) == 1:
        return each[0]
    values = [value for one in each for value in _values(one)]
    if all(_values(one) for one in each):
        rest: Schema = {
            key: each[0][key] for key in ("type", "description") if key in each[0]
        }
        return {
            **rest,
            "enum": [x for i, x in enumerate(values) if x not in values[:i]],
        }
    return {"anyOf": each[:8]}


def _values(schema: Schema) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    found: list[Any] = schema.get("enum", [])
    return found


def _note(name: str, one: Schema, *, is_needed: bool) -> str:
    kind = one.get("type", "any type")
    told = one_line(str(one.get("description", "")), _NOTE_CHARS)
    need = ", required" if is_needed else ""
    shown = shortened(name, _NOTE_CHARS)
    return f"Also takes `{shown}` ({kind}{need}){told and f': {told}'}."


def _legal_within(schema: Schema) -> Schema:
    """Return a schema whose properties, at any depth, have names that the API takes."""
    found: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            legal = {name: one for name, one in value.items() if _LEGAL.fullmatch(name)}
            found[key] = {name: _legal_within(one) for name, one in legal.items()}
            if len(legal) < len(value):
                others = [
                    _note(n, o, is_needed=False)
                    for n, o in value.items()
                    if n not in legal
                ]
                told = str(schema.get("description", ""))
                found["description"] = " ".join([told, *others[:_NOTED]]).strip()
        elif key == "required" and "properties" in schema:
            found[key] = [name for name in value if _LEGAL.fullmatch(name)]
        elif isinstance(value, dict) and key not in ("const", "default"):
            if key == "dependentSchemas":
                continue
            found[key] = value if key == "dependentRequired" else _legal_within(value)
        elif isinstance(value, list) and key in (
            "anyOf",
            "oneOf",
            "allOf",
            "prefixItems",
        ):
            found[key] = [_legal_within(one) for one in value]
        else:
            found.setdefault(key, value)
    return found
