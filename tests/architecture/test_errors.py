"""Errors travel between processes whole."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator

import pytest

from orchestrator import errors
from orchestrator.errors import OrchestratorError

SAMPLES = {"float": 1.5, "int": 3, "ModelErrorKind": "quota_exhausted"}


def family(root: type[OrchestratorError]) -> Iterator[type[OrchestratorError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from family(child)


def sample(kind: type[OrchestratorError]) -> OrchestratorError:
    """Return an error with every argument given, none of them its default."""
    if "__init__" not in {name for each in kind.__mro__[:-3] for name in vars(each)}:
        return kind("what went wrong")
    given = []
    for parameter in list(inspect.signature(kind).parameters.values()):
        annotation = str(parameter.annotation).split(" | ")[0]
        given.append(SAMPLES.get(annotation, f"a {parameter.name}"))
    return kind(*given)


@pytest.mark.parametrize(
    "kind", list(family(OrchestratorError)), ids=lambda k: k.__name__
)
def test_error_survives_pickling_with_its_facts(kind: type[OrchestratorError]) -> None:
    error = sample(kind)

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is kind
    assert vars(copy) == vars(error)
    assert str(copy) == str(error) != ""


def test_every_error_is_in_the_one_tree() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }

    assert defined == {kind.__name__ for kind in family(OrchestratorError)}
