"""What is followed of a conversation: what is cleared, pinned and asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.agent.sight import AGAIN_TURNS, Sight
from orchestrator.context.shown import Shown
from orchestrator.context.transcript import Transcript
from orchestrator.events import ContextCleared, ContextCompacted, FileSeen, TextAdded
from orchestrator.messages import Block, text_block, tool_result
from orchestrator.tools.calls import CallResult


class Talk:
    """A conversation of steps with one call each."""

    def __init__(self) -> None:
        self.sight, self.shown = Sight(), Shown()
        self.transcript = Transcript()
        first = [text_block("the task")]
        self.transcript.append("user", first)
        self.shown.begin(first, layers={"task": 1}, head_tokens=1, tools=1)

    def step(self, call: str, *, turns: int = 0, **more: Any) -> None:
        name, given = more.pop("name", "read_file"), more.pop("given", {"path": call})
        use: Block = {"type": "tool_use", "id": call, "name": name, "input": given}
        result = CallResult(call, name, f"text of {call}", False, tokens=50, **more)
        for role, block in (
            ("assistant", use),
            ("user", tool_result(call, f"text of {call}")),
        ):
            self.transcript.append(role, [block])
            self.shown.append(role, [block], tokens=50, layers={"assistant": 50})
        self.sight.take_in([result], self.transcript, self.shown, turns=turns)

    def clear(self, call: str, *, turns: int) -> None:
        self.shown.clear({call: "[Cleared]"}, {call: 5}, spares_newest=False)
        cleared = [{"call": call}, {"call": "unknown"}]
        event = ContextCleared(1, "soft", {call: "[Cleared]"}, 1, 1, cleared)
        self.sight.cleared(event, self.transcript, self.shown, turns=turns)


def seen(path: str, sha256: str = "s", *, first: int = 1, last: int = 9) -> FileSeen:
    return FileSeen(path, sha256, "art_0123456789ab", 9, first, last)


@pytest.mark.parametrize(
    ("after", "label"), [(AGAIN_TURNS, "critical"), (AGAIN_TURNS + 1, "reference")]
)
@pytest.mark.parametrize(
    "again",
    [
        {"given": {"path": "c1"}},
        {"name": "read_ref", "given": {"ref": "h1"}},
    ],
)
def test_what_is_asked_for_again_soon_after_its_clear_stays(
    after: int, label: str, again: dict[str, Any]
) -> None:
    talk = Talk()
    talk.step("c1")
    talk.clear("c1", turns=4)

    talk.step("c2", turns=4 + after, **again)
    talk.step("c3", turns=4)

    assert talk.shown.results["c2"].label == label
    assert talk.shown.results["c3"].label == "reference"


def test_a_tool_s_own_label_holds() -> None:
    talk = Talk()
    talk.step("c1", label="transient")

    assert talk.shown.results["c1"].label == "transient"


def test_a_result_whose_call_is_lost_keeps_its_label() -> None:
    talk = Talk()
    lost = CallResult("gone", "grep", "x", False, label="critical")
    talk.sight.take_in([lost], talk.transcript, talk.shown, turns=1)

    assert talk.shown.results["gone"].label == "critical"


def test_an_earlier_read_of_the_same_lines_is_superseded() -> None:
    talk = Talk()
    talk.step("c1", files=(seen("a.py", "old"),))
    talk.step("c2", files=(seen("a.py", "new"),))

    assert talk.shown.results["c1"].is_superseded
    assert not talk.shown.results["c2"].is_superseded


def test_what_is_cleared_shows_nothing_any_more() -> None:
    talk = Talk()
    talk.step("c1", files=(seen("a.py"),))
    assert talk.sight.showings.find(seen("a.py")) == "h1"
    talk.sight.rent_usd = 1.0

    talk.clear("c1", turns=1)

    assert talk.sight.showings.find(seen("a.py")) == ""
    assert talk.sight.rent_usd == 0


def test_critical_results_are_kept_when_their_step_goes() -> None:
    talk = Talk()
    talk.step("c1", label="critical")
    talk.step("c2")
    talk.step("c3", label="critical")

    pinned = talk.sight.pinned_after(2, talk.transcript, talk.shown)

    assert pinned == {"h1": "text of c1"}


def test_a_compaction_asks_for_a_reminder_and_keeps_what_was_put_back() -> None:
    talk = Talk()
    talk.step("c1")
    made = ContextCompacted(
        turn=3,
        why="hard",
        how="model",
        kept_messages=0,
        first_dropped=1,
        last_dropped=1,
        text="so far",
        added=["not 7 s"],
    )
    talk.shown.compact("so far", kept=0, parts={"state": 2}, spares_newest=False)

    talk.sight.was_compacted(made, talk.shown, turns=2)

    assert talk.sight.remind
    assert talk.sight.put_back == ["not 7 s"]
    assert (talk.sight.compacted, talk.sight.compacted_at) == (made, 2)
    assert talk.sight.compacted_to_tokens == talk.shown.tokens
    talk.sight.heard(TextAdded("reminder", "…"), turns=3)
    assert (talk.sight.remind, talk.sight.reminded_at) == (False, 3)
    talk.sight.heard(TextAdded("steer", "Faster."), turns=4)
    talk.sight.heard(TextAdded("nudge", "…"), turns=4)
    assert talk.sight.words == ["Faster."]
