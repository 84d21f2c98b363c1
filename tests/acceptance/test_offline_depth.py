"""Whole runs with the offline model: levels, a check of a draft, one more question."""

from __future__ import annotations

from pathlib import Path

from run_bench import RunBench, delegate, finish

from orchestrator.models.base import ModelRequest, OnRetry, Reply
from orchestrator.models.offline import OfflineModel
from orchestrator.testing import ScriptedModel, Step, call

TALK = "We talked about the hall and the garden, and heard how people felt about it.\n"
LEASE = "# Lease\n\nThe lease of the hall runs for five years.\n"
DEPOSIT = "# Deposit\n\nThe deposit of the hall is 2,400 euros.\n"


def long_document() -> str:
    parts = (
        f"## Meeting {number}\n\n{TALK * 45}\nRoom {number} must be closed at noon.\n\n"
        for number in range(1, 25)
    )
    return "# Minutes\n\n" + "".join(parts)


class LedByScript:
    """A scripted lead, with the offline model behind every subagent."""

    def __init__(self, *steps: Step) -> None:
        self.lead = ScriptedModel(steps)
        self.others = OfflineModel()

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        is_lead = any(tool["name"] == "finish" for tool in request.tools)
        model = self.lead if is_lead else self.others
        return await model.complete(request, on_retry=on_retry)

    async def aclose(self) -> None:
        """Nothing to close."""


LEASE_BRIEF = {
    "title": "Lease",
    "objective": "Find out how long the lease of the hall runs, for the board.",
    "questions": ["How long does the lease of the hall run?"],
}
PAGES = {"read_tokens": 1000}
"""Of `read_file`: small, so that a short document has many."""
FILES = {"docs/lease.md": LEASE, "docs/deposit.md": DEPOSIT}


async def test_a_document_too_long_for_one_goes_to_subagents_of_a_subagent(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"docs/minutes.md": long_document()})
    ended = await bench.run(
        OfflineModel(),
        objective="Summarise `docs/minutes.md` for the board: what was decided.",
        agents=("explorer", "summarizer"),
        limits={"depth": 2},
        context_policy=PAGES,
    )

    accepted = ended.events("subagent.accepted")
    senders = [event.agent for event in accepted]
    assert senders == ["lead", *["a1"] * (len(accepted) - 1)]
    assert len(accepted) >= 3
    assert {event.data["profile"] for event in accepted} == {"summarizer"}
    assert ended.result.state == "done"
    findings = ended.json("agents/a1/findings.json")
    assert findings["status"] == "complete"
    assert f"by {len(accepted) - 1} subagents" in findings["summary"]
    assert not any(item.get("unsupported") for item in findings["items"])
    assert "must be closed at noon. [docs/minutes.md:" in ended.text("report.md")


async def test_with_one_level_the_same_document_is_read_by_one(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, {"docs/minutes.md": long_document()})
    ended = await bench.run(
        OfflineModel(),
        objective="Summarise `docs/minutes.md` for the board: what was decided.",
        agents=("summarizer",),
        context_policy=PAGES,
    )

    assert len(ended.events("subagent.accepted")) == 1
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    reads = ended.results("read_file", "a1")
    assert len(reads) > 20
    updates = ended.results("update_notes", "a1")
    assert len(updates) == len(reads)
    assert not [text for text in updates if "allowed" in text]
    # The notes hold only so much, and yet each part is heard in them.
    notes = ended.text("agents/a1/notes.md")
    assert notes.count("### docs/minutes.md:") == len(reads)


async def test_a_subagent_that_has_ended_answers_a_further_question(
    tmp_path: Path,
) -> None:
    ask = call("follow_up", agent="a1", question="How much is the deposit of the hall?")
    model = LedByScript(
        delegate(LEASE_BRIEF), ask, finish("Five years [a1#1], 2,400 euros [a1#2].")
    )
    ended = await RunBench(tmp_path, FILES).run(model)

    assert ended.result.state == "done"
    [answer] = ended.results("follow_up")
    assert "[a1#2]" in answer
    assert "docs/deposit.md:3" in answer
    assert "docs/lease.md" not in answer


async def test_a_draft_is_checked_by_a_reviewer_who_is_given_places(
    tmp_path: Path,
) -> None:
    review = {
        "title": "Check of the draft",
        "objective": "Check the statements of a draft report on the lease of the hall, "
        "which the board will act upon.",
        "questions": [
            "The lease of the hall runs for five years [a1#1].",
            "The lease of the hall runs for nine years [a1#1].",
        ],
        "agent": "reviewer",
    }
    model = LedByScript(
        delegate(LEASE_BRIEF), delegate(review), finish("Five years [a1#1].")
    )
    ended = await RunBench(tmp_path, FILES).run(model, agents=("explorer", "reviewer"))

    assert "a1#1" not in ended.text("agents/a2/brief.md")
    findings = ended.json("agents/a2/findings.json")
    [fault] = findings["items"]
    assert "nine" in fault["claim"]
    assert fault["evidence"][0]["source"] == "docs/lease.md:3"
    assert ended.result.state == "done"
