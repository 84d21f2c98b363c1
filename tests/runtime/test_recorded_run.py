"""A run folded from its log, and what a policy makes of the sizes in it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from context_samples import numbers_of
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    played,
    submit,
)

from orchestrator.api import Orchestrator
from orchestrator.context.numbers import Numbers
from orchestrator.context.tokens import estimate
from orchestrator.context.whatif import what_if
from orchestrator.events import Event
from orchestrator.inspection.reading import load_run
from orchestrator.models.base import Usage
from orchestrator.runtime.replaying.figures import computed
from orchestrator.runtime.replaying.left_behind import LeftBehind, stub_size
from orchestrator.runtime.replaying.policies import compare_policies
from orchestrator.runtime.replaying.recorded_agent import (
    Asked,
    Came,
    Edited,
    RecordedAgent,
    Took,
)
from orchestrator.runtime.replaying.recorded_run import RecordedRun
from orchestrator.runtime.replaying.sizing import sized
from orchestrator.runtime.replaying.used_facts import NOTHING_USED
from orchestrator.spec.policy import ContextPolicy
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, call, reply

PAPER = "A refund takes 14 days.\nWithout a receipt it takes 30 days.\n"
READ = call("read_file", path="refunds.md")
CLAIM = item("It takes 14 days.", "refunds.md:1", "A refund takes 14 days.")
LEAD, OTHER = "claude-sonnet-5-5", "claude-haiku-5-5"


# ---- real runs -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A lead that is refused once, an answer cut off, a subagent, a question."""
    bench = RunBench(tmp_path_factory.mktemp("recorded"), {"refunds.md": PAPER})
    cut = reply("It takes", stop_reason="max_tokens")
    lead = in_turn(
        READ,
        reply(stop_reason="refusal", stop_details={"category": "cyber"}),
        call("read_file", path="refunds.md", first_line=2),
        cut,
        delegate(brief("One")),
        finish("With a receipt: 14 days [refunds.md:1]."),
    )
    worker = in_turn(READ, submit(CLAIM))

    async def run() -> Ended:
        ended = await bench.play(
            lead, {"One": worker}, model=LEAD, fallback_model=OTHER
        )
        more = in_turn(READ, finish("Without one: 30 days [refunds.md:2]."))
        async with Orchestrator(
            runs_dir=bench.runs, model=played(more, {}), clock=FakeClock()
        ) as here:
            return Ended(await here.ask(ended.folder, "And without?"), ended.model)

    return anyio.run(run)


def recorded(ended: Ended) -> RecordedRun:
    return RecordedRun.of(ended.events())


def test_what_was_paid_is_what_show_tells_whatever_became_of_the_answers(
    ended: Ended,
) -> None:
    found = compare_policies(RunFolder(ended.folder), ContextPolicy(preset="short"))

    view = load_run(RunFolder(ended.folder))
    was, own = found.total.was, found.total.own
    assert was.usd == pytest.approx(view.cost.usd)
    assert (was.input_tokens, was.output_tokens) == (
        view.tokens.input,
        view.tokens.output,
    )
    assert was.requests == view.cost.priced
    assert own.requests == was.requests
    assert own.usd == pytest.approx(was.usd, rel=0.05)
    assert found.unpriced == ()


def test_answers_that_did_not_enter_the_conversation_are_no_turns(
    ended: Ended,
) -> None:
    lead = recorded(ended).agents["lead"]

    assert len(lead.discarded) == 2
    assert [each.asked.model for each in lead.turns][:2] == [LEAD, OTHER]
    assert [turn.calls[0]["name"] for turn in lead.turns] == [
        "read_file", "read_file", "delegate", "finish", "read_file", "finish",
    ]  # fmt: skip


def test_findings_stand_beside_results_and_end_a_part_of_the_work(
    ended: Ended,
) -> None:
    agents = recorded(ended).agents
    lead, worker = agents["lead"], agents["a1"]

    [sent] = [turn for turn in lead.turns if turn.calls[0]["name"] == "delegate"]
    assert sent.results == []
    assert len(sent.found) == 1
    assert "14 days" in sent.found[0]
    assert sent.told_tokens > 20
    assert [turn.at_break for turn in lead.turns] == [
        turn is sent for turn in lead.turns
    ]
    assert (worker.parent, worker.profile) == ("lead", "explorer")


def test_a_further_question_is_part_of_the_conversation(ended: Ended) -> None:
    lead = recorded(ended).agents["lead"]

    assert any("And without?" in text for text in lead.turns[3].told)


# ---- sizes ---------------------------------------------------------------------------


def took(
    context: int, output: int = 50, *results: Came, told: int = 0, **more: Any
) -> Took:
    usage = Usage(input_tokens=context, output_tokens=output)
    calls = [call(each.name) | {"id": each.call} for each in results]
    return Took(
        Asked(usage, None, None, "m"), calls, "", output, [*results],
        told_tokens=told, **more,
    )  # fmt: skip


def came(name: str, tokens: int, *, text: str = "", full: int = 0) -> Came:
    return Came(
        f"{name}-{tokens}", name, text, tokens, full or tokens,
        "art_0123456789ab" if full else "", "reference", False,
    )  # fmt: skip


def agent(*turns: Took) -> RecordedAgent:
    return RecordedAgent("lead", fixed_tokens=900, turns=list(turns))


def test_a_turn_is_as_long_as_the_service_counted_it() -> None:
    found = sized(
        agent(took(1000, 50, came("grep", 150)), took(1400, 50), took(1450)),
        numbers_of(),
    ).conversation

    assert found.first_tokens == 1000
    assert [turn.tokens for turn in found.turns[:2]] == [400, 50]
    assert found.turns[0].results[0].tokens == 300


def test_what_a_clear_took_out_is_not_taken_for_a_short_turn() -> None:
    stub = "[Cleared: grep, 400 tokens; again: read_ref(h1)]"
    edit = Edited(2, "rent", {"grep-350": stub})
    before = took(1400, 50, came("grep", 351))
    after = took(1400 + 401 - 350 + estimate(stub), edits=(edit,))

    found = sized(
        agent(took(1000, 50, came("grep", 350)), before, after), numbers_of()
    ).conversation

    assert found.turns[1].tokens == pytest.approx(401, abs=2)


def test_behind_a_compaction_sizes_are_estimated_as_before() -> None:
    gone = Edited(2, "hard", dropped=1, text="State.", parts={"state": 5})
    turns = (
        took(1000, 50, came("grep", 150)),
        took(1400, 50, came("grep", 151)),
        took(700, edits=(gone,)),
    )

    found = sized(agent(*turns), numbers_of()).conversation

    assert found.turns[1].tokens == pytest.approx(2 * 201, abs=2)


TEXT = "\n".join(f"line {n} of the output" for n in range(400)) + "\n"


def clipped(before: Numbers, after: Numbers, *results: Came) -> Any:
    turns = agent(took(1000, 50, *results), took(9000))
    return sized(turns, after, before=before, whole=lambda _ref: TEXT)


def test_a_smaller_limit_cuts_a_result_and_a_larger_one_shows_more() -> None:
    size = estimate(TEXT)
    whole = came("bash", size, text=TEXT)
    part = came("bash", 500, text=TEXT[:2000], full=size)

    less = clipped(numbers_of(), numbers_of(clip_tokens=600), whole, part)
    more = clipped(numbers_of(clip_tokens=500), numbers_of(clip_tokens=900), part)

    assert (less.shorter, less.longer) == (1, 0)
    assert estimate(less.texts[whole.call]) <= 600
    assert less.texts[whole.call].startswith("line 0 of")
    assert (more.shorter, more.longer) == (0, 1)
    assert 500 < estimate(more.texts[part.call]) <= 900


def test_a_page_is_cut_at_a_line_and_never_grows() -> None:
    page = came("read_file", estimate(TEXT), text=TEXT)

    less = clipped(numbers_of(), numbers_of(read_tokens=500), page)
    more = clipped(numbers_of(read_tokens=4000), numbers_of(read_tokens=8000), page)

    text = less.texts[page.call]
    assert text.endswith("output\n")
    assert estimate(text) <= 550
    assert more.texts == {}


def test_a_request_that_would_not_have_fitted_is_told() -> None:
    numbers = numbers_of(
        window_tokens=5000, output_tokens=1000, soft_tokens=3000, hard_tokens=3900,
    )  # fmt: skip
    tried = agent(took(1000), took(1050, told=3500), took(4600))

    outcome = what_if(sized(tried, numbers).conversation, numbers, price=None)

    assert computed(tried, outcome, NOTHING_USED, summaries=None).too_long == (3,)


# ---- what is left in the place of steps ----------------------------------------------


def compaction(gone: int, **parts: int) -> Edited:
    return Edited(3, "hard", dropped=2, parts=parts, gone_tokens=gone, by_summary=True)


def test_compactions_are_taken_to_leave_what_those_of_the_run_left() -> None:
    tried = agent()
    tried.edits = [
        Edited(1, "rent", {"c1": "stub"}),
        compaction(10_000, state=300, summary=900, files=4000),
        compaction(6000, state=500, summary=700, subagents=100),
    ]

    left = LeftBehind.of([tried, agent()])

    assert left.summary_share == pytest.approx(0.1)
    assert (left.beside_tokens, left.files_tokens, left.compactions) == (450, 2000, 2)
    few = numbers_of(reopen_files=1, reopen_tokens=500)
    assert left.under(few).beside_tokens == 450 + 500
    assert LeftBehind.of([agent()]).compactions == 0


def test_stubs_are_as_long_as_they_turn_out() -> None:
    tried = agent(took(1000, 50, came("bash", estimate(TEXT), text=TEXT)))

    short, long = stub_size([tried], 0), stub_size([tried], 60)

    assert short is not None
    assert long is not None
    assert 15 < short < long < 160
    assert stub_size([agent(took(1000))], 60) is None


def test_an_event_that_is_not_sound_is_damage_and_nothing_else() -> None:
    bad = Event(1, "2026-11-29T12:00:00Z", "r", "lead", "model.answered", 0, {})

    found = RecordedRun.of([bad, bad])

    assert (found.damage, found.agents) == (2, {})
