"""The filter of system calls in a sandbox, as a program for the kernel (seccomp).

Namespaces keep apart what this does not have to. It closes what they leave open: key
rings, sockets of kinds that no network namespace holds (to the host of a virtual
machine), new namespaces with privileges of their own, and parts of the kernel that
programs do not need and attacks like.
"""

from __future__ import annotations

import base64
import errno
import struct

__all__ = ["packed_filter"]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24  # in `struct seccomp_data`
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000

# Audit name, then numbers: clone, socket, ioctl, and what is refused.
_MACHINES: dict[str, tuple[int, int, int, int, tuple[int, ...]]] = {
    # acct, add_key, bpf, chroot, delete_module, finit_module, init_module, ioperm,
    # iopl, kexec_file_load, kexec_load, keyctl, mount, open_by_handle_at,
    # perf_event_open, pivot_root, quotactl, reboot, request_key, setns, swapoff,
    # swapon, syslog, umount2, unshare, userfaultfd
    "x86_64": (
        *(0xC000003E, 56, 41, 16),
        (
            *(163, 248, 321, 161, 176, 313, 175, 173, 172, 320, 246, 250, 165, 304),
            *(298, 155, 179, 169, 249, 308, 168, 167, 103, 166, 272, 323),
        ),
    ),
    # The same without ioperm and iopl.
    "aarch64": (
        *(0xC00000B7, 220, 198, 29),
        (
            *(89, 217, 280, 51, 106, 273, 105, 294, 104, 219, 40, 265),
            *(241, 41, 60, 142, 218, 268, 225, 224, 116, 39, 97, 282),
        ),
    ),
}
# On every machine: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick,
# mount_setattr, quotactl_fd, open_tree_attr.
_REFUSED = (428, 429, 430, 431, 432, 433, 442, 443, 467)
# Programs have another way where these are missing: io_uring_* and clone3, whose flags
# cannot be looked at.
_MISSING = (425, 426, 427, 435)
_NEW_NAMESPACES = 0x7E020000
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink
_TYPING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

_Step = tuple[int, int, int, int]


def packed_filter(machine: str, *, unix: bool = True) -> str:
    """Return the filter in base64, "" for a machine whose numbers are not known.

    Args:
        machine: as `uname` has it.
        unix: whether Unix sockets can be made; pairs of them always can.
    """
    if machine not in _MACHINES:
        return ""
    arch, clone, socket, ioctl, refused = _MACHINES[machine]
    steps: list[_Step] = [
        _load(_ARCH),
        *_unless(_EQUAL, arch, errno.ENOSYS),
        _load(_NUMBER),
    ]
    if machine == "x86_64":
        steps += _if(_AT_LEAST, _X32, errno.ENOSYS)
    for number in (*refused, *_REFUSED):
        steps += _if(_EQUAL, number, errno.EPERM)
    for number in _MISSING:
        steps += _if(_EQUAL, number, errno.ENOSYS)
    steps += _within(
        clone, [_load(_FIRST), *_if(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM)]
    )
    families = _FAMILIES if unix else _FAMILIES[1:]
    steps += _within(socket, _only(families))
    steps += _within(
        ioctl,
        [_load(_SECOND), *(s for c in _TYPING for s in _if(_EQUAL, c, errno.EPERM))],
    )
    steps.append(_return(_ALLOW))
    return base64.b64encode(b"".join(struct.pack("=HBBI", *s) for s in steps)).decode()


def _only(families: tuple[int, ...]) -> list[_Step]:
    tests = [
        (_EQUAL, len(families) - index, 0, family)
        for index, family in enumerate(families)
    ]
    return [_load(_FIRST), *tests, _return(_ERROR | errno.EAFNOSUPPORT)]


def _within(number: int, steps: list[_Step]) -> list[_Step]:
    """Return steps for one call only; what they let pass is allowed."""
    inner = [*steps, _return(_ALLOW)]
    return [(_EQUAL, 0, len(inner), number), *inner]


def _if(test: int, value: int, error: int) -> list[_Step]:
    return [(test, 0, 1, value), _return(_ERROR | error)]


def _unless(test: int, value: int, error: int) -> list[_Step]:
    return [(test, 1, 0, value), _return(_ERROR | error)]


def _load(offset: int) -> _Step:
    return (_LOAD, 0, 0, offset)


def _return(value: int) -> _Step:
    return (_RETURN, 0, 0, value)
