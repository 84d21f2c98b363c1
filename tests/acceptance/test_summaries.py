"""Whatever a request of a summary is answered by, the work goes on, and says how."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from long_work import LongWork, careful, compacted, lay_parts, seen_in, summary
from run_bench import OBJECTIVE, Ended, RunBench

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import (
    ScriptedModel,
    Step,
    call,
    fail,
    hang,
    reply,
    think,
)

EXCEEDED = "model_context_window_exceeded"
slow = partial(pytest.param, marks=pytest.mark.slow)
RARELY = {"every_turns": 6, "summary_share": 0.02}
PARTS = 9
CALL = call("read_file", path="part9.md")
LONG = summary(
    work="\n".join(f"- Part {n} of the work is done, and well." for n in range(1000)),
    open="- Read on.",
)
CUT = summary(work="- Some parts are read.", open="- Read on to par")
REFUSED = reply(stop_reason="refusal", stop_details={"category": "cyber"})


async def worked(
    bench: RunBench,
    summaries: Callable[[ModelRequest, int], Step | Awaitable[Step]],
    **fields: Any,
) -> tuple[Ended, ScriptedModel]:
    model = ScriptedModel(LongWork(PARTS, summaries))
    given = {"context_policy": RARELY, **fields}
    return await bench.run(model, **given), model


def answers(*steps: Step) -> Callable[[ModelRequest, int], Step]:
    """Answer the first requests of a summary by these, later ones as one should."""
    return lambda request, n: steps[n - 1] if n <= len(steps) else careful(request)


@pytest.mark.parametrize(
    ("steps", "how", "failures"),
    [
        ([reply()] * 2, "mechanical", ["empty"] * 2),
        slow([reply("  \n\t ")] * 2, "mechanical", ["empty"] * 2),
        slow([reply()], "model", ["empty"]),
        ([reply(CALL)] * 2, "mechanical", ["tool call"] * 2),
        slow([reply("I look it up.", CALL, CALL)], "model", ["tool call"]),
        ([reply(think("Hm."), CALL)], "model", ["tool call"]),
        ([REFUSED], "mechanical", ["refused: cyber"]),
        ([fail("overloaded")], "mechanical", ["error: overloaded: told to fail"]),
        slow([fail("invalid")], "mechanical", ["error: invalid: told to fail"]),
        ([fail("too_long")], "mechanical", ["error: too_long: told to fail"]),
        slow([LONG], "model", ["three times too long"]),
        ([LONG, LONG], "model", ["three times too long"] * 2),
        slow([reply(CUT, stop_reason="max_tokens")], "model", ["cut off"]),
        ([reply(CUT, stop_reason="max_tokens")] * 2, "model", ["cut off"] * 2),
        ([reply(CUT, stop_reason=EXCEEDED)], "model", ["cut off"]),
        (["I am sorry, but I cannot summarise this."], "mechanical", []),
    ],
    ids=[
        "nothing", "blanks", "nothing, then a summary", "two tool calls", "a tool call",
        "thinking and a tool call", "a refusal", "an overload", "an error", "too long",
        "three times the length", "twice three times the length", "cut", "cut twice",
        "cut by the window", "an excuse",
    ],
)  # fmt: skip
async def test_whatever_the_answer_the_run_goes_on_and_the_event_says_how(
    tmp_path: Path, steps: list[Step], how: str, failures: list[str]
) -> None:
    ended, model = await worked(lay_parts(tmp_path), answers(*steps))

    assert ended.result.state == "done", ended.result
    [edit] = compacted(ended.events())
    assert (edit["how"], edit["failures"]) == (how, failures)
    assert "## Work done" in edit["summary"]
    numbers = ended.events("agent.started")[0].data["settings"]["context"]
    assert edit["tokens_after"] < edit["tokens_before"] < numbers["hard_tokens"]
    assert edit["parts"]["summary"] <= 0.02 * numbers["window_tokens"]
    tried = [e for e in ended.events("model.requested") if e.data.get("purpose")]
    assert 1 <= len(tried) <= 2
    assert {e.data["turn"] for e in tried} == {edit["turn"]}
    last = seen_in(model.requests[-1])
    assert OBJECTIVE in last
    assert f"part{PARTS}.md" in last


@pytest.mark.slow
async def test_a_summary_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    ended, _ = await worked(
        lay_parts(tmp_path), answers(hang()), limits={"call_s": 1, "silence_s": 1}
    )

    assert ended.result.state == "done"
    [edit] = compacted(ended.events())
    assert (edit["how"], edit["failures"]) == ("mechanical", ["timeout"])


@pytest.mark.slow
async def test_a_service_that_never_summarises_costs_a_try_each_and_no_more(
    tmp_path: Path,
) -> None:
    lead = LongWork(30, lambda _request, _number: fail("overloaded"))
    model = ScriptedModel(lead)

    ended = await lay_parts(tmp_path).run(model, context_policy={"every_turns": 4})

    assert ended.result.state == "done"
    edits = compacted(ended.events())
    assert len(edits) >= 6
    assert {each["how"] for each in edits} == {"mechanical"}
    assert lead.asked == len(edits)
    assert max(each["parts"]["summary"] for each in edits) < 4000


async def test_a_quota_that_is_used_up_parks_the_run_and_resume_goes_on(
    tmp_path: Path,
) -> None:
    bench = lay_parts(tmp_path)

    parked, before = await worked(bench, answers(fail("quota_exhausted")))

    assert parked.result.state == "parked"
    assert not compacted(parked.events())
    sent = before.requests[-2].messages
    reads = len(parked.events("tool.ended"))

    lead = LongWork(PARTS)
    lead.turn = lead._read = reads
    after = await bench.resume(parked.folder, lead, {})

    assert after.result.state == "done", after.result
    [edit] = compacted(after.events())
    assert edit["how"] == "model"
    first = after.requests[0]
    assert "Write the summary" in text_of(first.messages[-1]["content"])
    assert first.messages[: len(sent)] == sent
    assert len(after.events("tool.ended")) == PARTS + 1


@pytest.mark.parametrize(
    ("said", "told", "check", "kept", "gone"),
    [
        (
            "Anna confirmed that refunds take 30 days at most.",
            "- Anna confirmed that refunds take 80 days at most.",
            "numbers",
            "refunds take 80 days (source: 30 days) at most",
            "80 days at most",
        ),
        (
            "Anna confirmed the new limit for refunds.",
            "- Anna was asked about the new limit for refunds.",
            "statuses",
            "Anna confirmed the new limit for refunds.",
            "was asked about",
        ),
        (
            "The import job does not write to table ORD-7.",
            "- The import job does write to table ORD-7.",
            "negations",
            "The import job does not write to table ORD-7.",
            "does write to",
        ),
        (
            "The key lies in src/keys/main.pem, as the log says.",
            "- The key lies in src/keys/mein.pem, as the log says.",
            "names",
            "src/keys/mein.pem (source: src/keys/main.pem), as",
            "mein.pem, as",
        ),
        (
            "退款最多需要 30 天,已经确认。",
            "- 退款最多需要 80 天,已经确认。",
            "numbers",
            "80 天 (source: 30 天),已经确认",
            "80 天,",
        ),
    ],
    ids=["a figure", "a status", "a negation", "a path", "a figure in Chinese"],
)
async def test_what_a_summary_changes_is_put_right(
    tmp_path: Path, said: str, told: str, check: str, kept: str, gone: str
) -> None:
    model = ScriptedModel(
        LongWork(
            PARTS,
            lambda _request, _n: summary(work="- Read.", facts=told, open="- Read on."),
            says={2: said},
        )
    )

    ended = await lay_parts(tmp_path).run(model, context_policy=RARELY)

    [edit] = compacted(ended.events())
    found = {each["check"]: each["found"] for each in edit["checks"]}
    assert found[check] >= 1
    assert [(each["check"], each["source"]) for each in edit["mended"]] == [
        (check, said)
    ]
    assert kept in seen_in(model.requests[-1])
    assert gone not in seen_in(model.requests[-1])


async def test_a_rule_that_a_summary_makes_up_is_marked_as_its_own(
    tmp_path: Path,
) -> None:
    made_up = "Never run the nightly tests on a Friday."

    ended, model = await worked(
        lay_parts(tmp_path),
        lambda _request, _n: summary(
            work="- Read.", facts=f"- {made_up}", open="- Read on."
        ),
    )

    [edit] = compacted(ended.events())
    assert edit["own_rules"] == [made_up]
    assert "Nobody gave these as rules" in seen_in(model.requests[-1])
