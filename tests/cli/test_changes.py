"""`show --changes`: what a run changed in files, as its users meet it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from sample_runs import RUN_ID, SECRET_ESCAPE, Script, finished_run, open_script

from orchestrator.cli.changes_text import cut_off_phrase
from orchestrator.cli.main import main
from orchestrator.events import Event, FileChange, ToolEnded
from orchestrator.events.diffs import NO_END, diff
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.ids import sha256
from orchestrator.inspection.changes import Changes
from orchestrator.store.artifacts import Artifacts

pytestmark = pytest.mark.usefixtures("runs")

Capture = pytest.CaptureFixture[str]


def change(
    artifacts: Artifacts, path: str, before: str | None, after: str | None
) -> FileChange:
    texts = (before, after)
    refs = (artifacts.put(text.encode()) if text else "" for text in texts)
    sums = ("" if text is None else sha256(text.encode()) for text in texts)
    return FileChange(path, *refs, *sums)


def put(script: Script, agent: str, changes: Sequence[FileChange]) -> None:
    ended = ToolEnded(
        call="t1",
        name="edit_file",
        content="edited",
        is_error=False,
        seconds=0.1,
        tokens=1,
        full_tokens=1,
        changes=list(changes),
    )
    script.put(ended, agent)


def changed_run(runs: Path, *steps: tuple[str, str, str | None, str | None]) -> None:
    with open_script(runs, RUN_ID) as (folder, script):
        script.start_run()
        artifacts = Artifacts(folder.artifacts)
        for agent in dict.fromkeys(step[0] for step in steps):
            script.start_agent(agent, "t", "go")
        for agent, path, before, after in steps:
            put(script, agent, [change(artifacts, path, before, after)])


def shown(capsys: Capture, *argv: str) -> str:
    assert main(["show", "last", *argv]) == 0
    return capsys.readouterr().out


def test_changes_of_a_file_are_one_diff_from_the_first_to_the_last(
    runs: Path, capsys: Capture
) -> None:
    changed_run(
        runs,
        ("lead", "b.txt", "a\nb\nc\n", "a\nB\nc\n"),
        ("a1", "b.txt", "a\nB\nc\n", "a\nBB\nc\nd"),
        ("lead", "a/new.txt", None, "one\ntwo\n"),
        ("lead", "gone.txt", "x\n", None),
        ("lead", "back.txt", "x\n", "y\n"),
        ("a1", "back.txt", "y\n", "x\n"),
        ("lead", "never.txt", None, "x\n"),
        ("lead", "never.txt", "x\n", None),
    )

    assert shown(capsys, "--changes") == (
        "a/new.txt: created by lead (1 change)\n"
        "--- /dev/null\n+++ b/a/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\n"
        "b.txt: edited by lead (1 change), a1 (1 change)\n"
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+BB\n c\n+d\n"
        f"{NO_END}\n\n"
        "gone.txt: removed by lead (1 change)\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\n"
        "3 files changed, 4 lines added, 2 removed\n"
    )
    assert "\nfiles changed: 3 (+4 −2); see --changes\n" in shown(capsys)


def test_changes_for_machines(runs: Path, capsys: Capture) -> None:
    changed_run(runs, ("lead", "a.txt", "a\n", "b\n"))

    found = orjson.loads(shown(capsys, "--changes", "--json"))
    state = orjson.loads(shown(capsys, "--json"))

    assert found["run"] == RUN_ID
    assert (found["files"], found["added"], found["removed"]) == (1, 1, 1)
    [file] = found["changes"]
    assert file["diff"] == ["@@ -1 +1 @@", "-a", "+b"]
    assert file["agents"] == {"lead": 1}
    del file["diff"]
    assert state["files_changed"]["changes"] == [file]


def test_a_call_that_was_cut_off_is_named_since_nobody_knows_what_it_changed() -> None:
    changes = Changes()

    def add(number: int, kind: str, **data: Any) -> None:
        changes.apply(
            Event(
                seq=number, at="", run="r", agent="lead", kind=kind, cause=0, data=data
            )
        )

    for number, tool in enumerate(["bash", "read_file", "edit_file", "bash"]):
        add(number, "tool.started", call=f"c{number}", name=tool)
    add(4, "tool.ended", call="c0", name="bash", content=UNKNOWN)
    add(5, "tool.ended", call="c2", name="edit_file", content="edited a.txt")

    assert changes.cut_off == ["bash", "bash"]
    assert cut_off_phrase(changes.cut_off) == (
        "not ended: 2 calls (bash); what files they changed is not known"
    )


def test_the_changes_of_one_agent(runs: Path, capsys: Capture) -> None:
    changed_run(runs, ("a1", "a.py", "x\n", "y\n"), ("a2", "b.py", None, "z\n"))

    assert "b.py" not in shown(capsys, "--changes", "--agent", "a1")
    found = orjson.loads(shown(capsys, "--changes", "--agent", "a2", "--json"))
    assert [each["path"] for each in found["changes"]] == ["b.py"]


def test_a_run_without_changes_says_so(runs: Path, capsys: Capture) -> None:
    finished_run(runs)

    assert main(["show", "last", "--changes"]) == 0
    out, told = capsys.readouterr()
    assert (out, told) == ("", f"no files were changed in {RUN_ID}\n")
    assert "files changed" not in shown(capsys)
    assert orjson.loads(shown(capsys, "--changes", "--json"))["changes"] == []


def test_files_without_a_text_and_texts_that_are_gone_are_named(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs, RUN_ID) as (folder, script):
        script.start_run()
        script.start_agent("lead", "t", "go")
        artifacts = Artifacts(folder.artifacts)
        binary = FileChange("a.bin", "", "", "", "1" * 64, "binary, 10 bytes")
        lost = FileChange("b.txt", "art_0123456789ab", "", "1" * 64, "2" * 64)
        same = artifacts.put(b"x\n")
        ends = FileChange("c.txt", same, same, "1" * 64, "2" * 64)
        put(script, "lead", [binary, lost, ends])

    text = shown(capsys, "--changes")

    assert "a.bin: created by lead (1 change)\n  binary, 10 bytes\n" in text
    assert "b.txt: edited by lead (1 change)\n  its text is no longer in the" in text
    assert "c.txt: edited by lead (1 change)\n  only characters that are not" in text
    assert text.endswith("3 files changed, 0 lines added, 0 removed\n")


def test_hostile_names_and_contents_do_not_act(runs: Path, capsys: Capture) -> None:
    name = f"a\n+++ b/forged{SECRET_ESCAPE}"
    changed_run(runs, ("lead", name, None, f"{SECRET_ESCAPE}\rover\u2028\u2066x\n"))

    text = shown(capsys, "--changes") + shown(capsys)
    as_json = shown(capsys, "--changes", "--json")

    for each in (text, as_json):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028\u2066]", each)
    assert "\n+++ b/forged" not in text
    assert "␛]0;owned␇" in text


def test_damaged_changes_are_passed_over() -> None:
    changes = Changes()
    good = {"path": "a", "after_sha256": "1", "later": [1], "note": 3}
    logged: list[dict[str, Any]] = [
        {},
        {"changes": 3},
        {"changes": [3, {}, {"path": 3}, {"path": ""}]},
        {"changes": [good]},
    ]
    for data in logged:
        changes.apply(Event(1, "", "r", "lead", ToolEnded.KIND, 0, data))

    assert [each.path for each in changes.files(str)] == ["a"]


def test_very_many_changes_of_one_call_are_all_shown(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs, RUN_ID) as (folder, script):
        script.start_run()
        script.start_agent("lead", "t", "go")
        artifacts = Artifacts(folder.artifacts)
        made = [change(artifacts, f"f{n:03}", None, f"{n % 7}\n") for n in range(200)]
        put(script, "lead", made)
    assert b'"changes":{"$artifact"' in folder.events.read_bytes()

    assert shown(capsys, "--changes").endswith(
        "200 files changed, 200 lines added, 0 removed\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a\n"),
        ("a\nb", "a\nb\n"),
        ("a\n" * 30, "a\n" * 10 + "b\n" + "a\n" * 25),
        ("\n".join(map(str, range(90))), "\n".join(map(str, range(0, 90, 7)))),
    ],
)
def test_a_diff_is_one_that_patch_can_apply(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "x"
    path.write_text(before)
    rows = ["--- x", "+++ x", *diff(before, after).rows]

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "-p0"],
        input="".join(f"{row}\n" for row in rows).encode(),
        cwd=tmp_path,
        check=True,
    )

    assert path.read_text() == after


def test_a_diff_of_long_texts_that_have_nothing_in_common_takes_no_time() -> None:
    before = "".join(f"{n % 977}\n" for n in range(60_000))
    after = "".join(f"{n % 983} {n}\n" for n in range(60_000))
    began = time.process_time()

    found = diff(f"same\n{before}same\n", f"same\n{after}same\n")

    assert time.process_time() - began < 5
    assert (found.added, found.removed) == (60_000, 60_000)
    assert found.rows[:3] == ("@@ -1,60002 +1,60002 @@", " same", "-0")
    assert found.rows[-1] == " same"
