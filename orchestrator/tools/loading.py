"""Find the user's own tools that a task names, in modules or among those installed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from orchestrator.errors import SpecError
from orchestrator.messages import one_line
from orchestrator.tools.base import Effects, Tool
from orchestrator.tools.own import FunctionTool
from orchestrator.tools.registry import definition_of, legal_tool_name

__all__ = ["ENTRY_POINTS", "as_tool", "load_tools", "usable_tools"]

ENTRY_POINTS = "orchestrator.tools"
"""Group under which packages offer tools. None is loaded unless a task names it."""
_PARTS = ("name", "description", "Args", "effects", "timeout_s", "run")
_SHOWN_CHARS = 200


def load_tools(
    names: Sequence[str], *, folders: Sequence[Path], taken: Collection[str]
) -> tuple[Tool[Any], ...]:
    """Return the tools that a task names, in its order.

    Their modules are imported, which runs their code: the task asks for that. Of the
    folders only the very module or package that is named is: what else it imports must
    be installed, so that nothing in a folder can take the place of a missing package.

    Args:
        names: `package.module:function`, or the name of an entry point.
        folders: where that module or package is looked for if it is not installed.
        taken: names of tools that there are already.

    Raises:
        SpecError: one does not exist, is no tool, or has a name that is taken; `field`
            names the entry.
    """
    found: dict[str, Tool[Any]] = {}
    for index, written in enumerate(names):
        field = f"tools.{index}"
        with _importable(written.partition(":")[0], folders):
            made = _made(_loaded(written, field, folders), written, field)
        if made.name in taken or made.name in found:
            raise SpecError(
                f"`{written}` makes a tool `{made.name}`, and there is one of that "
                "name already; give it another with `@tool(name=…)`",
                field=field,
            )
        found[made.name] = made
    return tuple(found.values())


def usable_tools(
    names: Sequence[str], *, folders: Sequence[Path]
) -> tuple[tuple[Tool[Any], ...], list[str]]:
    """Return those tools of an earlier process that are still there, and what is not.

    Args:
        names: as the task has them.
        folders: as for `load_tools`.

    Returns:
        The tools, and a line for each that is gone.
    """
    found: list[Tool[Any]] = []
    lost: list[str] = []
    for written in names:
        try:
            found += load_tools([written], folders=folders, taken=())
        except SpecError as error:
            lost.append(f"a tool of the task is gone: {error.message}")
    return tuple(found), lost


def _loaded(written: str, field: str, folders: Sequence[Path]) -> object:
    """Return what a name stands for."""
    entry = _entry(written, field)
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise SpecError(_missing(written, error, folders), field=field) from error
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}", _SHOWN_CHARS)
        raise SpecError(
            f"`{written[:_SHOWN_CHARS]}` cannot be loaded: {said}", field=field
        ) from error


def _missing(written: str, error: ModuleNotFoundError, folders: Sequence[Path]) -> str:
    """Return which module is missing, and where it was looked for."""
    named, missing = written.partition(":")[0].strip(), str(error.name)
    if named == missing or named.startswith(f"{missing}."):
        places = ", ".join(str(each) for each in dict.fromkeys(folders))
        return f"there is no module `{missing[:80]}`, installed or in {places}"
    return (
        f"`{named[:80]}` needs `{missing[:80]}`, which is not installed; only the "
        "module or package that is named is taken from a folder, so make the two one "
        "package"
    )


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
        return as_tool(found)
    except Exception as error:
        said = one_line(str(error), _SHOWN_CHARS)
        raise SpecError(
            f"`{written[:_SHOWN_CHARS]}` is no tool: {said}", field=field
        ) from error


def as_tool(found: Any) -> Tool[Any]:  # noqa: ANN401 - whatever a user names
    """Return a tool for a function, a tool, or the class of one.

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
    if made.effects not in get_args(Effects):
        raise TypeError(
            f"its `effects` are `{made.effects}`; allowed: "
            f"{', '.join(get_args(Effects))}"
        )
    definition_of(made)
    tool: Tool[Any] = made
    return tool


class _Beside(MetaPathFinder):
    """Finds one module or package in some folders, and nothing else."""

    def __init__(self, name: str, folders: Sequence[Path]) -> None:
        self._name, self._folders = name, [str(each) for each in folders]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return where the module is; None: not here."""
        if fullname != self._name or path is not None:
            return None
        return PathFinder.find_spec(fullname, self._folders, target)


@contextmanager
def _importable(module: str, folders: Sequence[Path]) -> Iterator[None]:
    """Let the package of `module` be imported from `folders`, if not installed."""
    finder = _Beside(module.strip().partition(".")[0], folders)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
