"""A run folded from its events."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_runs import finished_run, halfway_run

from orchestrator.cli.agent_text import agent_lines
from orchestrator.cli.breakdown_tables import BREAKDOWNS
from orchestrator.cli.live_text import live_lines
from orchestrator.cli.output import Style
from orchestrator.cli.tables import agent_table, next_step, summary_lines
from orchestrator.events import KINDS, Event
from orchestrator.events.base import moment
from orchestrator.inspection.agent_page import AgentPage
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.run import RunView
from orchestrator.inspection.sentences import describe
from orchestrator.store.reading import read_events

NOW = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


def view_of(path: Path) -> RunView:
    view = RunView()
    for event in read_events(path):
        view.apply(event)
    return view


def event(kind: str, agent: str = "", *, at_s: float = 0, **data: Any) -> Event:
    at = datetime(2026, 11, 29, 20, 15, tzinfo=UTC) + timedelta(seconds=at_s)
    return Event(1, at.isoformat(), "run", agent, kind, 0, data)


@pytest.fixture
def finished(tmp_path: Path) -> RunView:
    return view_of(finished_run(tmp_path).events)


@pytest.fixture
def halfway(tmp_path: Path) -> RunView:
    return view_of(halfway_run(tmp_path).events)


def test_the_tree_has_parents_before_children_in_order(finished: RunView) -> None:
    tree = [(agent.id, depth) for agent, depth in finished.tree()]

    assert tree == [("lead", 0), ("a1", 1), ("a2", 1), ("a3", 1)]


def test_agents_whose_parents_form_a_ring_do_not_hang_the_tree() -> None:
    view = RunView()
    view.apply(event("subagent.accepted", "a2", id="a1"))
    view.apply(event("subagent.accepted", "a1", id="a2"))

    assert sorted(agent.id for agent, _depth in view.tree()) == ["a1", "a2"]


def test_an_agent_without_an_id_does_not_hang_the_tree() -> None:
    view = RunView()
    view.apply(event("subagent.accepted", "lead", title="no id"))

    assert len(list(view.tree())) == 1


def test_each_class_of_token_is_counted_once(finished: RunView) -> None:
    total = finished.tokens

    assert total.sent == total.input + total.cache_write + total.cache_read
    assert total.limited == total.input + total.output
    assert total.sent == sum(each.tokens.sent for each in finished.agents.values())
    assert total.cache_share == pytest.approx(total.cache_read / total.sent)


def test_an_unknown_price_is_not_taken_for_zero() -> None:
    view = RunView()
    view.apply(event("model.answered", "lead", usd=None, usage={}))
    found = view.cost.to_dict()
    assert (found["usd"], found["usd_is_whole"]) == (None, False)

    view.apply(event("model.answered", "lead", usd=0.5, usage={}))
    found = view.cost.to_dict()
    assert (found["usd"], found["usd_is_whole"]) == (0.5, False)


def test_dollars_are_told_by_model_where_another_one_went_on() -> None:
    view = RunView()
    view.apply(event("agent.started", "lead", model="cheap"))
    view.apply(event("model.answered", "lead", usd=0.001, usage={}))
    assert "by model" not in notes(view)

    view.apply(event("model.replaced", "lead", model="cheap", instead="dear"))
    view.apply(event("model.answered", "lead", usd=0.25, usage={}))

    assert "usd by model: cheap 0.001, dear 0.25" in notes(view)
    [lead] = run_figures(view)["agents"]
    assert lead["usd_by_model"] == {"cheap": 0.001, "dear": 0.25}


def notes(view: RunView) -> str:
    return "\n".join(agent_table(view, now=None, style=Style(False)))


def test_the_step_after_a_limit_has_a_figure_that_gives_as_much_again() -> None:
    view = RunView()
    view.apply(event("run.started", limits={"usd": 0.02}))
    view.apply(event("limit.reached", "lead", limit="usd", used=0.02, allowed=0.02))
    view.apply(event("run.ended", state="partial", missing=["all"]))

    assert next_step(view, "last") == "orchestrate resume last --set limits.usd=0.04"


def test_no_step_is_told_that_cannot_help() -> None:
    view = RunView()
    view.apply(event("run.started", limits={"usd": 0.02}))
    view.apply(event("limit.reached", "lead", limit="window", used=9, allowed=0))
    view.apply(event("run.ended", state="partial", missing=["all"]))

    assert next_step(view, "last") == ""


def test_time_that_ran_out_for_subagents_is_the_tasks() -> None:
    view = RunView()
    view.apply(event("run.started", limits={"minutes": 0}))
    view.apply(event("limit.reached", "a1", limit="minutes", used=1, allowed=1))
    view.apply(event("run.ended", state="partial", missing=["all"]))

    assert "--set limits.minutes=" in next_step(view, "last")


@pytest.mark.parametrize("usd", [0.001, 0.02])
def test_a_limit_that_went_mostly_to_calls_that_were_cut_off_says_so(
    usd: float,
) -> None:
    view = RunView()
    view.apply(event("run.started", limits={"usd": 0.02}))
    view.apply(event("model.answered", "a1", usd=usd, usage={}))
    for turn in range(2):
        view.apply(event("model.requested", "a1", turn=turn, reserved_usd=0.007))
        view.apply(event("model.failed", "a1", turn=turn, error="cut", begun=True))

    shown = "\n".join(summary_lines(view, handle="r", now=None, style=Style(False)))

    is_most = "usd (0.014 of it for 2 calls cut off)" in " ".join(shown.split())
    assert is_most == (usd < 0.014)


def test_answers_that_were_not_kept_are_paid_for_all_the_same() -> None:
    view = RunView()
    usage = {"input_tokens": 10, "output_tokens": 5}
    view.apply(event("model.answered", "lead", usd=0.5, usage=usage, kept=False))

    assert (view.tokens.sent, view.cost.usd) == (10, 0.5)


def test_explored_counts_what_reading_tools_produced_before_clipping() -> None:
    view = RunView()
    view.apply(event("tool.ended", "a1", name="grep", full_tokens=900, tokens=9))
    view.apply(event("tool.ended", "a1", name="submit_findings", full_tokens=40))

    assert view.agents["a1"].explored_tokens == 900


def test_a_failed_subagent_says_why(finished: RunView) -> None:
    failed = finished.agents["a2"]

    assert (failed.state, failed.label) == ("ended", "failed")
    assert failed.reason == "invalid: 400: prompt is empty"


def test_unsupported_items_are_named(finished: RunView) -> None:
    agent = finished.agents["a3"]

    assert agent.unsupported == 1
    assert agent.unsupported_claims == ["Refresh tokens are never rotated."]


def test_who_answers_after_a_refusal_is_shown() -> None:
    view = RunView()
    view.apply(event("run.started", task="t"))
    view.apply(event("agent.started", "lead", role="lead", model="first", title="t"))
    view.apply(event("model.replaced", "lead", model="first", instead="other"))

    agent = view.agents["lead"].to_dict(None)
    assert (agent["model"], agent["refused_by"]) == ("other", ["first"])
    table = "\n".join(agent_table(view, now=None, style=Style(is_on=False)))
    assert "first refused; other went on in its place" in table
    live = live_lines(view, now=NOW, columns=200, rows=20, style=Style(is_on=False))
    assert "(other in its model's place)" in "\n".join(live)


def test_a_failure_that_was_got_over_is_no_reason() -> None:
    view = RunView()
    view.apply(event("agent.started", "lead", role="lead", model="m", title="t"))
    view.apply(event("model.failed", "lead", turn=1, error="invalid", message="no"))
    assert view.agents["lead"].reason == "invalid: no"

    view.apply(event("model.answered", "lead", turn=1, content=[], usage={}))

    assert view.agents["lead"].reason == ""


def test_the_end_of_the_run_is_taken_over(finished: RunView) -> None:
    assert (finished.state, finished.exit_code) == ("partial", 3)
    assert len(finished.missing) == 2
    assert finished.wrong_citations == ["[src/auth_9.py:3] no such file"]


def test_a_live_run_shows_what_each_agent_does_now(halfway: RunView) -> None:
    states = {agent.id: agent.state for agent in halfway.agents.values()}

    assert states == {
        "lead": "running",
        "a1": "running",
        "a2": "running",
        "a3": "waiting",
    }
    assert list(halfway.agents["a1"].tools.values()) == [("grep", {"pattern": "token"})]
    assert halfway.agents["a2"].asking


def test_time_between_two_processes_does_not_count() -> None:
    view = RunView()
    view.apply(event("run.started"))
    view.apply(event("text.added", "lead", at_s=10, text="x"))
    view.apply(event("run.resumed", at_s=1000))
    view.apply(event("run.ended", at_s=1005, state="done", exit_code=0))

    assert view.seconds() == 15
    assert view.resumes == 1


def test_a_raised_limit_replaces_the_old_one_and_no_other() -> None:
    view = RunView()
    view.apply(event("run.started", limits={"usd": 2, "tokens": 100}))
    view.apply(event("run.ended", state="partial", reason="limit", exit_code=3))
    view.apply(event("run.resumed", limits={"usd": 5}))

    assert view.limits == {"usd": 5, "tokens": 100}
    assert (view.state, view.reason) == ("running", "")


def test_unknown_kinds_are_counted_and_passed_over() -> None:
    view = RunView()
    view.apply(event("moon.risen", "lead", phase="full"))

    assert view.unknown == {"moon.risen": 1}
    assert view.agents == {}


@pytest.mark.parametrize("at", ["", "yesterday", "2026-11-29T20:15:00"])
def test_a_time_without_a_zone_is_no_time(at: str) -> None:
    assert moment(at) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["title", "items", "name"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)
FIELDS = sorted(
    {name for kind in KINDS.values() for name in kind.__dataclass_fields__} | {"x"}
)
EVENTS = st.builds(
    Event,
    seq=st.integers(0, 9),
    at=st.sampled_from(["", "2026-11-29T20:15:00Z", "2026-11-29T20:16:00Z"]),
    run=st.just("r"),
    agent=st.sampled_from(["", "lead", "a1"]),
    kind=st.sampled_from([*KINDS, "log.damaged", "moon.risen"]),
    cause=st.just(0),
    data=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    worked_s=st.none() | st.floats(-9, 1e9),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_no_event_whatever_its_fields_breaks_a_reader(events: list[Event]) -> None:
    view, style = RunView(), Style(is_on=False)

    for each in events:
        view.apply(each)
        describe(each)

    run_figures(view, NOW)
    assert list(summary_lines(view, handle="r", now=NOW, style=style))
    assert list(agent_table(view, now=NOW, style=style))
    assert live_lines(view, now=NOW, columns=80, rows=24, style=style)
    for table in BREAKDOWNS.values():
        assert list(table([*view.agents.values()], style=style, now=NOW))
    for agent in view.agents.values():
        page = AgentPage(agent)
        for each in events:
            page.apply(each)
        page.to_dict(NOW)
        assert list(agent_lines(page, view, handle="r", now=NOW, style=style))


def test_what_is_live_counts_up_to_now_from_what_the_newest_event_carries() -> None:
    began = replace(event("run.started"), worked_s=0.0)
    lead = replace(event("agent.started", "lead", at_s=9, role="lead"), worked_s=2.0)
    slept = replace(event("text.added", "lead", at_s=9000, text="x"), worked_s=7.0)
    view = RunView()
    for each in (began, lead, slept):
        view.apply(each)
    now = view.last_at and view.last_at + timedelta(seconds=4)

    assert (view.seconds(), view.seconds(now)) == (7, 11)
    assert view.agents["lead"].seconds() == 5
    assert view.agents["lead"].seconds(now) == 9


def test_time_between_two_processes_is_nobodys_time() -> None:
    def at(minute: int, kind: str, agent: str = "", **data: Any) -> Event:
        stamp = f"2026-11-29T12:{minute:02}:00.000Z"
        return Event(minute, stamp, "r", agent, kind, 0, data)

    view = RunView()
    for event in [
        at(0, "run.started", limits={}, models={}),
        at(1, "agent.started", "lead", role="lead"),
        at(3, "agent.ended", "lead", outcome="submitted"),
        at(4, "run.ended", state="done"),
        at(20, "run.reopened", "lead", question="And then?", text="…"),
        at(20, "run.resumed"),
        at(22, "tool.started", "lead", call="c"),
        # Killed here, and gone on with much later.
        at(40, "run.resumed"),
        at(41, "agent.ended", "lead", outcome="submitted"),
        at(41, "run.ended", state="done"),
    ]:
        view.apply(event)

    assert view.questions == ["And then?"]
    assert view.agents["lead"].seconds(None) == (2 + 2 + 1) * 60
    assert view.seconds() == (4 + 2 + 1) * 60


def test_calls_that_were_cut_off_are_counted_at_the_most_they_may_have_cost() -> None:
    sizes = {"estimated_tokens": 90, "max_output_tokens": 10, "reserved_usd": 0.5}
    view = RunView()
    for each in [
        event("run.started", limits={"usd": 2.0}, models={}),
        event("model.requested", "lead", turn=1, **sizes),
        event("model.retried", "lead", begun=True),
        event("model.retried", "lead", begun=False),
        event("model.answered", "lead", usd=0.1, usage={"input_tokens": 9}),
        event("model.requested", "lead", turn=2, **sizes),
        event("run.ended", state="interrupted"),
    ]:
        view.apply(each)

    found = run_figures(view)
    assert (found["usd"], found["usd_is_whole"]) == (0.1, False)
    assert (found["cut_calls"], found["cut_usd_at_most"]) == (2, 1.0)
    assert found["limits"]["usd"]["used"] == 1.1
