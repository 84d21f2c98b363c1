"""`orchestrate memory`: what a person sees of memory, and changes by its commands."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.memory.entries import Place
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory

Capture = pytest.CaptureFixture[str]
AUTHOR = Author("20261129-201500-auth-survey-7f3a", "a2")
TOKENS = "Access tokens live 15 minutes; refresh tokens 30 days."
SOURCE = "ACCESS = 15 * 60\nREFRESH = 30 * DAY\n"
BY_HAND = "\n## Deploys\n\nOnly on Tuesdays, by the platform team.\n"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace without memory, on a screen of 80 columns."""
    for name in ("MEMORY_DIR", "EMBEDDER", "EMBEDDER_URL", "EMBEDDER_KEY"):
        monkeypatch.delenv(f"ORCHESTRATE_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    work = tmp_path / "work"
    (work / "auth").mkdir(parents=True)
    (work / "auth/tokens.py").write_text(SOURCE)
    monkeypatch.chdir(work)
    return work


def store(work: Path, *, today: str = "2026-11-29") -> Memory:
    return Memory(
        work / ".orchestrate/memory",
        workspace=work,
        redact=lambda text: text,
        today=lambda: today,
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with three entries of two topics, one of them by a person."""
    work = tmp_path_factory.mktemp("kept")
    (work / "auth").mkdir()
    (work / "auth/tokens.py").write_text(SOURCE)
    store(work).keep(
        [
            Put(
                "auth.md",
                "Token lifetime",
                "Access tokens live 10 minutes.",
                description="How requests are authenticated.",
            ),
            Put("billing.md", "Currency", "Prices are kept in cents.", confidence=0.8),
        ],
        AUTHOR,
    )
    place = Place("auth/tokens.py", 1, 2)
    put = Put("auth.md", "Token lifetime", TOKENS, (place,), 0.9)
    store(work, today="2026-11-30").keep([put], AUTHOR)
    with (work / ".orchestrate/memory/billing.md").open("a") as file:
        file.write(BY_HAND)
    return work


@pytest.fixture
def filled(work: Path, kept: Path) -> Path:
    """The same for one test alone."""
    folder = ".orchestrate/memory"
    shutil.copytree(kept / folder, work / folder)
    return work


def run(capsys: Capture, *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(["memory", *argv]) == status
    shown = capsys.readouterr()
    return shown.out, shown.err


def as_json(capsys: Capture, *argv: str) -> Any:
    return json.loads(run(capsys, *argv, "--json")[0])


def files_of(work: Path) -> dict[str, bytes]:
    folder = work / ".orchestrate/memory"
    return {each.name: each.read_bytes() for each in sorted(folder.glob("*.md"))}


class TestNothingYet:
    @pytest.mark.parametrize("argv", [["list"], ["search", "tokens"], ["export"]])
    def test_it_is_said_and_nothing_is_made(
        self, work: Path, capsys: Capture, argv: list[str]
    ) -> None:
        out, err = run(capsys, *argv)
        folder = work / ".orchestrate/memory"

        told = f"nothing is remembered yet: {folder}"
        assert (out, err) == ("", f"{told}; `--workspace DIR` names another project\n")
        assert not folder.exists()

    def test_for_programs_it_is_an_empty_list(
        self, work: Path, capsys: Capture
    ) -> None:
        assert as_json(capsys, "list")["topics"] == []
        assert as_json(capsys, "search", "tokens")["found"] == []

    @pytest.mark.parametrize("argv", [["show", "x"], ["forget", "x", "--yes"]])
    def test_what_is_not_there_cannot_be_named(
        self, work: Path, capsys: Capture, argv: list[str]
    ) -> None:
        _, err = run(capsys, *argv, status=2)

        assert err.startswith("error: nothing is remembered yet: ")


class TestList:
    def test_topics_have_a_line_each_and_the_folder_is_named(
        self, filled: Path, capsys: Capture
    ) -> None:
        out, _ = run(capsys, "list")

        assert out.splitlines() == [
            "topic       entries  newest      about",
            "auth.md           1  2026-11-30  How requests are authenticated.",
            "billing.md        2  2026-11-29  Billing",
            f"2 topics, 3 entries in {filled}/.orchestrate/memory",
        ]

    def test_entries_of_a_topic_have_state_source_and_whose_they_are(
        self, filled: Path, capsys: Capture
    ) -> None:
        (filled / "auth/tokens.py").write_text("ACCESS = 5 * 60\n")

        auth, _ = run(capsys, "list", "auth")
        billing, _ = run(capsys, "list", "billing.md")

        assert "Token lifetime  2026-11-30  0.9   changed    Access tokens" in auth
        assert f"  by {AUTHOR.run}/a2" in auth
        assert auth.endswith(f"{filled}/.orchestrate/memory/auth.md\n")
        assert "Deploys   -           -     -          Only on Tuesdays" in billing
        assert "  by a person\n" in billing

    def test_an_unknown_topic_names_the_nearest(
        self, filled: Path, capsys: Capture
    ) -> None:
        _, err = run(capsys, "list", "autth", status=2)

        assert err == "error: no topic `autth`; nearest: `auth.md`\n"


class TestShow:
    def test_an_entry_is_shown_whole(self, filled: Path, capsys: Capture) -> None:
        out, _ = run(capsys, "show", "token_lifetime")

        assert out == (
            "Token lifetime\n"
            "\n"
            f"{TOKENS}\n"
            "\n"
            "topic       auth.md\n"
            "written     2026-11-30, by 20261129-201500-auth-survey-7f3a/a2\n"
            "confidence  0.9\n"
            "evidence    auth/tokens.py:1-2  unchanged\n"
            "before      2026-11-29: Access tokens live 10 minutes.\n"
            f"file        {filled}/.orchestrate/memory/auth.md\n"
        )

    def test_each_place_has_its_own_state(self, filled: Path, capsys: Capture) -> None:
        (filled / "b.txt").write_text("one\ntwo\n")
        places = (Place("auth/tokens.py", 1), Place("b.txt", 2), Place("b.txt", 1))
        store(filled).keep([Put("x.md", "Three", "Places.", places)], AUTHOR)
        (filled / "auth/tokens.py").unlink()
        (filled / "b.txt").write_text("new\none\n2\n")

        shown = as_json(capsys, "show", "three")["entry"]

        states = [each["state"] for each in shown["evidence"]]
        assert states == ["gone", "changed", "moved"]
        assert shown["state"] == "gone"

    def test_a_topic_is_shown_as_it_is(self, filled: Path, capsys: Capture) -> None:
        out, _ = run(capsys, "show", "billing.md")

        assert out == (filled / ".orchestrate/memory/billing.md").read_text()

    def test_what_is_unknown_names_the_nearest(
        self, filled: Path, capsys: Capture
    ) -> None:
        _, err = run(capsys, "show", "token lifetimes", status=2)
        assert err == (
            "error: no entry or topic `token lifetimes`; nearest: `Token lifetime`\n"
        )

        _, err = run(capsys, "show", "zzz", status=2)
        assert err == (
            "error: no entry or topic `zzz`; `orchestrate memory list` shows what "
            "there is\n"
        )

    def test_nothing_of_a_file_reaches_the_terminal_as_a_command(
        self, filled: Path, capsys: Capture
    ) -> None:
        with (filled / ".orchestrate/memory/evil.md").open("w") as file:
            file.write(
                "# E\x1b]0;x\x07\n\nD\x1b[2J\n\n## K\x1b[1m\n\nV\x1b[31m\u202e\n"
            )

        for argv in (["list"], ["list", "evil"], ["show", "evil.md"], ["search", "V"]):
            assert main(["memory", *argv]) == 0
            assert main(["memory", *argv, "--json"]) == 0
        assert main(["memory", "export"]) == 0
        assert main(["memory", "show", "evil"]) == 0
        shown = "".join(capsys.readouterr())

        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_bytes_that_are_no_text_are_shown_as_such(
    filled: Path, capsys: Capture
) -> None:
    with (filled / ".orchestrate/memory/billing.md").open("ab") as file:
        file.write(b"\n## Latin\n\ncaf\xe9 au lait\n")

    for argv in (["list", "billing"], ["show", "latin"], ["show", "billing.md"]):
        assert "caf" in run(capsys, *argv)[0]
        assert "caf\ufffd" in json.dumps(as_json(capsys, *argv), ensure_ascii=False)
    assert "caf\ufffd" in run(capsys, "export")[0]
    assert as_json(capsys, "search", "lait")["found"][0]["value"] == "caf\ufffd au lait"


class TestSearch:
    def test_what_fits_is_told_with_date_confidence_and_state(
        self, filled: Path, capsys: Capture
    ) -> None:
        out, _ = run(capsys, "search", "how long do access tokens live")

        assert out == (
            "Token lifetime  auth.md\n"
            f"  {TOKENS}\n"
            "  2026-11-30, confidence 0.9, by 20261129-201500-auth-survey-7f3a/a2\n"
            "  auth/tokens.py:1-2  unchanged\n"
        )

    def test_several_queries_are_several_phrasings(
        self, filled: Path, capsys: Capture
    ) -> None:
        found = as_json(capsys, "search", "zebra", "when are deploys")["found"]

        assert [each["key"] for each in found] == ["Deploys"]
        assert found[0]["by_a_person"]

    def test_what_was_edited_by_hand_is_found(
        self, filled: Path, capsys: Capture
    ) -> None:
        path = filled / ".orchestrate/memory/billing.md"
        path.write_text(path.read_text().replace("Tuesdays", "Wednesdays"))

        assert "Wednesdays" in run(capsys, "search", "deploys Wednesdays")[0]

    def test_nothing_fits(self, filled: Path, capsys: Capture) -> None:
        assert run(capsys, "search", "zebra stripes") == ("", "nothing fits\n")


class TestForget:
    def test_it_is_gone_from_every_file(self, filled: Path, capsys: Capture) -> None:
        run(capsys, "search", "tokens")

        out, _ = run(capsys, "forget", "TOKEN-lifetime", "--yes")

        assert out == "forgotten: Token lifetime\n"
        folder = filled / ".orchestrate/memory"
        for path in filter(Path.is_file, folder.rglob("*")):
            assert b"10 minutes" not in path.read_bytes(), path
            assert b"15 minutes" not in path.read_bytes(), path

    def test_without_a_terminal_it_takes_a_yes(
        self, filled: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
        before = files_of(filled)

        _, err = run(capsys, "forget", "--all", status=2)

        assert err == (
            "error: 3 entries would be forgotten for good, and there is no terminal to "
            "ask at; --yes does it\n"
        )
        assert files_of(filled) == before

    def test_one_unknown_key_and_nothing_is_forgotten(
        self, filled: Path, capsys: Capture
    ) -> None:
        before = files_of(filled)

        _, err = run(capsys, "forget", "Currency", "deploy", "--yes", status=2)

        assert err == (
            "error: no entry `deploy`; nearest: `Deploys`; nothing was forgotten\n"
        )
        assert files_of(filled) == before

    @pytest.mark.parametrize(
        "argv", [[], ["x", "--all"], ["--topic", "auth", "--all"]], ids=str
    )
    def test_what_is_meant_is_said_in_one_way(
        self, filled: Path, capsys: Capture, argv: list[str]
    ) -> None:
        _, err = run(capsys, "forget", *argv, "--yes", status=2)

        assert err.startswith("error: name keys, or --topic TOPIC, or --all")

    def test_a_topic_is_forgotten_whole(self, filled: Path, capsys: Capture) -> None:
        gone = as_json(capsys, "forget", "--topic", "billing", "--yes")["forgotten"]

        assert sorted(gone) == ["Currency", "Deploys"]
        assert [each.entry.key for each in store(filled).entries()] == [
            "Token lifetime"
        ]


def at_a_terminal(work: Path, answer: bytes, *argv: str) -> tuple[int, str, str]:
    """What a command says to somebody who types `answer`: status, stdout, screen."""
    hand, seat = pty.openpty()
    os.write(hand, answer)
    command = [sys.executable, "-m", "orchestrator", "memory", *argv]
    found = subprocess.run(
        command, cwd=work, stdin=seat, stderr=seat, stdout=subprocess.PIPE, check=False
    )
    os.close(seat)
    os.set_blocking(hand, False)
    screen = os.read(hand, 10_000).decode()
    os.close(hand)
    return found.returncode, found.stdout.decode(), screen


class TestAtATerminal:
    def test_a_yes_forgets(self, filled: Path) -> None:
        with (filled / ".orchestrate/memory/billing.md").open("a") as file:
            file.write("\n## Odd \x1b[2J\n\nvalue\n")
        keys = ["currency", "deploys", "odd \x1b[2j"]

        status, out, screen = at_a_terminal(filled, b"y\n", "forget", *keys)

        assert status == 0
        assert out == ("forgotten: Currency\nforgotten: Deploys\nforgotten: Odd ␛[2J\n")
        assert "  Deploys (a person's): Only on Tuesdays" in screen
        assert "Forget 3 entries for good? [y/N]: " in screen
        assert "\x1b" not in screen

    @pytest.mark.parametrize(
        ("answer", "status"),
        [(b"\n", 0), (b"\x04", 130)],
        ids=["return", "end"],
    )
    def test_anything_else_forgets_nothing(
        self, filled: Path, answer: bytes, status: int
    ) -> None:
        before = files_of(filled)

        found, out, _ = at_a_terminal(filled, answer, "forget", "--all")

        assert (found, out) == (status, "")
        assert files_of(filled) == before


class TestExport:
    def test_each_entry_is_a_line_of_json(self, filled: Path, capsys: Capture) -> None:
        out, _ = run(capsys, "export")
        lines = [json.loads(line) for line in out.splitlines()]

        assert [(each["topic"], each["key"]) for each in lines] == [
            ("auth.md", "Token lifetime"),
            ("billing.md", "Currency"),
            ("billing.md", "Deploys"),
        ]
        assert lines[0] == {
            "v": 1,
            "topic": "auth.md",
            "title": "Auth",
            "description": "How requests are authenticated.",
            "key": "Token lifetime",
            "value": TOKENS,
            "when": "2026-11-30",
            "confidence": 0.9,
            "source": f"{AUTHOR.run}/a2",
            "by_a_person": False,
            "evidence": [
                {
                    "path": "auth/tokens.py",
                    "first": 1,
                    "last": 2,
                    "seal": lines[0]["evidence"][0]["seal"],
                }
            ],
            "used": "",
            "was": [{"value": "Access tokens live 10 minutes.", "when": "2026-11-29"}],
        }
        assert len(lines[0]["evidence"][0]["seal"]) == 8
        assert lines[2]["by_a_person"]

    def test_a_file_is_never_overwritten_unasked(
        self, filled: Path, capsys: Capture
    ) -> None:
        (filled / "all.jsonl").write_text("precious")

        _, err = run(capsys, "export", "all.jsonl", status=2)
        assert err == ("error: all.jsonl: is there already; --force writes over it\n")
        assert (filled / "all.jsonl").read_text() == "precious"

        _, err = run(capsys, "export", "all.jsonl", "--force")
        assert err == "wrote 3 entries to all.jsonl\n"
        assert (filled / "all.jsonl").read_text().count("\n") == 3

    def test_nothing_but_a_file_is_written_over(
        self, filled: Path, capsys: Capture
    ) -> None:
        os.mkfifo("pipe")

        _, err = run(capsys, "export", "pipe", "--force", status=2)

        assert err == "error: pipe: is no ordinary file; leave it out for stdout\n"
        assert Path("pipe").is_fifo()


class TestImport:
    @pytest.fixture
    def exported(self, filled: Path, capsys: Capture) -> Path:
        run(capsys, "export", "all.jsonl")
        capsys.readouterr()
        return filled / "all.jsonl"

    def test_into_an_empty_scope_everything_comes_back(
        self, exported: Path, capsys: Capture
    ) -> None:
        _, err = run(capsys, "import", "all.jsonl", "--scope", "user")
        assert err == "3 added\n"

        run(capsys, "export", "again.jsonl", "--scope", "user")
        again = exported.with_name("again.jsonl")
        assert again.read_text() == exported.read_text()

    def test_a_second_time_nothing_changes(
        self, exported: Path, capsys: Capture
    ) -> None:
        before = files_of(exported.parent)

        _, err = run(capsys, "import", "all.jsonl")

        assert err == "3 kept as they were\n"
        assert files_of(exported.parent) == before

    def test_only_what_is_newer_comes_in(self, exported: Path, capsys: Capture) -> None:
        work = exported.parent
        author = Author("run-2", "lead")
        put = Put("auth.md", "Token lifetime", "Access tokens live 5 minutes.")
        store(work, today="2026-12-01").keep([put], author)
        put = Put("billing.md", "Currency", "Prices are kept in euros.")
        store(work, today="2026-11-01").forget(["Currency"])
        (work / ".orchestrate/memory/.forgotten").unlink()
        store(work, today="2026-11-01").keep([put], author)

        outcomes = as_json(capsys, "import", "all.jsonl")["outcomes"]

        assert [(each["key"], each["what"]) for each in outcomes] == [
            ("Token lifetime", "kept"),
            ("Currency", "updated"),
            ("Deploys", "kept"),
        ]
        found = {each.entry.key: each.entry for each in store(work).entries()}
        assert found["Token lifetime"].value == "Access tokens live 5 minutes."
        assert found["Currency"].value == "Prices are kept in cents."
        assert found["Currency"].when == "2026-11-29"
        assert found["Currency"].was[0].value == "Prices are kept in euros."

    def test_what_a_person_wrote_here_stays(
        self, exported: Path, capsys: Capture
    ) -> None:
        path = exported.parent / ".orchestrate/memory/auth.md"
        path.write_text(path.read_text().replace("15 minutes", "7 minutes"))
        text = exported.read_text().replace("2026-11-30", "2027-01-01")
        exported.write_text(text.replace("15 minutes", "16 minutes"))

        _, err = run(capsys, "import", "all.jsonl")

        assert "kept: Token lifetime: a person wrote or changed it here" in err
        assert "7 minutes" in path.read_text()

    def test_one_wrong_line_and_nothing_comes_in(
        self, exported: Path, capsys: Capture
    ) -> None:
        lines = exported.read_text().splitlines()
        exported.write_text("\n".join([lines[0], "", lines[1][:-9], lines[2]]))

        _, err = run(capsys, "import", "all.jsonl", "--scope", "user", status=2)

        assert err == (
            "error: all.jsonl:3: the line is no JSON in UTF-8; nothing was taken in\n"
        )
        assert run(capsys, "list", "--scope", "user")[0] == ""

    def test_a_file_that_is_not_there(self, work: Path, capsys: Capture) -> None:
        _, err = run(capsys, "import", "none.jsonl", status=2)

        assert err == ("error: none.jsonl: cannot be read: No such file or directory\n")

    def test_secrets_do_not_come_in(self, work: Path, capsys: Capture) -> None:
        secret = "sk-ant-api03-" + "Zq8Xw2" * 14
        record = {"topic": "a.md", "key": "K", "value": f"The key is {secret}."}
        (work / "x.jsonl").write_text(json.dumps(record))

        _, err = run(capsys, "import", "x.jsonl")

        assert err == "1 refused\nrefused: K: holds a secret\n"
        for path in filter(Path.is_file, (work / ".orchestrate").rglob("*")):
            assert secret.encode() not in path.read_bytes()

    def test_what_was_forgotten_does_not_come_back(
        self, exported: Path, capsys: Capture
    ) -> None:
        run(capsys, "forget", "currency", "--yes")

        _, err = run(capsys, "import", "all.jsonl")

        assert "1 refused" in err
        assert "refused: Currency: forgotten" in err

    def test_it_may_come_from_stdin(
        self, exported: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(exported.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)

        _, err = run(capsys, "import", "-", "--scope", "user")

        assert err == "3 added\n"


class TestScopes:
    def test_the_users_is_another_folder(self, filled: Path, capsys: Capture) -> None:
        shown = as_json(capsys, "list", "--scope", "user")

        assert shown["folder"] == f"{filled.parent}/data/orchestrate/memory"
        assert shown["topics"] == []

    def test_evidence_of_the_user_is_not_looked_for_in_this_workspace(
        self, filled: Path, capsys: Capture
    ) -> None:
        run(capsys, "export", "all.jsonl")
        run(capsys, "import", "all.jsonl", "--scope", "user")

        (project,) = as_json(capsys, "search", "access tokens live")["found"]
        (user,) = as_json(capsys, "search", "access tokens live", "--scope", "user")[
            "found"
        ]
        assert project["state"] == "unchanged"
        assert user["state"] == "unknown"

    def test_another_workspace_is_another_project(
        self, filled: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(filled.parent)

        assert as_json(capsys, "list")["topics"] == []
        assert len(as_json(capsys, "list", "--workspace", "work")["topics"]) == 2

    def test_a_workspace_that_is_not_there_is_none(
        self, work: Path, capsys: Capture
    ) -> None:
        (work / "x.jsonl").write_text('{"topic": "a.md", "key": "K", "value": "V"}')

        _, err = run(capsys, "import", "x.jsonl", "--workspace", "wrok", status=2)

        assert err == "error: `--workspace`: there is no folder `wrok`\n"
        assert not (work / "wrok").exists()

    def test_the_setting_moves_all(
        self, work: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ORCHESTRATE_MEMORY_DIR", "~/kept")
        home = work.parent / "home/kept"

        project, user = (
            as_json(capsys, "list", "--scope", scope)["folder"]
            for scope in ("project", "user")
        )

        assert project.startswith(f"{home}/projects/work-")
        assert user == f"{home}/user"

    def test_a_link_in_the_way_is_refused(self, work: Path, capsys: Capture) -> None:
        (work / ".orchestrate").symlink_to(work.parent)

        _, err = run(capsys, "list", status=2)

        assert "is a link" in err


def test_what_is_exported_can_be_imported(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = work / ".orchestrate/memory/odd.md"
    odd.parent.mkdir(parents=True, exist_ok=True)
    odd.write_text("## Twice\n\nOne.\n\n## twice\n\nTwo.\n\n## Nothing\n")
    file = tmp_path / "all.jsonl"

    assert main(["memory", "export", str(file)]) == 0
    err = capsys.readouterr().err
    assert "left out: twice in odd.md: its key is there twice" in err
    assert "left out: Nothing in odd.md: it has no value" in err
    assert main(["memory", "import", str(file), "--scope", "user"]) == 0
