"""What the constraints of a task say about where to look, as far as that is clear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.models.offline.reading import paths_in

__all__ = ["Scope", "scope_of"]

_LEAVE_OUT = re.compile(
    r"\b(?:do not|don't|never|leave out|leave\b.*\bunopened|exclude|skip|ignore|"
    r"without|except|stay (?:out|away)|keep (?:out|away)|avoid|not in)\b"
    r"|不要|不得|禁止|请勿|勿|别[看读用打进]|避开|排除|忽略|除了",
    re.IGNORECASE,
)
_LOOK_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|nothing but|confined to|"
    r"limited to|keep to|stick to)\b"
    r"|只[在看用读查能使]|仅[在限看用读查使]|限于",
    re.IGNORECASE,
)
# Nothing is ever written, so that these hold by themselves.
_WRITES = re.compile(
    r"\b(?:chang|modif|edit|writ|delet|creat|mov|renam|overwrit|commit)\w*\b"
    r"|修改|更改|改动|写入|删除|创建|移动",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|don't|never|nothing|no|without)\b|[不勿别]|禁止", re.I)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look.

    Attributes:
        include: keep to these; empty: everything.
        exclude: leave these out.
        unapplied: constraints of which nothing could be made.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unapplied: tuple[str, ...] = ()

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
    for constraint in constraints:
        before = len(include) + len(exclude)
        # A clause each: "only in src/, not in src/old/" says both.
        for clause in re.split(r"[;；,，。]|\.\s|\bbut\b", constraint):
            if _WRITES.search(clause):
                continue
            if _LEAVE_OUT.search(clause):
                exclude += _named(clause, listed)
            elif _LOOK_ONLY.search(clause) or _LOOK_ONLY.search(constraint):
                include += _named(clause, listed)
        is_held = _WRITES.search(constraint) and _NEGATED.search(constraint)
        if len(include) + len(exclude) == before and not is_held:
            unapplied.append(constraint)
    if not include:
        include = _there([p for p in paths_in(questions) if "/" in p], listed)
    return Scope(_once(include), _once(exclude), tuple(unapplied))


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _named(clause: str, listed: Sequence[str]) -> list[str]:
    """Return what a clause clearly names of what is there."""
    found = _there(paths_in([clause]), listed)
    for name in listed:
        bare = re.escape(name.rstrip("/"))
        kind = r"(?:sub)?folders?|director(?:y|ies)|dir|files?"
        clear = (
            rf"(?:\b(?:in|under|from|out of|within|below|inside|to|{kind})\s+"
            rf"(?:the\s+)?|[\"“‘「`])['\"“‘「`]?{bare}(?!\w|[/.]\w)"
            rf"|(?<![\w/.]){bare}['\"”’」`]?\s+(?:{kind})\b"
        )
        if not name.isascii():
            clear += rf"|{bare}"
        else:
            clear += rf"|(?<![\w/.]){bare}\s*(?:目录|文件夹|文件|里|中|下)"
        if re.search(clear, clause, re.IGNORECASE):
            found.append(name)
    return found


def _there(paths: Sequence[str], listed: Sequence[str]) -> list[str]:
    """Return the paths at the top of the workspace that were seen in its listing."""
    seen = {name.rstrip("/"): name for name in listed}
    return [
        seen[path.rstrip("/")] if "/" not in path.rstrip("/") else path
        for path in paths
        if path.rstrip("/").split("/")[0] in seen and not path.startswith("/")
    ]
