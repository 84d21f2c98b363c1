"""`transcript`: parts of a conversation by turn, newest, tool and text."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from context_runs import context_run
from sample_runs import finished_run

from orchestrator.cli.main import main
from orchestrator.inspection.steps import Part, StepFilter, parts_of
from orchestrator.messages import Message
from orchestrator.store.layout import RunFolder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return context_run(tmp_path_factory.mktemp("runs"))


def out(capsys: Capture, folder: RunFolder, agent: str, *argv: str) -> str:
    assert main(["transcript", str(folder.path), agent, *argv]) == 0
    return capsys.readouterr().out


def shown(capsys: Capture, folder: RunFolder, agent: str, *argv: str) -> Any:
    return orjson.loads(out(capsys, folder, agent, *argv, "--json"))


def test_one_turn_is_what_it_said_called_and_brought(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, folder, "a1", "--turn", "1")

    assert "── assistant, turn 1 (h1) ──" in text
    assert "← result of read_file:" in text
    assert "turn 2" not in text
    assert "user: the task" not in text
    assert "── user: the task" in out(capsys, folder, "a1", "--turn", "0")


def test_the_newest_turns(folder: RunFolder, capsys: Capture) -> None:
    found = shown(capsys, folder, "a1", "--last", "2")
    whole = shown(capsys, folder, "a1")

    assert found["steps"] == whole["steps"][-2:]
    assert found["messages"] == whole["messages"][-len(found["messages"]) :]


def test_only_the_calls_of_a_tool_with_their_results(
    folder: RunFolder, capsys: Capture
) -> None:
    found = shown(capsys, folder, "a1", "--tool", "grep")

    blocks = [block for each in found["messages"] for block in each["content"]]
    assert {block["type"] for block in blocks} == {"tool_use", "tool_result"}
    assert {block["name"] for block in blocks if "name" in block} == {"grep"}
    assert "read_file" not in out(capsys, folder, "a1", "--tool", "grep")


def test_filters_combine_and_the_newest_counts_last(
    compacted: RunFolder, capsys: Capture
) -> None:
    assert shown(capsys, compacted, "lead", "--tool", "read_file")["steps"] == [
        1,
        2,
        3,
        6,
    ]
    argv = ("--tool", "read_file", "--grep", "MOD_2")
    assert shown(capsys, compacted, "lead", *argv)["steps"] == [2, 6]
    assert shown(capsys, compacted, "lead", *argv, "--last", "1")["steps"] == [6]


def test_what_was_no_longer_sent_stands_where_it_was(
    compacted: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, compacted, "lead", "--turn", "5")

    assert "← result of read_ref:" in text.split("── before turn 6: a summary")[0]
    assert "before turn 4" not in text


def test_a_long_result_says_how_to_see_all_of_it(
    compacted: RunFolder, capsys: Capture
) -> None:
    short = out(capsys, compacted, "lead", "--turn", "1")
    full = out(capsys, compacted, "lead", "--turn", "1", "--full")

    assert "more characters; --full shows them" in short
    assert len(full) > 4 * len(short)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--turn", "99"], "`--turn`: no turn 99; there are: 1 to 4, 0 is the task"),
        (["--tool", "bash"], "`--tool`: no call of `bash`; it called: grep, read_file"),
        (["--view", "1", "--last", "2"], "`--view`: is shown whole: leave out"),
        (["--step", "h1", "--tool", "grep"], "`--step`: is shown whole: leave out"),
    ],
)
def test_what_is_not_there_is_wrong_usage(
    folder: RunFolder, capsys: Capture, argv: list[str], words: str
) -> None:
    assert main(["transcript", str(folder.path), "a1", *argv]) == 2
    assert capsys.readouterr().err.startswith(f"error: {words}")


def test_a_text_that_nobody_said_is_no_error(
    folder: RunFolder, capsys: Capture
) -> None:
    assert main(["transcript", str(folder.path), "a1", "--grep", "moon"]) == 0
    assert capsys.readouterr() == ("", "nothing matches\n")


def said(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def asked(text: str) -> Message:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("messages", "parts"),
    [
        ([], []),
        ([asked("a")], [Part(0, 0, [asked("a")])]),
        ([said("a")], [Part(1, 0, [said("a")])]),
        (
            [asked("a"), said("b"), asked("c"), said("d")],
            [
                Part(0, 0, [asked("a")]),
                Part(1, 1, [said("b"), asked("c")]),
                Part(2, 3, [said("d")]),
            ],
        ),
    ],
)
def test_a_conversation_falls_into_steps(
    messages: list[Message], parts: list[Part]
) -> None:
    assert list(parts_of(messages)) == parts
    assert StepFilter().of(messages) == parts


def test_only_the_agents_own_damage_is_told(
    tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    folder = finished_run(tmp_path_factory.mktemp("damaged"))
    lines = folder.events.read_bytes().splitlines(keepends=True)
    for name in (b"a1", b"a3"):
        at = max(n for n, each in enumerate(lines) if b'"agent":"%b"' % name in each)
        lines[at] = lines[at][: lines[at].index(b'"data":')] + b'"data":{oops}}\n'
    folder.events.write_bytes(b"".join(lines))

    # Behind a damaged line that is read, all others are.
    for agent, count in (("a1", "2 damaged records"), ("a3", "1 damaged record")):
        assert main(["transcript", str(folder.path), agent]) == 0
        assert capsys.readouterr().err.startswith(f"{count} of the log")
    assert main(["transcript", str(folder.path), "a2"]) == 0
    assert capsys.readouterr().err == ""
