"""The first process of a sandbox: starts the command, watches it, says how it went.

Runs inside, as a script by itself: nothing but the standard library, and little of it,
since every command waits for these imports. As process 1 it cannot be killed from
inside, and all that is left ends with it; nobody inside can look into it.
"""

from __future__ import annotations

import binascii
import ctypes
import os
import resource
import signal
import sys
import time

__all__ = ["main"]

SHOWN_PROCESSES = 20
SHOWN_BYTES = 200
_POLL_S = 0.05
# Share of the time that watching may take: 1 in so many.
_REST = 20
_MOST_PAUSE_S = 1.0
# Of what runs here, so that whoever watches it gets his turn.
_NICENESS = 5
_SET_DUMPABLE, _SET_SECCOMP, _FILTER = 4, 22, 2
_JOIN_SESSION_KEYRING = 1
# Landlock has the same numbers on every machine.
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_ASK_VERSION, _SCOPES_SINCE, _SCOPE_ABSTRACT = 1, 6, 1
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_PAGE_BYTES = resource.getpagesize()
_NOT_STARTED = 127


def main(settings: dict[str, str], argv: list[str]) -> int:
    """Run `argv` and return the exit status, 128 and more for a signal."""
    # Python's own handler would let anybody inside end this process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    _close_up(settings["filter"], settings["strict_filter"])
    report = int(settings["report"])
    if report >= 0:
        os.set_inheritable(report, False)
    child = os.fork()
    if child == 0:
        _become(settings, argv)
    _let_go_of_output()
    watch = _Watch(child, settings)
    watch.until_end()
    left = [] if watch.reason in ("memory", "processes") else _others()
    if report >= 0:
        fields = [str(watch.code), watch.reason, str(len(left))]
        told = [each.encode() for each in fields] + _shown(left)
        os.write(report, b"\0".join(told))
    return watch.code


def _close_up(packed: str, strict: str) -> None:
    """Let nobody look into this process, nor it and its children at keys of outside.

    Args:
        packed: the filter of system calls, "": there is none.
        strict: the filter that is needed where the network is not our own, unless the
            kernel can keep abstract sockets apart.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if os.uname().machine in _KEYCTL:
        libc.syscall(_KEYCTL[os.uname().machine], _JOIN_SESSION_KEYRING, None)
    if strict and not _keeps_to_own_sockets(libc):
        packed = strict
    if packed:
        code = binascii.a2b_base64(packed)
        steps = ctypes.create_string_buffer(code, len(code))
        program = _Program(len(code) // 8, ctypes.addressof(steps))
        if libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
            sys.exit("the filter of system calls was refused by the kernel")


def _keeps_to_own_sockets(libc: ctypes.CDLL) -> bool:
    """Forbid the abstract sockets of others; False where the kernel cannot."""
    if libc.syscall(_LANDLOCK_CREATE, None, 0, _ASK_VERSION) < _SCOPES_SINCE:
        return False
    rules = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_ABSTRACT)
    number = libc.syscall(_LANDLOCK_CREATE, rules, ctypes.sizeof(rules), 0)
    if number < 0:
        return False
    refused = libc.syscall(_LANDLOCK_RESTRICT, number, 0)
    os.close(number)
    return bool(refused == 0)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def _become(settings: dict[str, str], argv: list[str]) -> None:
    """Turn this process into the command."""
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.nice(_NICENESS)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_AS, int(settings["address_space_bytes"]))
        _limit(resource.RLIMIT_NOFILE, int(settings["open_files"]))
        _limit(resource.RLIMIT_FSIZE, int(settings["file_bytes"]))
        if _counts_by_namespace(os.uname().release):
            _limit(resource.RLIMIT_NPROC, int(settings["processes"]))
        os.execvp(argv[0], argv)  # noqa: S606 - that is what this is for
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(_NOT_STARTED)


def _limit(which: int, value: int) -> None:
    _, most = resource.getrlimit(which)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(which, (value, value))


def _counts_by_namespace(release: str) -> bool:
    """Return whether the limit of processes does not count those of outside."""
    numbers = release.split(".")
    try:
        return (int(numbers[0]), int(numbers[1])) >= (5, 14)
    except (ValueError, IndexError):
        return False


def _let_go_of_output() -> None:
    """Keep no end of a pipe open that the command may want to close."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


class _Watch:
    """Waits for the end of the command, or brings it about."""

    def __init__(self, child: int, settings: dict[str, str]) -> None:
        self.code = 0
        self.reason = ""
        self._child = child
        self._has_ended = False
        self._memory = int(settings["memory_bytes"])
        self._processes = int(settings["processes"])
        self._grace_s = float(settings["grace_s"])
        limit_s = float(settings["timeout_s"])
        self._deadline = time.monotonic() + limit_s if limit_s else float("inf")
        self._next_look = 0.0

    def until_end(self) -> None:
        """Return once the command has ended, or has had its time."""
        while not self._is_over():
            until = min(self._next_look, self._deadline)
            rest = min(max(until - time.monotonic(), 0), _MOST_PAUSE_S)
            signal.sigtimedwait({signal.SIGCHLD}, rest)
            self._reap()
            if time.monotonic() >= self._next_look:
                self._look()

    def _is_over(self) -> bool:
        if time.monotonic() >= self._deadline:
            if self.reason:
                self.code = self.code or 128 + signal.SIGKILL
                return True
            self._stop("timeout", signal.SIGTERM)
            _send_to_all(signal.SIGCONT)  # what is halted does not hear of it else
        if self.reason == "timeout":  # what it started has the same time to end
            return self._has_ended and not _others()
        return self._has_ended

    def _stop(self, reason: str, number: int) -> None:
        self.reason = reason
        _send_to_all(number)
        self._deadline = time.monotonic() + self._grace_s

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child:
                self._has_ended = True
                code = os.waitstatus_to_exitcode(status)
                self.code = code if code >= 0 else 128 - code

    def _look(self) -> None:
        """End all where it is too much."""
        began = time.process_time()
        if not self.reason:
            self._count()
        pause = max(_POLL_S, (time.process_time() - began) * _REST)
        self._next_look = time.monotonic() + pause

    def _count(self) -> None:
        pids = _all()
        if len(pids) > self._processes:
            self._stop("processes", signal.SIGKILL)
        elif (
            self._memory
            and sum(map(_resident, pids)) > self._memory
            # Resident counts what is shared once for each; this does not, and is slow.
            and sum(map(_proportional, pids)) > self._memory
        ):
            self._stop("memory", signal.SIGKILL)


def _send_to_all(number: int) -> None:
    try:
        os.kill(-1, number)  # the kernel does so at once, no fork in between
    except ProcessLookupError:
        return


def _all() -> list[str]:
    """Return all processes in here but this one, the dead too."""
    names = os.listdir("/proc")  # noqa: PTH208 - pathlib is slow to import
    return [name for name in names if name.isdigit() and name != "1"]


def _others() -> list[str]:
    """Return all that live, oldest first."""
    return sorted((pid for pid in _all() if _state(pid) not in "ZX"), key=int)


def _state(pid: str) -> str:
    # The name before it may hold anything, brackets too.
    return _read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1].decode() or "X"


def _resident(pid: str) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_BYTES if len(fields) > 1 else 0


def _proportional(pid: str) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return _resident(pid)


def _shown(pids: list[str]) -> list[bytes]:
    """Return the command lines of some processes, bounded."""
    return [
        words[:SHOWN_BYTES].replace(b"\0", b" ").strip()
        for pid in pids[:SHOWN_PROCESSES]
        if (words := _read(f"/proc/{pid}/cmdline") or _read(f"/proc/{pid}/comm"))
    ]


def _read(path: str) -> bytes:
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(number, 4096)
    except OSError:
        return b""
    finally:
        os.close(number)


if __name__ == "__main__":
    given = dict(each.split("=", 1) for each in sys.argv[1].split(","))
    os._exit(main(given, sys.argv[2:]))
