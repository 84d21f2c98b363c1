"""What the loop keeps of an agent, and that a later process finds it the same."""

from __future__ import annotations

from pathlib import Path

from agent_bench import DONE, AgentBench, Echo, use

from orchestrator.agent.state import AgentState
from orchestrator.events import ModelReplaced, ResultReplaced
from orchestrator.tools.calls import CallResult


async def played(folder: Path) -> tuple[AgentBench, AgentState]:
    """An agent that has just got the result of `t1`, and has not asked again."""
    bench = AgentBench(folder, [Echo()])
    await bench.run([use("t1", text="hello"), DONE])
    answered = bench.events("tool.ended")[0].seq
    bench.cut(answered)
    state = bench.left().state
    state.pending_results = [CallResult("t1", "echo", "hello", False, tokens=3)]
    state.flush()
    return bench, state


async def test_a_result_is_unseen_until_a_reply_comes_whatever_is_said_behind_it(
    tmp_path: Path,
) -> None:
    _, state = await played(tmp_path)
    assert [each.call for each in state.newest_results] == ["t1"]

    state.add([], ["As a reminder: …"])
    state.flush()

    assert [each.call for each in state.newest_results] == ["t1"]


async def test_a_result_that_is_replaced_is_so_for_a_later_process_too(
    tmp_path: Path,
) -> None:
    bench, state = await played(tmp_path)
    left_out = ResultReplaced("t1", "left out", is_error=False)
    bench.log.append(left_out, agent="lead")
    state.replace_result(left_out)

    again = bench.left().state

    assert again.shown.messages == state.shown.messages
    assert again.transcript.messages == state.transcript.messages
    assert again.shown.composition == state.shown.composition
    assert again.shown.tokens == state.shown.tokens
    assert state.shown.composition["stubs"] == state.count("left out")
    assert not state.shown.composition["results:echo"]


async def test_what_a_model_refuses_is_not_held_against_the_next(
    tmp_path: Path,
) -> None:
    _, state = await played(tmp_path)
    state.sight.is_bound = True

    state.replace_model(ModelReplaced(1, "m", "claude-opus-5", "no", {}, []))

    assert state.spares_newest
