"""Runs whose log is damaged, cut off, of a later version or not there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from context_runs import context_run

from orchestrator.cli.main import main
from orchestrator.store.layout import RunFolder

Capture = pytest.CaptureFixture[str]
RUN_ID = "20261129-201500-x-0001"

COMMANDS = (
    ["show"], ["show", "--agent", "lead"], ["show", "--by", "tool"],
    ["show", "--changes"], ["logs"], ["logs", "-n", "3"], ["logs", "--errors"],
    ["logs", "--kind", "tool"], ["logs", "--around", "3"], ["logs", "--cause", "3"],
    ["transcript", "lead"], ["transcript", "lead", "--last", "1"], ["context"],
    ["context", "--agent", "lead"], ["diff", "lead", "1"],
)  # fmt: skip


def no_log(folder: RunFolder) -> None:
    folder.events.unlink()


def empty(folder: RunFolder) -> None:
    folder.events.write_bytes(b"")


def noise(folder: RunFolder) -> None:
    folder.events.write_bytes(b"\x00\xff{}\n[1]\nnull\n\n" * 20)


def a_folder(folder: RunFolder) -> None:
    folder.events.unlink()
    folder.events.mkdir()


def first_half(folder: RunFolder) -> None:
    folder.events.write_bytes(folder.events.read_bytes()[:4000])


def second_half(folder: RunFolder) -> None:
    folder.events.write_bytes(folder.events.read_bytes()[4000:])


def holes(folder: RunFolder) -> None:
    lines = folder.events.read_bytes().splitlines(keepends=True)
    folder.events.write_bytes(b"".join(lines[::2]) + b"\0" * 99)


def later(folder: RunFolder) -> None:
    log = folder.events.read_bytes()
    log = log.replace(b'{"v":1,', b'{"v":9,"new":[1],')
    log = log.replace(b'"kind":"tool.ended"', b'"kind":"tool.finished"')
    folder.events.write_bytes(log)


def no_artifacts(folder: RunFolder) -> None:
    shutil.rmtree(folder.artifacts)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return context_run(tmp_path, RUN_ID)


@pytest.mark.parametrize(
    "harm",
    [
        no_log, empty, noise, a_folder, first_half, second_half, holes, later,
        no_artifacts,
    ],
)  # fmt: skip
def test_every_command_says_what_there_is_or_one_line(
    folder: RunFolder, harm: Callable[[RunFolder], None], capsys: Capture
) -> None:
    harm(folder)
    for command, *rest in COMMANDS:
        for more in ([], ["--json"]):
            status = main([command, str(folder.path), *rest, *more])
            shown, told = capsys.readouterr()
            said = (command, *rest, *more, told)
            assert status in (0, 1, 2), said
            assert "Traceback" not in told, said
            assert len(told.splitlines()) <= 2, said
            assert shown or told, said
            if status:
                assert told.startswith("error: "), said


@pytest.mark.parametrize("harm", [no_log, noise, a_folder])
def test_the_list_has_a_line_for_it(
    folder: RunFolder, harm: Callable[[RunFolder], None], capsys: Capture
) -> None:
    harm(folder)

    assert main(["runs", "--runs-dir", str(folder.path.parent)]) == 0
    _heading, line = capsys.readouterr().out.splitlines()
    assert line.split()[0] == RUN_ID
    assert line.split()[1] in ("unreadable", "crashed")


def test_kinds_of_later_versions_are_told_with_their_fields(
    folder: RunFolder, capsys: Capture
) -> None:
    later(folder)

    assert main(["show", str(folder.path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "does not know: tool.finished (9)" in told
    assert main(["logs", str(folder.path), "--kind", "tool.finished", "-n", "1"]) == 0
    assert "is_error=True" in capsys.readouterr().out
