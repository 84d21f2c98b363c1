"""`logs`: filters that combine, the newest, what led to an event, what comes."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from sample_runs import finished_run, halfway_run

from orchestrator.cli.main import main
from orchestrator.events import Event
from orchestrator.inspection.selection import chain_to
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock
from orchestrator.store.reading import read_events

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def events(folder: RunFolder) -> list[Event]:
    return list(read_events(folder.events))


def seqs(capsys: Capture, folder: RunFolder, *argv: str) -> list[int]:
    assert main(["logs", str(folder.path), *argv, "--json"]) == 0
    return [orjson.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()]


def error(capsys: Capture, folder: RunFolder, *argv: str) -> str:
    assert main(["logs", str(folder.path), *argv]) == 2
    return capsys.readouterr().err


FILTERS: dict[str, tuple[list[str], Any]] = {
    "agent": (["--agent", "a2"], lambda e: e.agent == "a2"),
    "agents": (
        ["--agent", "a2", "--agent", "run"],
        lambda e: e.agent in ("a2", ""),
    ),
    "noun": (["--kind", "model"], lambda e: e.kind.startswith("model.")),
    "verb": (["--kind", "tool.ended"], lambda e: e.kind == "tool.ended"),
    "after": (["--after", "30"], lambda e: e.seq > 30),
    "after as shown": (["--after", "#30"], lambda e: e.seq > 30),
    "between": (["--since", "#9", "--until", "#12"], lambda e: 9 <= e.seq <= 12),
    "until": (
        ["--until", "2026-11-29T20:15:08Z"],
        lambda e: e.at <= "2026-11-29T20:15:08.000Z",
    ),
    "text": (["--grep", "TOKENS ARE"], lambda e: b"tokens are" in raw(e)),
}


def raw(event: Event) -> bytes:
    return orjson.dumps([event.kind, event.data]).lower()


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("other", ["", "verb", "after"])
def test_filters_combine(
    folder: RunFolder, events: list[Event], capsys: Capture, name: str, other: str
) -> None:
    chosen = [FILTERS[each] for each in dict.fromkeys((name, other)) if each]
    if {name, other} == {"noun", "verb"}:  # of several kinds, any
        chosen = [(["--kind", "model", "--kind", "tool.ended"], is_either)]
    argv = [word for words, _ in chosen for word in words]
    wanted = [each.seq for each in events if all(test(each) for _, test in chosen)]

    assert seqs(capsys, folder, *argv) == wanted
    assert seqs(capsys, folder, *argv, "-n", "3") == wanted[-3:]
    assert seqs(capsys, folder, *argv, "--limit", "2") == wanted[:2]


def is_either(event: Event) -> bool:
    return event.kind.startswith("model.") or event.kind == "tool.ended"


def test_errors_are_what_went_wrong(
    folder: RunFolder, events: list[Event], capsys: Capture
) -> None:
    kinds = {events[seq - 1].kind for seq in seqs(capsys, folder, "--errors")}

    assert {"model.failed", "brief.refused", "subagent.ended", "run.ended"} <= kinds
    assert "model.answered" not in kinds


def test_around_an_event_are_the_nearest_that_match(
    folder: RunFolder, events: list[Event], capsys: Capture
) -> None:
    of_a1 = [each.seq for each in events if each.agent == "a1"]
    middle = of_a1[len(of_a1) // 2]
    place = of_a1.index(middle)

    near = seqs(capsys, folder, "--around", f"#{middle}", "--agent", "a1", "-n", "2")
    assert near == of_a1[place - 2 : place + 3]
    assert seqs(capsys, folder, "--around", "1", "-n", "1") == [1, 2]
    last = events[-1].seq
    assert seqs(capsys, folder, "--around", str(last)) == [*range(last - 10, last + 1)]


def test_of_a_number_that_does_not_match_the_neighbours_are_shown(
    folder: RunFolder, events: list[Event], capsys: Capture
) -> None:
    of_lead = [each.seq for each in events if each.agent == "lead"]
    hole = next(a + 1 for a, b in pairwise(of_lead) if b > a + 1)
    before = [seq for seq in of_lead if seq < hole][-1:]
    behind = [seq for seq in of_lead if seq > hole][:1]

    found = seqs(capsys, folder, "--around", str(hole), "--agent", "lead", "-n", "1")

    assert found == before + behind


def test_the_chain_leads_to_an_event(
    folder: RunFolder, events: list[Event], capsys: Capture
) -> None:
    last = next(each for each in reversed(events) if each.kind == "tool.ended")
    chain, seq = [], last.seq
    while seq:
        chain.append(seq)
        seq = events[seq - 1].cause

    found = seqs(capsys, folder, "--cause", str(last.seq))

    assert found == sorted(chain)
    assert chain_to(folder.events, 10**6) == frozenset()


def test_a_chain_in_a_ring_ends(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(
        b"".join(
            b'{"v":1,"seq":%d,"at":"","run":"r","agent":"","kind":"x.y","cause":%d,'
            b'"data":{}}\n' % (seq, cause)
            for seq, cause in ((1, 3), (2, 1), (3, 2))
        )
    )

    assert chain_to(log, 3) == {1, 2, 3}


@pytest.mark.parametrize("option", ["--around", "--cause"])
def test_an_event_that_is_not_there_is_said_so(
    folder: RunFolder, events: list[Event], capsys: Capture, option: str
) -> None:
    told = error(capsys, folder, option, "900")
    assert told == f"error: `{option}`: no event #900; they are #1 to #{len(events)}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--after", "soon"], "`--after`: found `soon`, allowed is the number"),
        (["--until", "x"], "`--until`: found `x`, allowed are a span"),
        (["-n", "3", "--limit", "2"], "`--tail`: does not go with `--limit`"),
        (["-n", "0"], "Invalid value for '-n'"),
    ],
)
def test_what_has_no_sense_is_one_line(
    folder: RunFolder, capsys: Capture, argv: list[str], words: str
) -> None:
    told = error(capsys, folder, *argv)

    assert words in told
    assert len(told.splitlines()) <= 2


def test_each_line_has_its_number(folder: RunFolder, capsys: Capture) -> None:
    assert main(["logs", str(folder.path), "-n", "2"]) == 0

    lines = capsys.readouterr().out.splitlines()
    last = len(folder.events.read_bytes().splitlines())
    assert [line.split()[0] for line in lines] == [f"#{last - 1}", f"#{last}"]


def test_a_filtered_line_is_redacted_as_the_whole_log_is(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-ant-api03-" + "Qz7" * 30
    folder = finished_run(tmp_path)
    text = folder.events.read_bytes()
    answer = b'{"type":"tool_use"'
    assert answer in text
    told = b'{"type":"text","text":"%b"},' % secret.encode()
    folder.events.write_bytes(text.replace(answer, told + answer))
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)

    for argv in (["--agent", "a1"], ["-n", "30"], ["--kind", "model"]):
        assert main(["logs", str(folder.path), *argv, "--json"]) == 0
        shown = capsys.readouterr().out
        assert "tool_use" in shown
        assert secret not in shown


@pytest.mark.slow
def test_following_begins_with_the_newest_and_goes_on(
    tmp_path: Path,
) -> None:
    folder = halfway_run(tmp_path)
    last = len(folder.events.read_bytes().splitlines())
    argv = ["logs", str(folder.path), "--follow", "-n", "2", "--kind", "tool"]
    with RunLock(folder.lock):
        following = subprocess.Popen(
            [sys.executable, "-m", "orchestrator", *argv],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert following.stdout is not None
        first = [following.stdout.readline() for _ in range(2)]
        with folder.events.open("ab") as log:
            for kind in (b"tool.started", b"model.failed", b"tool.ended"):
                last += 1
                log.write(
                    b'{"v":1,"seq":%d,"at":"2026-11-29T20:16:00.000Z","run":"r",'
                    b'"agent":"a1","kind":"%b","cause":0,"data":{"name":"late"}}\n'
                    % (last, kind)
                )
        then = [following.stdout.readline() for _ in range(2)]
    rest = following.communicate(timeout=20)[0]

    assert all("tool." in line for line in first)
    assert [line.split()[3] for line in then] == ["tool.started", "tool.ended"]
    assert (rest, following.returncode) == ("", 0)


def test_a_log_that_is_being_written_ends_before_its_unfinished_line(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = finished_run(tmp_path)
    whole = len(folder.events.read_bytes().splitlines())
    with folder.events.open("ab") as log:
        log.write(b'{"v":1,"seq":999,"at":"')

    assert seqs(capsys, folder) == [*range(1, whole + 1)]
    assert seqs(capsys, folder, "-n", "2", "--follow") == [whole - 1, whole]


def test_help_fits_one_screen(capsys: Capture) -> None:
    for command in ("logs", "show", "transcript", "runs"):
        assert main([command, "--help"]) == 0
        assert len(capsys.readouterr().out.splitlines()) <= 40, command
