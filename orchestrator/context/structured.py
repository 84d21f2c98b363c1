"""Show JSON by its structure: long lists, texts and depths are named, not written out.

A part is named by a dotted path, `items.0.name`; on a list, a name means that part of
each of its items. What is left out can be asked for by such a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.context.clipping import safe_end
from orchestrator.context.tokens import Count

__all__ = ["Abridged", "abridge", "parse", "pick", "shortened", "written"]

_Path = tuple[str, ...]

SHOWN_ITEMS: Final = 5
SHOWN_CHARS: Final = 2000
_STEP: Final = re.compile(r"\[(\d+)\]")
_NAMED_CUTS: Final = 4
_NAMED_KEYS: Final = 12
_KEY_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How much of each list, text, object and depth is written out."""

    items: int = SHOWN_ITEMS
    chars: int = SHOWN_CHARS
    keys: int = 1000
    depth: int = 40


# Tried in order until the whole fits.
_ROUNDS: Final = (
    _Bounds(),
    _Bounds(chars=400, keys=100, depth=12),
    _Bounds(chars=120, keys=40, depth=8),
    _Bounds(items=3, chars=80, keys=25, depth=6),
    _Bounds(items=2, chars=60, keys=16, depth=4),
    _Bounds(items=1, chars=40, keys=10, depth=3),
    _Bounds(items=1, chars=20, keys=6, depth=2),
    _Bounds(items=0, chars=20, keys=4, depth=1),
)


@dataclass(frozen=True, slots=True)
class Abridged:
    """A JSON text as it is shown.

    Attributes:
        text: what is shown, with a last line that says what is missing.
        is_whole: nothing is left out.
    """

    text: str
    is_whole: bool


@dataclass(slots=True)
class _Cuts:
    """What was shortened: where, and how much there is."""

    count: int = 0
    named: list[str] = field(default_factory=list)

    def add(self, path: _Path, what: str) -> None:
        self.count += 1
        if len(self.named) < _NAMED_CUTS:
            self.named.append(f"{'.'.join(path) or 'the content'} ({what})")


def parse(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the object or list that `text` is, one list for JSON lines, else None.

    Numbers of any length keep their value.
    """
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    try:
        # The last one may be cut; what is no object is no line of records.
        found = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None
    return found if all(isinstance(each, dict | list) for each in found) else None


def abridge(
    text: str,
    *,
    limit_tokens: int,
    count: Count,
    ref: str,
    fields: Sequence[str] = (),
) -> Abridged | None:
    """Return a JSON text within a limit; None where it is no JSON or cannot fit.

    Lists show their length and their first five items, long texts their beginning; if
    that is too much, fewer and less deep. Linear in the length of `text`.

    Args:
        text: clean and redacted.
        limit_tokens: most that is shown, by `count`.
        count: tokens of a text.
        ref: where the whole is kept, for the last line.
        fields: only these parts are shown; those that are not there are left out, and
            where none is, it is as if none were named.
    """
    content = parse(text)
    if content is None:
        return None
    parts = _parts(content, fields)
    rest = _others(content, fields) if parts else []
    for bounds in _ROUNDS:
        cuts = _Cuts()
        shown = (
            _listed(parts, bounds, cuts)
            if parts
            else written(_short(content, bounds, cuts))
        )
        if not cuts.count and not parts and count(text) <= limit_tokens:
            return Abridged(text, is_whole=True)
        told = f"{shown}\n{_foot(ref, cuts, rest)}"
        if count(told) <= limit_tokens:
            return Abridged(told, is_whole=False)
    return None


def pick(value: Any, name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the part of `value` at a dotted name; on a list, of each of its items.

    Raises:
        LookupError: there is none; the message says what there is.
    """
    steps = [step for step in _STEP.sub(r".\1", name).split(".") if step]
    for index, step in enumerate(steps):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, list) and _has(value, step):
            rest = ".".join(steps[index:])
            return [pick(item, rest) for item in value if _has([item], step)]
        else:
            where = ".".join(steps[:index]) or "the content"
            raise LookupError(
                f"no field {_quoted(step)} in `{where[:200]}`: {_what(value)}"
            )
    return value


def shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return `value` with long lists and texts shortened, and said so."""
    return _short(value, _Bounds(keys=10_000), _Cuts())


def written(value: object) -> str:
    """Return `value` as JSON, a line for each part."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _short(value: Any, bounds: _Bounds, cuts: _Cuts, path: _Path = ()) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        if len(value) <= bounds.chars:
            return value
        cuts.add(path, f"{len(value):,} characters")
        kept = value[: safe_end(value, bounds.chars)]
        return f"{kept} [… {len(value):,} characters in all]"
    if not isinstance(value, dict | list) or not value:
        return value
    if len(path) >= bounds.depth:
        cuts.add(path, _size(value))
        return f"[{_size(value)}]"
    if isinstance(value, list):
        return _short_list(value, bounds, cuts, path)
    shown: dict[str, Any] = {}
    for key, item in value.items():
        if len(shown) == bounds.keys:
            cuts.add(path, _size(value))
            shown["…"] = f"[{len(value):,} fields in all; ask for one by its name]"
            break
        name = _name(key)
        shown[name] = _short(item, bounds, cuts, (*path, name))
    return shown


def _short_list(
    value: list[Any], bounds: _Bounds, cuts: _Cuts, path: _Path
) -> list[Any]:
    if len(value) > bounds.items:
        cuts.add(path, _size(value))
    items = [
        _short(item, bounds, cuts, (*path, str(at)))
        for at, item in enumerate(value[: bounds.items])
    ]
    if len(value) > bounds.items:
        items.append(f"[{len(value)} items in all; ask for one by its number]")
    return items


def _name(key: str) -> str:
    if len(key) <= _KEY_CHARS:
        return key
    return key[: safe_end(key, _KEY_CHARS)] + "…"


def _size(value: dict[str, Any] | list[Any]) -> str:
    noun = "item" if isinstance(value, list) else "field"
    return f"{len(value):,} {noun}{'' if len(value) == 1 else 's'}"


def _parts(content: Any, fields: Sequence[str]) -> list[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    """Return the named parts that are there, each with its name."""
    found = []
    for name in fields:
        try:
            found.append((name, pick(content, name)))
        except LookupError:
            continue
    return found


def _listed(parts: Sequence[tuple[str, Any]], bounds: _Bounds, cuts: _Cuts) -> str:
    return "\n".join(
        f"{name[:200]}: {written(_short(value, bounds, cuts, (name,)))}"
        for name, value in parts
    )


def _others(content: Any, fields: Sequence[str]) -> list[str]:  # noqa: ANN401 - any JSON
    """Return names of parts beside those that are shown."""
    wanted = {_STEP.sub(r".\1", name).strip(".") for name in fields}

    def beside(value: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - any JSON
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, dict)), None)
        if not isinstance(value, dict):
            return
        for key, item in value.items():
            name = f"{path}.{key}" if path else key
            if name in wanted:
                continue
            if any(each.startswith(f"{name}.") for each in wanted):
                yield from beside(item, name)
            else:
                yield _name(name)

    return list(beside(content, ""))


def _foot(ref: str, cuts: _Cuts, rest: Sequence[str]) -> str:
    """Return the line that says what is missing and how to get it."""
    said = []
    if cuts.count:
        more = cuts.count - len(cuts.named)
        names = ", ".join(cuts.named)
        said.append(f"shortened: {names}{f' and {more:,} more' if more else ''}")
    if rest:
        more = len(rest) - _NAMED_KEYS
        names = ", ".join(rest[:_NAMED_KEYS])
        said.append(f"not shown: {names}{f' and {more:,} more' if more > 0 else ''}")
    what = "; ".join(said) or "set in lines"
    return f'[{what}. A part: read_ref("{ref}", fields=["…"]); all: read_ref("{ref}")]'


def _has(items: list[Any], key: str) -> bool:
    return any(isinstance(item, dict) and key in item for item in items)


def _quoted(step: str) -> str:
    return json.dumps(step[:80], ensure_ascii=False)


def _what(value: object) -> str:
    if isinstance(value, dict):
        names = ", ".join(f"`{_name(str(key))}`" for key in list(value)[:_NAMED_KEYS])
        more = len(value) - _NAMED_KEYS
        return f"an object with {names}{f' and {more:,} more' if more > 0 else ''}"
    if isinstance(value, list):
        return f"a list of {len(value)} items, counted from 0"
    return f"a plain value, {written(value)[:80]}"
