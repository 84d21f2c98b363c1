"""`bash`: run a command in a sandbox."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.messages import one_line
from orchestrator.security.permissions import Ask, Permission
from orchestrator.security.sandbox import Limits, Sandbox, watch_repository
from orchestrator.security.workspace import Workspace
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.baseline import MAX_FILES, Baseline, Difference
from orchestrator.tools.changed import changes_of, told
from orchestrator.tools.permits import with_secrets
from orchestrator.tools.sandboxed import (
    LEAVING_S,
    MAX_OUTPUT_BYTES,
    Ran,
    run_sandboxed,
)
from orchestrator.tools.threads import in_thread
from orchestrator.tools.turn import WAIT_S, Turn

__all__ = ["Bash"]

DEFAULT_S = 120
MOST_S = 600
_TELLING_S = 60  # looking at the files before and after, and keeping what changed
_MOST_BYTES = 100_000
_SHOWN_CHARS = 150


class BashArgs(BaseModel):
    """Arguments of `bash`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = Field(min_length=1)
    timeout_s: float = Field(default=DEFAULT_S, ge=1, le=MOST_S)


class Bash:
    """Runs commands of one run; those that may change files one at a time.

    Args:
        workspace: of the run; an agent's own may be narrower.
        turn: of all that may change files; default: of these commands alone.
        writable: whether commands may change the workspace.
        network: whether they have the network.
        visible: further folders that they can read.
        limits: what one command may use.
    """

    name: ClassVar[str] = "bash"
    description: ClassVar[str] = (
        "Run a shell command in a sandbox, without input. The workspace is writable if "
        "you have `write_file`, the network is there if you have `fetch_url`; all else "
        "ends with the command."
    )
    Args: ClassVar[type[BaseModel]] = BashArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = WAIT_S + MOST_S + LEAVING_S + _TELLING_S

    def __init__(
        self,
        workspace: Workspace,
        *,
        turn: Turn | None = None,
        writable: bool = False,
        network: bool = False,
        visible: Sequence[Path] = (),
        limits: Limits | None = None,
    ) -> None:
        self._writable = writable
        self._network = network
        self._visible = tuple(visible)
        self._limits = limits or Limits()
        self._baseline = Baseline(workspace)
        self._turn = turn or Turn()
        self._shell = "bash" if Path("/usr/bin/bash").exists() else "sh"

    def asks(self, args: BashArgs, context: ToolContext) -> Ask:
        """Return what a call needs, and the command with what it may touch."""
        writable, network = self._reach(context)
        needs: list[Permission] = ["shell"]
        needs += ["write"] if writable else []
        needs += ["network"] if network else []
        touches = "may change" if writable else "may read"
        net = "has the network" if network else "has no network"
        return Ask(
            with_secrets(tuple(needs), args.command),
            f"run: {args.command}\n{touches} files of the workspace, {net}, is ended "
            f"after {args.timeout_s:g} s",
        )

    def _reach(self, context: ToolContext) -> tuple[bool, bool]:
        """Return whether this agent's commands may write, and have the network."""
        return (
            self._writable and "write" in context.may,
            self._network and "network" in context.may,
        )

    async def run(self, args: BashArgs, context: ToolContext) -> ToolOutput:
        """Return exit status and output; an error where the status is not 0.

        Raises:
            ToolError: the command cannot be started.
            StoreError: what it changed cannot be stored.
        """
        command = _usable(context.restore(args.command))
        writable, network = self._reach(context)
        sandbox = Sandbox(
            context.workspace,
            writable=writable,
            network=network,
            visible=self._visible,
            limits=self._limits,
        )
        argv = [self._shell, "-c", command]
        root = context.workspace.real_root
        if not writable:
            ran = await run_sandboxed(sandbox, argv, cwd=root, timeout_s=args.timeout_s)
            return _output(ran, args.timeout_s, self._limits)
        async with self._turn.taken(context.agent):
            undo = watch_repository(root)
            try:
                await in_thread(self._baseline.refresh)
                ran = await run_sandboxed(
                    sandbox, argv, cwd=root, timeout_s=args.timeout_s
                )
                differences = await in_thread(self._differences, context.workspace)
            finally:
                is_undone = undo()
        changes = await in_thread(changes_of, differences, context)
        changed = told(differences)
        if not self._baseline.is_complete:
            changed = f"not looked for, since there are over {MAX_FILES:,} files"
        if is_undone:
            changed += "; `.git/commondir` was removed: it stands for other settings"
        output = _output(ran, args.timeout_s, self._limits, changed=changed)
        return replace(output, changes=changes)

    def _differences(self, workspace: Workspace) -> list[Difference]:
        return [
            each
            for each in self._baseline.refresh()
            if workspace.view(each.path) == "whole"
        ]


def _usable(command: str) -> str:
    size = len(command.encode())
    if "\0" in command:
        raise ToolError("`command` holds a NUL character")
    if size > _MOST_BYTES:
        raise ToolError(
            f"`command` has {size:,} bytes; at most {_MOST_BYTES:,} are allowed"
        )
    return command


def _output(
    ran: Ran, limit_s: float, limits: Limits, *, changed: str = ""
) -> ToolOutput:
    """Return a result: how it went first, where no output can pass for it."""
    report = ran.report
    lines = [f"{_status(report.code)} after {ran.seconds:.1f} s"]
    if report.reason:
        lines.append(f"Ended by the program: {_why(report.reason, limit_s, limits)}.")
    if ran.met_processes and report.reason != "processes":
        lines.append(f"It met the limit of {limits.processes} processes and threads.")
    if report.left:
        named = [f"`{one_line(each, _SHOWN_CHARS)}`" for each in report.left]
        more = report.left_count - len(named)
        named += [f"{more:,} more"] if more else []
        lines.append(f"Was still running, and was ended: {', '.join(named)}")
    if changed:
        lines.append(f"Changed: {changed}")
    for name, text in (("stdout", ran.out), ("stderr", ran.err)):
        if text.strip():
            lines.append(f"{name}:\n{text.rstrip()}")
    if not ran.out.strip() and not ran.err.strip():
        lines.append("It printed nothing.")
    return ToolOutput(
        "\n".join(lines), is_error=report.code != 0 or bool(report.reason)
    )


def _status(code: int) -> str:
    """Return an exit status in words; 128 and more mostly stand for a signal."""
    if code > 128:
        try:
            return f"exit status {code} ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return f"exit status {code}"


def _why(reason: str, limit_s: float, limits: Limits) -> str:
    return {
        "timeout": f"it took longer than `timeout_s`, {limit_s:g} s",
        "memory": f"it needed over {limits.memory_bytes >> 20:,} MB of memory",
        "processes": f"it used up the limit of {limits.processes} processes",
        "output": f"it printed over {MAX_OUTPUT_BYTES // 1_000_000} MB",
    }[reason]
