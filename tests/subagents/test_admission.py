from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.spec.limits import AgentLimits
from orchestrator.subagents.admission import Admission, Wanted, admit

FLOOR = Amount(0.01, 5_000)
USED = [Amount(0.02, 30_000), Amount(0.04, 50_000)]  # mean: $0.03 and 40k
NO_LIMIT = Amount(float("inf"), 2**62)


def asked(
    briefs: int | list[Wanted],
    room: Amount,
    *,
    used: list[Amount] | None = None,
    outstanding: Amount = NOTHING,
) -> Admission:
    if isinstance(briefs, int):
        briefs = [Wanted("explorer", FLOOR)] * briefs
    measured = {"explorer": USED if used is None else used}
    return admit(briefs, measured=measured, room=room, outstanding=outstanding)


def taken(found: Admission) -> list[bool]:
    return [not verdict.refused for verdict in found.verdicts]


def caps(found: Admission) -> list[AgentLimits | None]:
    return [verdict.limits for verdict in found.verdicts]


def test_where_all_fits_easily_nothing_is_capped_and_nothing_told() -> None:
    found = asked(5, Amount(1.0, 1_000_000))

    assert caps(found) == [None] * 5
    assert taken(found) == [True] * 5
    assert [verdict.counted for verdict in found.verdicts] == [Amount(0.03, 40_000)] * 5
    assert found.told == ""


def test_without_limits_everything_is_taken() -> None:
    found = asked(200, NO_LIMIT)

    assert all(taken(found))
    assert found.told == ""


def test_what_fits_barely_is_taken_as_it_is_and_told() -> None:
    found = asked(3, Amount(0.1, 10**9))

    assert caps(found) == [None] * 3
    assert found.told == (
        "Budget: $0.10 and 1000.0M tokens left for the briefs of this call; these 3 "
        "briefs will probably use 120k tokens and $0.09. A subagent of this run has "
        "used so far: 40k tokens and $0.03 (`explorer`, mean of 2)."
    )


def test_what_does_not_fit_whole_is_shrunk_alike_in_what_is_short() -> None:
    found = asked(4, Amount(0.08, 2**62))

    assert taken(found) == [True] * 4
    for cap in caps(found):
        assert cap is not None
        assert cap.usd is not None
        assert abs(cap.usd - 0.02) < 1e-9
        assert cap.tokens is None
    assert "4 of 4 briefs taken, each with at most $0.02." in found.told


def test_the_last_are_refused_where_half_the_mean_does_not_fit() -> None:
    found = asked(5, Amount(float("inf"), 70_000))

    assert taken(found) == [True, True, True, False, False]
    assert caps(found)[:3] == [AgentLimits(tokens=23_333)] * 3
    assert found.told == (
        "Budget: 70k tokens left for the briefs of this call; 3 of 5 briefs taken, "
        "each with at most 23k tokens; 2 refused. A subagent of this run has used so "
        "far: 40k tokens and $0.03 (`explorer`, mean of 2)."
    )
    assert found.verdicts[4].refused == (
        "there is no budget for it: `explorer` has used 40k tokens and $0.03 so far "
        "(mean of 2), and all briefs of this call together have 70k tokens, not enough "
        "for this one as well; put the most important ones first, or write the report "
        "with what you have"
    )


def test_those_at_work_take_their_part_first() -> None:
    room, at_work = Amount(0.12, 2**62), Amount(0.06, 90_000)

    assert taken(asked(4, room)) == [True] * 4
    assert taken(asked(6, room, outstanding=at_work)) == [True] * 4 + [False] * 2


def test_with_nothing_measured_only_the_floor_counts() -> None:
    room = Amount(0.03, 10**6)

    for used in ([], [Amount()] * 3):  # three that ended before their first call
        found = asked(4, room, used=used)
        assert taken(found) == [True, True, True, False]
        assert caps(found) == [None] * 4
        assert "at least 5,000 tokens and $0.01" in found.verdicts[3].refused


def test_what_another_kind_used_says_nothing() -> None:
    briefs = [Wanted("reviewer", FLOOR)] * 3

    found = asked(briefs, Amount(0.03, 10**6))

    assert taken(found) == [True] * 3
    assert caps(found) == [None] * 3


def test_one_brief_alone_gets_all_that_is_left_while_its_floor_fits() -> None:
    found = asked(1, Amount(0.011, 10**6))

    assert caps(found) == [AgentLimits(usd=0.011)]
    assert taken(asked(1, Amount(0.009, 10**6))) == [False]


def test_a_small_limit_of_its_own_is_its_estimate() -> None:
    small = Wanted("explorer", FLOOR, AgentLimits(usd=0.012, tokens=8_000))

    found = asked([small] * 5, Amount(0.06, 40_000))

    assert taken(found) == [True] * 5
    assert caps(found) == [None] * 5
    assert found.verdicts[0].counted == Amount(0.012, 8_000)


def test_without_a_price_only_tokens_count() -> None:
    briefs = [Wanted("explorer", Amount(0.0, 5_000))] * 3

    found = asked(briefs, Amount(0.0, 100_000))

    assert taken(found) == [True] * 3
    assert caps(found) == [AgentLimits(tokens=33_333)] * 3


def test_nothing_left_or_overdrawn_refuses_all() -> None:
    for room in (Amount(), Amount(-1.0, -5), Amount(1.0, 0)):
        assert taken(asked(2, room)) == [False, False]


def test_no_briefs_are_no_fault() -> None:
    assert asked(0, Amount(1.0, 10**6)) == Admission(())


def test_figures_stay_short_however_many_kinds_there_are() -> None:
    briefs = [Wanted(f"kind-{n}" * 40, FLOOR) for n in range(60)]
    measured = {each.kind: USED for each in briefs}

    found = admit(briefs, measured=measured, room=Amount(0.2, 10**6))

    assert len(found.told) < 600
    assert all(len(each.refused) < 400 for each in found.verdicts)


amounts = st.builds(
    Amount,
    st.floats(0, 2, allow_nan=False).map(lambda usd: round(usd, 4)),
    st.integers(0, 200_000),
)
own = st.builds(
    AgentLimits,
    usd=st.none() | st.floats(0.001, 1),
    tokens=st.none() | st.integers(1000, 100_000),
)
wanted = st.builds(
    Wanted,
    st.sampled_from(["explorer", "reviewer", "summarizer"]),
    st.builds(Amount, st.sampled_from([0.0, 0.01, 0.05]), st.integers(1, 20_000)),
    own,
)
kinds = st.dictionaries(
    st.sampled_from(["explorer", "reviewer"]), st.lists(amounts, max_size=4)
)


@given(st.lists(wanted, max_size=12), kinds, amounts, amounts)
def test_what_is_admitted_never_sums_to_more_than_there_is(
    briefs: list[Wanted],
    measured: dict[str, list[Amount]],
    room: Amount,
    outstanding: Amount,
) -> None:
    found = admit(briefs, measured=measured, room=room, outstanding=outstanding)

    counted = [verdict.counted for verdict in found.verdicts]
    assert sum(each.tokens for each in counted) <= max(
        room.tokens - outstanding.tokens, 0
    )
    assert sum(each.usd for each in counted) <= max(room.usd - outstanding.usd, 0) * (
        1 + 1e-9
    )


@given(st.lists(wanted, max_size=12), kinds, amounts, amounts, amounts)
def test_more_room_never_admits_fewer(
    briefs: list[Wanted],
    measured: dict[str, list[Amount]],
    room: Amount,
    more: Amount,
    outstanding: Amount,
) -> None:
    tight = admit(briefs, measured=measured, room=room, outstanding=outstanding)
    wide = admit(briefs, measured=measured, room=room + more, outstanding=outstanding)

    assert sum(taken(wide)) >= sum(taken(tight))


@given(st.lists(wanted, max_size=12), kinds, amounts)
def test_the_first_are_taken_and_caps_only_narrow(
    briefs: list[Wanted], measured: dict[str, list[Amount]], room: Amount
) -> None:
    found = admit(briefs, measured=measured, room=room)

    assert len(found.verdicts) == len(briefs)
    assert taken(found) == sorted(taken(found), reverse=True)
    for brief, verdict in zip(briefs, found.verdicts, strict=True):
        if verdict.limits is None:
            continue
        narrowed = brief.limits.narrowed(verdict.limits)
        for name in ("usd", "tokens"):
            cap = getattr(verdict.limits, name)
            assert cap is None or getattr(narrowed, name) == cap


@given(wanted, kinds, amounts)
def test_one_alone_is_never_refused_while_its_floor_fits(
    brief: Wanted, measured: dict[str, list[Amount]], room: Amount
) -> None:
    found = admit([brief], measured=measured, room=room)

    floor = Amount(brief.floor.usd, max(brief.floor.tokens, 1000))
    if floor.fits(room):
        assert taken(found) == [True]
