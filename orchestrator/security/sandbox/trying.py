"""Whether bubblewrap is there and works, found out by using it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from orchestrator.security.sandbox.description import Sandbox
from orchestrator.security.workspace import Workspace

__all__ = ["available"]

_INSTALL = (
    "apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora) or "
    "pacman -S bubblewrap (Arch)"
)
_LIMIT_S = 20
_SAID_CHARS = 300
_SWITCHES = {  # what must not be 0, or must not be 1
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=15000"),
    "/proc/sys/kernel/unprivileged_userns_clone": (
        "0",
        "kernel.unprivileged_userns_clone=1",
    ),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}


@lru_cache(maxsize=1)
def available() -> str:
    """Return "" if commands can be run in a sandbox here, or why not and what helps.

    Tried once for each process, with a command that does nothing.
    """
    if shutil.which("bwrap") is None:
        return f"bubblewrap (`bwrap`) is not installed; install it: {_INSTALL}"
    with tempfile.TemporaryDirectory() as folder:
        command = Sandbox(Workspace(Path(folder))).command(["true"])
        try:
            done = subprocess.run(  # noqa: S603 - a fixed command
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return f"bubblewrap does not run: {error}"
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.decode("utf-8", "replace").split())[:_SAID_CHARS]
    return f"bubblewrap does not work here ({said}). {_hint()}"


def _hint() -> str:
    for path, (off, setting) in _SWITCHES.items():
        try:
            found = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if found == off:
            return f"User namespaces are switched off: sysctl -w {setting}"
    return (
        "It needs version 0.8 or later and user namespaces; a container has to allow "
        "them"
    )
