"""What is mounted where in a sandbox, as arguments of bubblewrap."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from orchestrator.security.sandbox.sight import Seen

__all__ = [
    "HOME",
    "INIT",
    "TEMPORARY",
    "outermost",
    "system_mounts",
    "workspace_mounts",
]

HOME = "/home/agent"
TEMPORARY = "/tmp"  # noqa: S108 - a private one
INIT = "/run/init.py"
"""Where the first process of a sandbox lies."""

_HERE = Path(__file__).resolve().parent
_PACKAGE = _HERE.parents[1]
_EMPTY = str(_HERE / "etc" / "empty")
_TOP = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    *("alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf"),
    *("crypto-policies", "debian_version", "fonts", "inputrc", "ld.so.cache"),
    *("ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types"),
    *("os-release", "pki/ca-trust/extracted", "pki/tls/certs", "pki/tls/cert.pem"),
    *("protocols", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf"),
    *("terminfo", "timezone"),
)
_MADE_UP = ("group", "nsswitch.conf", "passwd")
# What of the kernel's own tells of others, and is not for everybody.
_PROC_MASKED = (
    *("kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags"),
    *("sched_debug", "slabinfo", "timer_list"),
)
_MASK_BYTES = 4096


def system_mounts(*, network: bool, temporary_bytes: int) -> list[str]:
    """Return the mounts of what does not depend on the workspace.

    Args:
        network: whether names are resolved as they are on the machine.
        temporary_bytes: size of each private folder.
    """
    size = ("--size", str(temporary_bytes), "--tmpfs")
    hosts = "/etc/hosts" if network else str(_HERE / "etc" / "hosts")
    made = [*_read_only(hosts, "/etc/hosts")]
    if network:
        made += _read_only(os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf")
    return [
        *_fixed(),
        *made,
        *(*size, "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108 - a private one
        *(*size, TEMPORARY, *size, HOME, "--symlink", TEMPORARY, "/var/tmp"),  # noqa: S108
        *("--ro-bind", str(_HERE / "inside.py"), INIT),
    ]


@lru_cache(maxsize=1)
def _fixed() -> tuple[str, ...]:
    made = ["--ro-bind", "/usr", "/usr"]
    for each in _TOP:
        if Path(each).is_symlink():
            made += ["--symlink", os.readlink(each), each]  # noqa: PTH115 - as it is
        elif Path(each).is_dir():
            made += ["--ro-bind", each, each]
    for name in _ETC:
        made += _read_only(f"/etc/{name}", f"/etc/{name}")
    for name in _MADE_UP:
        made += ["--ro-bind", str(_HERE / "etc" / name), f"/etc/{name}"]
    made += ["--proc", "/proc", "--dev", "/dev"]
    for name in _PROC_MASKED:
        if Path(f"/proc/{name}").exists():
            made += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    # Where we are root, so are the processes inside for the kernel's own files, without
    # any privilege: they could set how all of the machine works.
    return (*made, "--remount-ro", "/proc")


def workspace_mounts(
    root: Path, seen: Seen, *, writable: bool, visible: tuple[Path, ...]
) -> list[str]:
    """Return the mounts of what is particular to a run; later ones lie on top.

    Args:
        root: of the workspace, without links.
        seen: what of it is shown and hidden.
        writable: whether it may be changed.
        visible: further folders and files.
    """
    outer = [path for path in _prefixes() if not path.is_relative_to(root)]
    # Parents first, so that none covers what lies in it.
    around = dict.fromkeys(sorted((*outer, *map(_absolute, visible))))
    made = [part for path in around for part in _read_only(str(path), str(path))]
    is_narrowed = str(root) not in seen.shown
    if is_narrowed:
        made += ["--tmpfs", str(root)]
    for shown in seen.shown:
        made += ["--bind" if writable else "--ro-bind", shown, shown]
    for path, target in seen.links:
        made += ["--symlink", target, path]
    if is_narrowed:  # what would be written there would be lost without a word
        made += ["--remount-ro", str(root)]
    made += _kept(root, seen) if writable else []
    for folder in seen.hidden_folders:
        made += _masked_folder(folder)
    for file in seen.hidden_files:
        made += ["--ro-bind", _EMPTY, file]
    return made


def _kept(root: Path, seen: Seen) -> list[str]:
    """Return mounts of what stays as it is in a workspace that may be changed.

    That is what is run outside of the sandbox later, by this program or by Git. What
    an earlier command may have turned into a link is not mounted: that would show what
    it leads to.
    """
    made: list[str] = []
    shown = [Path(path) for path in seen.shown]
    for place in _own_places():
        if any(place.is_relative_to(each) for each in shown) and _is_itself(place):
            made += _read_only(str(place), str(place))
    git = root / ".git"
    if not _is_itself(git) or not any(git.is_relative_to(each) for each in shown):
        return made
    config, hooks = git / "config", git / "hooks"
    is_plain = _is_itself(config) and _is_itself(hooks)
    if not git.is_dir() or not is_plain:  # as a file it says where the repository is
        return [*made, *_read_only(str(git), str(git))]
    # A mount point cannot be renamed, so that no other `.git` can take its place.
    made += ["--bind", str(git), str(git)]
    made += _read_only(str(config) if config.is_file() else _EMPTY, str(config))
    # Where there are none, an empty folder is left behind.
    if hooks.is_dir():
        return [*made, *_read_only(str(hooks), str(hooks))]
    return [*made, *_masked_folder(str(hooks))]


def _is_itself(path: Path) -> bool:
    """Return whether neither the path nor a folder above it is a link."""
    return os.path.realpath(path) == str(path)


def _prefixes() -> list[Path]:
    """Return where the running Python lies, unless all can see it anyway."""
    named = {sys.prefix, sys.base_prefix}
    named |= {os.path.realpath(each) for each in named}
    return outermost(
        {Path(each) for each in named if not Path(each).is_relative_to("/usr")}
    )


def _own_places() -> list[Path]:
    """Return what the running program consists of."""
    return outermost({*_prefixes(), _PACKAGE})


def outermost(places: set[Path]) -> list[Path]:
    """Return the places that none of the others holds."""
    return sorted(
        place for place in places if not any(each in places for each in place.parents)
    )


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - links stay what they are


def _read_only(source: str, target: str) -> list[str]:
    return ["--ro-bind", source, target] if Path(source).exists() else []


def _masked_folder(path: str) -> list[str]:
    return ["--size", str(_MASK_BYTES), "--tmpfs", path, "--remount-ro", path]
