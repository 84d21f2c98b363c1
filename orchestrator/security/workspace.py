"""Keep every path inside the workspace, and inside what a brief may see."""

from __future__ import annotations

import difflib
import fnmatch
import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from orchestrator.errors import OutsideWorkspace, ToolError
from orchestrator.security.untrusted import as_written

__all__ = ["View", "Workspace"]

View = Literal["whole", "part", "hidden"]

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
_SHOWN_CHARS = 200
_SHOWN_ENTRIES = 8
_KINDS = {
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, and which parts of it may be seen.

    Entries of `include` and `exclude` are paths, folders or globs, relative to the
    root. A folder means everything below it. A glob without a slash matches at any
    depth (`*.pem`), as in `.gitignore`; `**` stands for any number of folders.
    Nothing in `include` means everything. `exclude` wins.
    """

    root: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    within: tuple[tuple[str, ...], ...] = ()
    """Outer includes: a path must be in each of them too."""
    restore: Callable[[str], str] = field(default=str, compare=False, repr=False)
    """Puts secrets back into a path that was shown with placeholders for them."""
    real_root: Path = field(init=False, compare=False, repr=False)
    """`root` with all links resolved."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "real_root", Path(os.path.realpath(self.root)))

    def resolve(self, path: str) -> Path:
        """Return `path` as an absolute path without links.

        It need not exist. Folders that lead to an included path are allowed, so that
        one can list one's way there.

        Args:
            path: relative to the root, or absolute and inside it.

        Raises:
            OutsideWorkspace: it leads out of the root, is excluded, or is not included.
            ToolError: it is no path at all (NUL, over-long), or holds a placeholder of
                which the secret is unknown.
        """
        shown = _shown(path)
        _refuse_unusable(path, shown)
        try:
            meant = as_written(self.restore(path))
            real = os.path.realpath(self.real_root / (meant or "."))
            is_all = os.path.realpath(real) == real
        except OSError as error:  # a link that went away at this very moment
            raise ToolError(f"cannot follow `{shown}`: {error.strerror}") from error
        # A loop of links ends the resolving early and could hide a way out behind it.
        if not _is_inside(real, str(self.real_root)) or not is_all:
            raise OutsideWorkspace(
                f"`{shown}` is outside the workspace; only paths below its root are "
                "allowed, best written relative to it"
            )
        resolved = Path(real)
        relative = self.relative(resolved)
        if self._is_excluded(relative):
            raise OutsideWorkspace(
                f"`{shown}` is excluded by the task or the brief; leave it out"
            )
        if not self.allows(relative):
            raise OutsideWorkspace(
                f"`{shown}` is outside your scope; allowed: {self._scope()}"
            )
        return resolved

    def resolve_file(self, path: str) -> Path:
        """Return `path` as `resolve` does, if it is an ordinary file.

        Raises:
            OutsideWorkspace: as `resolve`.
            ToolError: there is no such file, or it is a folder, a pipe, a device or a
                socket, which could block or never end.
        """
        resolved = self.resolve(path)
        shown = _shown(path)
        try:
            mode = resolved.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(f"no file `{shown}`{self._hint(resolved)}") from error
        except OSError as error:
            raise ToolError(f"cannot read `{shown}`: {error.strerror}") from error
        if stat.S_ISDIR(mode):
            raise ToolError(f"`{shown}` is a folder, not a file; list it instead")
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "a link that leads nowhere")
            raise ToolError(
                f"`{shown}` is {kind}; only ordinary files and folders can be read"
            )
        return resolved

    def relative(self, path: Path) -> str:
        """Return `path` relative to the root, with forward slashes; the root is `.`.

        Raises:
            OutsideWorkspace: it is not below the root.
        """
        plain = Path(os.path.normpath(path))
        for root in (self.real_root, self.root):
            if plain.is_relative_to(root):
                return plain.relative_to(root).as_posix()
        raise OutsideWorkspace(f"`{_shown(str(path))}` is outside the workspace")

    def narrowed(
        self, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()
    ) -> Workspace:
        """Return a workspace that sees what both this one and `include` allow."""
        inner = tuple(include)
        outer = (*self.within, self.include) if inner and self.include else self.within
        return replace(
            self,
            include=inner or self.include,
            exclude=tuple(dict.fromkeys((*self.exclude, *exclude))),
            within=outer,
        )

    def allows(self, relative: str) -> bool:
        """Return whether `relative` is in scope, or a folder that leads to the scope.

        It looks at the names as they are; `resolve` is what follows links.

        Args:
            relative: relative to the root, with forward slashes.
        """
        return self.view(relative) != "hidden"

    def view(self, relative: str) -> View:
        """Return how much of `relative` is in scope.

        Args:
            relative: as in `allows`.

        Returns:
            `whole`: it, and what is below it save what is excluded there; `part`: a
            folder that leads to the scope; `hidden`: nothing.
        """
        if self._is_excluded(relative):
            return "hidden"
        parts = self._parts(relative)
        found: View = "whole"
        for entries in filter(None, (*self.within, self.include)):
            patterns = [each for entry in entries for each in self._patterns(entry)]
            if any(pattern.covers(parts) for pattern in patterns):
                continue
            leads = any(pattern.may_lie_below(parts) for pattern in patterns)
            if not (leads and (self.real_root / relative).is_dir()):
                return "hidden"
            found = "part"
        return found

    def _is_excluded(self, relative: str) -> bool:
        if not self.exclude:
            return False
        parts = self._parts(relative)
        return any(
            pattern.covers(parts)
            for entry in self.exclude
            for pattern in self._patterns(entry)
        )

    def _parts(self, relative: str) -> tuple[str, ...]:
        return _split(relative, folds_case=_folds_case(self.real_root))

    def _patterns(self, entry: str) -> tuple[_Pattern, ...]:
        for root in (self.root, self.real_root):
            if entry.startswith("/") and Path(entry).is_relative_to(root):
                entry = Path(entry).relative_to(root).as_posix()
        return _compile(entry, folds_case=_folds_case(self.real_root))

    def _scope(self) -> str:
        shown = ", ".join(_shown(entry) for entry in self.include[:_SHOWN_ENTRIES])
        more = len(self.include) - _SHOWN_ENTRIES
        return f"{shown} and {more} more" if more > 0 else shown

    def _hint(self, missing: Path) -> str:
        """Return the closest names beside a missing file, of those in scope."""
        try:
            names = os.listdir(missing.parent)  # noqa: PTH208 - names are all we need
        except OSError:
            return ""
        folded = {name.casefold(): name for name in sorted(names)}
        close = difflib.get_close_matches(missing.name.casefold(), folded, n=3)
        near = [
            relative
            for name in close
            if self.allows(relative := self.relative(missing.parent / folded[name]))
        ]
        if not near:
            return ""
        return "; did you mean " + " or ".join(f"`{_shown(name)}`" for name in near)


@dataclass(frozen=True, slots=True)
class _Name:
    """One name of an entry: itself, or what its glob stands for.

    Both, since a folder may really be called `[id]`.
    """

    literal: str
    glob: re.Pattern[str]

    def fits(self, part: str) -> bool:
        return part == self.literal or self.glob.fullmatch(part) is not None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One entry of include or exclude, taken apart; None stands for `**`."""

    names: tuple[_Name | None, ...]

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Return whether the entry means `parts`, or a folder above them."""
        reached = self._after_skips({0})
        for part in parts:
            if len(self.names) in reached:
                return True
            reached = self._step(reached, part)
        return len(self.names) in reached

    def may_lie_below(self, parts: tuple[str, ...]) -> bool:
        """Return whether the entry may mean something below the folder `parts`."""
        reached = self._after_skips({0})
        for part in parts:
            reached = self._step(reached, part)
        return bool(reached)

    def _step(self, reached: set[int], part: str) -> set[int]:
        after: set[int] = set()
        for index in reached - {len(self.names)}:
            name = self.names[index]
            if name is None:
                after.add(index)
            elif name.fits(part):
                after.add(index + 1)
        return self._after_skips(after)

    def _after_skips(self, reached: set[int]) -> set[int]:
        """Add what is reached when a `**` stands for no folder at all."""
        found = set(reached)
        for start in reached:
            index = start
            while index < len(self.names) and self.names[index] is None:
                index += 1
                found.add(index)
        return found


def _split(relative: str, *, folds_case: bool) -> tuple[str, ...]:
    """Return the names of a relative path, in the form in which they are compared."""
    text = unicodedata.normalize("NFC", relative)
    if folds_case:
        text = text.casefold()
    return tuple(
        part for part in posixpath.normpath(text).split("/") if part not in ("", ".")
    )


@lru_cache(maxsize=4096)
def _compile(entry: str, *, folds_case: bool) -> tuple[_Pattern, ...]:
    """Return the patterns of one entry: one for each of its `{a,b}` alternatives."""
    if not entry.strip():
        return ()
    patterns = []
    for written in dict.fromkeys((entry, *_alternatives(entry))):
        parts = _split(written, folds_case=folds_case)
        if "/" not in written.rstrip("/") and any(mark in written for mark in "*?["):
            parts = ("**", *parts)
        while parts and parts[-1] == "**":
            parts = parts[:-1]  # `src/**` means the folder `src`
        names = tuple(
            None if part == "**" else _Name(part, re.compile(fnmatch.translate(part)))
            for part in parts
        )
        patterns.append(_Pattern(names))
    return tuple(patterns)


def _alternatives(entry: str) -> list[str]:
    """Return what `{a,b}` in an entry stands for, at most 64 entries."""
    done: list[str] = []
    todo = [entry]
    while todo and len(done) + len(todo) <= 64:
        written = todo.pop()
        braces = re.search(r"\{([^{}]*)\}", written)
        if braces is None:
            done.append(written)
            continue
        head, tail = written[: braces.start()], written[braces.end() :]
        todo += [f"{head}{choice}{tail}" for choice in braces[1].split(",")]
    return done + todo


@lru_cache(maxsize=64)
def _folds_case(root: Path) -> bool:
    """Return whether the file system takes `README` and `readme` for the same."""
    for folder in (root, *root.parents):
        swapped = folder.with_name(folder.name.swapcase()) if folder.name else folder
        if swapped != folder:
            return swapped.exists() and swapped.samefile(folder)
    return False


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _shown(path: str) -> str:
    """Return a path for a message: bounded, on one line, without control characters."""
    clean = "".join(char if char.isprintable() else "\ufffd" for char in path)
    if len(clean) <= _SHOWN_CHARS:
        return clean
    return f"{clean[:_SHOWN_CHARS]}…"


def _refuse_unusable(path: str, shown: str) -> None:
    if "\0" in path:
        raise ToolError(f"`{shown}` is no path: it holds a NUL character")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolError(f"`{shown}` is no path: it holds half a character") from error
    if len(encoded) > MAX_PATH_BYTES or any(
        len(name) > MAX_NAME_BYTES for name in encoded.split(b"/")
    ):
        raise ToolError(
            f"`{shown}` is too long for a path: at most {MAX_NAME_BYTES} bytes a name "
            f"and {MAX_PATH_BYTES} in all"
        )
