from __future__ import annotations

from dataclasses import asdict

import pytest

from orchestrator.events import Event, FileChange, FileSeen, ToolEnded
from orchestrator.subagents.sightings import Sightings

RAW = FileSeen("page.html", "5" * 64, "art_000000000001", 40)
TEXT = FileSeen("page.html", "5" * 64, "art_000000000002", 4)


def seen_in_order(*files: FileSeen) -> Sightings:
    sightings = Sightings()
    for seq, file in enumerate(files, 1):
        data = {"name": "grep", "full_tokens": 1, "files": [asdict(file)]}
        sightings.apply(
            Event(
                seq=seq,
                at="",
                run="r",
                agent="a1",
                kind=ToolEnded.KIND,
                cause=0,
                data=data,
            )
        )
    return sightings


def test_two_texts_of_one_file_are_both_kept_and_the_longer_may_be_cited() -> None:
    sightings = seen_in_order(RAW, TEXT)

    assert sightings.of("a1") == {"page.html": [RAW, TEXT]}
    assert sightings.lines() == sightings.lines("a1") == {"page.html": 40}
    assert sightings.lines("lead") == {}


def test_a_version_seen_again_is_the_newest_and_stands_once() -> None:
    assert seen_in_order(RAW, TEXT, RAW).of("a1") == {"page.html": [TEXT, RAW]}


def known(*steps: tuple[tuple[int, int], str, FileChange | None]) -> tuple[int, int]:
    """Which lines an agent knows of the version that it saw last."""
    sightings = Sightings()
    for seq, ((first, last), version, change) in enumerate(steps, 1):
        seen = FileSeen("a", version, "art_000000000001", 10, first, last)
        data = {
            "name": "x",
            "full_tokens": 1,
            "files": [asdict(seen)],
            "changes": [asdict(change)] if change else [],
        }
        sightings.apply(Event(seq, "", "r", "a1", ToolEnded.KIND, 0, data))
    newest = sightings.newest("a1")("a")
    assert newest is not None
    return newest.first, newest.last


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        ([(1, 4), (5, 10)], (1, 10)),
        ([(5, 10), (1, 4)], (1, 10)),
        ([(1, 6), (3, 8)], (1, 8)),
        ([(1, 4), (6, 10)], (6, 10)),
        ([(1, 4), (0, 0)], (1, 4)),
        ([(0, 0), (2, 3)], (2, 3)),
    ],
)
def test_pages_that_meet_are_known_as_one(
    pages: list[tuple[int, int]], found: tuple[int, int]
) -> None:
    assert known(*((page, "v1", None) for page in pages)) == found


@pytest.mark.parametrize(
    ("before", "found"), [((1, 10), (1, 10)), ((1, 4), (0, 0)), ((0, 0), (0, 0))]
)
def test_after_a_change_an_agent_knows_all_if_it_did_before(
    before: tuple[int, int], found: tuple[int, int]
) -> None:
    change = FileChange("a", "art_1", "art_2", "v1", "v2")

    assert known((before, "v1", None), ((0, 0), "v2", change)) == found


def test_of_a_file_that_it_made_an_agent_knows_all() -> None:
    assert known(((0, 0), "v1", FileChange("a", "", "art_2", "", "v1"))) == (1, 10)
