"""What an earlier run quoted is compared with the files of now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.memory.entries import Place
from orchestrator.memory.quotes_now import MAX_FILE_BYTES, QuotesNow, Said

QUOTE = "ttl = timedelta(minutes=15)"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "service"
    folder.mkdir()
    lines = [f"line {n}" for n in range(1, 31)]
    lines[11] = f"    {QUOTE}"
    (folder / "tokens.py").write_text("\n".join(lines))
    return folder


def state(work: Path, source: str, quote: str = QUOTE) -> str:
    return QuotesNow(work).look([Said.of(source, quote)]).state


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("tokens.py:12", "unchanged"),
        ("tokens.py:10-16", "unchanged"),
        ("tokens.py:13", "moved"),
        ("tokens.py", "unchanged"),
        ("./tokens.py:12", "unchanged"),
        ("tokens.py:30", "moved"),
        ("missing.py:12", "gone"),
        ("tokens.py/below.py:1", "gone"),
        ("../service/tokens.py:12", "unchanged"),
        ("../outside.py:1", "unknown"),
        ("https://example.org/a:12", "unknown"),
        (".:12", "unknown"),
        ("a\0b:12", "unknown"),
    ],
)
def test_the_state_of_a_quote(work: Path, source: str, told: str) -> None:
    (work.parent / "outside.py").write_text(QUOTE)

    assert state(work, source) == told


def test_words_that_are_not_there_any_more_have_changed(work: Path) -> None:
    assert state(work, "tokens.py:12", "ttl = timedelta(minutes=10)") == "changed"


def test_what_moved_is_told_with_the_lines_of_now(work: Path) -> None:
    now = QuotesNow(work).look([Said.of("tokens.py:2", QUOTE)])

    assert now.places == (Place("tokens.py", 12, 12),)


@pytest.mark.parametrize("quote", ["", "  ", "key = [secret:api-key:0a1b2c3d] # here"])
def test_a_quote_that_says_nothing_or_hides_a_secret_is_not_compared(
    work: Path, quote: str
) -> None:
    assert state(work, "tokens.py:12", quote) == "unknown"


@pytest.mark.parametrize("source", ["art_0123456789ab:3", "h12:1", "skill:pdf"])
def test_what_only_that_run_could_open_is_left_out(work: Path, source: str) -> None:
    assert QuotesNow(work).look([Said.of(source, QUOTE)]).places == ()


def test_of_several_places_the_worst_counts(work: Path) -> None:
    good, bad = Said.of("tokens.py:12", QUOTE), Said.of("missing.py:1", QUOTE)
    unknown = Said.of("https://example.org", QUOTE)

    assert QuotesNow(work).look([good, unknown, bad, good]).state == "gone"
    assert QuotesNow(work).look([good, good]).state == "unchanged"
    assert QuotesNow(work).look([good, unknown]).state == "unknown"
    assert QuotesNow(work).look([]).state == "unknown"


def test_links_are_followed_inside_and_never_out(work: Path) -> None:
    outside = work.parent / "outside.py"
    outside.write_text(QUOTE)
    (work / "in.py").symlink_to("tokens.py")
    (work / "out.py").symlink_to(outside)
    os.mkfifo(work / "pipe")

    assert state(work, "in.py:12") == "unchanged"
    assert state(work, "out.py:1") == "unknown"
    assert state(work, "pipe:1") == "unknown"


def test_a_file_beyond_all_bounds_is_not_read(work: Path) -> None:
    with (work / "tokens.py").open("ab") as file:
        file.truncate(MAX_FILE_BYTES + 1)

    assert state(work, "tokens.py:12") == "unknown"
