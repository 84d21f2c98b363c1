"""What `show` and a live view say of rate limits and of tries that failed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.cli.output import Style
from orchestrator.cli.tables import summary_lines
from orchestrator.events import Event
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.run import RunView

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def event(kind: str, agent: str = "", *, at_s: float = 0, **data: Any) -> Event:
    at = START + timedelta(seconds=at_s)
    return Event(1, at.isoformat(), "run", agent, kind, 0, data)


def view_of(*events: Event) -> RunView:
    view = RunView()
    for each in (event("run.started"), *events):
        view.apply(each)
    return view


def shown(view: RunView) -> str:
    lines = summary_lines(view, handle="r", now=None, style=Style(False))
    return " ".join(" ".join(lines).split())


def limited(agent: str, **more: Any) -> Event:
    return event("model.retried", agent, **{"error": "rate_limited", **more})


def test_what_a_rate_limit_held_up_is_one_line_with_who_waited_most() -> None:
    view = view_of(
        *[limited("a1")] * 15,
        limited("a3"),
        event("model.retried", "a1", error="overloaded"),
        event("model.answered", "a1", queued_s=149.0),
        event("model.answered", "a3", queued_s=101.0),
    )

    assert (
        "rate-limited 16 times; tried again for other errors (overloaded 1); "
        "4m10s waited in line (most: a1 2m29s)"
    ) in shown(view)
    agents = {each["id"]: each for each in run_figures(view)["agents"]}
    assert agents["a3"]["queued_s"] == 101.0
    assert agents["a3"]["retries_by_error"] == {"rate_limited": 1}
    assert agents["a1"]["retries"] == 16


@pytest.mark.parametrize(
    ("queued_s", "words"),
    [
        pytest.param(4.9, "", id="hardly any"),
        pytest.param(6.0, "6.0s waited in line (a1)", id="of note"),
    ],
)
def test_short_waits_in_line_are_not_told(queued_s: float, words: str) -> None:
    text = shown(view_of(event("model.answered", "a1", queued_s=queued_s)))

    assert ("waits" in text) == bool(words)
    assert words in text


def doing(at_s: float, error: str = "rate_limited") -> str:
    view = view_of(
        event("agent.started", "a1"),
        event("model.requested", "a1"),
        event("model.retried", "a1", at_s=10, error=error, wait_s=20.0),
    )
    return view.doing(view.agents["a1"], START + timedelta(seconds=at_s))


def test_an_agent_waits_for_the_rate_limit_as_long_as_that_is_known() -> None:
    failed = "1 try failed: rate_limited"
    assert doing(15) == f"waits for the rate limit (15s; {failed})"
    assert doing(45) == f"asks the model (45s; {failed})"
    assert (
        doing(15, "overloaded") == "waits to try again (15s; 1 try failed: overloaded)"
    )
    assert doing(45, "overloaded") == "asks the model (45s; 1 try failed: overloaded)"
