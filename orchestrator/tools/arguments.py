"""Turn what a model wrote into a tool's argument model, or say what to mend."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from orchestrator.errors import ToolError
from orchestrator.messages import clean_text, encode, shortened, whole_chars, with_texts
from orchestrator.tools.schema import keys_at

__all__ = ["cleaned", "encodable", "listed", "parse_arguments", "restored", "shown"]

M = TypeVar("M", bound=BaseModel)

_SHOWN_CHARS = 60
_SHOWN_KEYS = 40
_SHOWN_ERRORS = 8
_MESSAGE_CHARS = 300
# A list in an object in a list, each as a string: more nesting is no slip.
_MENDINGS = 4
_WANTS_JSON = {
    "dict_type": dict,
    "list_type": list,
    "mapping_type": dict,
    "model_attributes_type": dict,
    "model_type": dict,
    "set_type": list,
    "tuple_type": list,
}


def parse_arguments(name: str, model: type[M], given: dict[str, Any]) -> M:
    """Return `given` as the argument model of the tool `name`.

    Numbers and booleans as strings are taken where the schema wants them (pydantic
    does that), and so are lists and objects written as JSON text; an explicit null
    means an absent key. A text stays a text.

    Args:
        name: the tool, for the message.
        model: its argument model.
        given: what the model wrote; not changed.

    Raises:
        ToolError: names each field, what was found, and what is allowed, in bounded
            size.
    """
    known = model.model_fields
    unknown = [key for key in given if key not in known]
    if unknown and model.model_config.get("extra") != "allow":
        raise ToolError(
            f"`{name}` was not run. Unknown: {listed(unknown)}. "
            f"Known keys: {listed(known)}."
        )
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problem = error
    mended = copy.deepcopy(given)
    for _ in range(_MENDINGS):
        if not _mend(mended, problem):
            break
        try:
            return model.model_validate(mended)
        except ValidationError as error:
            problem = error
    raise ToolError(_describe(name, model, problem))


def shown(value: object) -> str:
    """Return a bounded, one-line form of something a model wrote."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = repr(type(value).__name__)
    if len(text) > _SHOWN_CHARS:
        return f"{text[:_SHOWN_CHARS]}… ({len(text)} characters)"
    return text


def cleaned(name: str, args: M, redact: Callable[[str], str]) -> M:
    """Return arguments whose texts hold no secret and nothing that a terminal obeys.

    For what a model wrote and people read in files: reports, findings, briefs, notes.

    Args:
        name: the tool, for the message.
        args: what the model wrote.
        redact: replaces secrets in a text.

    Raises:
        ToolError: with its secrets replaced, something is longer than is allowed.
    """
    given = args.model_dump(mode="json")
    fit = with_texts(given, lambda text: redact(clean_text(text)))
    return args if fit == given else parse_arguments(name, type(args), fit)


def restored(name: str, args: M, restore: Callable[[str], str]) -> M:
    """Return arguments with the secrets that their placeholders stand for.

    For what leaves the program; nothing of it is logged or shown.

    Args:
        name: the tool, for the message.
        args: what the model wrote.
        restore: puts secrets back in a text; raises `ToolError` where it may not.

    Raises:
        ToolError: a secret may not be put back, or does not fit there.
    """
    given = args.model_dump(mode="json")
    whole = with_texts(given, restore)
    return args if whole == given else parse_arguments(name, type(args), whole)


def listed(names: Iterable[str]) -> str:
    """Return names in backticks, bounded in number and in size."""
    every = list(names)
    text = ", ".join(
        f"`{shortened(name, _SHOWN_CHARS)}`" for name in every[:_SHOWN_KEYS]
    )
    more = len(every) - _SHOWN_KEYS
    return f"{text} and {more} more" if more > 0 else text or "none"


def _mend(given: dict[str, Any], problem: ValidationError) -> bool:
    """Replace JSON text by what it holds and drop nulls, where that was refused."""
    changed = False
    for error in problem.errors(include_url=False, include_context=False):
        place = error["loc"]
        if not place:
            continue
        found, parent = error["input"], _at(given, place[:-1])
        if found is None and isinstance(parent, dict) and place[-1] in parent:
            del parent[place[-1]]
            changed = True
        wanted = _WANTS_JSON.get(error["type"])
        if wanted is None or not isinstance(found, str):
            continue
        try:
            value = orjson.loads(found)
        except ValueError:
            continue
        if isinstance(value, wanted) and _is_held(parent, place[-1]):
            parent[place[-1]] = value
            changed = True
    return changed


def _at(value: Any, place: tuple[int | str, ...]) -> Any:  # noqa: ANN401 - any JSON
    for step in place:
        if not _is_held(value, step):
            return None
        value = value[step]
    return value


def _is_held(parent: object, step: int | str) -> bool:
    if isinstance(parent, dict):
        return step in parent
    return isinstance(parent, list) and isinstance(step, int) and step < len(parent)


def _describe(name: str, model: type[BaseModel], problem: ValidationError) -> str:
    errors = problem.errors(include_url=False, include_context=False)
    lines = [f"`{name}` was not run; its input needs mending:"]
    for error in errors[:_SHOWN_ERRORS]:
        place = error["loc"]
        where = f"`{_dotted(place)}`" if place else "the input"
        if error["type"] == "missing":
            lines.append(f"- {where} is missing")
        elif error["type"] == "extra_forbidden":
            known = keys_at(model, place[:-1])
            lines.append(f"- {where} is unknown; known keys there: {listed(known)}")
        else:
            said = error["msg"].removeprefix("Value error, ")[:_MESSAGE_CHARS]
            wanted = _WANTS_JSON.get(error["type"])
            if wanted is not None:  # pydantic speaks of tuples and instances
                said = f"must be {'a list' if wanted is list else 'an object'}"
            lines.append(f"- {where}: {said}; found {shown(error['input'])}")
    if len(errors) > _SHOWN_ERRORS:
        lines.append(f"- and {len(errors) - _SHOWN_ERRORS} more")
    return "\n".join(lines)


def _dotted(place: tuple[int | str, ...]) -> str:
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f"{'.' if text else ''}{step[:_SHOWN_CHARS]}"
    return text


def encodable(value: dict[str, Any]) -> dict[str, Any]:
    """Return `value` as the log can hold it: whole characters, no huge numbers."""
    try:
        encode(value)
    except TypeError:
        cleaned: dict[str, Any] = _clean_all(value)
        return cleaned
    return value


def _clean_all(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return whole_chars(value)
    if isinstance(value, list):
        return [_clean_all(item) for item in value]
    if isinstance(value, dict):
        return {_clean_all(key): _clean_all(item) for key, item in value.items()}
    if isinstance(value, (bool, int, float, type(None))):
        # Integers beyond 64 bits have no place in the log's JSON.
        return value if not isinstance(value, int) or abs(value) < 2**63 else str(value)
    return str(value)
