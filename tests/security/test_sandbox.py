from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import escape_attempts
import pytest
from left_processes import alive, gone

from orchestrator.errors import ToolError
from orchestrator.security.sandbox import (
    Group,
    Limits,
    Report,
    Sandbox,
    available,
    make_group,
    read_report,
)
from orchestrator.security.sandbox.filter import packed_filter
from orchestrator.security.workspace import Workspace

MARKER = "canary-5f0c2a"
PROCESS = "other-process-77d1"
PROBE = Path(escape_attempts.__file__)


class Ended:
    """What came of one command in a sandbox."""

    def __init__(
        self, done: subprocess.CompletedProcess[str], report: Report | None
    ) -> None:
        self.out, self.err, self.code = done.stdout, done.stderr, done.returncode
        self.report = report


def run(
    sandbox: Sandbox,
    command: str,
    *args: str,
    timeout_s: float = 20,
    group: Group | None = None,
    env: dict[str, str] | None = None,
) -> Ended:
    group = group or Group()
    told, tell = os.pipe()
    try:
        argv = ["bash", "-c", command, "bash", *args]
        line = sandbox.command(
            argv, timeout_s=timeout_s, grace_s=0.5, report=tell,
            counted=group.controllers,
        )  # fmt: skip
        done = subprocess.run(
            group.enter(line),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=(tell,),
            timeout=timeout_s + 10,
            env={**os.environ, **(env or {})},
        )
        return Ended(done, read_report(told))
    finally:
        os.close(told)
        os.close(tell)
        group.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


class Outside:
    """A machine with much to reach: servers, files, a process, a secret."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        (self.root / "probe.py").write_text(PROBE.read_text())
        (self.root / "secrets").mkdir()
        (self.root / "secrets" / "deep.txt").write_text(MARKER)
        (self.root / "sub").mkdir()
        (self.root / "sub" / "key.pem").write_text(MARKER)
        canary = folder / "canary.txt"
        canary.write_text(MARKER)
        (self.root / "link").symlink_to(canary)
        self.canary = canary
        self.home = Path(folder / "home")
        self.home.mkdir()
        (self.home / ".netrc").write_text(MARKER)
        self.sockets = [
            socket.create_server(("127.0.0.1", 0)),
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
        ]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract = f"{MARKER}-{os.getpid()}"
        self.sockets[1].bind("\0" + self.abstract)
        # The whole path of a socket has room for 107 bytes.
        self.listening = os.path.relpath(self.root / "sub" / "s")
        here = Path.cwd()
        os.chdir(self.root / "sub")
        try:
            self.sockets[2].bind("s")
        finally:
            os.chdir(here)
        for each in self.sockets:
            each.listen()
        threading.Thread(target=self._echo, daemon=True).start()
        self.process = subprocess.Popen(["sleep", "300"], env={"WHO": MARKER})
        self.named = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(300)", PROCESS]
        )

    def _echo(self) -> None:
        while True:
            try:
                data, address = self.udp.recvfrom(10)
                self.udp.sendto(data, address)
            except OSError:
                return

    def told(self, *, harmless: bool) -> str:
        return json.dumps(
            {
                "outside": [
                    str(self.canary),
                    str(self.home / ".netrc"),
                    "/etc/shadow",
                    "/etc/sudoers",
                    "/var/lib/dpkg/status",
                    str(Path.home() / ".bashrc"),
                ],
                "hidden": [
                    str(self.root / "secrets"),
                    str(self.root / "secrets" / "deep.txt"),
                    str(self.root / "sub" / "key.pem"),
                ],
                "port": self.sockets[0].getsockname()[1],
                "udp": self.udp.getsockname()[1],
                "abstract": self.abstract,
                "listening": "sub/s",
                "marker": MARKER,
                "process": PROCESS[::-1],
                "workspace": str(self.root),
                "home": str(Path.home()),
                "harmless": harmless,
            }
        )

    def close(self) -> None:
        for each in (*self.sockets, self.udp):
            each.close()
        for process in (self.process, self.named):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    machine = Outside(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.close()


def tried(outside: Outside, *, writable: bool) -> dict[str, str]:
    workspace = Workspace(outside.root, exclude=("secrets", "*.pem"))
    ended = run(
        Sandbox(workspace, writable=writable),
        'python3 probe.py "$1"',
        outside.told(harmless=False),
        env={"API_TOKEN": MARKER, "HOME": str(outside.home)},
    )
    found: dict[str, str] = json.loads(ended.out)
    return found


@pytest.fixture(
    scope="module",
    params=[False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["read-only", "writable"],
)
def outcome(request: pytest.FixtureRequest, outside: Outside) -> dict[str, str]:
    return tried(outside, writable=request.param)


class TestEscapes:
    def test_no_attempt_succeeds(self, outcome: dict[str, str]) -> None:
        assert len(outcome) > 60
        succeeded = {name: how for name, how in outcome.items() if "SUCC" in how}
        assert succeeded == {}

    def test_nothing_outside_has_changed(
        self, outcome: dict[str, str], outside: Outside
    ) -> None:
        assert not list(outside.root.parent.glob("planted"))
        assert not any(Path(place, "planted").exists() for place in ("/", "/etc"))
        assert outside.process.poll() is None
        assert outside.named.poll() is None

    def test_the_attempts_are_in_earnest(self, outside: Outside) -> None:
        done = subprocess.run(
            [sys.executable, "probe.py", outside.told(harmless=True)],
            cwd=outside.root,
            capture_output=True,
            check=True,
            env={**os.environ, "API_TOKEN": MARKER},
        )
        found = json.loads(done.stdout)
        for name in (
            *("tcp", "udp", "abstract socket", "socket in the workspace"),
            *("secret in an environment", "foreign process", "link outwards"),
            *("through /proc", f"read {outside.canary}"),
            f"see {outside.root / 'sub' / 'key.pem'} as a file",
        ):
            assert "SUCCEEDED" in found[name], name


def test_bubblewrap_works_here() -> None:
    assert available() == ""


def test_a_missing_bubblewrap_is_named_with_what_installs_it(tmp_path: Path) -> None:
    code = (
        "from orchestrator.security.sandbox import available\n"
        "print(available())"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "not installed" in done.stdout
    assert "apt-get install bubblewrap" in done.stdout


def test_a_bubblewrap_that_does_not_work_is_told_with_its_own_words(
    tmp_path: Path,
) -> None:
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho no permissions for this >&2\nexit 1"
    )
    (tmp_path / "bwrap").chmod(0o755)
    code = "from orchestrator.security.sandbox import available; print(available())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no permissions for this" in done.stdout


class TestWorkspace:
    def test_it_lies_at_its_own_path_and_is_read_only(self, root: Path) -> None:
        (root / "a.txt").write_text("here")
        ended = run(Sandbox(Workspace(root)), "pwd; cat a.txt; echo no > b.txt")

        assert ended.out == f"{root}\nhere"
        assert "Read-only" in ended.err
        assert not (root / "b.txt").exists()

    def test_where_it_is_writable_all_else_is_not(self, root: Path) -> None:
        ended = run(
            Sandbox(Workspace(root), writable=True),
            "echo yes > made; mkdir -p d && echo yes > d/e; echo no > ../beside",
        )
        assert (root / "d" / "e").read_text() == "yes\n"
        # Above it is a folder of the sandbox at most.
        assert not (root.parent / "beside").exists()
        assert ended.report is not None

    def test_what_is_excluded_is_not_there(self, root: Path) -> None:
        for name in (".env", "deep/.env", "keys/one.pem", "private/a", "seen.txt"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(MARKER)
        workspace = Workspace(root, exclude=("**/.env", "*.pem", "private"))
        ended = run(
            Sandbox(workspace, writable=True),
            "grep -rl canary . ; ls private; mv deep other; cat other/.env;"
            "rm -f .env; rmdir private; mv private p2; cat p2/a",
        )
        assert ended.out.split() == ["./seen.txt"]
        assert (root / ".env").read_text() == MARKER
        assert (root / "private" / "a").read_text() == MARKER

    def test_what_is_not_included_is_not_there(self, root: Path) -> None:
        for name in ("src/a.py", "src/b.txt", "docs/c.md", "other/d.py", "top.py"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(name)
        workspace = Workspace(root, include=("src/*.py", "docs")).narrowed(
            ("src", "docs/c.md")
        )
        ended = run(
            Sandbox(workspace, writable=True),
            "find . -type f; echo new > docs/c.md; echo lost > src/made; echo x > y",
        )
        assert sorted(ended.out.split()) == ["./docs/c.md", "./src/a.py"]
        assert (root / "docs" / "c.md").read_text() == "new\n"
        assert "Read-only" in ended.err
        assert not (root / "src" / "made").exists()

    def test_a_link_that_is_included_shows_nothing_that_is_not(
        self, root: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "beside").mkdir()
        (tmp_path / "beside" / "a.txt").write_text(MARKER)
        (root / "away").symlink_to(tmp_path / "beside")
        (root / "docs").mkdir()
        (root / "docs" / "c.md").write_text("docs")
        (root / "near").symlink_to("docs/c.md")
        workspace = Workspace(root, include=("away", "near", "docs"))
        ended = run(Sandbox(workspace, writable=True), "cat away/a.txt; cat near")

        assert ended.out == "docs"

    @pytest.mark.slow
    def test_too_much_to_hide_one_by_one_is_refused(self, root: Path) -> None:
        for number in range(1_001):
            (root / f"{number}.pem").touch()
        with pytest.raises(ToolError, match="name the folders"):
            Sandbox(Workspace(root, exclude=("*.pem",))).command(["true"])

    @pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/proc"])
    def test_the_system_is_no_workspace(self, path: str) -> None:
        with pytest.raises(ToolError, match="folder of its own"):
            Sandbox(Workspace(Path(path))).command(["true"])

    def test_further_folders_are_seen_and_not_changed(
        self, root: Path, tmp_path: Path
    ) -> None:
        skill = tmp_path / "skill"
        skill.mkdir()
        (skill / "run.sh").write_text("echo skilled")
        ended = run(
            Sandbox(Workspace(root), writable=True, visible=(skill,)),
            f"sh {skill}/run.sh; echo x > {skill}/run.sh",
        )
        assert ended.out == "skilled\n"
        assert "Read-only" in ended.err

    @pytest.mark.slow
    def test_what_runs_this_program_cannot_be_changed(self) -> None:
        packages = Path(sys.prefix)
        ended = run(
            Sandbox(Workspace(packages.parent), writable=True),
            f"mkdir {packages}/planted && rmdir {packages}/planted",
        )
        assert "Read-only" in ended.err


class TestRepository:
    @pytest.fixture
    def git(self, root: Path) -> Path:
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        return root

    def test_commits_are_made_and_what_runs_outside_later_stays(
        self, git: Path
    ) -> None:
        config = (git / ".git" / "config").read_text()
        ended = run(
            Sandbox(Workspace(git), writable=True),
            "echo x > f; git add f; git -c user.name=n -c user.email=e commit -qm one;"
            "echo evil > .git/hooks/post-checkout; echo '[core]' >> .git/config;"
            "git config core.fsmonitor evil; mv .git .old; mv .git/hooks .git/h;"
            "rm -rf .git/hooks; ln -sf evil .git/config; git log --oneline | wc -l",
        )
        assert ended.out.split()[-1] == "1"
        assert (git / ".git" / "config").read_text() == config
        assert not (git / ".git" / "hooks" / "post-checkout").exists()
        assert not (git / ".old").exists()

    def test_hooks_that_are_missing_cannot_be_made(self, git: Path) -> None:
        subprocess.run(["rm", "-r", str(git / ".git" / "hooks")], check=True)
        run(
            Sandbox(Workspace(git), writable=True),
            "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        )
        assert not list((git / ".git" / "hooks").iterdir())

    @pytest.mark.parametrize(
        "name",
        [
            "",
            pytest.param("hooks", marks=pytest.mark.slow),
            pytest.param("config", marks=pytest.mark.slow),
        ],
    )
    def test_a_repository_that_a_command_made_of_links_shows_nothing(
        self, root: Path, tmp_path: Path, name: str
    ) -> None:
        beside = tmp_path / "beside"
        beside.mkdir()
        (beside / "a.txt").write_text(MARKER)
        sandbox = Sandbox(Workspace(root), writable=True)
        for number, target in enumerate((f"{beside}", "/var", f"{root}/../beside")):
            link = root / ".git" / name if name else root / ".git"
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(os.path.relpath(target, link.parent))
            ended = run(sandbox, f"cat {link}/a.txt; ls /var/lib {beside}")

            assert ended.out == ""
            assert ended.report is not None
            (root / ".git").rename(tmp_path / f"used-{number}")

    def test_a_file_that_names_the_repository_stays(self, root: Path) -> None:
        (root / ".git").write_text("gitdir: /elsewhere")
        run(
            Sandbox(Workspace(root), writable=True),
            "echo gitdir: evil > .git; rm -f .git; mv .git a",
        )
        assert (root / ".git").read_text() == "gitdir: /elsewhere"


class TestSurroundings:
    def test_the_environment_is_a_short_list_and_what_is_named(
        self, root: Path
    ) -> None:
        sandbox = Sandbox(Workspace(root), env={"MINE": "yes=1,2"})
        ended = run(sandbox, "env", env={"SECRET_THING": MARKER})

        names = {line.partition("=")[0] for line in ended.out.splitlines()}
        assert names - {"_", "SHLVL", "PWD", "OLDPWD"} == {
            *("PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"),
            *("PYTHONDONTWRITEBYTECODE", "MINE"),
        }
        assert "MINE=yes=1,2" in ended.out

    def test_home_and_temporary_folders_are_private_and_bounded(
        self, root: Path
    ) -> None:
        limits = Limits(temporary_bytes=4 << 20, file_bytes=2 << 20)
        ended = run(
            Sandbox(Workspace(root), writable=True, limits=limits),
            "for f in /tmp $HOME /var/tmp /dev/shm; do echo x > $f/x || echo bad; done;"
            "for n in 1 2 3 4; do yes > /dev/shm/$n; yes > /tmp/$n; done;"
            "yes > big; du -skx --apparent-size /tmp /dev/shm | cut -f1; ls /home",
        )
        sizes = [int(word) for word in ended.out.split()[:2]]
        assert max(sizes) <= 4 << 10
        assert (root / "big").stat().st_size == 2 << 20
        assert "No space left" in ended.err
        assert ended.out.split()[2:] == ["agent"]

    def test_python_of_the_project_runs_with_its_packages(self, root: Path) -> None:
        ended = run(Sandbox(Workspace(root)), "python3 -c 'import pydantic; print(1)'")
        assert ended.out == "1\n", ended.err

    def test_the_network_is_there_where_it_is_allowed(
        self, root: Path, outside: Outside
    ) -> None:
        port = outside.sockets[0].getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"

        assert run(Sandbox(Workspace(root), network=True), command).out == "reached\n"
        assert run(Sandbox(Workspace(root)), command).out == ""

    def test_with_the_network_abstract_sockets_of_others_stay_closed(
        self, root: Path, outside: Outside
    ) -> None:
        code = (
            "import socket, sys\n"
            "own, client = (socket.socket(socket.AF_UNIX) for _ in range(2))\n"
            "own.bind('\\0own'); own.listen(); client.connect('\\0own'); print('own')\n"
            "socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1]); print('bad')"
        )
        sandbox = Sandbox(Workspace(root), network=True)
        ended = run(sandbox, 'python3 -c "$1" "$2"', code, outside.abstract)
        if "not supported" in ended.err:  # an older kernel: no Unix sockets at all
            assert ended.out == ""
        else:
            assert ended.out == "own\n"
            assert "PermissionError" in ended.err

    def test_the_strict_filter_leaves_only_pairs_of_unix_sockets(
        self, root: Path
    ) -> None:
        machine = os.uname().machine
        code = (
            "import socket; socket.socketpair(); socket.socket(); print('fine')\n"
            "socket.socket(socket.AF_UNIX); print('bad')"
        )
        line = [
            word.replace(packed_filter(machine), packed_filter(machine, unix=False))
            for word in Sandbox(Workspace(root)).command(["python3", "-c", code])
        ]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.stdout == "fine\n"
        assert "not supported" in done.stderr

    def test_programs_inside_reach_each_other(self, root: Path) -> None:
        code = (
            "import socket, threading\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "threading.Thread(target=server.accept, daemon=True).start()\n"
            "socket.create_connection(server.getsockname()); print('local')\n"
            "one = socket.socket(socket.AF_UNIX); one.bind('/tmp/s'); print('unix')"
        )
        ended = run(Sandbox(Workspace(root)), 'python3 -c "$1"', code)
        assert ended.out == "local\nunix\n", ended.err

    def test_input_and_output_pass_through(self, root: Path) -> None:
        line = Sandbox(Workspace(root)).command(["cat"])
        done = subprocess.run(line, input=b"\0 ask\n", capture_output=True, check=True)
        assert done.stdout == b"\0 ask\n"


class TestEnds:
    def test_a_program_that_is_not_there_is_named(self, root: Path) -> None:
        line = Sandbox(Workspace(root)).command(["no-such-program"])
        done = subprocess.run(line, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (
            127,
            b"no-such-program: No such file or directory\n",
        )

    def test_what_is_left_is_told_and_ended(self, root: Path) -> None:
        ended = run(
            Sandbox(Workspace(root)),
            f"sleep 4{os.getpid()} & setsid sleep 5{os.getpid()} & "
            "(sleep 300 >/dev/null 2>&1 & ) ; sleep 0.1; exit 3",
        )
        assert ended.code == 3
        assert ended.report is not None
        assert ended.report.left_count == 3
        assert any(f"sleep 4{os.getpid()}" in each for each in ended.report.left)
        assert gone(f"4{os.getpid()}")
        assert gone(f"5{os.getpid()}")

    def test_the_account_of_what_is_left_cannot_be_forged(self, root: Path) -> None:
        # Nobody inside has the pipe, can stop who writes to it, or fill it.
        ended = run(
            Sandbox(Workspace(root)),
            "for n in 3 4 5 6 7 8 9; do echo 0 >&$n; echo 0 > /proc/1/fd/$n; done;"
            "kill -STOP 1; kill -9 1; kill -INT 1; kill -9 -1; sleep 300 & exit 5",
        )
        assert ended.report is not None
        assert (ended.report.code, ended.report.left_count) == (5, 1)

    @pytest.mark.slow
    def test_time_is_up_for_what_ignores_it_too(self, root: Path) -> None:
        began = time.monotonic()
        ended = run(
            Sandbox(Workspace(root)),
            f"trap '' TERM; echo before; (trap '' TERM; sleep 6{os.getpid()}) & "
            "setsid sh -c 'trap \"\" TERM; sleep 300' & kill -STOP $$; sleep 300",
            timeout_s=1.5,
        )
        assert time.monotonic() - began < 30
        assert ended.out == "before\n"
        assert ended.report is not None
        assert ended.report.reason == "timeout"
        assert gone(f"6{os.getpid()}")

    def test_what_ends_when_asked_has_its_time(self, root: Path) -> None:
        ended = run(
            Sandbox(Workspace(root)),
            "trap 'echo tidied; exit 7' TERM; while :; do sleep 0.05; done",
            timeout_s=1,
        )
        assert ended.out == "tidied\n"
        assert ended.report == Report(7, "timeout")

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
    def test_nothing_outlives_who_started_it(self, root: Path, how: int) -> None:
        mark = f"7{os.getpid()}{int(how)}"
        line = Sandbox(Workspace(root)).command(
            ["sh", "-c", f"setsid sleep {mark} & trap '' TERM; sleep {mark}"]
        )
        starter = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import subprocess, sys; subprocess.run(sys.argv[1:])",
                *line,
            ]
        )
        deadline = time.monotonic() + 30
        while len(alive(mark)) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(alive(mark)) >= 4
        starter.send_signal(how)
        starter.wait(30)
        assert gone(mark)


BOMB = "b() { b | b & }; b; sleep 300"
HOG = "python3 -c 'x = bytearray(b\"x\") * (400 << 20); import time; time.sleep(300)'"
SMALL = Limits(memory_bytes=150 << 20, processes=60)


class TestLimits:
    @pytest.mark.slow
    @pytest.mark.parametrize("grouped", [True, False], ids=["counted", "watched"])
    def test_a_fork_bomb_is_contained(self, root: Path, *, grouped: bool) -> None:
        group = make_group(SMALL) if grouped else Group()
        began = time.monotonic()
        ended = run(
            Sandbox(Workspace(root), limits=SMALL), BOMB, timeout_s=1, group=group
        )
        assert time.monotonic() - began < 30
        assert ended.report is not None
        assert ended.report.reason in ("processes", "timeout")
        assert ended.report.left_count <= SMALL.processes
        assert gone(BOMB[:12])
        assert not any(folder.exists() for folder in group.folders)

    @pytest.mark.parametrize("grouped", [True, False], ids=["counted", "watched"])
    def test_a_memory_hog_is_ended(self, root: Path, *, grouped: bool) -> None:
        group = make_group(SMALL) if grouped else Group()
        ended = run(
            Sandbox(Workspace(root), limits=SMALL), HOG, timeout_s=8, group=group
        )
        assert ended.code == 137
        assert not any(folder.exists() for folder in group.folders)

    @pytest.mark.slow
    def test_memory_that_many_share_counts_once(self, root: Path) -> None:
        code = (
            "import os, time\nx = bytearray(b'x') * (60 << 20)\n"
            "[os.fork() or time.sleep(0.6) or os._exit(0) for _ in range(5)]\n"
            "[os.wait() for _ in range(5)]; print('all')"
        )
        ended = run(
            Sandbox(Workspace(root), limits=SMALL), 'python3 -c "$1"', code, timeout_s=8
        )
        assert ended.out == "all\n"

    def test_files_and_descriptors_are_bounded(self, root: Path) -> None:
        limits = Limits(open_files=20, file_bytes=4096)
        ended = run(
            Sandbox(Workspace(root), writable=True, limits=limits),
            "ulimit -n; ulimit -c; head -c 10000 /dev/zero > f; stat -c %s f",
        )
        assert ended.out.split() == ["20", "0", "4096"]

    def test_groups_of_makers_that_were_killed_are_removed(self) -> None:
        code = (
            "import os; from orchestrator.security.sandbox import *\n"
            "print(*make_group(Limits()).folders, sep='\\n', flush=True); os._exit(9)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        left = [Path(line) for line in done.stdout.split()]
        make_group(Limits()).close()
        assert not any(folder.exists() for folder in left)


def test_the_filter_has_the_numbers_of_this_machine() -> None:
    assert packed_filter("x86_64")
    assert packed_filter("aarch64") != packed_filter("x86_64")
    assert packed_filter("pdp11") == ""
    assert os.uname().machine not in ("x86_64", "aarch64") or packed_filter(
        os.uname().machine
    )


def test_a_report_that_was_never_written_is_none() -> None:
    told, tell = os.pipe()
    try:
        assert read_report(told) is None
        os.write(tell, b"garbage")
        assert read_report(told) is None
    finally:
        os.close(told)
        os.close(tell)
