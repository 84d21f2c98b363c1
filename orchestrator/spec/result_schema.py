"""Check the JSON Schema that a task wants its result to follow."""

from __future__ import annotations

from typing import Any

from jsonschema import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for

__all__ = ["schema_problem"]


def schema_problem(schema: dict[str, Any]) -> str:
    """Return what is wrong with `schema`, or ""."""
    declared = schema.get("$schema", "")
    if not isinstance(declared, str):
        return "`$schema` must be text"
    validator = validator_for(schema, default=Draft202012Validator)
    if declared and validator.META_SCHEMA.get("$schema", "").strip(
        "#"
    ) != declared.strip("#"):
        return f"unknown JSON Schema version `{declared}`"
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        place = ".".join(str(step) for step in error.absolute_path)
        at = f" at `{place}`" if place else ""
        return f"is no valid JSON Schema{at}: {error.message[:200]}"
    except RecursionError:
        return "is no valid JSON Schema: nested beyond all bounds"
    return _dangling(schema, schema)


def _dangling(part: object, root: dict[str, Any]) -> str:
    """Return the first `$ref` that leads nowhere; nothing is ever fetched."""
    if isinstance(part, list):
        return next((found for each in part if (found := _dangling(each, root))), "")
    if not isinstance(part, dict):
        return ""
    target = part.get("$ref")
    if isinstance(target, str) and not _resolves(target, root):
        return (
            f"`$ref: {target[:100]}` leads nowhere; only places in this schema "
            "(`#/$defs/name`) are followed"
        )
    return _dangling(list(part.values()), root)


def _resolves(target: str, root: dict[str, Any]) -> bool:
    if target == "#":
        return True
    if not target.startswith("#/"):
        return False
    here: object = root
    for step in target[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and name in here:
            here = here[name]
        elif isinstance(here, list) and name.isdecimal() and int(name) < len(here):
            here = here[int(name)]
        else:
            return False
    return True
