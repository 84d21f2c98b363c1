"""Control groups of the kernel, for what the limits of single processes do not hold.

Of processes and memory the kernel then counts the whole of a sandbox, root's too. Where
no group can be made (an ordinary user mostly may not), the first process of the sandbox
watches instead.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from orchestrator.security.sandbox.description import Limits

__all__ = ["Group", "make_group"]

_PREFIX = "orchestrator"
_LEAVING_S = 2.0
_TRIAL_S = 5
_POLL_S = 0.005
# Moves itself into each of the groups, then becomes the command.
_ENTER = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; '
    'n=$((n-1)); done; exec "$@"'
)
# Controller → files with its limit, by version; the second may be missing.
_LIMITS = {
    (1, "pids"): ("pids.max",),
    (2, "pids"): ("pids.max",),
    (1, "memory"): ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    (2, "memory"): ("memory.max", "memory.swap.max"),
}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class _Parent:
    """A group in which others can be made, for some controllers."""

    folder: Path
    version: int
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A place for the processes of one sandbox; empty where none can be had.

    Attributes:
        folders: one for each hierarchy.
        controllers: what the kernel counts: `pids`, `memory`.
    """

    folders: tuple[Path, ...] = ()
    controllers: frozenset[str] = frozenset()

    def enter(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` in here, from its first moment on."""
        if not self.folders:
            return list(command)
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        return ["/bin/sh", "-c", _ENTER, "sh", str(len(files)), *files, *command]

    def exceeded(self) -> tuple[str, ...]:
        """Return which limits were met: `memory`, `processes`."""
        met = {
            "memory": ("memory.oom_control", "memory.events", "oom_kill"),
            "processes": ("pids.events", "pids.events", "max"),
        }
        return tuple(
            what
            for what, (*files, word) in met.items()
            if any(
                _count(folder / file, word) for folder in self.folders for file in files
            )
        )

    def close(self) -> None:
        """End whatever is left in here, and remove the group; takes 2 s at most."""
        deadline = time.monotonic() + _LEAVING_S
        left = list(self.folders)
        while left and time.monotonic() < deadline:
            left = [folder for folder in left if not _removed(folder)]
            if left:
                _kill(left)
                time.sleep(_POLL_S)


def make_group(limits: Limits) -> Group:
    """Return a new group with the limits of a sandbox, as far as one can be had.

    Those that processes which were killed have left behind are removed.
    """
    folders: list[Path] = []
    controllers: set[str] = set()
    name = f"{_PREFIX}-{os.getpid()}-{next(_numbers)}"
    for parent in _parents():
        _sweep(parent.folder)
        folder = parent.folder / name
        try:
            folder.mkdir()
            _limit(folder, parent, limits)
        except OSError:
            _removed(folder)
            continue
        folders.append(folder)
        controllers.update(parent.controllers)
    return Group(tuple(folders), frozenset(controllers))


@lru_cache(maxsize=1)
def _parents() -> tuple[_Parent, ...]:
    """Return where groups can be made and entered, tried once for each process."""
    found: list[_Parent] = []
    wanted = ["pids", "memory"]
    for parent in _candidates():
        here = tuple(each for each in parent.controllers if each in wanted)
        if here and _works(parent.folder):
            found.append(_Parent(parent.folder, parent.version, here))
            wanted = [each for each in wanted if each not in here]
    return tuple(found)


def _candidates() -> Iterator[_Parent]:
    ours = _own_paths()
    for where, version, controllers in _mounts():
        if version == 1:
            named = next((each for each in controllers if each in ours), "")
            if named:
                inner = where / ours[named].lstrip("/")
                yield _Parent(inner if inner.is_dir() else where, 1, controllers)
            continue
        # A group that holds processes, such as ours, can have no limited ones in it.
        inner = where / ours.get("", "").lstrip("/")
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(where):
                handed_down = _text(folder / "cgroup.subtree_control").split()
                yield _Parent(folder, 2, tuple(handed_down))


def _own_paths() -> dict[str, str]:
    """Return the group of this process by controller; "" stands for version 2."""
    paths: dict[str, str] = {}
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    return paths


def _mounts() -> Iterator[tuple[Path, int, tuple[str, ...]]]:
    for line in _text(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        where = Path(before.split()[4])
        if kind == "cgroup":
            yield where, 1, tuple(options.split(","))
        elif kind == "cgroup2":
            yield where, 2, ()


def _works(parent: Path) -> bool:
    """Return whether a group can be made here, and a process be moved into it."""
    folder = parent / f"{_PREFIX}-{os.getpid()}-0"
    try:
        folder.mkdir()
    except OSError:
        return False
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            Group((folder,)).enter(["true"]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        Group((folder,)).close()
    return done.returncode == 0


def _limit(folder: Path, parent: _Parent, limits: Limits) -> None:
    amounts = {"pids": limits.processes, "memory": limits.memory_bytes}
    for controller in parent.controllers:
        first, *others = _LIMITS[parent.version, controller]
        amount = str(amounts[controller])
        (folder / first).write_text(amount, encoding="ascii")
        for other in others:
            with suppress(OSError):
                is_swap = other == "memory.swap.max"
                (folder / other).write_text("0" if is_swap else amount, "ascii")


def _sweep(parent: Path) -> None:
    """Remove groups whose makers are gone; those in use cannot be removed."""
    for folder in parent.glob(f"{_PREFIX}-*-*"):
        maker = folder.name.split("-")[1]
        if maker.isdigit() and not Path(f"/proc/{maker}").exists():
            _removed(folder)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _kill(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # version 2 ends all at once
            (folder / "cgroup.kill").write_text("1", encoding="ascii")
        for pid in _text(folder / "cgroup.procs").split():
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)


def _count(file: Path, word: str) -> int:
    for line in _text(file).splitlines():
        name, _, number = line.partition(" ")
        if name == word and number.isdigit():
            return int(number)
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
