"""Attempts to get out of a sandbox, run inside as a script: one line of JSON for all.

Each attempt that comes to a value has succeeded; one that raises has failed. It runs by
itself, with nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import termios
from collections.abc import Callable
from fcntl import ioctl
from functools import partial
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNTS, NEW_NET = 0x10000000, 0x00020000, 0x40000000
NUMBERS = {
    "x86_64": {
        "pivot_root": 155, "keyctl": 250, "add_key": 248, "perf_event_open": 298,
        "init_module": 175, "bpf": 321, "userfaultfd": 323, "setns": 308,
        "open_by_handle_at": 304, "process_vm_readv": 310, "clone": 56,
    },
    "aarch64": {
        "pivot_root": 41, "keyctl": 219, "add_key": 217, "perf_event_open": 241,
        "init_module": 105, "bpf": 280, "userfaultfd": 282, "setns": 268,
        "open_by_handle_at": 265, "process_vm_readv": 270, "clone": 220,
    },
}  # fmt: skip
SHARED = {"pidfd_open": 434, "pidfd_getfd": 438, "io_uring_setup": 425}


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name: str, *args: Any) -> int:
    number = {**NUMBERS[os.uname().machine], **SHARED}[name]
    return checked(LIBC.syscall(number, *args))


def read(path: str) -> str:
    return Path(path).read_bytes()[:100].decode("utf-8", "replace") or "(empty)"


def write(path: str, text: str = "x") -> str:
    with open(path, "a") as file:  # noqa: PTH123
        file.write(text)
    return "written"


def opened(path: str) -> str:
    """Open a file for writing, and leave it as it is: this may be a real machine."""
    os.close(os.open(path, os.O_WRONLY))
    return "opened"


def settings_of_kernel() -> str:
    """Search what the kernel offers for something that may be set."""
    for folder, folders, files in os.walk("/proc"):
        folders[:] = [name for name in folders if not name.isdigit()]
        for name in files:
            try:
                return f"{opened(f'{folder}/{name}')} {folder}/{name}"
            except OSError:
                continue
    raise LookupError("none")


def run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=0.3, check=False)
    except subprocess.TimeoutExpired as error:  # `su` takes its time to refuse
        raise OSError("no success") from error
    if done.returncode:
        raise OSError(done.stderr.decode()[:80])
    return done.stdout.decode()[:80] or "ran"


def stream(kind: int, address: Any) -> str:
    with socket.socket(kind, socket.SOCK_STREAM) as made:
        made.settimeout(0.2)
        made.connect(address)
    return "connected"


def datagram(address: tuple[str, int]) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(0.2)
        made.sendto(b"ping", address)
        return made.recv(10).decode()


def everywhere(name: str, marker: str) -> str:
    """Search a file of all processes that are seen."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            try:
                found = (folder / name).read_bytes()
            except OSError:
                continue
            if marker.encode() in found:
                return f"in {folder}"
    raise LookupError("nowhere")


def in_environment(marker: str) -> str:
    if marker in "".join(os.environ.values()):
        return "in our own"
    return everywhere("environ", marker)


def other_network() -> str:
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    others = [line.split(":")[0].strip() for line in lines if "lo:" not in line]
    if not others:
        raise LookupError("only the loopback")
    return ", ".join(others)


def privileges() -> str:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(("CapEff", "CapPrm", "CapBnd")) and int(line[7:], 16):
            return line
    raise LookupError("none")


def of_first() -> str:
    for number in range(3, 20):
        try:
            os.open(f"/proc/1/fd/{number}", os.O_WRONLY)
        except OSError:
            continue
        return f"descriptor {number}"
    raise LookupError("none")


def stolen() -> int:
    number = call("pidfd_open", 1, 0)
    return max(call("pidfd_getfd", number, wanted, 0) for wanted in range(3, 20))


def memory_of_first() -> int:
    target = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(target), 8)
    return call("process_vm_readv", 1, vector, 1, vector, 1, 0)


def ended_first() -> str:
    for number in (1, 2, 9, 15, 19):
        os.kill(1, number)
    return "signalled"  # that we are still here is the point


def mounted(flags: int) -> int:
    return checked(LIBC.mount(b"none", b"/tmp", b"tmpfs", flags, None))


def attempts(told: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what to try, by name.

    Args:
        told: `outside`: files elsewhere; `port`, `udp`, `abstract`, `listening`: of
            servers there; `process`: of a process there, backwards; `marker`: of a
            secret there; `hidden`: files in the workspace; `workspace`; `harmless`:
            try only what changes nothing.
    """
    root = told["workspace"]
    found: dict[str, Callable[[], Any]] = {
        "tcp": lambda: stream(socket.AF_INET, ("127.0.0.1", told["port"])),
        "udp": lambda: datagram(("127.0.0.1", told["udp"])),
        "abstract socket": lambda: stream(socket.AF_UNIX, "\0" + told["abstract"]),
        "socket in the workspace": lambda: stream(socket.AF_UNIX, told["listening"]),
        "other network": other_network,
        "secret in an environment": lambda: in_environment(told["marker"]),
        "foreign process": lambda: everywhere("cmdline", told["process"][::-1]),
        "link outwards": lambda: read(f"{root}/link"),
        "through /proc": lambda: read(f"/proc/self/root{told['outside'][0]}"),
    }
    for path in told["outside"]:
        found[f"read {path}"] = partial(read, path)
    for path in told["hidden"]:
        found[f"see {path}"] = partial(first_in, path)
        found[f"see {path} as a file"] = partial(read_all, path)
    if told["harmless"]:
        return found
    return found | dangerous(root, told["home"])


def first_in(path: str) -> str:
    return next(Path(path).iterdir()).name


def read_all(path: str) -> str:
    text = Path(path).read_text()
    if not text:
        raise LookupError("empty")
    return text


def dangerous(root: str, home: str) -> dict[str, Callable[[], Any]]:
    """Return what is not to be tried outside of a sandbox."""
    places = (
        *("/", "/etc/", "/usr/", "/usr/local/", f"{home}/", "/dev/", "/run/", "/var/"),
        *("/proc/", "/home/"),
    )
    libc = LIBC
    found: dict[str, Callable[[], Any]] = {
        "virtual machine's host": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
        "raw packets": lambda: socket.socket(17, socket.SOCK_RAW).close(),
        "raw IP": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
        "crypto sockets": lambda: socket.socket(38, socket.SOCK_SEQPACKET).close(),
        "unreachable": lambda: stream(socket.AF_INET, ("192.0.2.1", 80)),
        "privileges": privileges,
        "root": lambda: os.setuid(0),
        "su": lambda: run("su", "-c", "id"),
        "mount program": lambda: run("mount", "-o", "remount,rw", "/usr"),
        "unshare program": lambda: run("unshare", "-Ur", "true"),
        "mount": lambda: mounted(0),
        "remount": lambda: checked(libc.mount(None, root.encode(), None, 0x20, None)),
        "unmount": lambda: checked(libc.umount2(root.encode(), 2)),
        "chroot": lambda: os.chroot("/tmp"),
        "pivot_root": lambda: call("pivot_root", b"/tmp", b"/tmp"),
        "user namespace": lambda: checked(libc.unshare(NEW_USER)),
        "mount namespace": lambda: checked(libc.unshare(NEW_MOUNTS)),
        "clone": lambda: call("clone", NEW_USER | 17, 0, 0, 0, 0),
        "enter namespace": lambda: call(
            "setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0
        ),
        "device": lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)),
        "disk": lambda: read("/dev/vda"),
        "loop device": lambda: read("/dev/loop0"),
        "kernel memory": lambda: read("/dev/mem"),
        "kernel core": lambda: read_all("/proc/kcore"),
        "kernel log": lambda: read_all("/dev/kmsg"),
        "keys of others": lambda: read_all("/proc/keys"),
        "key ring": lambda: call("keyctl", 0, -3, 0),
        "add key": lambda: call("add_key", b"user", b"a", b"b", 1, -3),
        "bpf": lambda: call("bpf", 0, None, 0),
        "userfaultfd": lambda: call("userfaultfd", 1),
        "io_uring": lambda: call("io_uring_setup", 1, ctypes.create_string_buffer(200)),
        "perf": lambda: call("perf_event_open", None, 0, -1, -1, 0),
        "module": lambda: call("init_module", None, 0, b""),
        "file handle": lambda: call("open_by_handle_at", -100, None, 0),
        "type into the terminal": lambda: ioctl(0, termios.TIOCSTI, b"x"),
        "trace the first": lambda: checked(libc.ptrace(16, 1, 0, 0)),
        "memory of the first": memory_of_first,
        "descriptors of the first": of_first,
        "take a descriptor": stolen,
        "environment of the first": lambda: read("/proc/1/environ"),
        "firmware": lambda: os.listdir("/sys/firmware"),  # noqa: PTH208
        "groups of the kernel": lambda: os.listdir("/sys/fs/cgroup"),  # noqa: PTH208
        "settings of the kernel": settings_of_kernel,
        "core pattern": lambda: opened("/proc/sys/kernel/core_pattern"),
        "sysrq": lambda: opened("/proc/sysrq-trigger"),
        "spared by the kernel": lambda: write("/proc/self/oom_score_adj", "-900"),
    }
    for place in places:
        found[f"write {place}"] = partial(write, f"{place}planted")
    return found


def main() -> None:
    told = json.loads(sys.argv[1])
    found = {}
    for name, attempt in attempts(told).items():
        try:
            found[name] = f"SUCCEEDED: {attempt()}"
        except (OSError, LookupError, ValueError, StopIteration) as error:
            found[name] = f"{type(error).__name__}: {error}"
    if not told["harmless"]:
        ended_first()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
