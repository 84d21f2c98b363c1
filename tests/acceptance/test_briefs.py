"""Briefs through a whole run: the bad ones cost nothing, the good ones run."""

from __future__ import annotations

from pathlib import Path

import pytest
from brief_samples import Sample, lay_workspace, samples
from run_bench import RunBench, brief, delegate, finish, item, submit

from orchestrator.testing import Step, call

GOOD = "The good one"
LINE = "A refund takes 14 days from the day the goods arrive."
READ = call("read_file", path="refunds.md")
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
REPORT = finish("It takes 14 days [refunds.md:1].")
WORK: list[Step] = [READ, submit(QUOTE)]


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    made = RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})
    lay_workspace(made.root)
    return made


def sent_with(sample: Sample) -> list[dict[str, object]]:
    """The bad brief behind those that it is a twin of."""
    return [each.model_dump(mode="json") for each in (*sample.others, sample.brief)]


async def test_forty_bad_briefs_are_refused_and_nothing_is_sent_for_them(
    bench: RunBench,
) -> None:
    bad = [each for each in samples("bad") if not each.others]
    briefs = [each.brief.model_dump(mode="json") for each in bad]
    ended = await bench.play(
        [delegate(*briefs, brief(GOOD)), REPORT],
        {GOOD: WORK},
        agents=["explorer", "reviewer"],
        limits={"subagents": 64},
    )

    refused = ended.events("brief.refused")
    assert len(briefs) >= 30
    assert [event.data["index"] for event in refused] == list(range(len(briefs)))
    assert all(event.data["problems"] for event in refused)
    [told] = ended.results("delegate")
    for event in refused:
        assert f"briefs[{event.data['index']}] “" in told
    assert told.count("was refused; nothing was spent on it:") == len(briefs)
    assert [event.data["title"] for event in ended.events("subagent.accepted")] == [
        GOOD
    ]
    assert len(ended.requests) == 2 + len(WORK)
    assert ended.result.state == "done"


async def test_a_run_whose_every_brief_was_refused_is_not_done(bench: RunBench) -> None:
    bad = brief("Bad", objective="Do as above.")
    ended = await bench.play([delegate(bad), finish("Nobody looked.")], {})

    assert ended.result.state == "partial"
    assert ended.result.missing[0].startswith("nothing was explored, every brief")


async def test_a_lead_that_reads_itself_needs_no_brief(bench: RunBench) -> None:
    bad = brief("Bad", objective="Do as above.")
    ended = await bench.play([delegate(bad), READ, REPORT], {})

    assert (ended.result.state, ended.result.missing) == ("done", [])


async def test_a_twin_is_refused_and_its_sibling_runs(bench: RunBench) -> None:
    twins = [each for each in samples("bad") if each.others]
    assert twins
    for twin in twins:
        briefs = sent_with(twin)
        title = twin.others[-1].title
        ended = await bench.play(
            [delegate(*briefs), REPORT],
            {other.title: [submit(status="nothing_found")] for other in twin.others},
            agents=["explorer", "reviewer"],
        )

        accepted = [event.data["title"] for event in ended.events("subagent.accepted")]
        assert accepted == [other.title for other in twin.others], twin.why
        assert title in accepted
        [refused] = ended.events("brief.refused")
        assert "asks the same" in " ".join(refused.data["problems"])


async def test_a_call_with_nothing_but_bad_briefs_is_an_error(bench: RunBench) -> None:
    vague = brief("Vague", objective="Look into it.", questions=[])
    ended = await bench.play(
        [delegate(vague), delegate(brief(GOOD)), REPORT], {GOOD: WORK}
    )

    first, second = [
        event
        for event in ended.events("tool.ended", "lead")
        if event.data["name"] == "delegate"
    ]
    assert first.data["is_error"]
    assert "`objective` is vague (“Look into it.”)" in first.data["content"]
    assert not second.data["is_error"]
    assert ended.result.state == "done"


async def test_a_brief_with_tools_that_its_profile_lacks_is_refused(
    bench: RunBench,
) -> None:
    wrong = brief("Wrong tools", tools=["read_file", "bash"])
    ended = await bench.play([delegate(wrong, brief(GOOD)), REPORT], {GOOD: WORK})

    [refused] = ended.events("brief.refused")
    assert "`tools` names `bash`; `explorer` has" in refused.data["problems"][0]


async def test_briefs_beyond_the_number_allowed_are_refused(bench: RunBench) -> None:
    briefs = [brief(f"Case {number}") for number in range(5)]
    ended = await bench.play(
        [delegate(*briefs), delegate(brief("One more")), REPORT],
        {f"Case {number}": WORK for number in range(5)},
        limits={"subagents": 3},
    )

    first, second = ended.results("delegate")
    assert len(ended.events("subagent.accepted")) == 3
    assert first.startswith(
        "briefs[3] “Case 3”, briefs[4] “Case 4” were refused; nothing was spent on "
        "them:\n- all 3 subagents of this run are used up\n"
    )
    assert "all 3 subagents of this run are used up" in second
    assert len(ended.requests) == 3 + 3 * len(WORK)
    assert ended.result.state == "partial"
    assert ended.result.missing == [
        "3 briefs found no subagent, all subagents of this run are used up: “Case "
        "3”, “Case 4”, “One more”"
    ]


async def test_same_title_and_other_questions_are_two_subagents(
    bench: RunBench,
) -> None:
    ways = ["by card", "by bank transfer"]
    briefs = [
        brief("Refunds", questions=[f"How many days does it take {way}?"])
        for way in ways
    ]
    ended = await bench.play([delegate(*briefs), REPORT], {"Refunds": WORK})

    assert [event.data["id"] for event in ended.events("subagent.accepted")] == [
        "a1",
        "a2",
    ]
    for agent, way in zip(("a1", "a2"), ways, strict=True):
        assert way in ended.text(f"agents/{agent}/brief.md")
        assert ended.json(f"agents/{agent}/findings.json")["status"] == "complete"
        transcript = ended.text(f"agents/{agent}/transcript.jsonl")
        assert [each for each in ways if each in transcript] == [way]
        assert len(ended.requests_of(agent)) == 2
