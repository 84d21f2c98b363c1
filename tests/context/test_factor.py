"""What is learned from reports makes the next estimate fit the model at work."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from counted_texts import KINDS, TOKENIZERS, CountedText
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.factor import LEARNS_FROM_TOKENS, Factor, Factors
from orchestrator.context.tokens import estimate

ESTIMATES = {text.text: estimate(text.text) for kind in KINDS.values() for text in kind}
HEAD = ("english", "markdown", "json", "english", "agent_history") * 3
PREAMBLE_TOKENS = 350
"""What a service adds to a first request with tools, and to each later message."""
FRAME_TOKENS = 12
TURNS = 30


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one request, by what was known and an estimate of what was added."""

    predicted: int
    true: int
    known: int

    @property
    def error(self) -> float:
        return abs(self.predicted / self.true - 1)

    @property
    def growth(self) -> float:
        return (self.true - self.known) / self.known


def predictions(service: str, kinds: Sequence[str], seed: int) -> Iterator[Prediction]:
    """Play a conversation whose additions have 300 to 4,000 tokens, drawn from `kinds`.

    The service counts as the tokenizer of its name. Yields the requests from the third.
    """
    draw = random.Random(f"{service} {seed}")
    factor, known = Factor(), 0
    for turn in range(TURNS):
        wanted = math.exp(draw.uniform(math.log(300), math.log(4000)))
        added = [draw.choice(KINDS[kind]) for kind in HEAD] if not turn else []
        while size(added) < wanted:
            added.append(draw.choice(KINDS[draw.choice(kinds)]))
        counted = sum(each.counts[service] for each in added)
        counted += FRAME_TOKENS if turn else PREAMBLE_TOKENS
        if turn >= 2:
            yield Prediction(known + factor.of(size(added)), known + counted, known)
        factor = factor.learned(counted=counted, estimated=size(added))
        known += counted


def size(texts: Sequence[CountedText]) -> int:
    return sum(ESTIMATES[each.text] for each in texts)


def conversations(service: str) -> Iterator[Prediction]:
    """One for each kind of text, four fifths of which are of it; and four mixed."""
    every = list(KINDS)
    for kind in every:
        yield from predictions(service, [kind] * 4 * len(every) + every, seed=0)
    for seed in range(1, 5):
        yield from predictions(service, every, seed)


@pytest.mark.parametrize("service", TOKENIZERS)
def test_after_two_reports_nearly_every_request_is_predicted_within_3_percent(
    service: str,
) -> None:
    errors = sorted(each.error for each in conversations(service))

    assert len(errors) == 25 * (TURNS - 2)
    assert errors[len(errors) * 94 // 100] <= 0.03
    assert errors[len(errors) // 2] <= 0.005


@pytest.mark.parametrize("service", TOKENIZERS)
def test_every_request_is_where_little_was_added(service: str) -> None:
    small = [each for each in conversations(service) if each.growth <= 0.05]

    assert len(small) > 300
    assert max(each.error for each in small) <= 0.03


def test_the_tail_of_chinese_text_is_within_a_quarter_at_a_token_a_character() -> None:
    messages = [
        each.text for each in itertools.islice(itertools.cycle(KINDS["chinese"]), 200)
    ]
    factor = Factor()
    for start in (0, 5):
        added = messages[start : start + 5]
        factor = factor.learned(
            counted=sum(map(len, added)), estimated=sum(map(estimate, added))
        )
    for target in (1500, 5000, 12_000):
        tail: list[str] = []
        for message in reversed(messages):
            if factor.of(sum(map(estimate, [*tail, message]))) > target:
                break
            tail.append(message)

        assert 0.75 * target <= sum(map(len, tail)) <= 1.25 * target


def test_nothing_is_learned_from_small_additions() -> None:
    small = LEARNS_FROM_TOKENS - 1

    assert Factor().learned(counted=9 * small, estimated=small) == Factor()


def test_a_large_report_weighs_more_than_a_small_one() -> None:
    small = Factor().learned(counted=900, estimated=600)
    large = Factor().learned(counted=9000, estimated=6000)

    assert 1.0 < small.value < large.value < 1.5


def test_a_change_of_work_is_followed() -> None:
    factor = Factor()
    for _ in range(50):
        factor = factor.learned(counted=2000, estimated=2000)
    for _ in range(4):
        factor = factor.learned(counted=1000, estimated=2000)

    assert factor.value < 0.6


@given(st.lists(st.tuples(st.integers(-(10**7), 10**7), st.integers(0, 10**7))))
def test_whatever_is_reported_the_factor_stays_between_a_half_and_two(
    reports: list[tuple[int, int]],
) -> None:
    factor = Factor()
    for counted, estimated in reports:
        factor = factor.learned(counted=counted, estimated=estimated)

    assert 0.5 <= factor.value <= 2.0
    assert factor.of(1000) <= 2000


def test_each_model_has_a_factor_of_its_own() -> None:
    factors = Factors()
    factors.learn("dear", counted=6000, estimated=4000)

    assert factors.of("dear") > 1.3
    assert factors.of("other") == 1.0
    before = factors.of("dear")
    factors.learn("dear", counted=9, estimated=LEARNS_FROM_TOKENS - 1)
    assert factors.of("dear") == before
