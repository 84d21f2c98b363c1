"""The schema of events: the envelope, and the data of each kind from its class."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from orchestrator.events import KINDS, Event, Payload
from orchestrator.store.reading import DAMAGED
from orchestrator.store.records import REF

__all__ = ["event_schema"]

Schema = dict[str, Any]

_SEVERAL = ("string", "array", "object")
"""Types whose values may be too large for the log."""
_APART = "StoredApart"


def event_schema() -> Schema:
    """Return the schema of one event, as in the log and in `logs --json`.

    The data of kinds that are not known may be anything; so may further fields.
    """
    definitions: dict[str, Schema] = {_APART: _stored_apart()}
    cases = []
    for kind, payload in sorted(KINDS.items()):
        definitions[kind] = _payload(payload, definitions)
        cases.append(_case(kind))
    definitions[DAMAGED] = _damage()
    cases.append(_case(DAMAGED))
    told = _attributes(Event)
    names = Event.__slots__
    properties = {
        name: {**_plain(hint), "description": told.get(name, "")}
        for name, hint in get_type_hints(Event).items()
        if name in names
    }
    properties["worked_s"] = {"type": "number", "description": told["worked_s"]}
    return {
        "title": "Event",
        "description": "One line of events.jsonl, and of `logs --json`.",
        "type": "object",
        "properties": properties,
        "required": [name for name in names if name != "worked_s"],
        "allOf": cases,
        "$defs": definitions,
    }


def _case(kind: str) -> Schema:
    return {
        "if": {"properties": {"kind": {"const": kind}}},
        "then": {"properties": {"data": {"$ref": f"#/$defs/{kind}"}}},
    }


def _payload(payload: type[Payload], definitions: dict[str, Schema]) -> Schema:
    """Return the schema of the data of one kind; parts go to `definitions`."""
    hints, told = get_type_hints(payload), _docstrings(payload)
    properties: dict[str, Schema] = {}
    for each in fields(payload):
        found = _plain(hints[each.name])
        definitions |= found.pop("$defs", {})
        if _may_be_apart(found):
            found = {"anyOf": [found, {"$ref": f"#/$defs/{_APART}"}]}
        text = told.get(each.name)
        properties[each.name] = {**found, **({"description": text} if text else {})}
    return {
        "title": payload.KIND,
        "description": inspect.cleandoc(payload.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": [
            each.name
            for each in fields(payload)
            if each.default is MISSING and each.default_factory is MISSING
        ],
    }


def _plain(hint: Any) -> Schema:  # noqa: ANN401 - any type
    schema: Schema = TypeAdapter(hint).json_schema(mode="serialization")
    return schema


def _may_be_apart(found: Schema) -> bool:
    kinds = [found.get("type"), *(each.get("type") for each in found.get("anyOf", ()))]
    return not any(kinds) or any(kind in _SEVERAL for kind in kinds)


def _stored_apart() -> Schema:
    return {
        "description": "Stands for a large value, which is an artifact of the run.",
        "type": "object",
        "properties": {
            REF: {"type": "string", "description": "Its reference, `art_…`."},
            "bytes": {"type": "integer", "description": "Its size."},
        },
        "required": [REF],
    }


def _damage() -> Schema:
    return {
        "title": DAMAGED,
        "description": "Not in the log: a reader tells that a record of it is lost.",
        "type": "object",
        "properties": {
            "line": {"type": "integer", "description": "From 1."},
            "why": {"type": "string"},
        },
        "required": ["line", "why"],
    }


def _docstrings(payload: type[Payload]) -> dict[str, str]:
    """Return what stands below each field of a class."""
    [found] = ast.parse(textwrap.dedent(inspect.getsource(payload))).body
    body = found.body if isinstance(found, ast.ClassDef) else []
    told: dict[str, str] = {}
    for before, after in pairwise(body):
        match before, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                told[name] = inspect.cleandoc(text)
    return told


def _attributes(documented: type[Event]) -> dict[str, str]:
    """Return what the section `Attributes` of a docstring says of each."""
    _, _, section = inspect.cleandoc(documented.__doc__ or "").partition(
        "Attributes:\n"
    )
    told: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            name, _, text = line.strip().partition(": ")
            told[name] = text
        elif name and line.strip():
            told[name] += " " + line.strip()
    return told
