"""What a process that an agent starts may see and use, and the command for that."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.security.sandbox.filter import packed_filter
from orchestrator.security.sandbox.mounts import (
    HOME,
    INIT,
    TEMPORARY,
    system_mounts,
    workspace_mounts,
)
from orchestrator.security.sandbox.sight import look
from orchestrator.security.workspace import Workspace

__all__ = ["SYSTEM_PATH", "Limits", "Sandbox"]

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the programs of a machine are."""
_ISOLATED = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--unshare-cgroup-try", "--hostname", "sandbox", "--uid", "1000"),
    *("--gid", "1000", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
    *("--as-pid-1", "--clearenv"),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What all processes of one sandbox may use together, if nothing else is said."""

    memory_bytes: int = 4 << 30
    address_space_bytes: int = 64 << 30
    """Of each process: far above `memory_bytes`, since many runtimes reserve much more
    than they use."""
    processes: int = 512
    """Threads count, where the kernel counts for us."""
    open_files: int = 1024
    """Of each process."""
    file_bytes: int = 1 << 30
    """Of each file that is written."""
    temporary_bytes: int = 1 << 30
    """Of each private folder: it lies in memory."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A closed room for a process and whatever it starts.

    Attributes:
        workspace: the folder that is seen at its own path, without what it hides.
        writable: whether the workspace may be changed.
        network: whether the network of the machine is there.
        visible: further folders and files that can be read, at their own paths.
        env: variables besides the short list that is always there.
        limits: what it may use.
    """

    workspace: Workspace
    writable: bool = False
    network: bool = False
    visible: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()

    def command(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        timeout_s: float = 0,
        grace_s: float = 2,
        report: int = -1,
        counted: Collection[str] = (),
    ) -> list[str]:
        """Return the command that runs `argv` in here.

        It can be started by anything that starts processes. Standard input, output and
        error pass through; when it ends, or is killed, nothing that it started is left.
        The workspace is looked through here and now: what is hidden in it by a glob is
        what there is at this moment. Takes milliseconds to a second: call it in a
        thread.

        Args:
            argv: the program and its arguments.
            cwd: where it starts; default: the workspace.
            timeout_s: when all in here is ended, 0 for never.
            grace_s: between the request to end and the end by force.
            report: a descriptor that the launcher passes on; how it went is written
                there, for `reports.read_report`. -1: nowhere.
            counted: what the kernel counts for the whole (`Group.controllers`), so
                that it is not watched from inside.

        Raises:
            ToolError: the workspace cannot be shown without what is hidden in it.
        """
        seen, machine = look(self.workspace, self.visible), os.uname().machine
        settings = {
            "timeout_s": timeout_s,
            "grace_s": grace_s,
            "report": report,
            "memory_bytes": 0 if "memory" in counted else self.limits.memory_bytes,
            "address_space_bytes": self.limits.address_space_bytes,
            "processes": self.limits.processes,
            "open_files": self.limits.open_files,
            "file_bytes": self.limits.file_bytes,
            "filter": packed_filter(machine),
            "strict_filter": packed_filter(machine, unix=False) if self.network else "",
        }
        return [
            "bwrap",
            *_ISOLATED,
            *(() if self.network else ("--unshare-net",)),
            *self._environment(),
            *system_mounts(
                network=self.network, temporary_bytes=self.limits.temporary_bytes
            ),
            *workspace_mounts(
                self.workspace.real_root,
                seen,
                writable=self.writable,
                visible=self.visible,
            ),
            *("--remount-ro", "/", "--chdir", str(cwd or self.workspace.real_root)),
            *("--", os.path.realpath(sys.executable), "-I", "-S", INIT),
            ",".join(f"{name}={value}" for name, value in settings.items()),
            *argv,
        ]

    def _environment(self) -> list[str]:
        beside = Path(sys.prefix) / "bin"
        told = {
            "PATH": f"{beside}:{SYSTEM_PATH}",
            "HOME": HOME,
            "USER": "agent",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": TEMPORARY,
            # Caches would only be noise among the changes of a command.
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.env,
        }
        return [part for each in told.items() for part in ("--setenv", *each)]
