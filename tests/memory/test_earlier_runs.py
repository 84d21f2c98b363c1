"""Reports and findings of earlier runs are recalled, of the same workspace only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from past_runs import item, past_run, run_name

from orchestrator.errors import StoreError
from orchestrator.evidence import citations
from orchestrator.memory.earlier_runs import Bounds, EarlierRuns, FromRun
from orchestrator.memory.entries import Place
from orchestrator.memory.run_records import MAX_REPORT_BYTES

QUOTE = "ttl = timedelta(minutes=15)  # access tokens"
CLAIM = item("Access tokens live for 15 minutes.", ("tokens.py:2", QUOTE))
REPORT = "# Report\n\n## Cookies\n\nSessions are kept in signed cookies.\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "tokens.py").write_text(f"import datetime\n{QUOTE}\n")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def earlier(
    runs: Path,
    work: Path,
    *,
    current: str = "",
    redact: Callable[[str], str] = str,
    **more: Any,
) -> EarlierRuns:
    return EarlierRuns(runs, workspace=work, current=current, redact=redact, **more)


def asked(runs: Path, work: Path, *queries: str, **more: Any) -> list[FromRun]:
    return earlier(runs, work, **more).recall(queries)


def texts(found: list[FromRun]) -> list[str]:
    return [each.text for each in found]


# What is found, and what is told of it.


def test_a_claim_comes_back_with_its_run_its_place_and_its_state(
    runs: Path, work: Path
) -> None:
    run = run_name(3)
    past_run(runs, run, workspace=work, findings=[CLAIM])

    assert asked(runs, work, "How long do access tokens live?") == [
        FromRun(
            run=run,
            when="2026-11-03",
            what="finding",
            title="a1#1 Where tokens are checked",
            text="Access tokens live for 15 minutes.",
            places=(Place("tokens.py", 2, 2),),
            state="unchanged",
            objective="Explain how requests are authenticated",
        )
    ]


def test_a_section_of_a_report_comes_back_with_its_heading(
    runs: Path, work: Path
) -> None:
    past_run(runs, run_name(1), workspace=work, report=REPORT, state="partial")

    [found] = asked(runs, work, "Where are sessions kept?")

    assert (found.what, found.title) == ("report", "Cookies")
    assert found.text == "Sessions are kept in signed cookies."


def test_a_section_has_the_evidence_of_what_it_cites(runs: Path, work: Path) -> None:
    report = (
        "## Lifetime\n\nThey last a quarter of an hour [a1#1].\n\n"
        "## Setting\n\nThe lifetime is set in code [tokens.py:1-2].\n\n"
        "## Elsewhere\n\nThe gateway has a limit of its own [gone.py:4].\n"
    )
    run = run_name(1)
    past_run(runs, run, workspace=work, report=report, findings=[CLAIM])

    [by_item] = asked(runs, work, "a quarter of an hour")
    [by_lines] = asked(runs, work, "lifetime set in code")
    [bare] = asked(runs, work, "gateway limit")

    # `[a1#1]` alone would be an item of the run that asks.
    assert by_item.text == "They last a quarter of an hour [that run's a1#1]."
    assert citations(by_item.text) == []
    assert (by_item.places, by_item.state) == (
        (Place("tokens.py", 2, 2),),
        "unchanged",
    )
    assert by_lines.state == "unchanged"
    assert (bare.places, bare.state) == ((Place("gone.py", 4, 4),), "gone")


@pytest.mark.parametrize(
    ("now", "state"),
    [
        pytest.param("\n" * 40 + QUOTE, "moved", id="elsewhere in the file"),
        pytest.param("ttl = timedelta(hours=1)", "changed", id="other words"),
        pytest.param(None, "gone", id="no such file"),
    ],
)
def test_what_changed_since_is_told(
    runs: Path, work: Path, now: str | None, state: str
) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    (work / "tokens.py").unlink()
    if now is not None:
        (work / "tokens.py").write_text(now)

    assert [each.state for each in asked(runs, work, "access tokens")] == [state]


def test_a_claim_without_support_says_so(runs: Path, work: Path) -> None:
    claim = item("Tokens are never revoked.", ("tokens.py:2", "no"), unsupported=True)
    past_run(runs, run_name(1), workspace=work, findings=[claim])

    [found] = asked(runs, work, "are tokens revoked?")

    assert found.text == "UNSUPPORTED, quote not found then: Tokens are never revoked."
    assert found.state == "unknown"


def test_items_of_further_questions_and_attempts_in_vain_are_known(
    runs: Path, work: Path
) -> None:
    more = {
        "failed_attempts": [{"tried": "the metrics endpoint", "why": "it is closed"}],
        "follow_ups": [
            {"first_item": 2, "items": [item("Passwords are hashed with argon2.")]}
        ],
    }
    run = run_name(1)
    past_run(runs, run, workspace=work, findings=[CLAIM], more=more)

    [hashed] = asked(runs, work, "how are passwords hashed")
    [tried] = asked(runs, work, "metrics endpoint")

    assert hashed.title == "a1#2 Where tokens are checked"
    assert tried.text == "Tried in vain: the metrics endpoint — it is closed"


def test_a_long_claim_is_cut_at_the_end_of_a_sentence(runs: Path, work: Path) -> None:
    claim = item("Tokens are checked in the gateway. " * 30)
    past_run(runs, run_name(1), workspace=work, findings=[claim])

    [found] = asked(runs, work, "Where are tokens checked?")

    assert 500 < len(found.text) <= 600
    assert found.text.endswith("gateway. …")


def test_what_is_said_twice_is_shown_once(runs: Path, work: Path) -> None:
    report = "## Tokens\n\n- Access tokens live for 15 minutes. [a1#1]\n"
    for day in (1, 2, 3):
        past_run(runs, run_name(day), workspace=work, report=report, findings=[CLAIM])

    found = asked(runs, work, "How long do access tokens live?")

    assert [(each.run, each.what) for each in found] == [(run_name(3), found[0].what)]


def test_a_task_that_is_run_again_and_again_hides_nothing_else(
    runs: Path, work: Path
) -> None:
    for day in range(1, 31):
        past_run(runs, run_name(day), workspace=work, findings=[CLAIM])
    other = item("Access tokens live in the vault of the gateway.")
    past_run(runs, run_name(40), workspace=work, findings=[other])

    found = asked(runs, work, "access tokens live")

    assert sorted(each.run for each in found) == [run_name(30), run_name(40)]


def test_what_is_handed_out_is_redacted_and_old_placeholders_stay(
    runs: Path, work: Path
) -> None:
    claim = item(
        "The gateway key is hunter2, that of the mail server [secret:api-key:0a1b2c3d]."
    )
    past_run(
        runs,
        run_name(1),
        workspace=work,
        objective="Find hunter2",
        report="# R\n\n## Of hunter2\n\nThe gateway takes it.\n",
        findings=[claim],
    )

    def redact(text: str) -> str:
        return text.replace("hunter2", "[secret:x:00000000]")

    found = asked(runs, work, "gateway key", "gateway takes", redact=redact)

    assert len(found) == 2
    assert "hunter2" not in repr(found)
    assert "[secret:api-key:0a1b2c3d]" in repr(found)


@pytest.mark.parametrize("queries", [(), ("",), ("  ", "\n")])
def test_without_a_question_nothing_is_found(
    runs: Path, work: Path, queries: tuple[str, ...]
) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])

    assert asked(runs, work, *queries) == []
    assert earlier(runs, work).recall(["tokens"], most=0) == []


# Whose runs are known.


def test_other_workspaces_are_never_read(runs: Path, work: Path) -> None:
    others = [
        work.parent / "work2",
        work.parent,
        work / "part",
        Path("work"),
        Path("/"),
        Path(f"{work}\0"),
    ]
    for number, other in enumerate(others, 1):
        claim = item("Access tokens live for 99 days.")
        past_run(runs, run_name(number), workspace=other, findings=[claim])
    past_run(runs, run_name(20), workspace=work, findings=[CLAIM])

    for query in ("access tokens live", '"tokens" OR *', "NEAR(access tokens)", "99"):
        assert {each.run for each in asked(runs, work, query)} <= {run_name(20)}


def test_two_workspaces_share_a_folder_of_runs(runs: Path, work: Path) -> None:
    other = work.parent / "other"
    other.mkdir()
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    past_run(runs, run_name(2), workspace=other, findings=[CLAIM])

    for folder, run in ((work, run_name(1)), (other, run_name(2))):
        found = asked(runs, folder, "access tokens")
        assert [each.run for each in found] == [run]


def test_an_index_of_another_workspace_is_not_believed(runs: Path, work: Path) -> None:
    other = work.parent / "other"
    other.mkdir()
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    past_run(runs, run_name(2), workspace=other, findings=[CLAIM])
    asked(runs, work, "access tokens")
    (mine,) = (runs / ".memory").glob("*.sqlite")
    asked(runs, other, "access tokens")
    (theirs,) = set((runs / ".memory").glob("*.sqlite")) - {mine}
    swapped = mine.read_bytes()
    for index in (runs / ".memory").iterdir():
        index.unlink()
    theirs.write_bytes(swapped)

    (found,) = asked(runs, other, "access tokens")
    assert found.run == run_name(2)


def test_a_workspace_is_the_same_by_another_name(runs: Path, work: Path) -> None:
    link = work.parent / "link"
    link.symlink_to(work)
    past_run(runs, run_name(1), workspace=link, findings=[CLAIM])
    past_run(runs, run_name(2), workspace=work / ".", report=REPORT)

    assert len(asked(runs, work, "access tokens", "signed cookies")) == 2
    assert len(asked(runs, link, "access tokens", "signed cookies")) == 2


@pytest.mark.parametrize(
    "state", ["running", "failed", "cancelled", "parked", "interrupted", "", "DONE"]
)
def test_only_runs_that_came_to_something_are_known(
    runs: Path, work: Path, state: str
) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM], state=state)

    assert asked(runs, work, "access tokens") == []


def test_the_run_that_asks_is_not_its_own_source(runs: Path, work: Path) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    past_run(runs, run_name(2), workspace=work, findings=[CLAIM])

    found = asked(runs, work, "access tokens", current=run_name(2))

    assert [each.run for each in found] == [run_name(1)]


def test_batch_items_are_runs_and_batches_are_none(runs: Path, work: Path) -> None:
    past_run(runs, run_name(1, "batch-item-3"), workspace=work, findings=[CLAIM])
    past_run(runs, "batch-7f3a", workspace=work, report=REPORT)
    past_run(runs, ".hidden", workspace=work, report=REPORT)

    found = asked(runs, work, "access tokens", "signed cookies")

    assert [each.run for each in found] == [run_name(1, "batch-item-3")]


# What changes from one question to the next.


def test_what_is_new_changed_and_gone_is_noticed(runs: Path, work: Path) -> None:
    memory = earlier(runs, work)
    first = past_run(runs, run_name(1), workspace=work, report=REPORT)
    assert texts(memory.recall(["cookies"])) == ["Sessions are kept in signed cookies."]

    (first / "report.md").write_text("## Cookies\n\nNo cookies are used any more.\n")
    assert texts(memory.recall(["cookies"])) == ["No cookies are used any more."]

    past_run(runs, run_name(2), workspace=work, findings=[CLAIM])
    assert len(memory.recall(["access tokens"])) == 1

    shutil.rmtree(first)
    assert memory.recall(["cookies"]) == []
    assert len(memory.recall(["access tokens"])) == 1


def test_a_run_that_goes_on_is_not_known_until_it_has_ended_again(
    runs: Path, work: Path
) -> None:
    memory = earlier(runs, work)
    folder = past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    record = orjson.loads((folder / "run.json").read_bytes())
    assert len(memory.recall(["access tokens"])) == 1

    for state, known in (("running", 0), ("done", 1)):
        (folder / "new").write_bytes(orjson.dumps(record | {"state": state}))
        (folder / "new").replace(folder / "run.json")
        assert len(memory.recall(["access tokens"])) == known


def test_only_the_newest_runs_are_known(runs: Path, work: Path) -> None:
    memory = earlier(runs, work)
    for day in range(1, 6):
        claim = item(f"Access tokens were counted: {day} of them.")
        past_run(runs, run_name(day), workspace=work, findings=[claim])
    foreign = past_run(runs, run_name(9), workspace=work.parent, findings=[CLAIM])
    assert len(memory.recall(["access tokens"], most=9)) == 5

    memory = earlier(runs, work, bounds=Bounds(runs=2))
    found = memory.recall(["access tokens"], most=9)
    assert {each.run for each in found} == {run_name(4), run_name(5)}

    memory = earlier(runs, work, bounds=Bounds(folders=2))
    found = memory.recall(["access tokens"], most=9)
    assert {each.run for each in found} == {run_name(5)}
    assert foreign.is_dir()


def test_nothing_is_read_again_that_has_not_changed(runs: Path, work: Path) -> None:
    memory = earlier(runs, work)
    folder = past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    foreign = past_run(runs, run_name(2), workspace=work.parent, report=REPORT)
    assert memory.recall(["nothing of the kind"]) == []

    # Both would be taken in otherwise than they were, were they read again.
    (folder / "agents/a1/findings.json").write_bytes(b"{}")
    shutil.copy(folder / "task.yaml", foreign / "task.yaml")

    assert memory.recall(["cookies"]) == []
    # What is shown is what stands there now, whatever the index says.
    assert memory.recall(["access tokens"]) == []


def test_where_many_are_new_the_newest_are_read_first_and_the_rest_later(
    runs: Path, work: Path
) -> None:
    for day in range(1, 6):
        claim = item(f"Access tokens were counted: {day} of them.")
        past_run(runs, run_name(day), workspace=work, findings=[claim])
        past_run(runs, run_name(day, "x"), workspace=work.parent, findings=[claim])
    memory = earlier(runs, work, bounds=Bounds(new=2))

    known, told = [], []
    for _ in range(3):
        known.append(len(memory.recall(["access tokens"], most=9)))
        told.append(memory.notice)

    assert known == [2, 4, 5]
    assert told[0].endswith("earlier runs are not read yet")
    assert told[-1] == ""


@pytest.mark.parametrize("now", ["running", "other workspace", "gone", "other text"])
def test_what_the_index_says_is_believed_of_no_run_that_has_changed(
    runs: Path, work: Path, now: str
) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    assert len(asked(runs, work, "access tokens")) == 1

    memory = earlier(runs, work, bounds=Bounds(new=0))
    shutil.rmtree(runs / run_name(1))
    if now != "gone":
        past_run(
            runs,
            run_name(1),
            workspace=work.parent if now == "other workspace" else work,
            state="running" if now == "running" else "done",
            findings=[item("Nothing is known.")] if now == "other text" else [CLAIM],
        )

    assert memory.recall(["access tokens"]) == []


def test_all_can_be_read_before_anything_is_asked(runs: Path, work: Path) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    memory = earlier(runs, work, bounds=Bounds(new=0))
    assert memory.recall(["access tokens"]) == []

    memory.refresh()

    assert len(memory.recall(["access tokens"])) == 1
    earlier(runs / "none", work).refresh()


# Damage, and what is no run at all.


def test_what_is_broken_or_foreign_is_passed_over(runs: Path, work: Path) -> None:
    def broken(day: int) -> Path:
        return past_run(
            runs, run_name(day), workspace=work, report=REPORT, findings=[CLAIM]
        )

    (broken(1) / "run.json").write_bytes(b'{"id": "x", "state": "do')
    (broken(2) / "run.json").write_bytes(b'["done"]')
    (broken(3) / "run.json").write_bytes(b'{"state": ["done"]}')
    (broken(4) / "task.yaml").write_bytes(b"workspace: [")
    (broken(5) / "task.yaml").write_bytes(b"- workspace")
    (broken(6) / "task.yaml").write_bytes(b"workspace: 5\n")
    (broken(7) / "task.yaml").write_bytes(b"\xff\xfe")
    (broken(8) / "task.yaml").unlink()
    (broken(9) / "run.json").unlink()
    (runs / "a file").write_text("no run")
    (runs / "empty").mkdir()
    (runs / "other" / "run.json").mkdir(parents=True)
    (runs / os.fsdecode(b"\xff")).mkdir()

    assert asked(runs, work, "signed cookies", "access tokens") == []


@pytest.mark.parametrize(
    "findings",
    [
        b"",
        b"[1]",
        b'{"items": 3, "follow_ups": 3, "failed_attempts": 3}',
        b'{"items": [1, null, {"claim": 1}, {"claim": "x"}], "follow_ups": [1, {}]}',
        b'{"failed_attempts": [null, {"tried": "tokens"}]}',
        b"[" * 100_000,
    ],
)
def test_broken_findings_take_nothing_else_along(
    runs: Path, work: Path, findings: bytes
) -> None:
    folder = past_run(runs, run_name(1), workspace=work, report=REPORT)
    (folder / "agents/a1/findings.json").write_bytes(findings)
    (folder / "agents/a2").mkdir()
    past_run(runs, run_name(2), workspace=work, report="## Flat\n\nNo agents.\n")
    shutil.rmtree(runs / run_name(2) / "agents")

    assert len(asked(runs, work, "signed cookies", "no agents")) == 2


def test_one_broken_item_leaves_the_numbers_of_the_others(
    runs: Path, work: Path
) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[{"claim": 3}, CLAIM])

    [found] = asked(runs, work, "access tokens")

    assert found.title.startswith("a1#2 ")


def test_a_run_without_a_report_has_its_findings(runs: Path, work: Path) -> None:
    past_run(runs, run_name(1), workspace=work, report=None, findings=[CLAIM])

    assert len(asked(runs, work, "access tokens")) == 1


def test_no_link_is_followed(runs: Path, work: Path) -> None:
    elsewhere = work.parent / "elsewhere"
    elsewhere.mkdir()
    outside = past_run(elsewhere, run_name(1), workspace=work, report=REPORT)
    (runs / run_name(1)).symlink_to(outside)
    inside = past_run(runs, run_name(2), workspace=work, report=None)
    (inside / "report.md").symlink_to(outside / "report.md")
    shutil.rmtree(inside / "agents")
    (inside / "agents").symlink_to(outside / "agents")
    pipe = past_run(runs, run_name(3), workspace=work, report=None)
    os.mkfifo(pipe / "report.md")

    assert asked(runs, work, "signed cookies") == []


def test_a_report_is_read_up_to_a_bound(runs: Path, work: Path) -> None:
    between = "\n" * MAX_REPORT_BYTES
    report = (
        f"## Cookies\n\nSigned cookies.\n{between}## Walls\n\nThe firewall is closed.\n"
    )
    past_run(runs, run_name(1), workspace=work, report=report)

    assert texts(asked(runs, work, "signed cookies")) == ["Signed cookies."]
    assert asked(runs, work, "firewall closed") == []


def test_without_any_runs_nothing_is_found_and_nothing_is_made(
    tmp_path: Path, work: Path
) -> None:
    assert asked(tmp_path / "none", work, "tokens") == []
    assert not (tmp_path / "none").exists()


def test_a_damaged_index_is_made_anew(runs: Path, work: Path) -> None:
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])
    asked(runs, work, "access tokens")
    (index,) = (runs / ".memory").glob("*.sqlite")
    index.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)

    assert len(asked(runs, work, "access tokens")) == 1


def test_an_index_that_cannot_be_made_is_an_error_of_the_store(
    runs: Path, work: Path
) -> None:
    (runs / ".memory").write_text("in the way")
    past_run(runs, run_name(1), workspace=work, findings=[CLAIM])

    with pytest.raises(StoreError, match="index of memory cannot be used"):
        asked(runs, work, "tokens")


def test_many_threads_ask_at_once_while_runs_come_and_go(
    runs: Path, work: Path
) -> None:
    for day in range(1, 9):
        past_run(runs, run_name(day), workspace=work, findings=[CLAIM])
    gone = past_run(runs, run_name(20), workspace=work, report=REPORT)
    found: list[int] = []
    failures: list[Exception] = []

    def ask(memory: EarlierRuns) -> None:
        try:
            found.extend(len(memory.recall(["access tokens live"])) for _ in range(3))
        except Exception as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    one = earlier(runs, work)
    threads = [
        threading.Thread(target=ask, args=(memory,))
        for memory in (one, one, earlier(runs, work), earlier(runs, work))
    ]
    for thread in threads:
        thread.start()
    shutil.rmtree(gone)
    for thread in threads:
        thread.join()

    assert failures == []
    assert found == [1] * 12


ASKS = """
import sys
from pathlib import Path
from orchestrator.memory.earlier_runs import EarlierRuns
runs, work = map(Path, sys.argv[1:])
memory = EarlierRuns(runs, workspace=work, current="", redact=str)
print(*[len(memory.recall(["access tokens were counted"], most=50)) for _ in range(3)])
"""


def test_many_processes_make_one_index(runs: Path, work: Path) -> None:
    for day in range(1, 13):
        claim = item(f"Access tokens were counted: {day} of them.")
        past_run(runs, run_name(day), workspace=work, findings=[claim])

    command = [sys.executable, "-c", ASKS, str(runs), str(work)]
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]

    assert [each.communicate()[0].split() for each in asking] == [[b"12"] * 3] * 2
