"""Read YAML with the line of every key, and refuse what YAML would guess at.

Differs from plain PyYAML where a guess would surprise the writer of a task: dates
and `12:30` stay text, `1e6` is a number, duplicate keys, tags and merge keys are
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from orchestrator.errors import SpecError

__all__ = ["Document", "Where", "dump", "parse", "parse_value", "read_source"]

MAX_BYTES = 1_000_000
MAX_DEPTH = 60
MAX_NODES = 50_000

Where = tuple[str | int, ...]
"""Keys and indices that lead to a part of plain data."""

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+)$")
_FLOAT = re.compile(
    r"(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))"
    r"(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_BOOL = re.compile(r"(?:yes|no|true|false|on|off)$", re.IGNORECASE)
_NULL = re.compile(r"(?:~|null|Null|NULL|)$")


class _Loader(_BaseLoader):  # type: ignore[misc]  # C class or Python class
    """Composes nodes with the resolvers below only."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own form


class _Dumper(yaml.SafeDumper):
    """Quotes exactly the text that `_Loader` would take for something else."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own form


for _class in (_Loader, _Dumper):
    for _kind, _pattern, _first in (
        ("bool", _BOOL, list("yYnNtTfFoO")),
        ("int", _INT, list("-+0123456789")),
        ("float", _FLOAT, list("-+0123456789.")),
        ("null", _NULL, ["~", "n", "N", ""]),
        ("merge", re.compile(r"<<$"), ["<"]),
    ):
        _class.add_implicit_resolver(_TAG + _kind, _pattern, _first)


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data, and the line on which each part of it starts."""

    value: Any
    file: str = ""
    lines: dict[Where, int] = field(default_factory=dict)

    def line_of(self, where: Where) -> int:
        """Return the line of `where`, or of the nearest part around it that exists."""
        for end in range(len(where), -1, -1):
            if line := self.lines.get(where[:end]):
                return line
        return 1 if self.file else 0


def read_source(path: Path, *, what: str, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file that a user wrote; a byte order mark is dropped.

    Args:
        path: the file, as the user named it.
        what: what it should be, for messages: `task file`, `profile`.
        max_bytes: longest file that is read.

    Raises:
        SpecError: it is missing, no file, unreadable, too big, empty or not UTF-8.
    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise SpecError(f"no such {what}", file=file) from error
    except IsADirectoryError as error:
        raise SpecError(f"is a folder, not a {what}", file=file) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot read this {what}: {reason}", file=file) from error
    if len(data) > max_bytes:
        raise SpecError(f"is over {max_bytes:,} bytes; too big for a {what}", file=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(
            f"is not UTF-8 text (byte {data[error.start]:#04x}); save it as UTF-8",
            file=file,
            line=line,
        ) from error
    if not text.strip():
        raise SpecError(f"is empty; a {what} was expected", file=file)
    return text


def parse(text: str, *, file: str, first_line: int = 1) -> Document:
    """Return `text` as data with lines.

    Args:
        text: one YAML document.
        file: its name in messages.
        first_line: line of the file on which `text` starts.

    Raises:
        SpecError: it is not YAML, or says something twice.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, file, first_line) from error
    if root is None:
        return Document(None, file, {(): first_line})
    reader = _Reader(file, first_line)
    return Document(reader.plain(root, ()), file, reader.lines)


def parse_value(text: str, *, name: str) -> Any:  # noqa: ANN401 - any YAML value
    """Return the value of one `--set`, read as YAML.

    Raises:
        SpecError: `text` is not YAML.
    """
    try:
        return parse(text, file="").value
    except SpecError as error:
        raise SpecError(
            f"cannot read the value `{_short(text)}`: {error.message}", field=name
        ) from error


def dump(value: object) -> str:
    """Return `value` as YAML in the order of its keys; `parse` gives it back."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=88
    )


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML folds these line ends to blanks unless they are escaped.
    style = '"' if re.search("[\x85\u2028\u2029]", text) else None
    if style is None and "\n" in text.strip("\n") + text[-1:]:
        style = "|"
    return dumper.represent_scalar(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _text)


class _Reader:
    """Turns nodes into plain data and notes the lines."""

    def __init__(self, file: str, first_line: int) -> None:
        self.file, self.first_line = file, first_line
        self.lines: dict[Where, int] = {}
        self.nodes = 0

    def plain(self, node: yaml.Node, where: Where) -> Any:  # noqa: ANN401 - any YAML value
        self.lines.setdefault(where, self._line(node))
        self.nodes += 1
        if len(where) > MAX_DEPTH or self.nodes > MAX_NODES:
            raise self._error("is nested or repeated beyond all bounds", node, where)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, where)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.plain(each, (*where, i)) for i, each in enumerate(node.value)]
        convert = _SCALARS.get(node.tag)
        if convert is None or not isinstance(node, yaml.ScalarNode):
            raise self._error(
                f"YAML tags such as `{node.tag}` are not used here; "
                "put text that starts with `!` in quotes",
                node,
                where,
            )
        try:
            return convert(node.value)
        except (ValueError, OverflowError) as error:
            raise self._error(f"`{_short(node.value)}`: {error}", node, where) from None

    def _mapping(self, node: yaml.MappingNode, where: Where) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                raise self._error(
                    "merge keys (`<<`) are not used here", key_node, where
                )
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(
                    "a key must be plain text; put text that starts with `{` or `[` "
                    "in quotes",
                    key_node,
                    where,
                )
            key = str(key_node.value)
            path = (*where, key)
            if key in data:
                raise self._error(
                    f"is given twice; the first is in line {self.lines[path]}",
                    key_node,
                    path,
                )
            self.lines[path] = self._line(key_node)
            data[key] = self.plain(value_node, path)
        return data

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + self.first_line

    def _error(self, message: str, node: yaml.Node, where: Where) -> SpecError:
        line = self._line(node) if self.file else 0
        return SpecError(message, self.file, line, ".".join(map(str, where)))


def _integer(text: str) -> int:
    return int(text.replace("_", ""), 0)


def _number(text: str) -> float:
    return float(
        text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan")
    )


_SCALARS: dict[str, Callable[[str], Any]] = {
    _TAG + "str": str,
    _TAG + "null": lambda _text: None,
    _TAG + "bool": lambda text: text.lower() in ("yes", "true", "on"),
    _TAG + "int": _integer,
    _TAG + "float": _number,
}


def _not_yaml(
    error: yaml.YAMLError, text: str, file: str, first_line: int
) -> SpecError:
    source = text.splitlines()
    if isinstance(error, yaml.MarkedYAMLError):
        index = error.problem_mark.line if error.problem_mark else 0
        index = max(min(index, len(source) - 1), 0)
        shown = source[index] if source else ""
        message = _way_out(error, shown)
    else:
        position = min(int(getattr(error, "position", 0)), max(len(text) - 1, 0))
        index = text.count("\n", 0, position)
        code = ord(text[position]) if text else 0
        message = f"holds the control character U+{code:04X}; remove it"
        shown = ""
    where = re.match(r"\s*(?:- )?([\w-]+)\s*:", shown)
    line = index + first_line if file else 0
    return SpecError(message, file, line, where[1] if where else "")


def _way_out(error: yaml.MarkedYAMLError, line: str) -> str:
    problem = error.problem or "cannot be read"
    if re.match(r" *\t", line):
        return "is indented with a tab; YAML wants blanks"
    if "mapping values are not allowed" in problem:
        return _colon(line)
    if "cannot start any token" in problem or "undefined alias" in problem:
        return (
            f"found {_quoted(line.strip())}; put text that starts with a special "
            "character in quotes"
        )
    if "another document" in problem:
        return "holds a second document (`---`); one was expected"
    started = ""
    mark = error.context_mark
    if error.context and mark and error.problem_mark:
        lines_up = error.problem_mark.line - mark.line
        started = f" {error.context}, {lines_up} lines above" if lines_up else ""
    hint = ""
    if "quoted scalar" in (error.context or ""):
        hint = "; a quote is never closed"
    elif "flow" in (error.context or ""):
        hint = "; a bracket or brace is never closed, or a comma is missing"
    elif "expected ':'" in problem or "expected <block end>" in problem:
        hint = "; expected `key: value`, or a deeper indent"
    return f"is not YAML: {problem}{started}{hint}"


def _colon(line: str) -> str:
    parts = re.match(r"\s*((?:- )?[\w.-]+)\s*:\s+(.*\S)\s*$", line)
    if parts is None or ":" not in parts[2]:
        return (
            "found a colon where none may stand; check the indent, "
            "or put the whole text in quotes"
        )
    return (
        "found an unquoted colon in the text; put the text in quotes: "
        f"{parts[1]}: {_quoted(parts[2])}"
    )


def _quoted(text: str) -> str:
    return json.dumps(_short(text, 160), ensure_ascii=False)


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
