"""Money and tokens: no limit is passed, and everybody keeps a last call."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.errors import LimitReached
from orchestrator.spec.limits import AgentLimits

TEN = Amount(1.0, 10)


def run_with(*agents: Budget, usd: float | None = None, tokens: int = 100) -> Budget:
    run = Budget(usd, tokens)
    for agent in agents:
        agent.parent = run
    return run


def test_what_an_agent_reserves_its_run_reserves_too() -> None:
    agent = Budget()
    run = run_with(agent)

    agent.reserve("a1", TEN)

    assert run.reserved == agent.reserved == TEN


def test_the_limit_of_an_agent_holds_though_the_run_has_room() -> None:
    agent = Budget(tokens=9)
    run_with(agent)

    with pytest.raises(LimitReached, match="`tokens` reached: used 0 of 9"):
        agent.reserve("a1", TEN)


def test_the_limit_of_the_run_holds_though_the_agent_has_room() -> None:
    agent = Budget(tokens=500)
    run_with(agent, tokens=9)

    with pytest.raises(LimitReached, match="`tokens` reached: used 0 of 9"):
        agent.reserve("a1", TEN)


def test_money_is_named_where_money_is_short() -> None:
    with pytest.raises(LimitReached, match=r"`usd` reached: used 0 of 0\.5"):
        Budget(usd=0.5).reserve("lead", TEN)


def test_a_limit_that_is_reached_tells_spent_from_set_aside_and_is_never_rounded() -> (
    None
):
    budget = Budget(usd=0.0199995)
    budget.book(Amount(0.002, 10))
    budget.reserve("a1", Amount(0.012, 10))

    with pytest.raises(LimitReached) as caught:
        budget.reserve("a2", Amount(0.01, 10))

    assert str(caught.value) == (
        "`usd` reached: 0.002 used and 0.012 set aside, of 0.0199995"
    )
    of_older_logs = LimitReached("usd", 0.01399, 0.02)
    assert str(of_older_logs) == (
        "`usd` reached: used 0.01399 of 0.02 (set aside for calls included)"
    )


def test_what_does_not_fit_changes_nothing() -> None:
    budget = Budget(tokens=15)
    budget.reserve("a1", TEN, keep=Amount(0, 2))

    with pytest.raises(LimitReached):
        budget.reserve("a2", TEN)

    assert budget.reserved == TEN
    assert budget.holds == {"a1": Amount(0, 2)}


def test_a_call_is_refused_that_would_eat_its_own_last_call() -> None:
    budget = Budget(tokens=15)

    with pytest.raises(LimitReached):
        budget.reserve("lead", TEN, keep=TEN)


def test_the_last_call_of_another_is_not_for_taking() -> None:
    one, other = Budget(), Budget()
    run_with(one, other, tokens=15)
    one.hold("a1", TEN)

    with pytest.raises(LimitReached):
        other.reserve("a2", TEN)
    assert one.reserve("a1", TEN).amount == TEN


def test_an_agent_that_ended_gives_its_last_call_back() -> None:
    one, other = Budget(), Budget()
    run_with(one, other, tokens=15)
    one.hold("a1", TEN)

    one.release("a1")

    assert other.reserve("a2", TEN).amount == TEN


def test_a_hold_is_never_more_than_what_is_there() -> None:
    budget = Budget(tokens=12)
    budget.hold("a1", TEN)

    budget.hold("a2", TEN)

    assert budget.holds == {"a1": Amount(1.0, 10), "a2": Amount(1.0, 2)}


def test_what_is_set_aside_is_for_those_in_line_as_far_as_there_is_room() -> None:
    run = Budget(tokens=30)
    run.hold("a1", TEN)
    run.set_aside("lead", Amount(0, 15))

    assert run.room("a1").tokens == 15  # its hold, and what is free
    with pytest.raises(LimitReached):
        run.reserve("a1", Amount(0, 10), keep=Amount(0, 6))

    run.hold("a2", Amount(0, 18), is_next=True)
    assert run.holds["a2"] == Amount(0, 18)
    assert run.room("a1") == Amount(float("inf"), 10)  # untouched
    assert run.room("a3").tokens == 0

    run.book(Amount(0, 2))
    run.release("a2")
    assert run.room("a3").tokens == 3  # what came back is for the line first


def test_what_was_used_is_booked_and_the_rest_given_back() -> None:
    agent = Budget()
    run = run_with(agent)
    reservation = agent.reserve("a1", TEN)

    agent.settle(reservation, Amount(0.25, 4))

    assert (run.reserved, run.spent) == (NOTHING, Amount(0.25, 4))
    assert (agent.reserved, agent.spent) == (NOTHING, Amount(0.25, 4))


def test_a_try_of_unknown_usage_is_booked_as_reserved() -> None:
    budget = Budget(tokens=25)
    reservation = budget.reserve("lead", TEN)

    budget.repeat(reservation)

    assert (budget.spent, budget.reserved) == (TEN, TEN)
    with pytest.raises(LimitReached):
        budget.repeat(reservation)
    assert budget.spent == TEN


def test_many_small_amounts_leave_no_dust() -> None:
    budget = Budget(usd=1.0)
    for _ in range(1000):
        budget.settle(budget.reserve("lead", Amount(0.1, 1)), NOTHING)

    assert budget.reserved == NOTHING
    assert budget.room("lead").usd == 1.0


def test_waiting_is_worthwhile_only_for_what_others_may_give_back() -> None:
    one, other = Budget(), Budget(tokens=9)
    run_with(one, other, tokens=15)
    one.reserve("a1", TEN)

    assert one.may_fit_later("a3", TEN)
    assert not other.may_fit_later("a2", TEN)


async def test_who_waits_is_told_of_every_change_in_the_tree() -> None:
    one, other = Budget(), Budget()
    run_with(one, other)
    reservation = one.reserve("a1", TEN)
    told: list[str] = []

    async def wait() -> None:
        await other.changed()
        told.append("settled")
        await other.changed()
        told.append("ended")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        one.settle(reservation, NOTHING)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        one.release("a1")

    assert told == ["settled", "ended"]


@pytest.mark.parametrize(
    ("limit", "allowed", "is_raised"),
    [
        pytest.param("turns", 4, True, id="turns"),
        pytest.param("turns", 5, False, id="as before"),
        pytest.param("minutes", 2, True, id="no limit any more"),
        pytest.param("tokens", 50, True, id="tokens of agent and run"),
        pytest.param("tokens", 80, False, id="the smaller of both counts"),
        pytest.param("usd", 1, True, id="dollars without a limit"),
        pytest.param("repeats", 5, False, id="what no task sets"),
    ],
)
def test_a_limit_is_raised(limit: str, allowed: float, is_raised: bool) -> None:
    agent = Budget(tokens=80)
    run_with(agent, tokens=100)
    reached = LimitReached(limit, allowed, allowed)

    assert agent.is_raised(reached, AgentLimits(turns=5)) is is_raised


@dataclass
class Life:
    """One agent of a random run: it calls while it can, then once more."""

    name: str
    budget: Budget
    under_way: Reservation | None = None
    context: int = 10
    is_over: bool = False
    could_hand_in: bool = field(default=True)


steps = st.lists(
    st.tuples(
        st.integers(0, 3),  # whose turn
        st.integers(1, 60),  # output asked for
        st.floats(0, 1),  # share of it that is used
        st.integers(0, 20),  # what results add
    ),
    max_size=80,
)


def begin(life: Life, output: int) -> None:
    """Reserve an ordinary call with its last call behind it, or make the last one."""
    amount = Amount((life.context + output) / 100, life.context + output)
    last = Amount((life.context + output + 5) / 100, life.context + output + 5)
    try:
        life.under_way = life.budget.reserve(life.name, amount, keep=last)
    except LimitReached:
        life.is_over = True
        own = Amount((life.context + 5) / 100, life.context + 5)
        try:
            reservation = life.budget.reserve(life.name, own)
        except LimitReached:
            life.could_hand_in = False
        else:
            life.budget.settle(reservation, own)
        life.budget.release(life.name)


@settings(max_examples=150, deadline=None)
@given(
    steps=steps,
    tokens=st.integers(10, 3000),
    usd=st.one_of(st.none(), st.floats(0.01, 30)),
    own=st.one_of(st.none(), st.integers(10, 500)),
)
def test_no_limit_is_ever_passed(
    steps: list[tuple[int, int, float, int]],
    tokens: int,
    usd: float | None,
    own: int | None,
) -> None:
    run = Budget(usd, tokens)
    lives = [Life(f"a{n}", Budget(None, own, run)) for n in range(4)]
    for who, output, share, results in steps:
        life = lives[who]
        if life.is_over:
            continue
        if life.under_way is None:
            begin(life, output)
        else:
            reserved = life.under_way.amount
            used = Amount(reserved.usd * share, int(reserved.tokens * share))
            life.budget.settle(life.under_way, used)
            life.under_way = None
            life.context += results
            hold = Amount((life.context + 5) / 100, life.context + 5)
            life.budget.hold(life.name, hold)
        for budget in (run, *(each.budget for each in lives)):
            held = sum(budget.holds.values(), NOTHING)
            used_up = budget.spent + budget.reserved + held
            assert budget.tokens is None or used_up.tokens <= budget.tokens
            assert budget.usd is None or used_up.usd <= budget.usd + 1e-9


@settings(max_examples=100, deadline=None)
@given(
    outputs=st.lists(st.integers(1, 60), min_size=1, max_size=40),
    tokens=st.integers(100, 2000),
)
def test_who_made_a_call_can_make_a_last_one(outputs: list[int], tokens: int) -> None:
    run = Budget(None, tokens)
    lives = [Life(f"a{n}", Budget(parent=run)) for n in range(3)]
    called: set[str] = set()
    for turn, output in enumerate(outputs * 5):
        life = lives[turn % 3]
        if life.is_over:
            continue
        begin(life, output)
        if life.under_way is not None:
            called.add(life.name)
            life.context += output  # all of it was said, nothing came in
            life.budget.settle(life.under_way, life.under_way.amount)
            life.under_way = None

    assert all(life.could_hand_in for life in lives if life.name in called)
