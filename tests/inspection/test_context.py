"""What filled a context, from events alone."""

from __future__ import annotations

from typing import Any

import pytest
from context_runs import context_run
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.cli.compaction_text import compaction_lines
from orchestrator.cli.context_table import agent_lines, overview_lines
from orchestrator.cli.output import Style
from orchestrator.errors import SpecError
from orchestrator.events import KINDS, Event
from orchestrator.inspection.compactions import compaction_of
from orchestrator.inspection.context import AgentContext, contexts_of
from orchestrator.inspection.context_sums import (
    estimate_error,
    health_of,
    largest,
    tool_sums,
)
from orchestrator.inspection.layers import GROUPS, by_group, in_order
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.reading import read_events


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, AgentContext]:
    folder = context_run(tmp_path_factory.mktemp("runs"))
    return contexts_of(read_events(folder.events, Artifacts(folder.artifacts)))


@pytest.fixture
def lead(agents: dict[str, AgentContext]) -> AgentContext:
    return agents["lead"]


def event(seq: int, kind: str, cause: int = 0, **data: Any) -> Event:
    return Event(seq, "", "run", "lead", kind, cause, data)


def requested(seq: int, turn: int, **data: Any) -> Event:
    return event(seq, "model.requested", turn=turn, **data)


def answered(seq: int, *calls: str, **data: Any) -> Event:
    uses = [{"type": "tool_use", "id": c, "name": "grep", "input": {}} for c in calls]
    content = [{"type": "text", "text": "so"}, *uses]
    return event(seq, "model.answered", content=content, **data)


def ended(seq: int, call: str, **data: Any) -> Event:
    return event(seq, "tool.ended", call=call, name="grep", tokens=100, **data)


def test_each_turn_has_what_was_estimated_and_what_was_counted(
    lead: AgentContext,
) -> None:
    turn = lead.turns[3]

    assert (turn.estimated, turn.reported, turn.cache_read) == (6640, 6550, 3275)
    assert turn.composition["results:read_file"] == 6000
    assert (turn.cache_share, turn.first_token_s) == (0.5, 0.4)
    assert turn.error == pytest.approx(0.0137, abs=1e-3)


def test_a_request_of_the_program_is_no_turn_and_counts_besides(
    lead: AgentContext,
) -> None:
    assert list(lead.turns) == [1, 2, 3, 4, 5, 6, 7]
    assert [(each.purpose, each.tokens_in) for each in lead.asides] == [
        ("summary", 13_000),
        ("summary", 13_100),
    ]
    assert sum(turn.size for turn in lead.turns.values()) == lead.sent


def test_window_and_marks_are_those_of_the_log(
    agents: dict[str, AgentContext],
) -> None:
    lead, child = agents["lead"], agents["a1"]

    assert (lead.window_tokens, lead.soft_tokens, lead.hard_tokens) == (
        20_000, 12_000, 15_000,
    )  # fmt: skip
    assert child.window_tokens is None


def test_a_result_counts_for_every_request_that_held_it_whole(
    lead: AgentContext,
) -> None:
    sent = {call.id: (call.sent, call.gone) for call in lead.calls.values()}

    assert sent == {
        "lead.c1": (2, 4), "lead.c2": (3, 6), "lead.c3": (2, 6), "lead.c4": (1, 6),
        "lead.c5": (2, 0), "lead.c6": (1, 0), "lead.c7": (0, 0),
    }  # fmt: skip


def test_the_largest_results_are_those_that_took_most_of_all_requests(
    lead: AgentContext,
) -> None:
    assert [call.id for call in largest(lead, most=2)] == ["lead.c2", "lead.c1"]
    assert [(tool.name, tool.calls, tool.errors) for tool in tool_sums(lead)] == [
        ("read_file", 4, 0),
        ("read_ref", 1, 0),
        ("grep", 2, 2),
    ]


def test_health_tells_what_was_opened_and_called_again(lead: AgentContext) -> None:
    clear, compaction = health_of(lead)

    assert [call.id for call in clear.opened] == ["lead.c5"]
    assert clear.again == []
    assert [call.id for call in compaction.again] == ["lead.c6"]
    assert [call.id for call in compaction.edit.calls] == [
        "lead.c1", "lead.c2", "lead.c3", "lead.c4",
    ]  # fmt: skip


def test_health_compares_the_errors_of_five_turns(lead: AgentContext) -> None:
    clear, compaction = health_of(lead)

    assert (clear.errors_before, clear.calls_before) == (0, 3)
    assert (clear.errors_after, clear.calls_after) == (2, 4)
    assert (compaction.errors_before, compaction.errors_after) == (1, 1)


def test_what_is_called_again_later_than_three_turns_is_not_missed() -> None:
    events = [event(1, "agent.started"), requested(2, 1), answered(3, "c1")]
    events += [ended(4, "c1"), event(5, "context.cleared", turn=2, stubs={"c1": "x"})]
    for turn in range(2, 7):
        at = 10 * turn
        call = f"c{turn}"
        events += [requested(at, turn), answered(at + 1, call), ended(at + 2, call)]

    [clear] = health_of(contexts_of(events)["lead"])

    assert [call.turn for call in clear.again] == [2, 3, 4]


@pytest.mark.parametrize(
    ("given", "is_opened"),
    [
        ({"ref": "h1"}, True),
        ({"ref": "`h1.2`"}, True),
        ({"ref": "h1.1"}, False),
        ({"ref": "h7"}, False),
        ({"ref": "art_0123456789ab"}, True),
        ({"ref": "art_ffffffffffff"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_opening_counts_where_it_names_what_had_gone(
    given: dict[str, Any], is_opened: bool
) -> None:
    reads = {"type": "tool_use", "id": "r", "name": "read_ref", "input": given}
    events = [
        event(1, "agent.started"), requested(2, 1), answered(3, "c1", "c2"),
        ended(4, "c1"), ended(5, "c2", artifact="art_0123456789ab"),
        event(6, "context.cleared", turn=2, stubs={"c2": "x"}), requested(7, 2),
        event(8, "model.answered", content=[reads]),
    ]  # fmt: skip

    [clear] = health_of(contexts_of(events)["lead"])

    assert bool(clear.opened) is is_opened


def test_a_search_of_the_own_history_is_told() -> None:
    recalls = {"type": "tool_use", "id": "r", "name": "recall"}
    asked = {**recalls, "input": {"where": "history", "query": "limit"}}
    other = {**recalls, "id": "q", "input": {"where": "memory", "query": "limit"}}
    events = [
        event(6, "context.compacted", turn=2, first_dropped=1, last_dropped=1),
        requested(7, 2), event(8, "model.answered", content=[asked, other]),
    ]  # fmt: skip

    [health] = health_of(contexts_of(events)["lead"])

    assert [call.id for call in health.searched] == ["r"]


def test_steps_are_counted_as_references_count_them() -> None:
    events = [
        requested(1, 1), answered(2, "c1", "c2"), ended(3, "c2"), ended(4, "c1"),
        requested(5, 2), answered(6, kept=False), requested(7, 3), answered(8),
        requested(9, 4), answered(10, "c3"), ended(11, "c3"),
        # The reply that made this call is lost.
        event(12, "tool.started", cause=99, call="c4", name="grep"), ended(13, "c4"),
    ]  # fmt: skip

    calls = contexts_of(events)["lead"].calls

    # Two answers in a row are one message.
    assert {call.id: call.ref for call in calls.values()} == {
        "c1": "h1.1", "c2": "h1.2", "c3": "h2", "c4": "h3",
    }  # fmt: skip


def test_a_request_that_is_sent_again_is_one_turn() -> None:
    events = [
        requested(1, 1), answered(2, "c1"), ended(3, "c1"),
        requested(4, 2, estimated_tokens=900), requested(5, 2, estimated_tokens=300),
    ]  # fmt: skip

    context = contexts_of(events)["lead"]

    assert context.calls["c1"].sent == 1
    assert (context.turns[2].requests, context.turns[2].estimated) == (2, 300)


def test_estimates_are_compared_where_a_request_is_large_enough(
    lead: AgentContext,
) -> None:
    found = estimate_error(lead)

    assert found is not None
    assert found.requests == 7
    assert found.worst == found.first == pytest.approx(0.0545, abs=1e-3)
    assert abs(found.total) < 0.005
    small = [
        requested(1, 1, estimated_tokens=9),
        answered(2, usage={"input_tokens": 4}),
    ]
    assert estimate_error(contexts_of(small)["lead"]) is None


def test_a_compaction_tells_what_went_and_what_stayed(lead: AgentContext) -> None:
    found = compaction_of(lead, 1)

    assert [step.ref for step in found.dropped] == ["h1", "h2", "h3", "h4"]
    assert [step.number for step in found.kept] == [5]
    assert (found.dropped[0].said, found.dropped[0].tokens) == ("I go on, 1.", 3000)
    assert len(found.asides) == 2


def test_a_later_compaction_does_not_tell_again_what_went_before() -> None:
    events = [requested(1, 1)]
    for step in (1, 2, 3):
        at = 10 * step
        events += [requested(at, step), answered(at + 1, f"c{step}")]
        events += [ended(at + 2, f"c{step}")]
    events[7:7] = [event(25, "context.compacted", turn=3, first_dropped=1,
                         last_dropped=1)]  # fmt: skip
    events += [event(40, "context.compacted", turn=4, first_dropped=1, last_dropped=2)]

    lead = contexts_of(events)["lead"]

    assert [[call.id for call in edit.calls] for edit in lead.edits] == [["c1"], ["c2"]]


@pytest.mark.parametrize("nth", [0, 2, -1])
def test_a_number_without_a_compaction_says_how_many_there_are(
    lead: AgentContext, nth: int
) -> None:
    with pytest.raises(SpecError, match="there is one: 1"):
        compaction_of(lead, nth)


def test_layers_are_summed_in_groups_and_a_later_one_is_not_lost() -> None:
    layers = {"prompt": 1, "tools": 2, "results:grep": 4, "results": 8, "moon": 16}

    groups = by_group(layers)

    assert list(groups) == list(GROUPS)
    assert (groups["fixed"], groups["results"], groups["told"]) == (3, 12, 16)
    assert in_order(layers) == ["prompt", "tools", "results", "results:grep", "moon"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["summary", "c1", "h1"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "type", "c1", "call"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
FIELDS = sorted({name for kind in KINDS.values() for name in kind.__dataclass_fields__})
EVENTS = st.builds(
    Event,
    seq=st.integers(0, 9),
    at=st.just(""),
    run=st.just("r"),
    agent=st.sampled_from(["", "lead", "a1"]),
    kind=st.sampled_from(
        ["context.cleared", "context.compacted", "model.requested", "model.answered",
         "tool.started", "tool.ended", "agent.started", "moon.risen"]
    ),
    cause=st.integers(0, 3),
    data=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_no_event_whatever_its_fields_breaks_what_is_shown(events: list[Event]) -> None:
    style = Style(is_on=False)
    agents = contexts_of(events)
    list(overview_lines(list(agents.values()), style=style))
    for each in agents.values():
        list(agent_lines(each, style=style))
        for health in health_of(each):
            health.to_dict()
        for nth in range(len(each.compactions)):
            try:
                found = compaction_of(each, nth + 1)
            except SpecError:
                continue
            found.to_dict()
            list(compaction_lines(found, style=style))
