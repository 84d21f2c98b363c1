from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.numbers import (
    LEAST_OUTPUT_TOKENS,
    LEAST_STATE_TOKENS,
    LEAST_STEP_TOKENS,
    REPLY_TOKENS,
    Numbers,
    resolve,
    shrunk,
)
from orchestrator.errors import SpecError
from orchestrator.spec.task import ContextPolicy, Shares

FIXED = 5000
"""What real runs have of system prompt, tools and first message."""
LEAST = LEAST_OUTPUT_TOKENS + LEAST_STEP_TOKENS + LEAST_STATE_TOKENS
FALLING = {"reminder_turns", "last_steps", "every_turns", "policy"}


def numbers(
    window: int | None,
    policy: ContextPolicy | None = None,
    *,
    fixed: int = FIXED,
    output: int = 8192,
    has_memory: bool = False,
) -> Numbers:
    return resolve(
        policy or ContextPolicy(),
        window_tokens=window,
        fixed_tokens=fixed,
        max_output_tokens=output,
        has_memory=has_memory,
    )


POLICIES = st.builds(
    ContextPolicy,
    read_tokens=st.integers(200, 20_000),
    clip_tokens=st.integers(200, 20_000),
    tail_steps=st.integers(1, 9),
    reopen_files=st.integers(0, 9),
    reopen_tokens=st.integers(0, 9000),
    shares=st.sampled_from(
        [Shares(), Shares(fixed=0.3, recent=0.2), Shares(state=0.05, output=0.1)]
    ),
)
WINDOWS = st.one_of(st.integers(4000, 40_000), st.integers(40_000, 1_000_000))


@settings(max_examples=150, deadline=None)
@given(POLICIES, WINDOWS, st.integers(0, 20_000), st.booleans())
def test_what_is_accepted_fits_and_nothing_is_negative(
    policy: ContextPolicy, window: int, fixed: int, has_memory: bool
) -> None:
    fixed = min(fixed, window - LEAST)

    found = numbers(window, policy, fixed=fixed, has_memory=has_memory)

    state = found.state_tokens + found.summary_tokens + found.memory_tokens
    step = max(found.read_tokens, found.clip_tokens) + REPLY_TOKENS
    for tail in (step, found.tail_tokens):
        reopened = found.reopen_files * found.reopen_tokens
        held = fixed + state + tail + (reopened if tail != step else 0)
        assert held + found.output_tokens <= window
    assert found.soft_tokens is not None
    assert found.hard_tokens is not None
    assert 0 < found.soft_tokens < found.hard_tokens <= window - found.output_tokens
    assert found.read_tokens >= 200
    assert found.clip_tokens >= 200
    assert min(found.keep_results, found.tail_steps) >= 1
    assert found.summary_tokens <= found.output_tokens
    for each in fields(found):
        value = getattr(found, each.name)
        assert not isinstance(value, int) or value >= 0, each.name


@settings(max_examples=100, deadline=None)
@given(WINDOWS, st.integers(0, 9000), st.integers(1, 5000), st.booleans())
def test_a_larger_window_makes_no_number_smaller(
    window: int, fixed: int, more: int, has_memory: bool
) -> None:
    fixed = min(fixed, window - LEAST)

    small = numbers(window, fixed=fixed, has_memory=has_memory)
    large = numbers(window + more, fixed=fixed, has_memory=has_memory)

    for each in fields(small):
        if each.name not in FALLING:
            assert getattr(small, each.name) <= getattr(large, each.name), each.name


@settings(max_examples=50, deadline=None)
@given(WINDOWS, st.integers(0, 9000))
def test_a_compaction_that_leaves_all_it_may_is_below_the_hard_mark(
    window: int, fixed: int
) -> None:
    fixed = min(fixed, window - 2 * LEAST)

    found = numbers(window, fixed=fixed)

    state = found.state_tokens + found.summary_tokens
    reopened = found.reopen_files * found.reopen_tokens
    assert found.hard_tokens is not None
    assert fixed + state + found.tail_tokens + reopened < found.hard_tokens


@pytest.mark.parametrize("window", [200_000, 1_000_000])
@pytest.mark.parametrize("has_memory", [True, False])
def test_in_a_usual_window_nothing_shrinks(window: int, has_memory: bool) -> None:
    found = numbers(window, has_memory=has_memory)

    assert shrunk(ContextPolicy(), found, max_output_tokens=8192) == ()
    assert found.tail_tokens >= 3 * (found.read_tokens + REPLY_TOKENS)
    usable = window - 8192
    assert found.soft_tokens == int(0.60 * usable)
    assert found.hard_tokens == int(0.75 * usable)


def test_a_window_of_8k_leaves_small_outputs_and_a_tail_of_one_step() -> None:
    found = numbers(8192)

    assert found.output_tokens >= 700
    assert found.read_tokens >= 500
    assert found.tail_steps == 1
    assert found.reopen_files == 0
    names = {
        each.name: each.layer
        for each in shrunk(ContextPolicy(), found, max_output_tokens=8192)
    }
    assert names["max_output_tokens"] == "output"
    assert names["read_tokens"] == names["tail_steps"] == "recent"


def test_the_share_of_memory_goes_to_recent_steps_where_there_is_none() -> None:
    without, having = numbers(16_000), numbers(16_000, has_memory=True)

    assert without.memory_tokens == 0
    assert having.memory_tokens > 1000
    assert without.read_tokens > having.read_tokens


def test_a_fixed_part_that_does_not_fit_is_refused_with_its_figures() -> None:
    numbers(8192, fixed=8192 - LEAST)
    with pytest.raises(SpecError) as caught:
        numbers(8192, fixed=8192 - LEAST + 1)

    message = str(caught.value)
    assert caught.value.field == "context_policy.window_tokens"
    for figure in ("8,192", "6,981", "6,980"):
        assert figure in message


def test_a_smaller_window_of_the_task_counts_in_place_of_the_models() -> None:
    told = ContextPolicy(window_tokens=16_000)

    assert numbers(200_000, told) == numbers(16_000)
    assert numbers(None, told) == numbers(16_000)
    assert numbers(8192, told) == numbers(8192)


def test_without_a_window_there_are_no_marks_and_numbers_are_as_written() -> None:
    policy = ContextPolicy(read_tokens=12_345)

    found = numbers(None, policy)

    assert (found.window_tokens, found.soft_tokens, found.hard_tokens) == (None,) * 3
    assert found.read_tokens == 12_345
    assert shrunk(policy, found, max_output_tokens=8192) == ()
    assert found.summary_tokens > 1000


def test_marks_are_the_tasks_shares_of_what_is_left_beside_the_output() -> None:
    found = numbers(100_000, ContextPolicy(soft=0.5, hard=0.9), output=10_000)

    assert (found.soft_tokens, found.hard_tokens) == (45_000, 81_000)
