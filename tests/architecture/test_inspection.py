"""What is asked of a run is answered with data: how it looks is somebody else's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "orchestrator" / "inspection"
MODULES = sorted(PACKAGE.glob("*.py"))
LOOKS = re.compile("[\x1b\x9b\u2500-\u25ff]")
"""Escape sequences, lines of tables, blocks of bars."""
OF_TERMINALS = re.compile(
    r"columns?|colou?rs?|styles?|widths?|isatty|get_terminal_size|east_asian_width|"
    r"ljust|rjust|center|expandtabs"
)


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.keyword(arg=str(name)):
                yield name


def offences(source: str) -> list[str]:
    tree = ast.parse(source)
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    # Parts of a name count: `title_columns`, `state_color`.
    named = {
        name
        for name in names_in(tree)
        if any(map(OF_TERMINALS.fullmatch, name.strip("_").split("_")))
        or OF_TERMINALS.fullmatch(name)
    }
    return [*sorted(named), *(text for text in texts if LOOKS.search(text))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_knows_of_widths_colours_or_escape_sequences(path: Path) -> None:
    assert offences(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["x = '\\x1b[31m'", "def f(title_columns): ...", "'a'.ljust(9)", "bar = '━━──'"],
)
def test_what_would_be_of_a_terminal_is_seen(source: str) -> None:
    assert offences(source)
