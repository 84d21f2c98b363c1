"""Fill a JSON result from extracted places, as far as an extractor can."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.models.offline.answers import Place
from orchestrator.models.offline.values import (
    CannotFill,
    chosen,
    fitting_places,
    is_general,
    number,
)

__all__ = ["fill", "schema_in"]

Json = Any
Answers = Sequence[tuple[str, Sequence[Place]]]
_SCHEMA = re.compile(r"JSON Schema:\s*`(\{.*\})`", re.DOTALL)
_RESULT = re.compile(r"\bas `result` one JSON value\b")
_MAX_DEPTH = 6


def schema_in(deliverable: str) -> dict[str, Any] | None:
    """Return the JSON Schema the task wants; {} for any JSON; None for Markdown."""
    match = _SCHEMA.search(deliverable)
    if match:
        try:
            schema = json.loads(match.group(1))
        except ValueError:
            return {}
        return schema if isinstance(schema, dict) else {}
    return {} if _RESULT.search(deliverable) else None


def fill(
    schema: Mapping[str, Any], objective: str, answers: Answers
) -> tuple[Any, list[str]]:
    """Return a value for `schema`, and the fields that nothing was found for.

    What was not found is left out, even where the schema wants it: a gap is seen, a
    wrong value is not. The value is None where nothing at all was found.

    Args:
        schema: JSON Schema; the usual keywords are understood.
        objective: of the task.
        answers: each question with the places found for it.
    """
    if not schema:
        return [_row(question, places) for question, places in answers], []
    lacking: list[str] = []
    try:
        value = _value(schema, objective, list(answers), _Where(lacking))
    except CannotFill:
        return None, lacking or ["result"]
    return (value or None) if lacking else value, lacking


def _row(question: str, places: Sequence[Place]) -> dict[str, Any]:
    return {
        "question": question,
        "found": bool(places),
        "answers": [{"claim": p.claim, "source": _source(p)} for p in places],
    }


def _source(place: Place) -> str:
    span = (
        f"{place.first}" if place.first == place.last else f"{place.first}-{place.last}"
    )
    return f"{place.path}:{span}"


@dataclass(frozen=True, slots=True)
class _Where:
    """Where in the value a part stands."""

    lacking: list[str]
    """Takes the fields that are left out."""
    path: str = ""
    depth: int = 0
    in_row: bool = False

    def below(self, key: str = "", *, in_row: bool = False) -> _Where:
        path = f"{self.path}.{key}" if self.path and key else self.path or key
        return _Where(self.lacking, path, self.depth + 1, self.in_row or in_row)


def _value(
    schema: Mapping[str, Any], name: str, answers: Answers, where: _Where
) -> Json:
    if where.depth > _MAX_DEPTH:
        raise CannotFill
    for keyword in ("anyOf", "oneOf"):
        if schema.get(keyword):
            return _first_that_fits(schema[keyword], name, answers, where)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return chosen(schema["enum"], name, answers)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "object" in kinds or "properties" in schema:
        return _object(schema, answers, where)
    if "array" in kinds:
        return _array(schema, name, answers, where)
    return _scalar(schema, kinds, name, answers)


def _first_that_fits(
    choices: Sequence[Mapping[str, Any]], name: str, answers: Answers, where: _Where
) -> Json:
    for choice in choices:
        try:
            return _value(choice, name, answers, where.below())
        except CannotFill:
            continue
    raise CannotFill


def _object(
    schema: Mapping[str, Any], answers: Answers, where: _Where
) -> dict[str, Any]:
    required = set(schema.get("required") or ())
    properties = dict(schema.get("properties") or {})
    properties |= {key: {} for key in sorted(required - set(properties))}
    filled: dict[str, Any] = {}
    for key, part in properties.items():
        about = f"{key} {part.get('title', '')} {part.get('description', '')}".strip()
        below = where.below(key)
        try:
            filled[key] = _value(part, about, answers, below)
        except CannotFill:
            if not where.in_row:
                where.lacking.append(below.path)
            elif key in required:
                raise
    if properties and not filled:
        raise CannotFill
    return filled


def _array(
    schema: Mapping[str, Any], name: str, answers: Answers, where: _Where
) -> list[Any]:
    items = schema.get("items") or {"type": "string"}
    singles = [(question, [place]) for question, places in answers for place in places]
    if "object" in str(items.get("type")) or "properties" in items:
        # A row a question where the rows have one, else a row a place.
        wants_questions = "question" in (items.get("properties") or {})
        singles = [
            (question, list(places))
            for question, places in (answers if wants_questions else singles)
        ]
    values: list[Any] = []
    for single in singles[: int(schema.get("maxItems", 50))]:
        try:
            values.append(_value(items, name, [single], where.below(in_row=True)))
        except CannotFill:
            continue
    if len(values) < max(int(schema.get("minItems", 0)), 1):
        raise CannotFill
    return values


def _scalar(
    schema: Mapping[str, Any], kinds: Sequence[Any], name: str, answers: Answers
) -> Json:
    key = name.split(" ", 1)[0].lower()
    places = [place for _question, found in answers for place in found]
    if "boolean" in kinds and key in ("found", "answered"):
        return bool(places)
    if key in ("question", "ask") and answers:
        return answers[0][0]
    value: Json = None
    if "integer" in kinds or "number" in kinds:
        value = _line(key, places)
        if value is None:
            value = number(name, answers, whole="number" not in kinds, schema=schema)
    elif "string" in kinds or None in kinds:
        value = _text(key, name, answers)
        value = value and value[: int(schema.get("maxLength", 4000))]
    # A judgement, as `boolean` wants it, an extractor has not.
    if value is None and "null" not in kinds:
        raise CannotFill
    return value


def _line(key: str, places: Sequence[Place]) -> int | None:
    if not places or not places[0].path:
        return None
    if key in ("line", "first_line", "first"):
        return places[0].first
    return places[0].last if key in ("last_line", "last") else None


def _text(key: str, name: str, answers: Answers) -> str | None:
    places = [place for _question, found in answers for place in found]
    fitting = fitting_places(name, answers)
    place = fitting[0] if fitting else places[0] if len(places) == 1 else None
    if place is not None and place.path:
        if key in ("path", "file"):
            return place.path
        if key in ("source", "citation", "place", "where", "location", "reference"):
            return _source(place)
        if key in ("quote", "evidence", "excerpt"):
            return place.quote or place.claim
    if is_general(key):
        return "\n".join(each.claim for each in places) or None
    return fitting[0].claim if fitting else None
