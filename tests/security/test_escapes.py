"""Ways out of the workspace, tried with every tool that takes a path."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tool_bench import ToolBench

from orchestrator.events import FileSeen
from orchestrator.ids import sha256
from orchestrator.messages import text_of
from orchestrator.security.permissions import Ask
from orchestrator.security.workspace import Workspace
from orchestrator.tools.base import ToolContext
from orchestrator.tools.replacing import Writer
from orchestrator.tools.writing import EditFile, WriteFile

CANARY = "canary-5f1d"
SECRET = f"{CANARY} text\nof nobody here\n"
LIMIT_S = 10
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
ROUNDS = 300


class Place:
    """A workspace, and beside it what nobody may read or change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        (self.outside / "deep").mkdir(parents=True)
        for name in ("secret.txt", f"{CANARY}-name.txt", "deep/secret.txt"):
            (self.outside / name).write_text(SECRET)
        (folder / "work2").mkdir()
        (folder / "work2" / "secret.txt").write_text(SECRET)
        self.root = folder / "work"
        (self.root / "sub").mkdir(parents=True)
        (self.root / "sub" / "a.txt").write_text("inside\n")
        self.handles: list[int] = []

    def opened(self, path: Path) -> int:
        self.handles.append(os.open(path, os.O_RDONLY))
        return self.handles[-1]

    def link(self, name: str, target: str | Path) -> None:
        (self.root / name).symlink_to(target)

    def state(self) -> dict[str, tuple[int, int, str]]:
        """Return all that is outside: mode, time and content."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name.partition("/")[0] in ("work", "real", "run-a1"):
                continue
            held = path.lstat()
            text = path.read_text() if path.is_file() else ""
            found[name] = (held.st_mode, 0 if path.is_dir() else held.st_mtime_ns, text)
        return found


class Open:
    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:
        return ""


class Knowing(ToolBench):
    """An agent that may write, and is taken to have read whatever it wants to."""

    def context(self, call: str = "t1") -> ToolContext:
        def seen(path: str) -> FileSeen:
            try:
                data = (self.root / path).read_bytes()
            except OSError:
                data = SECRET.encode()
            return FileSeen(path, sha256(data), "", 1, 1, 1)

        return replace(super().context(call), seen=seen)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    place = Place(tmp_path)
    # What is resolved elsewhere than from the root would find something there.
    monkeypatch.chdir(place.outside)
    monkeypatch.setenv("HOME", str(place.outside))
    yield place
    for handle in place.handles:
        os.close(handle)


def bench_of(place: Place) -> Knowing:
    writer = Writer()
    return Knowing(
        place.folder, tools=(WriteFile(writer), EditFile(writer)), gate=Open()
    )


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("read_file", {"path": path}),
        ("list_dir", {"path": path}),
        ("grep", {"pattern": ".", "path": path}),
        ("grep", {"pattern": "n", "path": path, "output": "files"}),
        ("glob", {"pattern": "**", "path": path}),
        ("edit_file", {"path": path, "old": "of nobody", "new": "of somebody"}),
        ("write_file", {"path": path, "text": "written\n"}),
        ("write_file", {"path": f"{path}/new.txt", "text": "written\n"}),
    ]


Setup = Callable[[Place], str]


def at(path: str) -> Setup:
    return lambda place: path.format(
        root=place.root, outside=place.outside, up="../" * 40
    )


def linked(target: str, path: str = "link") -> Setup:
    def make(place: Place) -> str:
        place.link("link", at(target)(place))
        return path

    return make


def chain(length: int, last: str) -> Setup:
    def make(place: Place) -> str:
        for n in range(length):
            place.link(f"l{n}", f"l{n + 1}")
        place.link(f"l{length}", at(last)(place))
        return "l0/secret.txt"

    return make


def loop(path: str) -> Setup:
    def make(place: Place) -> str:
        place.link("one", "two")
        place.link("two", "one")
        place.link("out", "../outside")
        return path

    return make


def fifo(place: Place) -> str:
    os.mkfifo(place.root / "pipe")
    return "pipe"


def linked_fifo(place: Place) -> str:
    os.mkfifo(place.outside / "pipe")
    place.link("pipe", place.outside / "pipe")
    return "pipe"


def unix_socket(place: Place) -> str:
    # The name of a socket has to be short.
    here = Path.cwd()
    os.chdir(place.root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
    os.chdir(here)
    return "sock"


def device(place: Place) -> str:
    try:
        os.mknod(place.root / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:  # only root may; then it is a pipe
        os.mkfifo(place.root / "zero")
    return "zero"


def descriptor(form: str) -> Setup:
    def make(place: Place) -> str:
        folder = place.opened(place.outside)
        file = place.opened(place.outside / "secret.txt")
        return form.format(folder=folder, file=file)

    return make


def linked_descriptor(place: Place) -> str:
    place.link("fd", descriptor("/proc/self/fd/{folder}")(place))
    return "fd/secret.txt"


def hard_link(place: Place) -> str:
    # Nothing tells it from a file of the workspace, but the other name stays.
    (place.outside / "shared.txt").write_text("shared\nof nobody\n")
    os.link(place.outside / "shared.txt", place.root / "hard.txt")
    return "hard.txt"


def linked_root(place: Place) -> str:
    place.root.rename(place.folder / "real")
    place.root.symlink_to("real")
    return "../outside/secret.txt"


def composed(name: str, path: str) -> Setup:
    def make(place: Place) -> str:
        place.link(name, "../outside")
        return path

    return make


ATTEMPTS: dict[str, Setup] = {
    "up": at(".."),
    "up to a file": at("../outside/secret.txt"),
    "up from below": at("sub/../../outside/secret.txt"),
    "up with dots": at("./sub/./.././../outside"),
    "up with slashes": at("sub//..//..//outside//secret.txt"),
    "up beyond the top": at("{up}{outside}/secret.txt"),
    "up through a file": at("sub/a.txt/../../../outside/secret.txt"),
    "up through nothing": at("none/../../outside/secret.txt"),
    "the same beginning": at("../work2/secret.txt"),
    "the same beginning, absolute": at("{root}2/secret.txt"),
    "absolute": at("{outside}/secret.txt"),
    "absolute, two slashes": at("/{outside}/secret.txt"),
    "absolute through the root": at("{root}/../outside/secret.txt"),
    "the top": at("/"),
    "passwd": at("/etc/passwd"),
    "home": at("~/secret.txt"),
    "home, bare": at("~"),
    "home of root": at("~root/secret.txt"),
    "variable": at("$HOME/secret.txt"),
    "/proc/self/cwd": at("/proc/self/cwd/secret.txt"),
    "/proc/self/root": at("/proc/self/root{outside}/secret.txt"),
    "/proc/self/environ": at("/proc/self/environ"),
    "/proc/self/fd, folder": descriptor("/proc/self/fd/{folder}/secret.txt"),
    "/proc/self/fd, file": descriptor("/proc/self/fd/{file}"),
    "/dev/fd": descriptor("/dev/fd/{file}"),
    "/dev/stdin": at("/dev/stdin"),
    "/dev/zero": at("/dev/zero"),
    "/dev/tty": at("/dev/tty"),
    "URL": at("file://{outside}/secret.txt"),
    "URL, short": at("file:{outside}/secret.txt"),
    "per cent": at("%2e%2e/outside/secret.txt"),
    "per cent, slashes": at("..%2foutside%2fsecret.txt"),
    "per cent, twice": at("%252e%252e%252foutside"),
    "backslashes": at("..\\outside\\secret.txt"),
    "backslash and slash": at("..\\/outside/secret.txt"),
    "drive": at("C:\\outside\\secret.txt"),
    "share": at("\\\\?\\UNC\\outside"),
    "NUL behind": at("sub/a.txt\0/../../outside/secret.txt"),
    "NUL before": at("\0../outside/secret.txt"),
    "half a character": at("\udc2e\udc2e/outside/secret.txt"),
    "name too long": at("../outside/" + "x" * 300),
    "path too long": at("sub/../" * 800 + "../outside/secret.txt"),
    "fullwidth": at("．．／outside／secret.txt"),
    "two-dot leader": at("‥/outside/secret.txt"),
    "division slash": at("..∕outside∕secret.txt"),
    "fraction slash": at("..⁄outside⁄secret.txt"),
    "right to left": at("\u202e../outside/secret.txt\u202c"),
    "zero width": at(".\u200b./outside/secret.txt"),
    "blank behind": at(".. /outside/secret.txt"),
    "blank before": at(" ../outside/secret.txt"),
    "line end before": at("\n../outside/secret.txt"),
    "three dots": at(".../outside/secret.txt"),
    "dots and semicolon": at("..;/outside/secret.txt"),
    "option": at("--pre=cat"),
    "option with a file": at("-f{outside}/secret.txt"),
    "link to a file": linked("{outside}/secret.txt"),
    "link to a folder": linked("{outside}"),
    "link, relative": linked("../outside", "link/secret.txt"),
    "link, slash behind": linked("../outside", "link/"),
    "link, dot behind": linked("../outside", "link/."),
    "link, up behind": linked("../outside/deep", "link/../secret.txt"),
    "link, from below": linked("../outside", "sub/../link/secret.txt"),
    "link to the top": linked("/", "link/etc/passwd"),
    "link to above": linked("..", "link/outside/secret.txt"),
    "link to nothing": linked("{outside}/new.txt"),
    "link to no folder": linked("{outside}/none", "link/new.txt"),
    "link to /proc/self/cwd": linked("/proc/self/cwd", "link/secret.txt"),
    "link to /proc/self/fd": linked_descriptor,
    "link to /dev/zero": linked("/dev/zero"),
    "link to /dev/stdin": linked("/dev/stdin"),
    "links, three": chain(3, "../outside"),
    "links, thirty": chain(30, "{outside}"),
    "links, too many": chain(60, "../outside"),
    "loop": loop("one"),
    "loop, then out": loop("one/../out/secret.txt"),
    "loop in the middle": loop("one/x/../../out/secret.txt"),
    "other case": composed("Link", "LINK/secret.txt"),
    "composed": composed("caf\u00e9", "cafe\u0301/secret.txt"),
    "decomposed": composed("cafe\u0301", "caf\u00e9/secret.txt"),
    "name with a line end": composed("a\nb", "a\nb/secret.txt"),
    "pipe": fifo,
    "link to a pipe": linked_fifo,
    "socket": unix_socket,
    "device": device,
    "hard link": hard_link,
    "root that is a link": linked_root,
}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_no_path_leads_out(place: Place, attempt: str) -> None:
    path = ATTEMPTS[attempt](place)
    bench = bench_of(place)
    before = place.state()

    for name, given in calls(path):
        with anyio.fail_after(LIMIT_S):
            try:
                result = await bench.call(name, **given)
            except UnicodeEncodeError:  # the log of the test's own arguments
                continue
        assert CANARY not in text_of(result.content), name
        assert "root:" not in text_of(result.content), name

    assert place.state() == before
    kept = [*bench.artifacts.folder.iterdir(), bench.folder / "run-a1/events.jsonl"]
    assert not [each for each in kept if CANARY.encode() in each.read_bytes()]


def test_there_are_sixty_attempts_and_more() -> None:
    assert len(ATTEMPTS) >= 60


@pytest.mark.parametrize("pattern", ["../outside/*", "/**/secret.txt", "link/**", "**"])
async def test_no_glob_leads_out(place: Place, pattern: str) -> None:
    place.link("link", "../outside")
    bench = bench_of(place)

    found = await bench.call("glob", pattern=pattern)
    hits = await bench.call("grep", pattern=".", glob=pattern)

    for result in (found, hits):
        assert CANARY not in text_of(result.content)
        assert "secret.txt" not in text_of(result.content).replace(pattern, "")


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Swap two entries over and over, from another thread, each time at once."""
    is_over = threading.Event()
    library = ctypes.CDLL(None, use_errno=True)

    def swap() -> None:
        while not is_over.is_set():
            names = (_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE)
            if library.renameat2(*names):
                raise OSError(ctypes.get_errno(), "the two cannot be swapped")
            is_over.wait(secrets.randbelow(400) / 1e6)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def folder_swapped(place: Place) -> tuple[Path, Path, str]:
    place.link("other", "../outside")
    (place.root / "sub" / "secret.txt").write_text("inside\nof nobody\n" * 3)
    return place.root / "sub", place.root / "other", "sub/secret.txt"


def file_swapped(place: Place) -> tuple[Path, Path, str]:
    place.link("other", "../outside/secret.txt")
    (place.root / "one").write_text("inside\nof nobody\n" * 3)
    return place.root / "one", place.root / "other", "one"


def above_swapped(place: Place) -> tuple[Path, Path, str]:
    place.link("other", "../outside")
    (place.root / "sub" / "deep").mkdir()
    (place.root / "sub" / "deep" / "secret.txt").write_text("inside\nof nobody\n")
    return place.root / "sub", place.root / "other", "sub/deep/secret.txt"


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [folder_swapped, file_swapped, above_swapped])
@pytest.mark.parametrize(
    ("name", "rounds", "given"),
    [
        ("read_file", ROUNDS, {}),
        ("list_dir", ROUNDS, {}),
        ("grep", 60, {"pattern": "."}),
        ("grep", 60, {"pattern": r"(?i)[n]\b"}),
        ("glob", 60, {"pattern": "**"}),
        ("write_file", ROUNDS // 3, {}),
        ("edit_file", ROUNDS // 3, {"old": "of nobody", "new": "x", "all": True}),
    ],
)
async def test_no_race_of_links_leads_out(
    place: Place,
    swapped: Callable[[Place], tuple[Path, Path, str]],
    name: str,
    rounds: int,
    given: dict[str, Any],
) -> None:
    one, other, path = swapped(place)
    bench = bench_of(place)
    before = place.state()
    shown: list[str] = []
    if name in ("list_dir", "grep", "glob") and one.is_dir():
        path = path.rpartition("/")[0]

    with swapping(one, other), anyio.fail_after(60):
        for number in range(rounds):
            text = {"text": f"{number}\n"} if name == "write_file" else {}
            result = await bench.call(name, path=path, **given, **text)
            shown.append(text_of(result.content))

    assert not [text for text in shown if CANARY in text]
    assert place.state() == before
    assert len(set(shown)) > 1  # it did hit the links, and missed them


@pytest.mark.slow
async def test_a_link_in_place_of_the_temporary_file_leads_nowhere(
    place: Place,
) -> None:
    bench = bench_of(place)
    before = place.state()
    is_over = threading.Event()

    def guess() -> None:
        while not is_over.is_set():
            for path in place.root.glob(".*.tmp"):
                with suppress(OSError):
                    path.unlink()
                    path.symlink_to("../outside/secret.txt")

    thread = threading.Thread(target=guess)
    thread.start()
    try:
        for number in range(ROUNDS // 3):
            with anyio.fail_after(LIMIT_S):
                await bench.call("write_file", path=f"f{number}", text=f"{number}\n")
    finally:
        is_over.set()
        thread.join()

    assert place.state() == before


async def test_a_name_that_is_taken_is_not_used_for_the_temporary_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["aaaaaaaaaaaa", "bbbbbbbbbbbb"])
    place.link(".a.txt.aaaaaaaaaaaa.tmp", "../outside/secret.txt")
    bench = bench_of(place)
    before = place.state()

    with monkeypatch.context() as patched:
        patched.setattr(secrets, "token_hex", lambda _size: next(names))
        # The texts that are kept take names too; none is kept of an empty one.
        await bench.text("write_file", path="a.txt", text="")

    assert next(names, None) is None
    assert (place.root / "a.txt").read_text() == ""
    assert (place.root / ".a.txt.aaaaaaaaaaaa.tmp").is_symlink()
    assert place.state() == before


def test_links_that_stay_inside_work_and_a_root_may_be_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "sub").mkdir(parents=True)
    (real / "sub" / "a.txt").write_text("inside\n")
    (real / "link").symlink_to("sub")
    (tmp_path / "root").symlink_to("real")
    workspace = Workspace(tmp_path / "root")

    found = workspace.resolve("link/a.txt")

    assert workspace.relative(found) == "sub/a.txt"
