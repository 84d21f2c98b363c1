"""What is sent of a conversation, and what is known of its size."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from orchestrator.context.layout import ShownResult
from orchestrator.context.marks import End
from orchestrator.context.shown import MAX_DEARNESS, Shown
from orchestrator.messages import Block, text_block, tool_result
from orchestrator.testing import say, think

STUB = "[Cleared: …]"


def use(call: str, name: str = "read_file") -> Block:
    return {"type": "tool_use", "id": call, "name": name, "input": {}}


def begun(*texts: str) -> Shown:
    """A conversation that has its task: 100 tokens of head, 50 of task."""
    shown = Shown()
    first = [text_block(text) for text in texts or ("the task",)]
    shown.begin(first, layers={"task": 50}, head_tokens=100, tools=40)
    return shown


def step(shown: Shown, *calls: str, thought: str = "", tokens: int = 200) -> None:
    """One more step; each result has so many tokens."""
    said: list[Block] = [think(thought)] if thought else []
    content = [*said, say("I look."), *map(use, calls)]
    shown.append("assistant", content, tokens=10, layers={"assistant": 10})
    results = [tool_result(call, f"text of {call}") for call in calls]
    layers = {"results:read_file": tokens * len(calls)}
    shown.append("user", results, tokens=tokens * len(calls), layers=layers)
    number = len(shown.messages) // 2
    shown.took(ShownResult(each, "read_file", number, tokens) for each in calls)


def as_bytes(shown: Shown) -> list[bytes]:
    return [orjson.dumps(message) for message in shown.messages]


def texts(shown: Shown, place: int) -> list[Any]:
    return [
        block.get("text", block.get("content"))
        for block in shown.messages[place]["content"]
    ]


class TestAppending:
    def test_what_a_role_adds_to_its_own_message_joins_it(self) -> None:
        shown = begun()
        shown.append("user", [text_block("more")], tokens=5, layers={"text": 5})
        shown.append("assistant", [say("a")], tokens=1)
        shown.append("assistant", [say("b")], tokens=1)

        assert [each["role"] for each in shown.messages] == ["user", "assistant"]
        assert texts(shown, 0) == ["the task", "more"]
        assert shown.pieces == as_bytes(shown)
        assert shown.composition == {
            "prompt": 60,
            "tools": 40,
            "task": 50,
            "text": 5,
        }

    def test_a_message_needs_content(self) -> None:
        with pytest.raises(ValueError, match="needs content"):
            begun().append("user", [], tokens=0)

    def test_steps_begin_with_the_assistant(self) -> None:
        shown = begun()
        assert shown.steps == []
        step(shown, "c1")
        step(shown, "c2", "c3")
        shown.append("user", [text_block("x")], tokens=7, layers={"text": 7})

        assert shown.steps == [210, 417]
        assert shown.first_tokens == 150
        assert shown.base_tokens == 150
        assert shown.end == End(4, 3, shown.tokens)


class TestSizes:
    def test_what_is_reported_counts_and_the_rest_is_estimated(self) -> None:
        shown = begun()
        assert shown.tokens == 150
        shown.reported(120)
        step(shown, "c1")

        assert shown.tokens == 330
        shown.factor = 1.5
        assert shown.tokens == 120 + 315
        assert shown.at_most(2.0, 10) == 120 + 420 + 3 * 10
        assert shown.at_most(2.0, 10, more=5) == 120 + 430 + 3 * 10

    @pytest.mark.parametrize(
        ("added", "told", "dearness"),
        [(400, 2000, 1.0), (500, 800, 1.6), (500, 300, 1.0), (500, 9000, MAX_DEARNESS)],
    )
    def test_the_dearest_text_is_remembered(
        self, added: int, told: int, dearness: float
    ) -> None:
        shown = Shown()
        shown.append("user", [text_block("x")], tokens=added)

        shown.measured(told)

        assert shown.dearness == dearness

    def test_another_model_counts_otherwise(self) -> None:
        shown = begun()
        shown.reported(120)
        shown.doubt()

        assert (shown.known_tokens, shown.added_tokens) == (0, 120)


class TestClearing:
    def test_a_stub_takes_the_place_of_a_result_and_thinking_behind_it_goes(
        self,
    ) -> None:
        shown = begun()
        step(shown, "c1", thought="first")
        step(shown, "c2", "c3", thought="second")
        before = shown.tokens

        thinking = shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=False)

        assert thinking == 1
        assert texts(shown, 2) == [STUB]
        assert shown.messages[1]["content"][0]["type"] == "thinking"
        assert texts(shown, 3)[0] == "(thinking) second"
        assert shown.pieces == as_bytes(shown)
        assert shown.tokens == before - 180
        assert shown.composition["stubs"] == 20
        assert shown.composition["results:read_file"] == 400
        assert list(shown.results) == ["c2", "c3"]
        assert shown.rewritten == 1

    def test_the_thinking_of_the_newest_step_may_stay(self) -> None:
        shown = begun()
        step(shown, "c1")
        step(shown, "c2", thought="second")

        assert not shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=True)
        assert shown.messages[3]["content"][0]["type"] == "thinking"

    def test_what_is_not_shown_is_passed_over(self) -> None:
        shown = begun()
        step(shown, "c1")

        assert shown.clear({"c9": STUB}, {"c9": 20}, spares_newest=False) == 0
        assert (shown.rewritten, shown.stub_ends) == (0, [])

    def test_where_the_stubs_of_the_last_two_clears_end_is_known(self) -> None:
        shown = begun()
        for number in range(1, 5):
            step(shown, f"c{number}")

        shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=False)
        shown.clear({"c2": STUB, "c3": STUB}, {"c2": 20}, spares_newest=False)

        assert shown.stub_ends == [End(2, 1, 150 + 30), End(6, 1, 150 + 30 + 30 + 10)]

    def test_what_is_known_shrinks_with_it_and_is_doubted_a_little(self) -> None:
        shown = begun()
        step(shown, "c1")
        step(shown, "c2")
        shown.reported(600)

        shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=False)

        assert shown.known_tokens == 411
        assert shown.added_tokens == 0
        assert shown.slack_tokens == 38
        assert shown.at_most(1.0, 0) == 449
        shown.reported(400)
        assert shown.at_most(1.0, 0) == 400

    def test_a_result_cleared_twice_is_counted_once(self) -> None:
        shown = begun()
        step(shown, "c1")
        shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=False)
        size = shown.tokens

        shown.clear({"c1": "[shorter]"}, {"c1": 5}, spares_newest=False)

        assert texts(shown, 2) == ["[shorter]"]
        assert shown.tokens == size


class TestCompacting:
    def make(self) -> Shown:
        shown = begun("the task")
        for number in range(1, 4):
            step(shown, f"c{number}", thought=f"thought {number}")
        return shown

    def test_a_text_takes_the_place_of_steps(self) -> None:
        shown = self.make()

        parts = {"state": 20, "summary": 30}
        assert shown.size_with(parts, kept=2) == 150 + 50 + 210
        thinking = shown.compact("so far", kept=2, parts=parts, spares_newest=False)

        assert thinking == 1
        assert texts(shown, 0) == ["the task", "so far"]
        assert texts(shown, 2) == ["text of c3"]
        assert shown.pieces == as_bytes(shown)
        assert shown.tokens == 410
        assert list(shown.results) == ["c3"]
        assert shown.composition == {
            "prompt": 60,
            "tools": 40,
            "task": 50,
            "state": 20,
            "summary": 30,
            "assistant": 10,
            "results:read_file": 200,
        }

    def test_an_earlier_text_and_what_had_joined_it_goes(self) -> None:
        shown = self.make()
        shown.compact("first text", kept=0, parts={"state": 9}, spares_newest=False)
        shown.append("user", [text_block("said since")], tokens=4)
        step(shown, "c4")
        step(shown, "c5")

        shown.compact("second text", kept=2, parts={"state": 9}, spares_newest=True)

        assert texts(shown, 0) == ["the task", "second text"]
        assert [each["role"] for each in shown.messages] == [
            "user",
            "assistant",
            "user",
        ]

    def test_all_can_be_said_in_one_message(self) -> None:
        shown = self.make()

        shown.compact("all of it", kept=0, parts={"summary": 9}, spares_newest=False)

        assert len(shown) == 1
        assert shown.results == {}
        assert shown.steps == []

    def test_without_a_text_steps_only_go(self) -> None:
        shown = self.make()

        shown.compact("", kept=4, parts={}, spares_newest=True)

        assert texts(shown, 0) == ["the task"]
        assert len(shown) == 5
        assert shown.messages[3]["content"][0]["type"] == "thinking"

    def test_stubs_are_forgotten(self) -> None:
        shown = self.make()
        shown.clear({"c1": STUB}, {"c1": 20}, spares_newest=False)
        shown.compact("text", kept=2, parts={}, spares_newest=False)

        assert shown.stub_ends == []

    def test_without_any_estimate_the_sizes_are_added(self) -> None:
        shown = Shown()
        shown.append("user", [text_block("x")], tokens=0)

        assert shown.size_with({"state": 5}, kept=0) == 5


class TestThinking:
    def test_all_of_it_goes_and_the_size_stays_from_above(self) -> None:
        shown = begun()
        step(shown, "c1", thought="a")
        shown.append("assistant", [think("only")], tokens=3)
        size = shown.tokens

        assert shown.drop_thinking() == 2
        assert texts(shown, 3) == ["(thinking left out)"]
        assert shown.pieces == as_bytes(shown)
        assert shown.tokens == size
        assert shown.rewritten == 1
        assert shown.drop_thinking() == 0
        assert shown.rewritten == 1


class TestAnsweringAnew:
    def test_the_result_is_another_and_the_sizes_follow(self) -> None:
        shown = begun()
        step(shown, "c1", "c2")
        before = shown.tokens

        old = shown.answer_anew(tool_result("c2", "left out"), tokens=9)

        assert old == tool_result("c2", "text of c2")
        assert texts(shown, 2) == ["text of c1", "left out"]
        assert shown.tokens == before - 191
        assert shown.composition["results:read_file"] == 200
        assert shown.composition["stubs"] == 9
        assert shown.pieces == as_bytes(shown)

    def test_the_same_again_changes_nothing(self) -> None:
        shown = begun()
        step(shown, "c1")

        assert shown.answer_anew(tool_result("c1", "text of c1"), tokens=200)
        assert shown.rewritten == 0

    def test_a_call_that_is_not_there_is_passed_over(self) -> None:
        assert begun().answer_anew(tool_result("c1", "x"), tokens=1) is None
