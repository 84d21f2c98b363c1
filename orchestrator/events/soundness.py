"""Whether a record of the log has the fields of its kind, as its class says.

A log is data that may be damaged: whoever goes on with it looks here first, so that a
record with a field that is gone, or is something else, is damage like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from orchestrator.events import KINDS, Event

__all__ = ["is_sound"]

Check = Callable[[Any], bool]


class _Absent:
    """Type of what is not there."""


class _Shape:
    """Which types the values of some fields may have."""

    def __init__(self, wanted: Mapping[str, frozenset[type]]) -> None:
        self._wanted = wanted
        self._names = tuple(wanted)
        # Few combinations occur, so that most records cost one look-up.
        self._good: set[tuple[type, ...]] = set()

    def fits(self, data: Mapping[str, Any], but: Collection[str] = ()) -> bool:
        """Return whether `data` has such values, whatever else is in it.

        Args:
            data: a JSON object.
            but: fields that are not looked at.
        """
        found = tuple(map(type, map(data.get, self._names, _NOTHING)))
        if found in self._good:
            return True
        pairs = zip(self._wanted.items(), found, strict=True)
        is_good = all(each in types for (name, types), each in pairs if name not in but)
        if is_good and not but:
            self._good.add(found)
        return is_good


class _Form(NamedTuple):
    """What is known of a kind."""

    shape: _Shape
    inner: tuple[tuple[str, Check], ...]
    """Field → whether what is in its value is sound, that being of its type."""


_NOTHING = repeat(_Absent())
_REF = "$artifact"
_NUMBER = frozenset((int, float))
_PLAIN: Mapping[object, frozenset[type]] = {
    **{each: frozenset((each,)) for each in (str, int, bool, NoneType)},
    float: _NUMBER,
    Any: frozenset((str, int, float, bool, NoneType, list, dict)),
}
_BLOCKS = frozenset(("content", "first", "system"))
"""Fields that hold blocks of messages, if not a text."""
_TEXT = frozenset((str,))
_IN_BLOCKS = {
    "text": _Shape({"text": _TEXT}),
    "tool_use": _Shape({"id": _TEXT, "name": _TEXT, "input": frozenset((dict,))}),
}
"""Type of a block → what must be in it."""
_INSIDE: Mapping[tuple[str, str], Mapping[str, frozenset[type]]] = {
    ("model.answered", "usage"): dict.fromkeys(
        (
            "input_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
            "cache_read_tokens", "output_tokens",
        ),
        frozenset((int,)),
    ),
    ("run.started", "limits"): {
        "tokens": frozenset((int, NoneType)),
        "minutes": _NUMBER,
    },
    ("agent.started", "settings"): {
        "max_output_tokens": frozenset((int,)),
        "call_s": _NUMBER,
        "silence_s": _NUMBER,
        "request": frozenset((dict,)),
    },
}  # fmt: skip
"""Kind and field → what must be in it."""


def is_sound(event: Event) -> bool:
    """Return whether `event` can be taken for what its kind says.

    What a later version added is sound, kinds and fields. So is a reference in the
    place of a large field.
    """
    form = _form_of(event.kind)
    data = event.data
    if form is None:
        return True
    if not form.shape.fits(data):
        apart = {name for name, value in data.items() if _is_reference(value)}
        if not apart or not form.shape.fits(data, but=apart):
            return False
    for name, inner in form.inner:
        value = data.get(name)
        if value is not None and not inner(value) and not _is_reference(value):
            return False
    return True


def _is_reference(value: object) -> bool:
    return type(value) is dict and type(value.get(_REF)) is str


@cache
def _form_of(kind: str) -> _Form | None:
    of = KINDS.get(kind)
    if of is None:
        return None
    known, hints = fields(of), get_type_hints(of)
    inner: list[tuple[str, Check]] = []
    for field in known:
        check = _inner(kind, field.name, hints[field.name])
        if check is not None:
            inner.append((field.name, check))
    return _Form(_shape_of(known, hints), tuple(inner))


def _inner(kind: str, name: str, hint: object) -> Check | None:
    inside = _INSIDE.get((kind, name))
    if inside is not None:
        return _Shape(inside).fits
    return _are_blocks if name in _BLOCKS else _form(hint)[1]


def _shape_of(known: Iterable[Field[Any]], hints: Mapping[str, object]) -> _Shape:
    wanted: dict[str, frozenset[type]] = {}
    for field in known:
        types = _form(hints[field.name])[0]
        if field.default is not MISSING or field.default_factory is not MISSING:
            types |= {_Absent}
        wanted[field.name] = types
    return _Shape(wanted)


def _form(hint: object) -> tuple[frozenset[type], Check | None]:
    """Return the JSON types of what is annotated so, and how it is looked into."""
    if hint in _PLAIN:
        return _PLAIN[hint], None
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        forms = [_form(each) for each in args]
        inner = next((each for _, each in forms if each), None)
        return frozenset().union(*(types for types, _ in forms)), inner
    if origin is list:
        return frozenset((list,)), _each(*_form(args[0]))
    if origin is dict:
        return frozenset((dict,)), _values(*_form(args[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return frozenset((dict,)), _shape_of(fields(hint), get_type_hints(hint)).fits
    raise TypeError(f"a field of an event cannot be {hint}")


def _each(types: frozenset[type], inner: Check | None) -> Check:
    def check(value: Iterable[Any]) -> bool:
        return types.issuperset(map(type, value))

    if inner is None:
        return check
    return lambda value: check(value) and all(map(inner, value))


def _values(types: frozenset[type], inner: Check | None) -> Check:
    each = _each(types, inner)

    def check(value: dict[str, Any]) -> bool:
        # What is stored apart is named by a text.
        return type(value.get(_REF, "")) is str and each(value.values())

    return check


def _are_blocks(value: object) -> bool:
    if type(value) is not list:
        return True  # a text; or nothing of this kind, which its type tells
    for block in value:
        if type(block) is not dict or type(block.get("type")) is not str:
            return False
        shape = _IN_BLOCKS.get(block["type"])
        if shape is not None and not shape.fits(block):
            return False
    return True
