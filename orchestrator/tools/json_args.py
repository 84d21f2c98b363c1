"""Argument models for tools whose input a JSON Schema describes, and no class."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import relevance
from jsonschema.validators import extend
from pydantic import BaseModel, ConfigDict
from pydantic import ValidationError as ModelError
from pydantic_core import InitErrorDetails, PydanticCustomError
from referencing import Registry

from orchestrator.messages import shortened

__all__ = ["JsonArgs", "json_args"]

Schema = dict[str, Any]
Place = tuple[str | int, ...]

_ROUNDS = 4
"""So often numbers written as text are mended: each may uncover others."""
_MOST_PROBLEMS = 50
_SHOWN_VALUES = 12
_VALUE_CHARS = 40

# Patterns are the server's to check: a bad one could keep this process busy for ever.
_Validator: Any = extend(Draft202012Validator, {"pattern": lambda *_: ()})  # type: ignore[no-untyped-call]  # stubs of it are thin

_LIMITS = {
    "minimum": "must be {} or more",
    "maximum": "must be {} or less",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
    "const": "must be {}",
}


class JsonArgs(BaseModel):
    """Arguments as the model wrote them, checked against a schema.

    They are in `model_extra`. Made by `json_args`, one class per tool.
    """

    model_config = ConfigDict(extra="allow")

    shown_schema: ClassVar[Schema] = {"type": "object", "properties": {}}
    checker: ClassVar[Any] = None
    known: ClassVar[frozenset[str] | None] = None
    """Keys on top, where there are no others; None: there may be."""

    @classmethod
    def model_json_schema(cls, *_args: Any, **_options: Any) -> Schema:  # noqa: ANN401 - pydantic's own
        """Return the schema that the model is shown."""
        return copy.deepcopy(cls.shown_schema)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:  # noqa: ANN401 - any JSON
        """Return checked arguments; numbers and booleans as text are taken.

        Raises:
            pydantic.ValidationError: one problem per fault, each with its place.
        """
        data = copy.deepcopy(obj)
        problems: list[ValidationError] = []
        for _ in range(_ROUNDS):
            problems = list(_problems(cls.checker, data))
            mended = [_mend(data, problem) for problem in problems]
            if not any(mended):
                break
        details = [each for problem in problems for each in _details(problem)]
        details += _strangers(cls.known, data, details)
        if details:
            raise ModelError.from_exception_data(cls.__name__, details)
        return super().model_validate(data, **options)


def json_args(
    name: str,
    *,
    shown: Schema,
    checked: Schema,
    known: frozenset[str] | None = None,
) -> type[JsonArgs]:
    """Return the argument model of a tool.

    Args:
        name: of the class; only seen in traces.
        shown: what the model is told; an object on top, without references.
        checked: what is checked before a call, of draft 2020-12, without references.
        known: all keys that there are; others are refused. None: there may be others.
    """
    checker = _Validator(checked, registry=Registry())
    return type(
        name,
        (JsonArgs,),
        {
            "__module__": __name__,
            "__annotations__": {},
            "shown_schema": shown,
            "checker": checker,
            "known": known,
        },
    )


def _problems(checker: Any, data: object) -> Iterator[ValidationError]:  # noqa: ANN401 - made by `extend`
    if checker is None:
        return
    try:
        for number, error in enumerate(checker.iter_errors(data)):
            if number >= _MOST_PROBLEMS:
                return
            yield _innermost(error)
    except RecursionError:  # nested beyond what can be checked here
        return


def _innermost(error: ValidationError) -> ValidationError:
    """Return the part of a failed choice that says most of what was meant."""
    while error.context and error.validator in ("anyOf", "oneOf"):
        if _kinds_of(error) or all(x.validator == "required" for x in error.context):
            break  # all parts fail alike: what one of them says would mislead
        error = min(error.context, key=relevance)
    return error


def _kinds_of(error: ValidationError) -> list[str]:
    """Return the types that a choice takes where all its parts are refused by type."""
    parts = list(error.context or ())
    if not parts or any(part.validator != "type" or len(part.path) for part in parts):
        return []
    kinds: list[str] = []
    for part in parts:
        value: Any = part.validator_value
        kinds += value if isinstance(value, list) else [value]
    return list(dict.fromkeys(kinds))


def _wanted(error: ValidationError) -> list[str]:
    """Return the types that would have been right, where the type is the problem."""
    value: Any = error.validator_value
    if error.validator == "type":
        return list(value) if isinstance(value, list) else [str(value)]
    return _kinds_of(error) if error.validator in ("anyOf", "oneOf") else []


def _mend(data: object, error: ValidationError) -> bool:
    """Turn a number or a boolean that was written as text into what it means."""
    found, kinds = error.instance, _wanted(error)
    place = list(error.absolute_path)
    if not isinstance(found, str) or not place:
        return False
    value = _scalar(found.strip(), kinds)
    if value is None:
        return False
    here: Any = data
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = value
    return True


def _scalar(text: str, kinds: list[str]) -> object:
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if "integer" in kinds:
            return int(text)
        if "number" in kinds:
            number = float(text)
            return number if number - number == 0 else None
    except ValueError:
        pass
    return None


def _details(error: ValidationError) -> Iterator[InitErrorDetails]:
    place: Place = tuple(error.absolute_path)
    found: Any = error.instance
    value: Any = error.validator_value
    schema: Any = error.schema
    if error.validator == "required":
        for name in value:
            if isinstance(found, dict) and name not in found:
                yield InitErrorDetails(type="missing", loc=(*place, name), input=found)
        return
    if error.validator == "additionalProperties" and value is False:
        known = schema.get("properties", {})
        for name in found:
            if name not in known:
                yield InitErrorDetails(
                    type="extra_forbidden", loc=(*place, name), input=found[name]
                )
        return
    kinds = _wanted(error)
    real = [each for each in kinds if each != "null"]
    if real in (["array"], ["object"]) and (real == kinds or isinstance(found, str)):
        kind = "list_type" if real == ["array"] else "dict_type"
        yield InitErrorDetails(type=kind, loc=place, input=found)
        return
    said = f"must be {' or '.join(kinds)}" if kinds else _said(error)
    yield InitErrorDetails(
        type=PydanticCustomError("schema", "{said}", {"said": said}),
        loc=place,
        input=found,
    )


def _strangers(
    known: frozenset[str] | None, data: object, told: list[InitErrorDetails]
) -> Iterator[InitErrorDetails]:
    """Yield the keys that nobody knows, but those that the schema itself refuses."""
    if known is None or not isinstance(data, dict):
        return
    places = {each.get("loc") for each in told}
    for name, value in data.items():
        if name not in known and (name,) not in places:
            yield InitErrorDetails(type="extra_forbidden", loc=(name,), input=value)


def _said(error: ValidationError) -> str:
    rule = str(error.validator)
    value: Any = error.validator_value
    if rule == "enum":
        return f"must be one of {_listed(value)}"
    if rule in _LIMITS:
        return _LIMITS[rule].format(_short(value))
    if rule in ("anyOf", "oneOf") and _requirements(value):
        return f"needs one of: {_requirements(value)}"
    if rule == "dependentRequired" and isinstance(value, Mapping):
        return f"must have what `dependentRequired` asks for: {_short(value)}"
    return f"does not fit what `{rule}` asks for: {_short(value)}"


def _requirements(choices: list[Any]) -> str:
    sets = [
        "+".join(f"`{name}`" for name in choice.get("required", ()))
        for choice in choices
        if isinstance(choice, dict)
    ]
    return "; or ".join(each for each in sets[:_SHOWN_VALUES] if each)


def _listed(values: list[Any]) -> str:
    more = len(values) - _SHOWN_VALUES
    shown = ", ".join(_short(each) for each in values[:_SHOWN_VALUES])
    return f"{shown} and {more} more" if more > 0 else shown


def _short(value: object) -> str:
    return shortened(repr(value), _VALUE_CHARS)
