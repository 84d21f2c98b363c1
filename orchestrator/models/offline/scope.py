"""What the constraints of a task say about where to look, as far as that is clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.models.offline.constraints import read_constraint
from orchestrator.models.offline.reading import paths_in

__all__ = ["Scope", "scope_of"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look.

    Attributes:
        include: keep to these; empty: everything.
        exclude: leave these out.
        unapplied: constraints of which nothing could be made.
        unclear: constraints that name a path and cannot be told, each with the path;
            nothing may be searched then.
        refused: why the places to keep to cannot be searched, or "".
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unapplied: tuple[str, ...] = ()
    unclear: tuple[tuple[str, str], ...] = ()
    refused: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether nothing may be searched, lest a constraint be broken."""
        return bool(self.unclear or self.refused)

    def allows(self, path: str) -> bool:
        """Return whether a file may be looked at."""
        if any(_within(path, each) for each in self.exclude):
            return False
        return not self.include or any(_within(path, each) for each in self.include)

    def places(self, listed: Sequence[str]) -> list[str]:
        """Return the folders and files of the top that may be searched."""
        names = [name.rstrip("/") for name in listed if not name.startswith(".")]
        if self.include:
            return [each.rstrip("/") for each in self.include if self._is_free(each)]
        return [name for name in names if self._is_free(name)] if self.exclude else []

    def _is_free(self, name: str) -> bool:
        return not any(_within(name, each) for each in self.exclude)

    def fields(self) -> dict[str, list[str]]:
        """Return the `scope` of a brief; empty where there is none."""
        found = {"include": list(self.include), "exclude": list(self.exclude)}
        return {name: paths for name, paths in found.items() if paths}


def _within(path: str, entry: str) -> bool:
    bare = entry.rstrip("/")
    return path == bare or path.startswith(f"{bare}/")


def scope_of(
    constraints: Sequence[str], questions: Sequence[str], listed: Sequence[str]
) -> Scope:
    """Return what constraints and questions say about where to look, if it is there.

    Args:
        constraints: of the task.
        questions: a path in them is where to look, unless a constraint says.
        listed: names of the top of the workspace, folders with a slash.
    """
    include: list[str] = []
    exclude: list[str] = []
    unapplied: list[str] = []
    unclear: list[tuple[str, str]] = []
    for constraint in constraints:
        said = read_constraint(constraint, listed)
        if include and said.include and set(said.include) != set(include):
            # Each alone leaves out what the other keeps to.
            said.unclear = said.include[0]
        if said.unclear:
            unclear.append((constraint, said.unclear))
            continue
        include += said.include
        exclude += said.exclude
        if not (said.include or said.exclude or said.is_held):
            unapplied.append(constraint)
    if not include:
        include = _there([p for p in paths_in(questions) if "/" in p], listed)
    return Scope(_once(include), _once(exclude), tuple(unapplied), tuple(unclear))


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _there(paths: Sequence[str], listed: Sequence[str]) -> list[str]:
    """Return the paths at the top of the workspace that were seen in its listing."""
    seen = {name.rstrip("/"): name for name in listed}
    return [
        seen[path.rstrip("/")] if "/" not in path.rstrip("/") else path
        for path in paths
        if path.rstrip("/").split("/")[0] in seen and not path.startswith("/")
    ]
