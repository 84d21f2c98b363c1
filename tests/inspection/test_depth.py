"""What is told of each subagent where there are several levels of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from deep_runs import QUESTION, ended_run, live_run

from orchestrator.events import Event
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.run import RunView


def folded(events: Iterable[Event]) -> RunView:
    view = RunView()
    for event in events:
        view.apply(event)
    return view


def doing(view: RunView, *, after_s: float = 0) -> dict[str, str]:
    now = view.last_at and view.last_at + timedelta(seconds=after_s)
    return {agent.id: view.doing(agent, now) for agent in view.agents.values()}


def without_deliveries(events: Iterable[Event]) -> Iterator[Event]:
    """As older programs wrote them."""
    for event in events:
        data = {name: each for name, each in event.data.items() if name != "delivers"}
        yield replace(event, data=data)


@pytest.fixture
def live() -> RunView:
    return folded(live_run())


@pytest.fixture
def ended() -> RunView:
    return folded(ended_run())


def test_the_tree_goes_down_to_any_depth(ended: RunView) -> None:
    assert [(agent.id, depth) for agent, depth in ended.tree()] == [
        ("lead", 0), ("a1", 1), ("a2", 2), ("a3", 2), ("a4", 3), ("a5", 1), ("a6", 1),
        ("a7", 1),
    ]  # fmt: skip


def test_what_each_does_now_is_told_at_every_level(live: RunView) -> None:
    assert doing(live, after_s=11) == {
        "lead": f"waits for a5, asked “{QUESTION}”",
        "a1": "waits for a2, a3",
        "a2": "waits for a place",
        "a3": "waits for a4",
        "a4": "searches for “refund” in docs (33s)",
        "a5": "waits for a place",
        "a6": "asks the model (12s; 1 try failed: overloaded)",
        "a7": "waits for a place",
    }


def test_nobody_does_anything_in_a_run_that_is_over(ended: RunView) -> None:
    assert set(doing(ended).values()) == {""}


def test_a_parent_waits_only_for_those_that_have_not_ended() -> None:
    events = ended_run()
    [index] = [
        n
        for n, event in enumerate(events)
        if event.kind == "subagent.ended" and event.data["id"] == "a2"
    ]

    assert doing(folded(events[: index + 1]))["a1"] == "waits for a3"


def test_how_each_ended_is_told_in_a_word(ended: RunView) -> None:
    assert {agent.id: ended.label(agent) for agent in ended.subagents} == {
        "a1": "complete",
        "a2": "none found",
        "a3": "cancelled",
        "a4": "cancelled",
        "a5": "complete",
        "a6": "stalled",
        "a7": "cancelled",
    }


def test_who_cancelled_a_subagent_and_why_is_told(ended: RunView) -> None:
    [answer] = ended.agents["a3"].answers.all

    assert answer.why == "cancelled by a1: the shop has no admin pages"


def test_findings_that_did_not_arrive_are_told(ended: RunView) -> None:
    lost = {agent.id: ended.undelivered(agent) for agent in ended.subagents}

    assert {who for who, each in lost.items() if each} == {"a4", "a7"}


def test_late_findings_count_as_delivered_once_the_parent_has_them() -> None:
    events = ended_run()
    [late] = [n for n, event in enumerate(events) if event.kind == "text.added"]
    before, after = folded(events[:late]), folded(events[: late + 1])

    assert [view.agents["a6"].answers.is_delivered for view in (before, after)] == [
        False,
        True,
    ]
    # It will get them yet: nothing is lost.
    assert before.undelivered(before.agents["a6"]) == []


def test_a_further_question_leaves_the_answer_to_the_brief_as_it_is(
    ended: RunView,
) -> None:
    agent = ended.agents["a5"]
    brief, further = agent.answers.all

    assert (brief.items, further.items, further.first_item) == (4, 2, 5)
    assert (further.question, further.is_delivered) == (QUESTION, True)
    assert len(agent.answers.brief.findings["items"]) == 4
    assert agent.unsupported_claims == ["claim 2 of a5", "claim 2 of a5"]
    assert (agent.turns, agent.explored_tokens, agent.returned_tokens) == (3, 5200, 600)
    assert agent.tokens.output == 300


def test_a_further_question_that_is_cut_off_says_so(live: RunView) -> None:
    live.apply(replace(live_run()[0], kind="run.ended", data={"state": "interrupted"}))

    agent = live.agents["a5"]
    assert live.label(agent) == "complete"
    assert agent.answers.further_phrases(goes_on=False) == [
        f"asked further “{QUESTION}”: cut off"
    ]
    assert live.label(live.agents["a4"]) == "cut off"
    assert live.label(live.agents["a7"]) == "never ran"


def test_a_subagent_that_is_asked_again_by_the_same_call_is_asked_once() -> None:
    events = ended_run()
    [asked] = [n for n, event in enumerate(events) if event.kind == "subagent.asked"]
    twice = [*events[: asked + 1], *events[asked:]]

    assert len(folded(twice).agents["a5"].answers.all) == 2


def test_an_answer_whose_question_is_lost_is_kept_apart() -> None:
    events = [event for event in ended_run() if event.kind != "subagent.asked"]

    agent = folded(events).agents["a5"]

    assert [each.id for each in agent.answers.all] == ["a5", "a5/1"]
    assert agent.answers.brief.items == 4


def test_in_older_logs_a_delegate_call_delivers_those_it_sent() -> None:
    view = folded(without_deliveries(ended_run()))

    delivered = {agent.id for agent in view.subagents if agent.answers.is_delivered}
    assert delivered == {"a2", "a3"}


def test_a_run_that_goes_on_says_that_nothing_has_happened_yet(live: RunView) -> None:
    live.apply(replace(live_run()[-1], kind="run.resumed", agent="", data={}))

    assert doing(live)["a4"] == "waits to be taken up again"
    assert doing(live)["a7"] == "waits for a place"


def test_nobody_is_said_to_work_below_one_that_has_ended(live: RunView) -> None:
    over = replace(live_run()[-1], kind="agent.ended", agent="a1", data={})

    live.apply(over)

    assert {who: live.label(live.agents[who]) for who in ("a2", "a3", "a4", "a6")} == {
        "a2": "never ran",
        "a3": "cut off",
        "a4": "cut off",
        "a6": "running",
    }
    assert {who for who, each in doing(live).items() if each} == {
        "lead", "a5", "a6", "a7",
    }  # fmt: skip


def test_machines_are_told_the_same(ended: RunView) -> None:
    agents: dict[str, Any] = {each["id"]: each for each in run_figures(ended)["agents"]}

    assert agents["a4"]["parent"] == "a3"
    assert agents["a5"]["asked"] == [QUESTION]
    assert [each["id"] for each in agents["a5"]["answers"]] == ["a5", "a5/1"]
    assert [agents[who]["delivered"] for who in ("a1", "a4", "lead")] == [
        True,
        False,
        False,
    ]
    assert agents["a3"]["outcome"] == "cancelled"
    assert agents["a1"]["reused_for"] == ["Who checks tokens"]
    assert run_figures(ended)["reused_briefs"] == [
        {"title": "Who checks tokens", "agent": "a1"}
    ]


def test_machines_are_told_what_is_done_now(live: RunView) -> None:
    agents = {
        each["id"]: each["doing"] for each in run_figures(live, live.last_at)["agents"]
    }

    assert agents["a3"] == "waits for a4"
