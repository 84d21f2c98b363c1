"""Tokens by class, dollars and where prices come from, as `show` says them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cli.usage_text import usage_rows
from orchestrator.events import Event
from orchestrator.inspection.run import RunView

PRICES = {"m": {"source": "a table 1.0", "date": "2026-10-14", "bands": []}}


def event(kind: str, agent: str = "", **data: Any) -> Event:
    return Event(1, "2026-11-30T12:00:00.000Z", "r", agent, kind, 0, data)


def rows(*events: Event) -> dict[str, str]:
    view = RunView()
    for each in events:
        view.apply(each)
    return dict(usage_rows(view))


def started(**data: Any) -> Event:
    return event("run.started", models={"lead": "m", "subagents": "m"}, **data)


def answered(read: int, **data: Any) -> Event:
    usage = {
        "input_tokens": 10,
        "cache_write_5m_tokens": 200,
        "cache_read_tokens": read,
        "output_tokens": 50,
        "thinking_tokens": 20,
    }
    return event("model.answered", "lead", usage=usage, **data)


def test_each_class_once_with_its_dollars_summed_over_turns() -> None:
    parts = {"input": 0.01, "cache_write": 0.02, "cache_read": 0.03, "output": 0.04}

    shown = rows(
        started(prices=PRICES),
        *(answered(read, usd=0.1, usd_parts=parts) for read in (100, 300, 200)),
    )

    assert shown["usage"] == (
        "uncached input 30 ($0.030); cache writes 600 ($0.060); "
        "cache reads 600 ($0.090); output 150 ($0.12, 60 of it thinking)"
    )
    assert shown["usd"] == "0.30"
    assert shown["prices"] == "a table 1.0, 2026-10-14"


def test_writes_for_an_hour_are_told_apart() -> None:
    usage = {"cache_write_5m_tokens": 7, "cache_write_1h_tokens": 5}

    shown = rows(event("model.answered", "lead", usage=usage, usd=0.1))

    assert shown["usage"] == "cache writes 12 (5 of them for an hour)"


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing asked yet"),
        pytest.param([answered(0, usd=None)], id="asked"),
    ],
)
def test_dollars_that_nobody_knows_are_never_zero(events: list[Event]) -> None:
    shown = rows(started(prices={}), *events)

    assert shown["usd"] == "unknown: no price for `m`"
    assert "prices" not in shown


def test_what_was_refused_before_any_output_is_told_as_not_billed() -> None:
    refused = {"stop_reason": "refusal", "usd": 0.0}

    shown = rows(
        started(prices=PRICES),
        answered(0, content=[], **refused),
        answered(0, content=[{"type": "text", "text": "Well,"}], **refused),
    )

    assert shown["usage"].endswith("; 1 refused before output: not billed")
    assert shown["usd"] == "0"


def test_a_log_of_before_says_no_more_than_it_knows() -> None:
    assert rows(started(), answered(0, usd=0.2))["usd"] == "0.20"
    assert rows(started(), answered(0, usd=None))["usd"] == "unknown"


def test_a_later_process_may_have_other_prices_and_what_was_booked_stays() -> None:
    later = {"m": {"source": "my prices", "date": ""}}

    shown = rows(
        started(prices=PRICES),
        answered(0, usd=0.2),
        event("run.resumed", prices=later),
        answered(0, usd=0.1),
    )

    assert shown["usd"] == "0.30"
    assert shown["prices"] == (
        "a table 1.0, 2026-10-14; since it was resumed my prices"
    )


def test_counts_that_cannot_be_right_are_told_and_count_for_limits() -> None:
    view = RunView()
    for each in [
        started(limits={"usd": 1, "tokens": 5000}, prices=PRICES),
        answered(0, usd=0.1, counted_usd=0.4, counted_tokens=2000),
    ]:
        view.apply(each)

    shown, used = dict(usage_rows(view)), {u.name: u.used for u in view.limit_use()}
    assert shown["usd"] == (
        "0.10; the endpoint told too few tokens to be true for 1 call: "
        "limits count 0.30 more"
    )
    assert used["usd"] == pytest.approx(0.4)
    assert used["tokens"] == 2000
