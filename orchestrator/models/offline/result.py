"""Fill a JSON result from extracted places, as far as an extractor can."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.models.offline.answers import Place
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.words import Bag

__all__ = ["fill", "schema_in"]

Json = Any
Answers = Sequence[tuple[str, Sequence[Place]]]
_SCHEMA = re.compile(r"JSON Schema:\s*`(\{.*\})`", re.DOTALL)
_RESULT = re.compile(r"\bas `result` one JSON value\b")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d{3})*(?:\.\d+)?")
_MAX_DEPTH = 6


class _CannotFill(Exception):
    """A required field has nothing to be filled with."""


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
) -> tuple[Any, str]:
    """Return a value for `schema`, and why there is none, or "".

    Args:
        schema: JSON Schema; the usual keywords are understood.
        objective: of the task.
        answers: each question with the places found for it.
    """
    if not schema:
        return [_row(question, places) for question, places in answers], ""
    try:
        return _value(schema, objective, list(answers), 0), ""
    except _CannotFill as error:
        return None, str(error)


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


def _value(schema: Mapping[str, Any], name: str, answers: Answers, depth: int) -> Json:
    if depth > _MAX_DEPTH:
        raise _CannotFill("the schema is nested too deeply")
    for keyword in ("anyOf", "oneOf"):
        if schema.get(keyword):
            return _first_that_fits(schema[keyword], name, answers, depth)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return _chosen(schema["enum"], name, answers)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "object" in kinds or "properties" in schema:
        return _object(schema, answers, depth)
    if "array" in kinds:
        return _array(schema, name, answers, depth)
    return _scalar(schema, kinds, name, answers)


def _first_that_fits(
    choices: Sequence[Mapping[str, Any]], name: str, answers: Answers, depth: int
) -> Json:
    problem = _CannotFill(f"nothing fits `{name[:60]}`")
    for choice in choices:
        try:
            return _value(choice, name, answers, depth + 1)
        except _CannotFill as error:
            problem = error
    raise problem


def _object(schema: Mapping[str, Any], answers: Answers, depth: int) -> dict[str, Any]:
    required = set(schema.get("required") or ())
    filled: dict[str, Any] = {}
    for key, part in (schema.get("properties") or {}).items():
        about = f"{key} {part.get('title', '')} {part.get('description', '')}".strip()
        try:
            filled[key] = _value(part, about, answers, depth + 1)
        except _CannotFill:
            if key in required:
                raise _CannotFill(f"nothing was found for `{key}`") from None
    lacking = sorted(required - set(filled))
    if lacking:
        raise _CannotFill(f"nothing was found for `{lacking[0]}`")
    return filled


def _array(
    schema: Mapping[str, Any], name: str, answers: Answers, depth: int
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
            values.append(_value(items, name, [single], depth + 1))
        except _CannotFill:
            continue
    if len(values) < int(schema.get("minItems", 0)):
        raise _CannotFill(f"too little was found for `{name[:60]}`")
    return values


def _chosen(choices: Sequence[Any], name: str, answers: Answers) -> Json:
    place = _best(name, answers)
    text = place.claim.lower() if place else ""
    for choice in choices:
        if isinstance(choice, str) and choice.lower() in text:
            return choice
    raise _CannotFill(f"none of the choices for `{name[:60]}` was found")


def _scalar(
    schema: Mapping[str, Any], kinds: Sequence[Any], name: str, answers: Answers
) -> Json:
    key = name.split(" ", 1)[0].lower()
    place = _best(name, answers)
    if "boolean" in kinds:
        if key in ("found", "answered"):
            return place is not None
        raise _CannotFill(f"`{key}` wants a judgement, which an extractor has not")
    if key in ("question", "ask") and answers:
        return answers[0][0]
    if place is None:
        if "null" in kinds:
            return None
        raise _CannotFill(f"nothing was found for `{key}`")
    if "integer" in kinds or "number" in kinds:
        return _number(key, place, whole="number" not in kinds)
    text = _text(key, place)
    return text[: int(schema.get("maxLength", 4000))]


def _number(key: str, place: Place, *, whole: bool) -> float | int:
    if key in ("line", "first_line", "first"):
        return place.first
    if key in ("last_line", "last"):
        return place.last
    match = _NUMBER.search(place.claim)
    if match is None:
        raise _CannotFill(f"no number was found for `{key}`")
    number = float(match.group(0).replace(",", ""))
    return int(number) if whole or number.is_integer() else number


def _text(key: str, place: Place) -> str:
    if key in ("path", "file"):
        return place.path
    if key in ("source", "citation", "place", "where", "location", "reference"):
        return _source(place)
    if key in ("quote", "evidence", "excerpt"):
        return place.quote or place.claim
    return place.claim


def _best(name: str, answers: Answers) -> Place | None:
    """Return the place that fits a field best; with one question, its first."""
    places = [(question, place) for question, found in answers for place in found]
    if len(answers) == 1 or len(places) <= 1:
        return places[0][1] if places else None
    concepts = Question.of(re.sub(r"[_\-]", " ", name)).concepts
    best, most = None, 0.0
    for question, place in places:
        bag = Bag.of(f"{question} {place.claim}")
        score = sum(concept.weight * concept.match(bag) for concept in concepts)
        if score > most:
            best, most = place, score
    general = re.match(r"(?i)summary|answer|report|text|conclusion|摘要|结论", name)
    return best or (places[0][1] if general else None)
