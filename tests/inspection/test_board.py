"""How a run stands at one moment, as data."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from deep_runs import ended_run, live_run
from watched_runs import BEGAN, Events

from orchestrator.events import Event
from orchestrator.inspection.board import Board, Row, board_of, summary_of
from orchestrator.inspection.fill import Fill
from orchestrator.inspection.run import RunView

WRONG: list[Any] = [None, 3, [], {"a": 1}, "\ud800"]


class Watched(Events):
    """Events that are folded as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.view = RunView()
        self.listeners.append(self.view.apply)

    def board(self, most: int | None = None) -> Board:
        return board_of(self.view, self.at, most=most)

    def row(self, agent: str) -> Row:
        return next(row for row in self.board().rows if row.id == agent)


@pytest.fixture
def at_work() -> Watched:
    write = Watched()
    write.begins()
    write.turn("lead")
    write.sends("a1", "a2")
    write.starts("a1", "Part a1")
    write.turn("a1", sent=63_000)
    return write


def test_a_row_has_all_that_is_known_of_an_agent(at_work: Watched) -> None:
    at_work.calls("a1", "grep", pattern="x")
    began = at_work.at.isoformat()
    row = at_work.row("a1")

    assert (row.id, row.title, row.depth, row.state) == ("a1", "Part a1", 1, "running")
    assert (row.doing.kind, row.doing.what, row.doing.since) == ("tool", "grep", began)
    assert row.words == "searches for “x”"
    assert row.fill == Fill(63_000, 100_000, 60_000, 75_000)
    assert (row.fill.share, row.fill.passed) == (0.63, "soft")
    assert (row.tokens, row.usd, row.turns) == (63_200, 0.01, 1)


def test_who_waits_for_whom_is_data(at_work: Watched) -> None:
    lead, queued = at_work.row("lead").doing, at_work.row("a2").doing

    assert (lead.kind, lead.agents) == ("agents", ("a1", "a2"))
    assert queued.kind == "place"
    assert queued.since
    at_work("permission.asked", "a1", tool="bash")
    assert (at_work.row("a1").doing.kind, at_work.row("a1").doing.what) == (
        "person",
        "bash",
    )
    at_work("permission.answered", "a1", tool="bash")
    at_work("model.requested", "a1", turn=2, estimated_tokens=1)
    assert at_work.row("a1").doing.kind == "model"
    at_work("model.retried", "a1", error="overloaded", wait_s=5)
    assert at_work.row("a1").doing.kind == "service"
    at_work.passes(6)
    assert at_work.row("a1").doing.kind == "model"
    at_work.ends("a1")
    assert at_work.row("a1").doing.kind == ""
    assert at_work.row("lead").doing.agents == ("a2",)


def test_further_questions_and_waits_name_whom_they_are_about(at_work: Watched) -> None:
    at_work("tool.ended", "lead", call="d1", name="delegate", content="", seconds=1)
    at_work.calls("lead", "wait_for", agents=["a2", "a9"], mode="all")
    assert at_work.row("lead").doing.agents == ("a2",)
    at_work("tool.ended", "lead", call="leadc", name="wait_for", content="", seconds=1)
    at_work.calls("lead", "wait_for", timeout_s=0)
    assert at_work.row("lead").doing.kind == "tool"
    at_work("tool.ended", "lead", call="leadc", name="wait_for", content="", seconds=1)
    at_work.calls("lead", "follow_up", agent="a1", question="And?")
    assert at_work.row("lead").doing.agents == ("a1",)
    at_work("tool.ended", "lead", call="leadc", name="follow_up", content="", seconds=1)
    assert at_work.row("lead").doing.kind == "work"


def test_compactions_clears_and_retries_are_counted_and_the_size_goes_down(
    at_work: Watched,
) -> None:
    at_work("context.cleared", "a1", tokens_after=30_000)
    at_work("context.compacted", "a1", tokens_after=20_000)
    at_work("model.retried", "a1", error="overloaded")
    row, board = at_work.row("a1"), at_work.board()

    assert (row.clears, row.compactions, row.retries) == (1, 1, 1)
    assert row.fill.tokens == 20_000
    assert (board.clears, board.compactions) == (1, 1)


def test_sums_are_those_of_the_agents_at_any_moment() -> None:
    view = RunView()
    for event in ended_run():
        view.apply(event)
        if event.seq % 7 == 0:
            agents = view.agents.values()
            assert view.tokens.sent == sum(each.tokens.sent for each in agents)
            assert view.tokens.output == sum(each.tokens.output for each in agents)
            assert view.cost.usd == pytest.approx(sum(each.cost.usd for each in agents))
            assert view.cost.cut == sum(each.cost.cut for each in agents)


def test_a_request_that_was_cut_off_counts_for_the_run_too(at_work: Watched) -> None:
    asked = {"estimated_tokens": 100, "max_output_tokens": 50, "reserved_usd": 0.5}
    at_work("model.requested", "a1", turn=2, **asked)
    at_work("run.resumed", after=1)

    assert (at_work.view.cost.cut, at_work.view.cost.cut_usd) == (1, 0.5)
    assert at_work.view.cost.cut_tokens == 150


def test_the_closest_limit_is_named_and_dollars_are_always_there() -> None:
    write = Watched()
    write.begins(usd=100.0, tokens=10_000, subagents=1)
    write.turn("lead", sent=9000)
    board = write.board()

    assert board.closest
    assert board.dollars
    assert (board.closest.name, board.closest.used) == ("tokens", 9200)
    assert (board.dollars.name, board.dollars.allowed) == ("usd", 100.0)


def test_where_there_is_no_room_for_all_those_at_work_come_first() -> None:
    write = Watched()
    write.begins()
    agents = [f"a{number}" for number in range(1, 31)]
    write.sends(*agents)
    for agent in agents[:10]:
        write.starts(agent, agent)
        write.ends(agent)
    for agent in agents[20:23]:
        write.starts(agent, agent)
    board = write.board(most=6)

    assert [row.id for row in board.rows] == ["lead", "a9", "a10", "a21", "a22", "a23"]
    assert board.hidden == {"complete": 8, "waiting": 17}
    assert [row.id for row in write.board(most=0).rows] == []
    assert len(write.board(most=31).rows) == 31


def test_agents_hang_on_the_nearest_that_is_there_above_them() -> None:
    write = Watched()
    write.begins()
    write.accepts("a1", "t")
    write.accepts("a2", "t")
    write.accepts("a3", "t", parent="a2")
    write.starts("a3", "t")
    write.starts("a1", "t")

    shown = [(row.id, row.depth) for row in write.board(most=3).rows]
    assert shown == [("lead", 0), ("a1", 1), ("a3", 1)]


def test_what_people_said_is_there_until_it_was_told(at_work: Watched) -> None:
    steer = at_work("control.received", action="steer", to="", text="Tests first.")
    edit = at_work("notes.edited", "lead", section="Plan", text="- [ ] look")
    assert [(s.text, s.section) for s in at_work.board().said] == [
        ("Tests first.", ""),
        ("- [ ] look", "Plan"),
    ]
    at_work("text.added", "lead", reason="steer", text="…", cause=edit.seq)
    assert [(s.seq, bool(s.told_at)) for s in at_work.board().said] == [
        (steer.seq, False),
        (edit.seq, True),
    ]
    at_work.passes(60)
    assert [s.seq for s in at_work.board().said] == [steer.seq]
    assert len(at_work.view.said.words) == 2


def test_of_changes_of_a_section_the_newest_stands_for_all(at_work: Watched) -> None:
    texts = ("- [ ] l", "- [ ] lo", "- [ ] look")
    *_, newest = (
        at_work("notes.edited", "lead", section="Plan", text=text) for text in texts
    )
    assert [said.text for said in at_work.board().said] == ["- [ ] look"]
    at_work("text.added", "lead", reason="steer", text="…", cause=newest.seq)
    assert at_work.view.said.untold == []
    assert all(said.told_at for said in at_work.view.said.words)


def test_what_was_asked_of_the_run_is_its_state_until_it_came_about(
    at_work: Watched,
) -> None:
    at_work("control.received", action="stop", to="a1")
    at_work("control.received", action="cancel", to="a2", by="lead")
    assert at_work.board().state == "running"
    at_work("control.received", action="pause", to="")
    assert at_work.board().state == "pausing"
    at_work("control.received", action="go_on", to="")
    assert at_work.board().state == "running"
    at_work("control.received", action="stop", to="")
    assert at_work.board().state == "stopping"
    at_work("run.ended", state="interrupted", missing=[])
    assert at_work.board().state == "interrupted"
    at_work("run.resumed", after=1)
    assert at_work.board().state == "running"
    at_work("run.parked", error="quota", message="used up")
    assert at_work.board().state == "parking"


def test_it_answers_the_same_when_the_run_is_over_and_is_json() -> None:
    view = RunView()
    for event in ended_run():
        view.apply(event)
    board = board_of(view)

    assert board.state == "partial"
    assert {row.doing.kind for row in board.rows} == {""}
    assert board.rows[6].words.startswith("no progress: `stall_s` reached")
    assert json.loads(json.dumps(board.to_dict()))["agents"][0]["id"] == "lead"
    assert summary_of(view).rows == ()


@pytest.mark.parametrize(
    "settings", [None, 3, {}, {"context": 3}, {"context": {"window_tokens": "x"}}]
)
def test_a_context_of_unknown_size_has_no_share(settings: object) -> None:
    fill = Fill.of_settings(settings).at(500)

    assert (fill.share, fill.passed, fill.tokens) == (None, "", 500)


def test_fields_of_a_wrong_type_do_no_harm() -> None:
    view = RunView()
    for kind in ("control.received", "notes.edited", "text.added", "agent.started"):
        for value in WRONG:
            names = ("action", "by", "to", "text", "section", "reason", "settings")
            view.apply(Event(1, "", "r", "lead", kind, 0, dict.fromkeys(names, value)))

    assert board_of(view, BEGAN).rows


def test_the_time_goes_on_with_the_clock() -> None:
    view = RunView()
    for event in live_run():
        view.apply(event)
    assert view.last_at
    later = view.last_at + timedelta(seconds=100)

    assert board_of(view, later).seconds == board_of(view).seconds + 100
    assert board_of(view, later).rows[0].seconds == pytest.approx(155)
