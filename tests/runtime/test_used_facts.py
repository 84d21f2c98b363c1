"""What an agent learned and used later: whether it could be read when it did."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from orchestrator.context.tokens import estimate
from orchestrator.models.base import Usage
from orchestrator.runtime.replaying.recorded_agent import (
    Asked,
    Came,
    RecordedAgent,
    Took,
)
from orchestrator.runtime.replaying.used_facts import Sight, Timeline, UsedFacts
from orchestrator.testing import call

ASKED = Asked(Usage(), None, None, "offline")
OPENS = frozenset({"read_ref", "grep"})


def turn(name: str = "grep", *, brings: str = "", said: str = "", **given: Any) -> Took:
    """One call with its result; the call's id is its name and arguments."""
    made = call(name, **given)
    came = Came(
        made["id"] or "", name, brings, estimate(brings), 0, "", "reference", False
    )
    return Took(ASKED, [made], said, 10, [came])


def agent(
    *turns: Took, first: str = "Find it.", allowed: frozenset[str] = OPENS
) -> RecordedAgent:
    made = deepcopy(list(turns))
    for at, each in enumerate(made):
        each.calls[0]["id"] = each.results[0].call = f"c{at}"
    return RecordedAgent("lead", first_text=first, allowed=allowed, turns=made)


def sight_of(recorded: RecordedAgent, **timeline: Any) -> Sight:
    return UsedFacts(recorded).sight(Timeline(**timeline))


LEARNED = turn(pattern="token", brings="src/auth/session.py:41: def check_token(x):")
OTHER = turn("list_dir", path=".", brings="README.md")
OTHER_AGAIN = turn("list_dir", path="docs", brings="docs/index.md")
USED = turn("read_file", path="src/auth/session.py")


def test_what_a_result_told_and_a_later_call_names_is_a_fact_that_was_used() -> None:
    assert sight_of(agent(LEARNED, OTHER, USED)) == Sight(1, 1, visible=1)


@pytest.mark.parametrize(
    "timeline",
    [
        pytest.param({"cleared": {"c0": 2}}, id="its result is a stub without it"),
        pytest.param({"dropped": [(2, 1)]}, id="its step is gone"),
        pytest.param({"texts": {"c0": "src/auth [… cut …]"}}, id="it was cut off"),
    ],
)
def test_what_is_not_in_the_request_can_be_opened(timeline: dict[str, Any]) -> None:
    recorded = agent(LEARNED, OTHER, USED)
    deaf = agent(LEARNED, OTHER, USED, allowed=frozenset({"grep"}))

    assert sight_of(recorded, **timeline) == Sight(1, 1, reachable=1)
    assert sight_of(deaf, **timeline) == Sight(1, 1, gone=1)


@pytest.mark.parametrize(
    "timeline",
    [
        pytest.param({"cleared": {"c0": 3}}, id="cleared after it was used"),
        pytest.param({"cleared": {"c1": 1}}, id="another result is cleared"),
        pytest.param({"dropped": [(3, 2)]}, id="dropped after it was used"),
        pytest.param(
            {"cleared": {"c0": 1}, "stub_of": lambda _: "src/auth/session.py:41"},
            id="its stub holds it",
        ),
        pytest.param(
            {"dropped": [(1, 1)], "standing": ["Read src/auth/session.py."]},
            id="the summary holds it",
        ),
    ],
)
def test_what_still_stood_in_the_request_was_visible(timeline: dict[str, Any]) -> None:
    assert sight_of(agent(LEARNED, OTHER, USED), **timeline).visible == 1


def test_a_summary_counts_only_as_long_as_it_stands() -> None:
    recorded = agent(LEARNED, OTHER, OTHER_AGAIN, USED)
    standing = ["src/auth/session.py is read.", "Nothing of note."]

    found = sight_of(recorded, dropped=[(1, 1), (2, 2)], standing=standing)

    assert (found.visible, found.reachable) == (0, 1)


@pytest.mark.parametrize(
    "recorded",
    [
        pytest.param(
            agent(LEARNED, USED, first="See src/auth/session.py."),
            id="the task told it first",
        ),
        pytest.param(
            agent(turn(pattern="src/auth/session.py"), LEARNED, USED),
            id="the agent named it first",
        ),
        pytest.param(agent(USED, LEARNED), id="it was told only later"),
        pytest.param(
            agent(turn(brings="whole: art_0123456789ab, h12"),
                  turn("read_ref", ref="art_0123456789ab"),
                  turn("bash", command="echo art_0123456789ab")),
            id="a reference is the program's own",
        ),
        pytest.param(
            agent(turn(brings="line 4711 of it"), turn("read_file", first_line=4711)),
            id="how much is wanted is no fact",
        ),
        pytest.param(agent(turn(brings="x = 12")), id="nothing is used"),
        pytest.param(agent(), id="no turn"),
    ],
)  # fmt: skip
def test_what_was_not_learned_from_a_result_does_not_count(
    recorded: RecordedAgent,
) -> None:
    assert sight_of(recorded) == Sight()


def test_names_figures_and_quotes_are_facts_each_once_a_turn() -> None:
    quote = "A refund takes 14 days without a receipt."
    brought = f"1\t{quote}\nOrder K-1037 costs 4,250 EUR, see `Shop.total_of`.\n2\t退款"
    item = {"claim": "K-1037 costs 4,250: K-1037", "quote": quote}

    used = turn("submit_findings", items=[item, {"claim": "see Shop.total_of"}])
    found = sight_of(agent(turn(brings=brought), used, turn("grep", pattern="K-1037")))

    assert found == Sight(uses=5, facts=4, visible=5)


def test_notes_and_paths_touched_stay_behind_a_computed_compaction() -> None:
    note = turn("update_notes", section="Facts", mode="append", text="Use K-1037.")
    told = turn(brings="Order K-1037, order K-2048; src/auth/session.py")
    recorded = agent(
        told, note, USED, OTHER,
        turn(pattern="K-1037"), turn(pattern="K-2048"),
        turn("read_file", path="src/auth/session.py"),
    )  # fmt: skip

    computed = sight_of(recorded, dropped=[(4, 4)])
    recorded_so = sight_of(recorded, dropped=[(4, 4)], standing=["Nothing."])

    assert (computed.visible, computed.reachable) == (4, 1)
    assert (recorded_so.visible, recorded_so.reachable) == (2, 3)


def test_findings_teach_and_words_of_the_program_do_not() -> None:
    sent, used = turn("delegate"), turn(pattern="K-1037")
    sent.found.append("a1 found K-1037")
    assert sight_of(agent(sent, used)).uses == 1

    sent.told, sent.found = ["a person says: K-1037"], []
    assert sight_of(agent(sent, used)).uses == 0
