"""Globs as in `.gitignore`: for ripgrep as ignore lines, and as a check in Python.

A glob handed to ripgrep as `--glob` would override `.gitignore` and bring hidden files
in. As the weakest ignore file it only takes away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from orchestrator.errors import ToolError
from orchestrator.tools.arguments import shown

__all__ = ["asks_for_hidden", "ignore_lines", "matcher"]

_MAX_CHOICES = 64
_PLAIN = re.compile(r"[\w./@+-]+")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MAX_STARS = 12
_REGEXES = {
    "**/": "(?:.*/)?",
    "/**": "/.+",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
}
_PIECE = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|.", re.DOTALL)


def asks_for_hidden(glob: str) -> bool:
    """Return whether a part of `glob` starts with a dot, so that hidden files count."""
    return any(
        part.startswith(".") and part not in (".", "..") for part in glob.split("/")
    )


def ignore_lines(glob: str, folder: str, exclude: Sequence[str]) -> str:
    """Return lines in the form of `.gitignore` that leave only what is wanted.

    Args:
        glob: what to keep, or "" for everything.
        folder: where the search starts, relative to the root, or `.`.
        exclude: entries that are out of scope; only plain paths are used, since the
            workspace checks every result anyway.

    Raises:
        ToolError: the glob stands for too many.
    """
    lines: list[str] = []
    if glob:
        lines += ["*", "!*/"]
        lines += [f"!{each}" for each in _rooted(glob, folder)]
        if not asks_for_hidden(glob):
            lines.append(".*")
    if asks_for_hidden(glob):
        lines.append(".git")
    lines += [
        f"/{entry.strip('/')}"
        for entry in exclude
        if _PLAIN.fullmatch(entry) and not entry.startswith(("/", "."))
    ]
    return "".join(f"{line}\n" for line in lines)


def matcher(glob: str, folder: str) -> Callable[[str], bool]:
    """Return a check of paths relative to the root.

    A glob without a slash means names at any depth. One with a slash starts at `folder`
    or at the root; models write either.

    Raises:
        ToolError: the glob stands for too many.
    """
    if not glob:
        return lambda _path: True
    regexes = [_compiled(each) for each in _rooted(glob, folder)]
    return lambda path: any(regex.fullmatch(path) for regex in regexes)


def _rooted(glob: str, folder: str) -> list[str]:
    # Many stars make the check slow, and a line end would be a line of its own.
    if glob.count("*") > _MAX_STARS or not glob.isprintable():
        raise ToolError(
            f"`glob` must be printable and have at most {_MAX_STARS} `*`, found "
            f"{shown(glob)}"
        )
    rooted: list[str] = []
    for choice in _choices(glob.removeprefix("./")):
        bare = choice.rstrip("/") + "/**" if choice.endswith("/") else choice
        if "/" not in bare:
            rooted.append(f"\\{bare}" if bare[:1] in ("!", "#") else bare)
            continue
        bare = bare.lstrip("/")
        rooted.append(f"/{bare}")
        if folder != ".":
            rooted.append(f"/{_escaped(folder)}/{bare}")
    return rooted


def _choices(glob: str) -> list[str]:
    """Return what `{a,b}` stands for; ignore files know no braces."""
    done, todo = [], [glob]
    while todo:
        written = todo.pop(0)
        braces = _BRACES.search(written)
        if braces is None:
            done.append(written)
            continue
        head, tail = written[: braces.start()], written[braces.end() :]
        todo += [f"{head}{choice}{tail}" for choice in braces[1].split(",")]
        if len(todo) + len(done) > _MAX_CHOICES:
            raise ToolError(
                f"`{glob[:80]}` stands for more than {_MAX_CHOICES} globs; use fewer "
                "choices in braces"
            )
    return done


def _escaped(folder: str) -> str:
    return re.sub(r"([\\*?\[\]])", r"\\\1", folder)


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    regex = "" if glob.startswith("/") else "(?:.*/)?"
    escaped = False
    for piece in _PIECE.findall(glob.removeprefix("/")):
        if escaped:
            regex += re.escape(piece[0]) + "".join(map(_regex_of, piece[1:]))
            escaped = False
        elif piece == "\\":
            escaped = True
        else:
            regex += _regex_of(piece)
    try:
        return re.compile(regex, re.DOTALL)
    except re.error as error:
        raise ToolError(f"`{glob[:80]}` is no glob: {error}") from error


def _regex_of(piece: str) -> str:
    known = _REGEXES.get(piece)
    if known is not None:
        return known
    if piece.startswith("[") and len(piece) > 2:
        inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        if inside[0] in "!^":
            return f"(?!/)[^{inside[1:]}]"
        return f"[{inside}]"
    return re.escape(piece)
