from __future__ import annotations

import os
from pathlib import Path

import pytest
from store_parts import full_disk

from orchestrator.errors import StoreError, UnknownRun
from orchestrator.store.layout import (
    RunFolder,
    _age_key,
    check_writable,
    create,
    find_run,
    is_run,
)
from orchestrator.store.layout import list_runs as runs_of

FIRST = "20261129-201500-auth-7f3a"
SECOND = "20261129-201501-auth-0b1c"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_run_has_the_folders_of_the_contract(tmp_path: Path) -> None:
    run = create(tmp_path / "a" / "runs", FIRST)

    assert run.id == FIRST
    assert names(run.path) == {"inputs", "agents", "artifacts", "control"}
    assert names(tmp_path / "a" / "runs") == {FIRST, ".gitignore"}


def test_a_new_folder_of_runs_is_ignored_and_an_old_one_is_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "old").mkdir()
    create(tmp_path / "old", FIRST)
    create(tmp_path / "new", FIRST)

    assert names(tmp_path / "old") == {FIRST}
    assert (tmp_path / "new" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_run_is_known_by_its_log_and_its_state(tmp_path: Path) -> None:
    run = create(tmp_path / "runs", FIRST)
    run.events.touch()
    assert not is_run(run.path)
    run.run_json.touch()

    assert is_run(run.path)
    assert not is_run(tmp_path / "missing")


def test_every_file_of_a_run_has_its_contract_name(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    paths = (
        run.events, run.progress, run.report, run.result, run.run_json, run.task,
        run.inputs, run.artifacts, run.agents, run.lock, run.control,
    )  # fmt: skip

    assert [path.name for path in paths] == [
        "events.jsonl", "progress.md", "report.md", "result.json", "run.json",
        "task.yaml", "inputs", "artifacts", "agents", "lock", "control",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a:b/c?*", "con", "x" * 300, "代理", "dot.", "../up"])
def test_an_agent_folder_has_a_safe_name_in_its_place(
    tmp_path: Path, name: str
) -> None:
    folder = RunFolder(tmp_path).agent(name)

    folder.mkdir(parents=True)
    assert folder.parent == tmp_path / "agents"
    assert not set(folder.name) & set(':/?*<>|"\\.')


def test_plain_agent_ids_stay_as_they_are(tmp_path: Path) -> None:
    assert RunFolder(tmp_path).agent("a12").name == "a12"


def test_a_second_run_of_the_same_id_is_refused(tmp_path: Path) -> None:
    create(tmp_path, FIRST)

    with pytest.raises(StoreError, match="exists already"):
        create(tmp_path, FIRST)


def test_a_name_that_the_disk_refuses_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the name is too long"):
        create(tmp_path, "x" * 300)


@pytest.mark.parametrize("inside", [".", "below", "far/below"])
def test_a_file_in_the_place_of_the_runs_folder_is_said_before_anything(
    tmp_path: Path, inside: str
) -> None:
    (tmp_path / "runs").write_text("a file")

    with pytest.raises(StoreError, match="a file is where a folder is needed"):
        check_writable(tmp_path / "runs" / inside)

    assert names(tmp_path) == {"runs"}


def test_a_link_to_nowhere_is_refused_and_new_parents_are_taken_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").symlink_to(tmp_path / "none" / "there")

    with pytest.raises(StoreError, match="cannot write runs to"):
        check_writable(tmp_path / "runs")
    with pytest.raises(StoreError, match="cannot write runs to"):
        check_writable(tmp_path / "a" / ("n" * 300) / "b")

    assert names(tmp_path) == {"runs"}


def test_a_full_disk_is_found_by_really_writing_and_leaves_no_folder(
    tmp_path: Path,
) -> None:
    with full_disk(1000), pytest.raises(StoreError, match="cannot write runs to"):
        create(tmp_path / "runs", FIRST)

    assert names(tmp_path) == set()


def test_a_read_only_runs_folder_is_refused(tmp_path: Path) -> None:
    # The kernel's own files refuse root too, which permission bits do not.
    sealed = Path("/proc/self/net")
    assert sealed.is_dir()

    with pytest.raises(StoreError, match="cannot write runs to `/proc/self/net`"):
        check_writable(sealed)


def test_a_run_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="make the run folder"):
        create(tmp_path, "x/y")

    assert names(tmp_path) == set()


def test_a_run_folder_that_cannot_be_completed_is_taken_away(tmp_path: Path) -> None:
    # A path just short enough for the run, and too long for what is in it.
    runs = tmp_path
    while len(str(runs)) < 3820:
        runs = runs / ("n" * 200)
    runs = runs / ("n" * (4028 - len(str(runs))))

    with pytest.raises(StoreError, match="the name is too long"):
        create(runs, "r" * 61)

    assert names(runs) == set()


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    create(tmp_path, SECOND)
    create(tmp_path, FIRST)

    assert [run.id for run in runs_of(tmp_path)] == [SECOND, FIRST]


def test_of_two_runs_in_one_second_the_later_task_is_newer(tmp_path: Path) -> None:
    older = create(tmp_path, "20261129-201500-x-ffff")
    newer = create(tmp_path, "20261129-201500-x-0000")
    for at, run in enumerate((older, newer), 1):
        run.task.write_text("name: x\n")
        os.utime(run.task, ns=(at, at))

    assert find_run(tmp_path, "last") == newer


def test_a_run_that_is_deleted_while_listing_does_no_harm(tmp_path: Path) -> None:
    assert _age_key(RunFolder(tmp_path / FIRST)) == (FIRST[:15], 0, FIRST)


def test_what_is_no_run_is_not_listed(tmp_path: Path) -> None:
    create(tmp_path, FIRST)
    (tmp_path / "batch-20261129").mkdir()
    (tmp_path / ".tmp").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "20261129-201500-file").write_text("")
    (tmp_path / "renamed").mkdir()
    (tmp_path / "renamed" / "events.jsonl").write_text("")

    assert {run.id for run in runs_of(tmp_path)} == {FIRST, "renamed"}


def test_no_runs_folder_means_no_runs(tmp_path: Path) -> None:
    assert runs_of(tmp_path / "none") == []


def test_a_file_instead_of_a_runs_folder_is_an_error_for_readers(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").write_text("")

    with pytest.raises(StoreError, match="cannot read the runs in"):
        runs_of(tmp_path / "runs")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (FIRST, FIRST),
        ("20261129-201500", FIRST),
        ("20261129-201501-auth", SECOND),
        ("last", SECOND),
    ],
)
def test_a_run_answers_to_id_prefix_and_last(
    tmp_path: Path, name: str, found: str
) -> None:
    create(tmp_path, FIRST)
    create(tmp_path, SECOND)

    assert find_run(tmp_path, name).id == found


def test_an_id_wins_over_being_a_prefix(tmp_path: Path) -> None:
    create(tmp_path, FIRST)
    create(tmp_path, FIRST + "-more")

    assert find_run(tmp_path, FIRST).id == FIRST


def test_a_run_answers_to_its_path_and_to_a_file_in_it(tmp_path: Path) -> None:
    run = create(tmp_path / "elsewhere", FIRST)
    run.events.write_text("")
    runs = tmp_path / "runs"

    assert find_run(runs, str(run.path)).id == FIRST
    assert find_run(runs, str(run.path) + "/").id == FIRST
    assert find_run(runs, str(run.events)).id == FIRST
    with pytest.raises(UnknownRun):
        find_run(runs, str(run.artifacts))


@pytest.mark.parametrize("name", ["nope", "", "a\0b", "x" * 5000])
def test_an_unknown_run_is_told_with_the_newest_ones(tmp_path: Path, name: str) -> None:
    for number in range(7):
        create(tmp_path, f"2026112{number}-201500-x-0000")

    with pytest.raises(UnknownRun, match=r"newest: 20261126.* and 2 more"):
        find_run(tmp_path, name)


@pytest.mark.parametrize("name", ["nope", "last"])
def test_without_runs_it_is_said_that_there_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownRun, match=r"there are (none|no runs)"):
        find_run(tmp_path, name)


def test_an_ambiguous_prefix_names_the_runs(tmp_path: Path) -> None:
    create(tmp_path, FIRST)
    create(tmp_path, SECOND)

    with pytest.raises(UnknownRun, match=f"begins 2 runs: {SECOND}, {FIRST}"):
        find_run(tmp_path, "2026")


def test_a_run_is_called_by_its_id_where_commands_look_and_by_its_path_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert RunFolder(Path("runs/20261129-201500-x-7f3a")).handle == (
        "20261129-201500-x-7f3a"
    )
    assert RunFolder(tmp_path / "runs" / "r").handle == "r"
    assert RunFolder(tmp_path / "others" / "r").handle == f"{tmp_path}/others/r"
