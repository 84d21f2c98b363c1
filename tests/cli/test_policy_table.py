"""Two policies on a run as lines of text: they fit, say what differs, and are safe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from context_samples import numbers_of

from orchestrator.cli.output import Style, width
from orchestrator.cli.policy_table import policy_lines
from orchestrator.runtime.replaying.figures import Figures, total
from orchestrator.runtime.replaying.policy_comparison import (
    AgentComparison,
    Change,
    Columns,
    PolicyComparison,
)
from orchestrator.runtime.replaying.used_facts import Sight

PLAIN = Style(is_on=False)
WAS = Figures(
    requests=27,
    turns=25,
    input_tokens=3100,
    cache_write_tokens=22_600,
    cache_read_tokens=131_000,
    output_tokens=1040,
    usd=0.086,
    clears=7,
    compactions=2,
    peak_tokens=6612,
    sent_tokens=142_000,
    sight=Sight(40, 36, visible=29, reachable=11),
)
OWN = replace(WAS, usd=0.089, cache_read_tokens=134_000)
OTHER = replace(
    WAS,
    requests=25,
    usd=0.11,
    clears=0,
    compactions=6,
    sight=Sight(40, 36, visible=26, reachable=14),
)


def agent(name: str, other: Figures = OTHER, **more: Any) -> AgentComparison:
    return AgentComparison(
        id=name,
        parent="",
        title=more.pop("title", "How long refunds take"),
        profile="explorer",
        model="claude-sonnet-5-5",
        columns=Columns(WAS, OWN, other),
        own=numbers_of(),
        other=numbers_of(window_tokens=16_000),
        **more,
    )


def comparison(*agents: AgentComparison, **more: Any) -> PolicyComparison:
    columns = (
        total(getattr(each.columns, name) for each in agents)
        for name in ("was", "own", "other")
    )
    return PolicyComparison(
        run="20261129-201500-refunds-7f3a",
        changes=(Change("policy", "ladder", "window"), Change("soft", 0.6, 0.8)),
        agents=agents,
        total=Columns(*columns),
        **more,
    )


def text_of(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def rows(lines: list[str], title: str) -> list[list[str]]:
    """The heading and the three rows below a title, names of the rows left out."""
    at = next(n for n, line in enumerate(lines) if line.startswith(title))
    return [line[15:].split() for line in lines[at + 1 : at + 5]]


def test_three_columns_stand_below_each_other_for_the_run_and_each_agent() -> None:
    lines = policy_lines(comparison(agent("lead"), agent("a1")), 80, PLAIN)

    assert lines[0] == "policy      policy ladder → window, soft 0.6 → 0.8"
    heading, was, own, other = rows(lines, "a1 How long")
    assert heading == [
        "asked", "input", "written", "read", "out", "usd", "edits", "peak", "sight",
    ]  # fmt: skip
    assert was == [
        "27", "3.1k", "22.6k", "131k", "1k", "0.086", "7+2", "6.6k", "72%",
    ]  # fmt: skip
    assert own[5:7] == ["0.089", "7+2"]
    assert other[0] == "25"
    assert other[5:] == ["0.11", "0+6", "6.6k", "65%"]
    assert rows(lines, "run 2026")[1][0] == "54"


def test_what_the_other_policy_changes_and_how_far_off_the_sums_are_is_told() -> None:
    text = text_of(policy_lines(comparison(agent("lead")), 80, PLAIN))

    assert "other against run's, both computed: dollars +23.6%" in text
    assert "in sight 72% → 65%" in text
    assert "error of computing, on the run's: dollars +3.5%, tokens +1.9%" in text
    assert "of 40 uses of 36 facts, two calls away: 11 as it was, 11 computed" in text


@pytest.mark.parametrize("columns", [40, 56, 72, 80, 120])
def test_every_line_fits_the_terminal(columns: int) -> None:
    long = replace(OTHER, clears=1332, compactions=126, too_long=tuple(range(3, 40)))
    told = comparison(
        agent("lead", long, title="退款需要多长时间" * 20),
        agent("a1", title="x" * 300),
        caveats=("No model was asked. " * 20,),
        unpriced=("claude-sonnet-5-5",),
    )

    lines = policy_lines(told, columns, PLAIN)

    assert [line for line in lines if width(line) > columns] == []
    assert rows(lines, "a1 x")[3][-1] == "65%"


def test_wide_figures_are_not_cut() -> None:
    many = replace(OTHER, clears=13_320, compactions=1260)

    lines = policy_lines(comparison(agent("lead", many)), 80, PLAIN)

    assert "13320+1260" in rows(lines, "lead")[3]


def test_agents_that_come_to_the_same_share_a_line() -> None:
    same = [agent(f"a{n}", OWN) for n in range(1, 4)]

    lines = policy_lines(comparison(agent("lead"), *same), 80, PLAIN)

    assert "the same under both: a1, a2, a3 are not shown" in lines
    assert not any(line.startswith("a2 ") for line in lines)
    alone = policy_lines(comparison(agent("lead", OWN)), 80, PLAIN)
    assert any(line.startswith("lead How long") for line in alone)


def test_requests_that_would_not_have_fitted_are_named() -> None:
    text = text_of(
        policy_lines(
            comparison(agent("lead", replace(OTHER, too_long=(5, 9)))), 80, PLAIN
        )
    )

    assert (
        "other policy: 2 requests and the longest reply would not have fitted 16k "
        "tokens together: turn 5, 9"
    ) in text


def test_without_prices_dollars_are_left_out_and_that_is_said() -> None:
    bare = [replace(each, usd=None) for each in (WAS, OWN, OTHER)]
    told = replace(agent("lead"), columns=Columns(*bare))

    lines = policy_lines(comparison(told, unpriced=("llama-9",)), 80, PLAIN)

    assert "usd" not in rows(lines, "lead")[0]
    text = text_of(lines)
    assert "Nobody told the price of `llama-9`" in text
    assert "dollars +" not in text


def test_without_a_cache_its_columns_make_room() -> None:
    none = [
        replace(each, cache_read_tokens=0, cache_write_tokens=0)
        for each in (WAS, OWN, OTHER)
    ]
    told = replace(agent("lead"), columns=Columns(*none))

    heading = rows(policy_lines(comparison(told), 80, PLAIN), "lead")[0]

    assert "read" not in heading
    assert "mean" in heading


def test_what_a_run_says_of_itself_never_acts_on_the_terminal() -> None:
    evil = agent("lead", title="\x1b[2J\u202ewipe\nnext\x07")

    lines = policy_lines(comparison(evil, caveats=("a\x1b[31mb",)), 80, PLAIN)

    assert not any(char in line for line in lines for char in "\x1b\u202e\x07\n")
    shown = policy_lines(comparison(agent("lead")), 80, Style(is_on=True))
    assert any("\x1b[1m" in line for line in shown)


def test_equal_policies_and_an_empty_run_are_told_as_such() -> None:
    none = comparison()

    lines = policy_lines(replace(none, changes=()), 80, PLAIN)

    assert lines[0] == "policy      no field differs"
    assert "no tokens" in " ".join(lines)
