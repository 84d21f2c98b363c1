from __future__ import annotations

import json
import os
import time
from pathlib import Path

import anyio
import pytest
from left_processes import alive, gone
from made_up_secrets import FORMS
from shell_bench import ShellBench
from shell_child import finished, started

from orchestrator.context.tokens import estimate
from orchestrator.errors import ToolError
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.security.sandbox import Limits
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.command_output import KEPT_BYTES, Kept
from orchestrator.tools.registry import definition_of
from orchestrator.tools.shell import BashArgs


def groups_of_this_process() -> list[Path]:
    return list(Path("/sys/fs/cgroup").rglob(f"orchestrator-{os.getpid()}-*"))


@pytest.fixture
def shell(tmp_path: Path) -> ShellBench:
    return ShellBench(tmp_path)


@pytest.fixture
def writer(tmp_path: Path) -> ShellBench:
    return ShellBench(tmp_path, writable=True)


class TestResult:
    async def test_status_and_both_streams_are_told_apart(
        self, shell: ShellBench
    ) -> None:
        text = await shell.error("bash", command="echo one; echo two >&2; exit 3")
        status, *rest = text.splitlines()

        assert status.startswith("exit status 3 after 0.")
        assert rest == ["stdout:", "one", "stderr:", "two"]

    async def test_success_is_no_error_and_silence_is_said(
        self, shell: ShellBench
    ) -> None:
        text = await shell.text("bash", command="true")
        assert text.splitlines()[1:] == ["It printed nothing."]

    async def test_a_signal_has_its_name(self, shell: ShellBench) -> None:
        assert "139 (SIGSEGV)" in await shell.error("bash", command="kill -SEGV $$")

    async def test_output_that_is_no_text_is_replaced(self, shell: ShellBench) -> None:
        text = await shell.text("bash", command=r"printf '\x41\xf0\x42\xff\0'")
        assert "stdout:\nA\ufffdB\ufffd\ufffd" in text

    async def test_terminal_codes_go_and_a_redrawn_line_has_its_last_state(
        self, shell: ShellBench
    ) -> None:
        text = await shell.text(
            "bash",
            command=r"printf '\e[38;2;1;2;3mred\e[0m \e]0;title\a"
            r"\n 10%%\r 50%%\r100%% done\n'",
        )
        assert "stdout:\nred \n100% done" in text
        assert "\x1b" not in text
        assert "title" not in text

    async def test_the_command_has_no_input(self, shell: ShellBench) -> None:
        assert "nothing" in await shell.text("bash", command="cat; echo nothing")

    async def test_output_cannot_pass_for_what_the_program_says(
        self, shell: ShellBench
    ) -> None:
        text = await shell.error("bash", command="echo 'exit status 0'; exit 1")
        assert text.startswith("exit status 1 ")

    async def test_a_secret_in_what_is_told_is_redacted(
        self, shell: ShellBench
    ) -> None:
        secret = FORMS["github"]
        text = await shell.text(
            "bash", command=f"echo {secret}; sh -c 'sleep 300; : {secret}' & sleep 0.1"
        )
        assert "Was still running" in text
        assert secret not in text
        assert "[secret:" in text


class TestOutput:
    def test_head_and_tail_are_kept_at_line_ends(self) -> None:
        kept = Kept()
        for number in range(200_000):
            kept.add(b"line %06d\n" % number)
        text = kept.text()

        assert text.startswith("line 000000\n")
        assert text.endswith("line 199999\n")
        assert len(text) <= 2 * KEPT_BYTES + 100
        [mark] = [line for line in text.splitlines() if not line.startswith("line")]
        left_out = int(mark.split()[0][1:].replace(",", ""))
        whole = [line for line in text.splitlines() if line != mark]
        assert all(len(line) == 11 for line in whole)
        assert left_out + 12 * len(whole) == 12 * 200_000

    def test_what_fits_is_whole(self) -> None:
        kept = Kept()
        kept.add(b"x" * KEPT_BYTES)
        kept.add("é".encode() * (KEPT_BYTES // 2))
        assert kept.text() == "x" * KEPT_BYTES + "é" * (KEPT_BYTES // 2)

    @pytest.mark.slow
    def test_ten_gigabytes_end_early_and_take_little_memory(
        self, tmp_path: Path
    ) -> None:
        grown_kib, text = finished(tmp_path, "yes $PWD | head -c 10G")

        assert grown_kib < 30_000
        assert "Ended by the program: it printed over 100 MB." in text


class TestEnds:
    async def test_what_runs_in_the_background_is_named_and_ended(
        self, shell: ShellBench
    ) -> None:
        mark = f"8{os.getpid()}"
        text = await shell.text(
            "bash", command=f"sleep {mark} & setsid sleep {mark} & sleep 0.1; echo ok"
        )
        line = text.splitlines()[1]
        assert line == (
            f"Was still running, and was ended: `sleep {mark}`, `sleep {mark}`"
        )
        assert gone(mark)

    @pytest.mark.slow
    async def test_a_child_that_ignores_term_and_holds_the_output_is_ended(
        self, shell: ShellBench
    ) -> None:
        began = time.monotonic()
        text = await shell.error(
            "bash",
            command="trap '' TERM; echo printed so far; "
            f"(trap '' TERM; sleep 9{os.getpid()}) & sleep 300",
            timeout_s=1,
        )
        assert time.monotonic() - began < 30
        assert "it took longer than `timeout_s`, 1 s" in text
        assert "printed so far" in text
        assert gone(f"9{os.getpid()}")

    async def test_too_much_memory_is_said(self, tmp_path: Path) -> None:
        bench = ShellBench(tmp_path, limits=Limits(memory_bytes=100 << 20))
        text = await bench.error(
            "bash", command="python3 -c 'bytearray(b\"x\") * (300 << 20)'"
        )
        assert "it needed over 100 MB of memory" in text

    @pytest.mark.slow
    async def test_a_fork_bomb_is_contained_and_leaves_nothing(
        self, tmp_path: Path
    ) -> None:
        began = time.monotonic()
        bench = ShellBench(tmp_path, limits=Limits(processes=100))
        text = await bench.error("bash", command="b() { b | b & }; b; sleep 300")

        assert time.monotonic() - began < 60
        assert "it used up the limit of 100 processes" in text
        assert gone("b() { b")
        assert groups_of_this_process() == []

    @pytest.mark.slow
    async def test_cancelling_ends_everything(self, shell: ShellBench) -> None:
        mark = f"5{os.getpid()}1"
        began = time.monotonic()
        with anyio.move_on_after(0.3):
            await shell.call("bash", command=f"setsid sleep {mark} & sleep {mark}")

        assert time.monotonic() - began < 30
        assert gone(mark)
        ended = shell.events[-1].data
        assert (ended["content"], ended["is_error"]) == (UNKNOWN, True)

    @pytest.mark.slow
    def test_nothing_outlives_the_program_when_it_is_killed(
        self, tmp_path: Path
    ) -> None:
        mark = f"5{os.getpid()}2"
        program = started(tmp_path, f"setsid sleep {mark} & trap '' TERM; sleep {mark}")
        deadline = time.monotonic() + 30
        while len(alive(f"sleep\0{mark}")) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(alive(f"sleep\0{mark}")) == 2
        program.kill()
        program.communicate()
        assert gone(mark)


class TestChanges:
    async def test_files_that_were_made_changed_and_removed_are_told(
        self, writer: ShellBench
    ) -> None:
        writer.write("a.txt", "old\n")
        writer.write("sub/gone.txt", "bye\n")
        writer.write("same.txt", "same\n")
        text = await writer.text(
            "bash",
            command="echo new > a.txt; rm sub/gone.txt; echo x > b.txt; touch same.txt",
        )
        assert "Changed: a.txt, b.txt (new), sub/gone.txt (removed)" in text
        changes = writer.changes()
        assert list(changes) == ["a.txt", "b.txt", "sub/gone.txt"]
        read = writer.artifacts.read_text
        assert read(changes["a.txt"].before) == "old\n"
        assert read(changes["a.txt"].after) == "new\n"
        assert not changes["b.txt"].before_sha256
        assert read(changes["sub/gone.txt"].before) == "bye\n"
        assert not changes["sub/gone.txt"].after_sha256

    async def test_what_others_changed_meanwhile_is_not_told(
        self, writer: ShellBench
    ) -> None:
        writer.write("a.txt", "old")
        await writer.text("bash", command="true")
        writer.write("a.txt", "by another tool")
        await writer.text("bash", command="echo mine > b.txt")
        assert list(writer.changes()) == ["b.txt"]

    async def test_a_change_that_hides_in_size_and_time_is_found(
        self, writer: ShellBench
    ) -> None:
        writer.write("a.txt", "old")
        await writer.text(
            "bash", command="touch -r a.txt t; printf new > a.txt; touch -r t a.txt"
        )
        assert list(writer.changes()) == ["a.txt", "t"]

    async def test_what_has_no_text_says_why(self, writer: ShellBench) -> None:
        writer.write("big", "x" * 300_000)
        writer.write("image.png", b"\x89PNG\r\n\x1a\n\0\0\0")
        await writer.text(
            "bash",
            command=r"echo y >> big; printf '\0\1\2\3' >> image.png; ln -s big link",
        )
        changes = writer.changes()
        assert changes["big"].note == "300,002 bytes, too big to be kept"
        assert changes["big"].before_sha256 == "unknown"
        assert len(changes["big"].after_sha256) == 64
        assert "PNG image" in changes["image.png"].note
        assert changes["link"].note == "a link"
        assert not any(each.before or each.after for each in changes.values())

    async def test_texts_are_kept_without_their_secrets(
        self, writer: ShellBench
    ) -> None:
        await writer.text("bash", command=f"echo {FORMS['github']} > key.txt")
        kept = writer.artifacts.read_text(writer.changes()["key.txt"].after)
        assert FORMS["github"] not in kept
        assert "[secret:" in kept

    async def test_git_and_packages_are_not_looked_into(
        self, writer: ShellBench
    ) -> None:
        await writer.text(
            "bash",
            command="git init -q; mkdir -p node_modules/a .venv; touch made "
            "node_modules/a/b .venv/c",
        )
        assert list(writer.changes()) == ["made"]

    async def test_names_of_any_bytes_are_told_on_one_line(
        self, writer: ShellBench
    ) -> None:
        text = await writer.text("bash", command=r"touch $'a\nb' $'\xff' '图'")
        assert set(writer.changes()) == {"a\ufffdb", "\ufffd", "图"}
        assert len(text.splitlines()) == 3

    async def test_where_nothing_may_be_written_nothing_is_looked_for(
        self, shell: ShellBench
    ) -> None:
        text = await shell.error("bash", command="echo x > a.txt")
        assert "Read-only file system" in text
        assert shell.changes() == {}

    async def test_settings_that_git_would_take_instead_are_removed(
        self, writer: ShellBench
    ) -> None:
        text = await writer.text(
            "bash", command="git init -q; echo evil > .git/commondir"
        )
        assert "`.git/commondir` was removed" in text
        assert not (writer.root / ".git" / "commondir").exists()


class TestSideBySide:
    @pytest.mark.slow
    async def test_commands_that_may_write_run_one_at_a_time(
        self, writer: ShellBench
    ) -> None:
        command = "mkdir lock && sleep 0.2 && rmdir lock"
        results = await writer.run(
            *(CallSpec(f"c{n}", "bash", {"command": command}) for n in range(4))
        )
        assert [result.is_error for result in results] == [False] * 4

    @pytest.mark.slow
    async def test_commands_that_only_read_run_side_by_side(
        self, shell: ShellBench
    ) -> None:
        began = time.monotonic()
        results = await shell.run(
            *(CallSpec(f"c{n}", "bash", {"command": "sleep 2"}) for n in range(6))
        )
        assert time.monotonic() - began < 10
        assert not any(result.is_error for result in results)


class TestRefusals:
    @pytest.mark.parametrize(
        ("command", "why"),
        [("echo \0", "NUL"), ("x" * 100_001, "100,001 bytes")],
    )
    async def test_what_is_no_command_is_refused(
        self, shell: ShellBench, command: str, why: str
    ) -> None:
        assert why in await shell.error("bash", command=command)

    @pytest.mark.parametrize("timeout_s", [0, 601])
    async def test_a_limit_is_within_bounds(
        self, shell: ShellBench, timeout_s: int
    ) -> None:
        assert "timeout_s" in await shell.error(
            "bash", command="true", timeout_s=timeout_s
        )

    async def test_secrets_are_put_back_or_refused(self, tmp_path: Path) -> None:
        def restore(text: str) -> str:
            if "[secret:other]" in text:
                raise ToolError("`[secret:other]` is unknown")
            return text.replace("[secret:x]", "real")

        bench = ShellBench(tmp_path, restore=restore)
        text = await bench.text("bash", command="printf '[secret:x]' | wc -c")
        assert "stdout:\n4" in text
        assert "is unknown" in await bench.error("bash", command="echo [secret:other]")

    async def test_what_an_agent_must_not_see_is_not_there(
        self, tmp_path: Path
    ) -> None:
        bench = ShellBench(tmp_path, exclude=("*.pem",), writable=True)
        bench.write("key.pem", "private")
        bench.write("other.txt", "public")
        bench.workspace = bench.workspace.narrowed(("other.txt", "key.pem"))
        bench.write("third.txt", "not in the brief")

        text = await bench.text("bash", command="cat *")
        assert text.splitlines()[1:] == ["stdout:", "public"]

    @pytest.mark.slow
    def test_without_bubblewrap_it_says_how_to_install_it(self, tmp_path: Path) -> None:
        _, text = finished(tmp_path, "touch made", path=str(tmp_path))

        assert "apt-get install bubblewrap" in text
        assert not (tmp_path / "work" / "made").exists()


class TestAsking:
    @pytest.mark.parametrize(
        ("allowed", "needs"),
        [
            ((False, False), ("shell",)),
            ((True, False), ("shell", "write")),
            ((False, True), ("shell", "network")),
            ((True, True), ("shell", "write", "network")),
        ],
    )
    def test_it_asks_for_what_the_sandbox_of_the_run_has(
        self, tmp_path: Path, allowed: tuple[bool, bool], needs: tuple[str, ...]
    ) -> None:
        writable, network = allowed
        bench = ShellBench(tmp_path, writable=writable, network=network)
        ask = bench.bash.asks(BashArgs(command="make it"), bench.context())

        assert ask.permissions == needs
        assert ask.effect.startswith("run: make it\n")
        assert ("may change" in ask.effect) == ("write" in needs)
        assert ("has no network" in ask.effect) == ("network" not in needs)

    async def test_the_gate_is_asked_before_the_command_runs(
        self, shell: ShellBench
    ) -> None:
        await shell.text("bash", command="true")
        assert [ask.permissions for ask in shell.asked.asked] == [("shell",)]

    @pytest.mark.parametrize("writable", [False, True])
    def test_the_definition_is_small(self, tmp_path: Path, *, writable: bool) -> None:
        bench = ShellBench(tmp_path, writable=writable)
        assert estimate(json.dumps(definition_of(bench.bash))) <= 150
