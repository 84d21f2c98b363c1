from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.context.tokens import estimate
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.store.artifacts import Artifacts
from orchestrator.subagents.delivery import delivery
from orchestrator.subagents.render import Delivered, Refused, as_body, for_parent

WORDS = "The token is checked here and nowhere else. "
FRAME_TOKENS = 160
"""What a frame takes in which nothing but the start of a summary is left."""


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path)


def delivered(
    number: int, items: int, *, summary: str = "It is checked in one place."
) -> Delivered:
    found = Findings(
        status="complete",
        summary=summary,
        items=tuple(
            Item(
                claim=f"Claim {n}: {WORDS}",
                evidence=(Evidence(source=f"src/f{n}.py:1", quote=WORDS.strip()),),
            )
            for n in range(1, items + 1)
        ),
        open_questions=("Who sets the key?",),
    )
    return Delivered(f"a{number}", f"Part {number}", found, unsupported=(items,))


def frames(text: str) -> list[str]:
    return re.findall(r"<findings .*?</findings>", text, re.DOTALL)


def test_findings_that_fit_are_written_out_whole(artifacts: Artifacts) -> None:
    both = [delivered(1, 2), delivered(2, 3)]

    made = delivery(both, [], 10_000, estimate, artifacts)

    assert frames(made.text) == [for_parent(each) for each in both]
    assert made.tokens == estimate(made.text)


def test_later_items_become_references_under_their_numbers(
    artifacts: Artifacts,
) -> None:
    long, short = delivered(1, 40), delivered(2, 2)

    made = delivery([long, short], [], 700, estimate, artifacts)

    first, second = frames(made.text)
    assert second == for_parent(short)
    assert estimate(first) + estimate(second) <= 700
    shown = re.findall(r"^\[a1#(\d+)\]", first, re.MULTILINE)
    assert shown == [str(n) for n in range(1, len(shown) + 1)]
    match = re.search(
        rf"^Items \[a1#{len(shown) + 1}\] to \[a1#40\], and the rest, with "
        r"`read_ref`: (art_\w{12})$",
        first,
        re.MULTILINE,
    )
    assert match is not None
    assert artifacts.read_text(match[1]) == as_body(
        long.findings, agent="a1", unsupported=(40,)
    )
    assert 'items="40"' in first


def test_a_summary_alone_is_cut_where_there_is_hardly_any_room(
    artifacts: Artifacts,
) -> None:
    wordy = delivered(1, 3, summary=WORDS * 80)

    made = delivery([wordy], [], 250, estimate, artifacts)

    [frame] = frames(made.text)
    assert estimate(frame) <= 250
    assert "Summary: The token is checked" in frame
    assert "[a1#1] Claim" not in frame


def test_refused_briefs_are_told_in_bounded_words(artifacts: Artifacts) -> None:
    refused = Refused(3, "Bad", [f"problem {n} " + "x" * 9000 for n in range(30)])

    made = delivery([], [refused], 1000, estimate, artifacts)

    assert made.text.startswith("briefs[3] “Bad” was refused")
    assert made.text.endswith("- and 24 more")
    assert len(made.text) < 3000


def test_hundreds_of_refused_briefs_are_told_of_in_bounded_words(
    artifacts: Artifacts,
) -> None:
    refused = [
        Refused(n, f"Bad {n}", ["all 24 are used up", f"no file `f{n}`" + "x" * 300])
        for n in range(500)
    ]

    made = delivery([], refused, 1000, estimate, artifacts)

    assert "briefs[49] “Bad 49” was refused" in made.text
    assert "450 more, briefs[50] to briefs[499], were refused" in made.text
    assert made.text.endswith("- and 445 more")
    assert len(made.text) < 30_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    total=st.integers(-100, 6000),
)
def test_any_fan_out_stays_within_its_room_but_for_frames(
    artifacts: Artifacts, sizes: list[int], total: int
) -> None:
    all_of_them = [delivered(n, size) for n, size in enumerate(sizes, 1)]

    made = delivery(all_of_them, [], total, estimate, artifacts)

    found = frames(made.text)
    assert len(found) == len(sizes)
    assert sum(map(estimate, found)) <= max(total, FRAME_TOKENS * len(sizes))


def test_briefs_with_the_same_to_mend_are_told_together(artifacts: Artifacts) -> None:
    why = "all 24 are used up"
    refused = [
        Refused(2, "One", [why]),
        Refused(3, "Two", ["it is vague"]),
        Refused(5, "Three", [why]),
    ]

    made = delivery([], refused, 1000, estimate, artifacts)

    assert made.text == (
        "briefs[2] “One”, briefs[5] “Three” were refused; nothing was spent on them:\n"
        "- all 24 are used up\n\n"
        "briefs[3] “Two” was refused; nothing was spent on it:\n- it is vague"
    )
