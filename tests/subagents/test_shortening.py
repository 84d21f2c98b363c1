from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.tokens import estimate
from orchestrator.findings import Evidence, FailedAttempt, Findings, Item
from orchestrator.subagents.render import as_body
from orchestrator.subagents.shortening import fits, share_out, shorten

WORDS = "The token is checked here and nowhere else. "


def item(number: int, confidence: float, length: int = 4) -> Item:
    return Item(
        claim=f"Claim {number}: " + WORDS * length,
        evidence=(Evidence(source=f"src/f{number}.py:1", quote=WORDS.strip()),),
        confidence=confidence,
    )


def tokens(findings: Findings, unsupported: tuple[int, ...] = ()) -> int:
    return estimate(as_body(findings, agent="a1", unsupported=unsupported))


def test_findings_within_their_size_stay_as_they_are() -> None:
    whole = Findings(status="complete", summary="Short.", items=(item(1, 0.5),))

    short = shorten(whole, 1200, estimate)

    assert short.findings is whole
    assert not short.was_cut
    assert short.kept == (1,)


def test_the_surest_items_stay_whole_and_in_order() -> None:
    items = tuple(item(n, c) for n, c in enumerate((0.2, 0.9, 0.5, 0.8), 1))
    whole = Findings(status="complete", summary="All of it.", items=items)

    short = shorten(whole, 180, estimate)

    assert short.was_cut
    assert short.kept == (2, 4)
    assert short.findings.items == (items[1], items[3])
    assert short.dropped == (items[0], items[2])
    assert short.findings.summary == "All of it."


def test_numbers_of_unsupported_items_follow_the_items() -> None:
    items = tuple(item(n, c) for n, c in enumerate((0.2, 0.9, 0.5, 0.8), 1))
    whole = Findings(status="partial", summary="All of it.", items=items)

    short = shorten(whole, 180, estimate, unsupported=(2,))

    assert short.kept[0] == 3
    assert short.renumbered((2,)) == ()
    assert short.renumbered((4,)) == (2,)


def test_a_long_summary_leaves_room_for_items() -> None:
    whole = Findings(
        status="complete", summary=WORDS * 150, items=(item(1, 0.5), item(2, 0.4))
    )

    short = shorten(whole, 400, estimate)

    assert short.findings.summary.endswith("…")
    assert short.kept == (1, 2)


def test_a_long_text_is_cut_to_its_size_and_points_to_the_whole() -> None:
    """A subagent's final text may be 200 KB; the lead's limit holds all the same."""
    whole = Findings.model_construct(
        status="partial", summary=WORDS * 4500, items=(), open_questions=(),
        failed_attempts=(), artifacts=(),
    )  # fmt: skip

    short = shorten(whole, 1200, estimate, pointer="art_000000000001")

    assert 900 < tokens(short.findings) <= 1200
    assert short.findings.artifacts == ("art_000000000001",)


def test_an_item_too_big_for_any_limit_makes_way_for_the_next() -> None:
    whole = Findings(
        status="complete", summary="Two.", items=(item(1, 0.9, 30), item(2, 0.1))
    )

    assert shorten(whole, 150, estimate).kept == (2,)


texts = st.text("ab 中文。\n<[#`", min_size=1, max_size=120)
claims = st.text("ab 中文。\n<[#`", min_size=8, max_size=200)
some_findings = st.builds(
    Findings,
    status=st.sampled_from(["complete", "partial", "nothing_found", "failed"]),
    summary=st.text("ab 中文。\n", min_size=1, max_size=2000),
    items=st.lists(
        st.builds(
            Item,
            claim=claims,
            evidence=st.lists(
                st.builds(Evidence, source=texts, quote=texts), max_size=3
            ).map(tuple),
            confidence=st.floats(0, 1),
        ),
        max_size=8,
    ).map(tuple),
    open_questions=st.lists(texts, max_size=5).map(tuple),
    failed_attempts=st.lists(
        st.builds(FailedAttempt, tried=texts, why=texts), max_size=4
    ).map(tuple),
    artifacts=st.lists(texts, max_size=4).map(tuple),
)


@given(
    some_findings,
    st.integers(100, 4000),
    st.sampled_from([estimate, len, lambda text: len(text.encode()) // 3]),
    st.sets(st.integers(1, 8)),
)
def test_any_findings_end_within_their_limit(
    whole: Findings, limit: int, count: object, marked: set[int]
) -> None:
    assert callable(count)
    unsupported = tuple(sorted(n for n in marked if n <= len(whole.items)))

    short = shorten(
        whole, limit, count, unsupported=unsupported, pointer="art_000000000001"
    )

    marks = short.renumbered(unsupported)
    assert count(as_body(short.findings, agent="a1", unsupported=marks)) <= limit
    assert fits(short.findings, limit, count, unsupported=marks)
    assert len(short.kept) + len(short.dropped) == len(whole.items)
    assert all(
        kept == whole.items[old - 1]
        for kept, old in zip(short.findings.items, short.kept, strict=True)
    )


@pytest.mark.parametrize(
    ("sizes", "total", "shares"),
    [
        pytest.param([100, 200], 1000, [100, 200], id="all fit"),
        pytest.param([1000, 1000], 1000, [500, 500], id="even"),
        pytest.param([100, 1000, 1000], 1000, [100, 450, 450], id="small one first"),
        pytest.param([], 1000, [], id="none"),
        pytest.param([5, 5], 0, [0, 0], id="nothing to share"),
    ],
)
def test_results_of_a_fan_out_share_the_room(
    sizes: list[int], total: int, shares: list[int]
) -> None:
    assert share_out(sizes, total) == shares
