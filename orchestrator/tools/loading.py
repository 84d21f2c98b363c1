"""Find the user's own tools that a task names, in modules or among those installed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.tools.base import Tool
from orchestrator.tools.own import FunctionTool
from orchestrator.tools.registry import definition_of, legal_tool_name

__all__ = ["ENTRY_POINTS", "load_tools"]

ENTRY_POINTS = "orchestrator.tools"
"""Group under which packages offer tools. None is loaded unless a task names it."""
_PARTS = ("name", "description", "Args", "effects", "timeout_s", "run")
_SHOWN_CHARS = 200


def load_tools(
    names: Sequence[str], *, folders: Sequence[Path], taken: Collection[str]
) -> tuple[Tool[Any], ...]:
    """Return the tools that a task names, in its order.

    Their modules are imported, which runs their code: the task asks for that.

    Args:
        names: `package.module:function`, or the name of an entry point.
        folders: where modules are looked for after what is installed.
        taken: names of tools that there are already.

    Raises:
        SpecError: one does not exist, is no tool, or has a name that is taken; `field`
            names the entry.
    """
    found: dict[str, Tool[Any]] = {}
    for index, written in enumerate(names):
        field = f"tools.{index}"
        with _importable(folders):
            made = _made(_loaded(written, field), written, field)
        if made.name in taken or made.name in found:
            raise SpecError(
                f"`{written}` makes a tool `{made.name}`, and there is one of that "
                "name already; give it another with `@tool(name=…)`",
                field=field,
            )
        found[made.name] = made
    return tuple(found.values())


def _loaded(written: str, field: str) -> object:
    """Return what a name stands for."""
    entry = _entry(written, field)
    try:
        return entry.load()
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN_CHARS]
        raise SpecError(
            f"`{written[:_SHOWN_CHARS]}` cannot be loaded: {said}", field=field
        ) from error


def _entry(written: str, field: str) -> EntryPoint:
    if ":" in written:
        return EntryPoint(written, written.strip(), ENTRY_POINTS)
    offered = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    if written in offered:
        return offered[written]
    there = ", ".join(f"`{name}`" for name in sorted(offered)) or "none"
    raise SpecError(
        f"found `{written[:_SHOWN_CHARS]}`; expected `package.module:function`, or "
        f"the name of an installed tool; installed: {there}",
        field=field,
    )


def _made(found: object, written: str, field: str) -> Tool[Any]:
    """Return a tool for what was loaded: itself, an instance of it, or made of it."""
    try:
        return _as_tool(found)
    except Exception as error:
        said = " ".join(str(error).split())[:_SHOWN_CHARS]
        raise SpecError(
            f"`{written[:_SHOWN_CHARS]}` is no tool: {said}", field=field
        ) from error


def _as_tool(found: Any) -> Tool[Any]:  # noqa: ANN401 - whatever a task names
    """Return what was loaded as a tool.

    Raises:
        TypeError: it cannot be one.
    """
    made: Any = found() if inspect.isclass(found) else found
    if not all(hasattr(made, part) for part in _PARTS):
        if not callable(made):
            raise TypeError(f"it is {type(made).__name__}, neither function nor tool")
        made = FunctionTool(made)
    if not legal_tool_name(made.name):
        raise TypeError(
            f"the name `{made.name[:80]}` must be 1 to 64 ASCII letters, digits, "
            "dashes or underscores"
        )
    definition_of(made)
    tool: Tool[Any] = made
    return tool


@contextmanager
def _importable(folders: Sequence[Path]) -> Iterator[None]:
    """Let modules be imported from `folders` too, after all that is installed."""
    added = [str(each) for each in folders if str(each) not in sys.path]
    sys.path += added
    try:
        yield
    finally:
        for each in added:
            sys.path.remove(each)
