"""Read a context policy from a file: its fields alone, or a whole task that has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.spec.complaints import complaints, describe, keys_of, unknown_key
from orchestrator.spec.document import Document, Where, parse, read_source
from orchestrator.spec.policy import ContextPolicy, policy_problems
from orchestrator.spec.task import Task

__all__ = ["blame_policy", "read_policy"]

_FIELD = "context_policy"


def read_policy(path: Path) -> ContextPolicy:
    """Return the policy in `path`; of a task file nothing else is looked at.

    Args:
        path: YAML with the fields of `context_policy`, or a task file. A task without
            that field has the default policy.

    Raises:
        SpecError: the file cannot be read, or the policy in it is wrong.
    """
    document = _document(path)
    where = _where(document)
    data: Any = document.value
    if where:
        for key in data:
            if key not in keys_of(Task, ()):
                message = unknown_key(str(key), keys_of(Task, ()))
                raise _error(document, (key,), message)
        data = data.get(_FIELD, {})
    try:
        policy = ContextPolicy.model_validate(data)
    except ValidationError as error:
        place, message = complaints(error, model=ContextPolicy, data=data)[0]
        raise _error(document, (*where, *place), message) from error
    for place, message in policy_problems(policy):
        raise _error(document, (*where, *place), message)
    return policy


def blame_policy(error: SpecError, path: Path) -> SpecError:
    """Return an error about `context_policy` with its place in the file it is from.

    Args:
        error: names a field of a task; one that names a file is given back.
        path: as for `read_policy`, which has read it.
    """
    if error.file:
        return error
    document = _document(path)
    where: Where = tuple(error.field.split("."))
    if not _where(document):
        where = where[1:]
    return _error(document, where, error.message)


def _document(path: Path) -> Document:
    what = "context policy"
    document = parse(read_source(path, what=what), file=str(path))
    if isinstance(document.value, dict):
        return document
    raise _error(
        document,
        (),
        "must hold `key: value` lines, the fields of `context_policy` or a task, "
        f"found {describe(document.value)}",
    )


def _where(document: Document) -> Where:
    """Return where the policy stands: in a task, or ()."""
    is_task = _FIELD in document.value or "objective" in document.value
    return (_FIELD,) if is_task else ()


def _error(document: Document, where: Where, message: str) -> SpecError:
    field = ".".join(str(step) for step in where)
    return SpecError(message, document.file, document.line_of(where), field)
