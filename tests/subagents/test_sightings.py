from __future__ import annotations

from dataclasses import asdict

from orchestrator.events import Event, FileSeen, ToolEnded
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
