"""`orchestrate memory`: what a person sees of memory, and changes by its commands."""

from __future__ import annotations

import io
import json
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
    (work / "auth/tokens.py").write_text("ACCESS = 15 * 60\nREFRESH = 30 * DAY\n")
    monkeypatch.chdir(work)
    return work


def store(work: Path, *, today: str = "2026-11-29") -> Memory:
    return Memory(
        work / ".orchestrate/memory",
        workspace=work,
        redact=lambda text: text,
        today=lambda: today,
    )


@pytest.fixture
def filled(work: Path) -> Path:
    """Three entries of two topics, one of them by a person."""
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

        assert (out, err) == ("", f"nothing is remembered yet: {folder}\n")
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
