"""What an agent's time, calls and requests went into."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.events import Event
from orchestrator.inspection.breakdown import by_model, by_tool, fullest_of, waits_of
from orchestrator.inspection.costliest import Factor, costliest_of
from orchestrator.inspection.run import RunView
from orchestrator.inspection.usage import Peak, ToolUse

COUNTED = {"input_tokens": 700, "cache_read_tokens": 300, "output_tokens": 50}


class Teller:
    """Tells a run its events, each at a second at work."""

    def __init__(self) -> None:
        self.view = RunView()
        self.seq = 0
        self.tell(0, "run.started", limits={}, models={})

    def tell(self, at_s: float, kind: str, agent: str = "", **data: Any) -> None:
        self.seq += 1
        stamp = f"2026-11-29T12:00:{int(at_s):02}.000Z"
        event = Event(self.seq, stamp, "r", agent, kind, 0, data, worked_s=at_s)
        self.view.apply(event)

    def start(
        self, agent: str, *, at_s: float = 0, model: str = "m", **more: Any
    ) -> None:
        role = "lead" if agent == "lead" else "subagent"
        self.tell(
            at_s, "agent.started", agent, role=role, model=model, parent="lead",
            title=agent, **more,
        )  # fmt: skip

    def ask(self, agent: str, at_s: float, **more: Any) -> None:
        given = {"turn": 1, "estimated_tokens": 900, "composition": {"task": 900}}
        self.tell(at_s, "model.requested", agent, **(given | more))

    def answer(self, agent: str, at_s: float, **more: Any) -> None:
        given = {"usage": COUNTED, "usd": 0.01, "seconds": 1.0, "content": []}
        self.tell(at_s, "model.answered", agent, **(given | more))

    def call(
        self,
        agent: str,
        at_s: float,
        name: str,
        call: str,
        *,
        took_s: float = 1,
        **more: Any,
    ) -> None:
        given, effects = more.pop("input", {}), more.pop("effects", "reads")
        self.tell(
            at_s, "tool.started", agent, name=name, call=call, input=given,
            effects=effects,
        )  # fmt: skip
        ended = {"tokens": 10, "full_tokens": 40, "seconds": took_s, "is_error": False}
        self.tell(
            at_s + took_s, "tool.ended", agent, name=name, call=call, **(ended | more)
        )


@pytest.fixture
def run() -> Teller:
    return Teller()


def test_calls_are_added_up_by_tool(run: Teller) -> None:
    run.start("lead")
    run.call("lead", 1, "grep", "c1", input={"pattern": "x"}, artifact="art_1")
    run.call("lead", 2, "grep", "c2", input={"pattern": "y"}, is_error=True)
    run.call("a1", 2, "grep", "c3", input={"pattern": "x"})

    assert by_tool(run.view.agents.values()) == {
        "grep": ToolUse(3, 1, 0, 3.0, 30, 120, 1)
    }


def test_a_read_with_the_same_input_is_a_repeated_one(run: Teller) -> None:
    for call in ("c1", "c2"):
        run.call("lead", 1, "read_file", call, input={"path": "a", "first_line": 1})
    run.call("lead", 1, "read_file", "c3", input={"first_line": 2, "path": "a"})
    run.call("a1", 1, "read_file", "c4", input={"path": "a", "first_line": 1})
    # Neither what changes something nor what only waits is a read.
    for call in ("c5", "c6"):
        run.call("lead", 1, "bash", call, input={"command": "x"}, effects="effects")
        run.call("lead", 1, "wait_for", f"{call}w", input={})

    assert {n: each.usage.repeats for n, each in run.view.agents.items()} == {
        "lead": 1,
        "a1": 0,
    }


def test_the_service_is_waited_for_beyond_the_time_of_its_answers(run: Teller) -> None:
    run.start("lead")
    run.ask("lead", 1)
    run.tell(3, "model.retried", "lead", error="overloaded", attempt=1, wait_s=2)
    run.answer("lead", 8, seconds=2.5)
    run.ask("lead", 9)
    run.tell(11, "model.failed", "lead", error="overloaded", message="")

    assert run.view.agents["lead"].usage.waits()["service"] == pytest.approx(6.5)
    found = by_model(run.view.agents.values())["m"]
    assert (found.requests, found.answers, found.retries, found.failures) == (
        2,
        1,
        1,
        1,
    )
    assert found.seconds == 2.5
    assert found.waited_s == pytest.approx(6.5)


def test_joins_side_by_side_wait_once(run: Teller) -> None:
    run.start("lead")
    for call in ("j1", "j2"):
        run.tell(1, "tool.started", "lead", name="wait_for", call=call, input={})
    run.tell(4, "tool.ended", "lead", name="wait_for", call="j1")
    run.tell(6, "tool.ended", "lead", name="wait_for", call="j2")

    assert run.view.agents["lead"].usage.waits()["subagents"] == 5


def test_a_subagent_waits_for_a_place_for_its_brief_and_for_each_question(
    run: Teller,
) -> None:
    run.start("lead")
    run.tell(1, "subagent.accepted", "lead", id="a1", title="t", call="d")
    run.start("a1", at_s=4)
    run.tell(5, "subagent.ended", "a1", id="a1", status="complete")
    run.tell(6, "subagent.asked", "a1", id="a1", question="q", call="f")
    run.ask("a1", 8)
    run.answer("a1", 9)

    assert run.view.agents["a1"].usage.waits()["room"] == 5


def test_what_is_waited_for_still_counts_up_to_now(run: Teller) -> None:
    run.tell(1, "subagent.accepted", "lead", id="a1", title="t", call="d")
    run.tell(3, "permission.asked", "lead", tool="bash", call="c")
    now = run.view.last_at
    assert now is not None

    later = now.replace(second=10)

    assert waits_of(run.view.agents.values(), later) == {
        "service": 0,
        "subagents": 0,
        "room": 9,
        "person": 7,
    }
    assert waits_of(run.view.agents.values())["room"] == 2


def test_nobody_waits_between_two_processes(run: Teller) -> None:
    run.start("lead")
    run.ask("lead", 1)
    run.tell(2, "run.ended", state="interrupted")
    run.tell(2, "run.resumed")
    run.ask("lead", 5)
    run.answer("lead", 6)

    assert run.view.agents["lead"].usage.waits()["service"] == 1


def test_requests_of_the_program_count_for_the_model_that_is_asked(run: Teller) -> None:
    run.start("lead", model="big")
    run.ask("lead", 1, purpose="summary", model="small", estimated_tokens=99_999)
    run.answer("lead", 2, purpose="summary")
    run.ask("lead", 3)
    run.answer("lead", 4)

    found = by_model(run.view.agents.values())
    assert {name: use.requests for name, use in found.items()} == {"small": 1, "big": 1}
    assert run.view.agents["lead"].usage.peak == Peak(1, 5, 1000, {"task": 900})


def test_after_a_refusal_the_other_model_is_asked(run: Teller) -> None:
    run.start("lead", model="first")
    run.ask("lead", 1)
    run.answer("lead", 2, stop_reason="refusal")
    run.tell(2, "model.replaced", "lead", model="first", instead="second")
    run.ask("lead", 3)
    run.answer("lead", 4)

    assert [*by_model(run.view.agents.values())] == ["first", "second"]


def test_the_fullest_context_is_that_which_fills_most_of_its_window(
    run: Teller,
) -> None:
    for agent, window in (("lead", 100_000), ("a1", 2000)):
        run.start(agent, settings={"context": {"window_tokens": window}})
    for agent, size in (("lead", 5000), ("a1", 1000)):
        run.ask(agent, 1)
        run.answer(agent, 2, usage={"input_tokens": size})

    found = fullest_of(run.view)

    assert found is not None
    assert (found.agent, found.peak.tokens, found.share) == ("a1", 1000, 0.5)


def crew(run: Teller, *sizes: int, usd: float | None = 0.01) -> None:
    for number, size in enumerate(sizes, 1):
        run.start(f"a{number}")
        for turn in range(1, size // 100 + 1):
            run.ask(f"a{number}", 1, turn=turn)
            run.answer(f"a{number}", 2, usd=usd)


def test_the_costliest_subagent_and_in_what_it_differs(run: Teller) -> None:
    crew(run, 100, 400, 100, 100)
    for call in ("r1", "r2", "r3"):
        run.call("a2", 3, "read_file", call, input={"path": "big"}, full_tokens=9000)

    found = costliest_of(run.view)

    assert found is not None
    assert (found.agent, found.measure, found.amount) == ("a2", "usd", 0.04)
    assert found.share == pytest.approx(4 / 7)
    assert found.factors[0] == Factor("explored_tokens", 27_000, 0)
    assert Factor("turns", 4, 1) in found.factors
    assert Factor("repeated_reads", 2, 0) in found.factors
    assert found.model == ""


def test_without_dollars_the_tokens_tell(run: Teller) -> None:
    crew(run, 100, 200, usd=None)

    found = costliest_of(run.view)

    assert found is not None
    assert (found.agent, found.measure, found.amount) == ("a2", "tokens", 2100)


def test_a_low_share_of_the_cache_and_another_model_are_told(run: Teller) -> None:
    for agent, model in (("a1", "big"), ("a2", "small"), ("a3", "small")):
        run.start(agent, model=model)
        run.ask(agent, 1)
        is_big = model == "big"
        usage = COUNTED if not is_big else {"input_tokens": 1000, "output_tokens": 50}
        run.answer(agent, 2, usage=usage, usd=0.3 if is_big else 0.01)

    found = costliest_of(run.view)

    assert found is not None
    assert (found.agent, found.model) == ("a1", "big")
    assert found.factors == (Factor("cache_share", 0.0, 0.3),)


def test_one_subagent_is_not_the_costliest(run: Teller) -> None:
    crew(run, 100)

    assert costliest_of(run.view) is None
