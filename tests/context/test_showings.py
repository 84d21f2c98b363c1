"""What is still in sight is known by file, version and lines."""

from __future__ import annotations

from orchestrator.context.showings import Showings
from orchestrator.events import FileSeen


def page(first: int, last: int, *, path: str = "a.py", version: str = "1") -> FileSeen:
    return FileSeen(path, version * 64, "art_0123456789ab", 900, first, last)


def of(*results: tuple[str, FileSeen]) -> Showings:
    showings = Showings()
    for number, (call, seen) in enumerate(results, 1):
        showings.add(call, [seen], ref=f"h{number}")
    return showings


def found(
    showings: Showings, first: int, last: int, *, path: str = "a.py", version: str = "1"
) -> str:
    return showings.find(page(first, last, path=path, version=version))


def test_lines_are_found_in_the_newest_result_that_shows_all_of_them() -> None:
    showings = of(("t1", page(1, 200)), ("t2", page(100, 300)))

    assert found(showings, 1, 200) == "h1"
    assert found(showings, 120, 130) == "h2"
    assert found(showings, 50, 250) == ""


def test_another_version_or_file_is_not_what_was_shown() -> None:
    showings = of(("t1", page(1, 200)))

    assert found(showings, 1, 20, version="2") == ""
    assert found(showings, 1, 20, path="b.py") == ""


def test_what_was_only_searched_in_shows_no_page() -> None:
    assert found(of(("t1", page(0, 0))), 1, 1) == ""


def test_what_is_no_longer_sent_is_forgotten() -> None:
    showings = of(("t1", page(1, 200)), ("t2", page(1, 100)))

    showings.forget("t2")
    showings.forget("never there")
    assert found(showings, 1, 50) == "h1"

    showings.clear()
    assert found(showings, 1, 50) == ""


def test_a_read_is_superseded_by_a_wider_one_and_by_one_of_a_newer_version() -> None:
    showings = of(
        ("narrow", page(10, 20)),
        ("elsewhere", page(500, 600)),
        ("wide", page(1, 200)),
        ("old", page(1, 90, path="b.py")),
        ("new", page(300, 400, path="b.py", version="2")),
    )
    assert showings.superseded() == {"narrow", "old"}


def test_pages_of_one_version_are_the_same_version() -> None:
    assert page(1, 2) == page(3, 4)
