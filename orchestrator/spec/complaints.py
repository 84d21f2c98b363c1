"""Turn a pydantic error into one sentence: what was found and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.spec.document import Where

__all__ = [
    "Problem",
    "complaints",
    "describe",
    "keys_of",
    "meant",
    "nearest",
    "unknown_key",
]

Problem = tuple[Where, str]
"""Place of the fault in the data, and the message."""


def complaints(
    error: ValidationError, *, model: type[BaseModel], data: object
) -> list[Problem]:
    """Return every fault once, unknown keys first: they explain the others.

    Args:
        error: from validating `data` as `model`.
        model: the class that was asked for.
        data: plain data, to tell places in it from pydantic's own labels.
    """
    found: dict[Where, str] = {}
    choices: set[Where] = set()
    details = error.errors(include_url=False, include_context=True)
    for detail in sorted(details, key=lambda each: each["type"] != "extra_forbidden"):
        where = _place(detail, data)
        found.setdefault(where, _message(detail, model, where))
        if detail["type"] == "literal_error" and isinstance(detail["input"], dict):
            choices.add(where)
    # A mapping in the place of a word is one that was meant: what is within is wrong.
    meant_as_mapping = {
        where for where in choices for each in found if where == each[:-1]
    }
    return [each for each in found.items() if each[0] not in meant_as_mapping]


def _place(detail: ErrorDetails, data: object) -> Where:
    """Drop what pydantic adds to the place (labels of unions, `[key]`)."""
    where: list[str | int] = []
    here: Any = data
    for step in detail["loc"]:
        if _holds(here, step):
            here = here[step]
        elif detail["type"] == "missing":
            here = None
        else:
            continue
        where.append(step)
    return tuple(where)


def _holds(part: object, step: str | int) -> bool:
    if isinstance(part, list):
        return isinstance(step, int) and step < len(part)
    return isinstance(part, dict) and step in part


def _message(detail: ErrorDetails, model: type[BaseModel], where: Where) -> str:
    kind, value = detail["type"], detail["input"]
    context = detail.get("ctx") or {}
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return unknown_key(str(where[-1]), keys_of(model, where[:-1]))
    if value is None:
        return "is empty; give a value, or leave the key out for its default"
    wanted = _WANTED.get(kind)
    if wanted is not None:
        hint = ""
        if kind in ("string_type", "path_type"):
            hint = _text_hint(value)
        elif kind == "model_type":
            hint = _key_hint(model, where, value)
        text = wanted.format(**context).replace(" 1 characters", " 1 character")
        return f"must be {text}, found {describe(value)}{hint}"
    return _rare(kind, value, context, detail["msg"])


def _rare(kind: str, value: object, context: dict[str, Any], message: str) -> str:
    if kind == "literal_error":
        return _choice(str(context.get("expected", "")), value)
    if kind == "value_error":
        return str(context.get("error", message))
    return f"{message[:1].lower()}{message[1:]}, found {describe(value)}"


_WANTED = {
    "string_type": "text",
    "path_type": "a path, as text",
    "tuple_type": "a list (`- one` per line, or `[one, two]`)",
    "list_type": "a list (`- one` per line, or `[one, two]`)",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "number_type": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 4,300 digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "string_too_short": "at least {min_length} characters of text",
    "string_too_long": "at most {max_length} characters of text",
    "string_pattern_mismatch": (
        "letters a-z, digits and dashes, starting with a letter or digit, at most 48"
    ),
}


def _text_hint(value: object) -> str:
    if isinstance(value, dict) and value:
        return "; an unquoted colon makes a mapping: put the whole text in quotes"
    if isinstance(value, bool | int | float):
        return "; put it in quotes"
    return ""


def _key_hint(model: type[BaseModel], where: Where, value: object) -> str:
    """Return the mapping that was meant, where a key of it takes just that value."""
    here = _model_at(model, where)
    for name, field in here.model_fields.items() if here else ():
        if isinstance(value, str) and value in get_args(field.annotation):
            return f"; did you mean `{{{field.alias or name}: {value}}}`?"
    return ""


def _choice(expected: str, value: object) -> str:
    options = [part.strip(" '") for part in expected.replace(" or ", ",").split(",")]
    message = f"must be one of {', '.join(options)}; found {describe(value)}"
    close = nearest(str(value), options)
    return f"{message}; did you mean `{close}`?" if close else message


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Return what is wrong with a key that is none of `known`."""
    options = sorted(known)
    return f"unknown key; {meant(key, options)}allowed: {', '.join(options)}"


def meant(word: str, options: Iterable[str]) -> str:
    """Return a question, and a blank behind it, if `word` is close to an option."""
    close = nearest(word, options)
    return f"did you mean `{close}`? " if close else ""


def keys_of(model: type[BaseModel], where: Where) -> list[str]:
    """Return the keys that may stand at `where` in data for `model`."""
    here = _model_at(model, where)
    if here is None:
        return []
    return [field.alias or name for name, field in here.model_fields.items()]


def _model_at(model: type[BaseModel], where: Where) -> type[BaseModel] | None:
    """Return what data at `where` is validated as, or None if that is no mapping."""
    here: type[BaseModel] = model
    for step in where:
        for name, field in here.model_fields.items():
            if step in (name, field.alias):
                inner = _model_in(field.annotation)
                if inner is None:
                    return None
                here = inner
                break
    return here


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        if (inner := _model_in(part)) is not None:
            return inner
    return None


def nearest(word: str, options: Iterable[str]) -> str:
    """Return the option that `word` was probably meant to be, or ""."""
    names = {_folded(option): option for option in options}
    if (same := names.get(_folded(word))) is not None:
        return same
    close = difflib.get_close_matches(_folded(word), list(names), n=1, cutoff=0.7)
    return names[close[0]] if close else ""


def _folded(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")


_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (bool, lambda value: f"`{str(value).lower()}` (true or false)"),
    ((int, float), lambda value: f"the number {str(value)[:60]}"),
    (str, lambda value: f"the text `{value[:60]}{'…' if len(value) > 60 else ''}`"),
    ((list, tuple), lambda value: f"a list of {len(value)}"),
    (
        dict,
        lambda value: f"a mapping with {', '.join(map(str, list(value)[:3])) or '-'}",
    ),
)


def describe(value: object) -> str:
    """Return what `value` is, in the words of a task file."""
    for kinds, words in _KINDS:
        if isinstance(value, kinds):
            return words(value)
    return "nothing" if value is None else type(value).__name__
