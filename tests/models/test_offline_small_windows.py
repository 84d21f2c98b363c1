"""The offline model in small windows: what is cleared, gone or shortened counts."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation, request_of
from tool_bench import ToolBench

from orchestrator.cli.main import main
from orchestrator.context.stubs import stub
from orchestrator.messages import Block, text_of, user_message
from orchestrator.models.offline.parts import groups_of, reading_of
from orchestrator.models.offline.reading import Conversation as Read
from orchestrator.models.offline.recollecting import recollected
from orchestrator.resources import data_root
from orchestrator.spec.profile_file import read_profile
from orchestrator.tools.calls import CallSpec

TOOLS = (*LOOKING, "update_notes", "read_ref", "recall", "submit_findings")
PATH = "docs/minutes.md"
BRIEF = f"""# The minutes

Summarise `{PATH}` for the board: what was decided.

# Deliverable

Findings of at most 1200 tokens in all, handed in with `submit_findings`.
"""
PARTS = 8
DOCUMENT = "\n".join(
    [
        line
        for number in range(1, PARTS + 1)
        for line in (
            f"## Meeting {number}",
            *["Somebody told a story, and everybody had tea."] * 30,
            "",
            f"It was decided that room {100 + number} must be closed.",
            "",
        )
    ]
)


def cleared(conversation: Conversation, **_: Any) -> None:
    """Put stubs in the place of the pages before the newest."""
    calls = {call["id"]: call for call in conversation.calls}
    for at, message in enumerate(conversation.messages[:-1]):
        for block in message["content"]:
            made = calls.get(str(block.get("tool_use_id")))
            if made and made["name"] == "read_file":
                block["content"] = stub(
                    made["name"], made["input"], ref=f"h{at}.2", tokens=999, digest=""
                )


class Compaction:
    """Puts a text in the place of all but the newest step, with notes as they fit."""

    def __init__(self, *, lines: int) -> None:
        self.lines = lines
        self.notes: list[str] = []
        self.steps = 0

    def __call__(self, conversation: Conversation) -> None:
        self.steps += 1
        for call in conversation.messages[-2]["content"]:
            if call["name"] == "update_notes":
                given = call["input"]
                told = [] if given["mode"] == "replace" else self.notes
                self.notes = [*told, *given["text"].split("\n")]
        more = len(self.notes) - self.lines
        told = [*self.notes[-self.lines :], *([f"- … and {more} more"] * (more > 0))]
        text = (
            f"# The work so far\n\nSteps 1 to {self.steps - 1} of this conversation "
            "have made room for what comes next.\n\n## State, from the program's "
            "records\n\n### Facts (your notes)\n" + "\n".join(told)
        )
        first = conversation.messages[0]["content"][0]
        kept = [first, {"type": "text", "text": text}]
        conversation.messages[:-2] = [user_message(kept)]


async def summarised(folder: Path, forget: Any) -> tuple[dict[str, Any], list[Block]]:
    """What is handed in, and all calls, where each turn ends in `forget`."""
    bench = ToolBench(folder, read_tokens=900)
    bench.write(PATH, DOCUMENT)
    system = read_profile(data_root() / "agents" / "summarizer.md").profile.prompt
    conversation = Conversation(BRIEF, TOOLS, system=system)
    made: list[Block] = []
    for _ in range(40):
        reply = await conversation.turn()
        made += reply.content
        if reply.content[-1]["name"] == "submit_findings":
            return dict(reply.content[-1]["input"]), made
        looking = [b for b in reply.content if b["name"] != "update_notes"]
        results = await bench.run(
            *(CallSpec(b["id"], b["name"], b["input"]) for b in looking)
        )
        found = {r.call: (text_of(r.content), r.is_error) for r in results}
        conversation.answer(
            [found.get(b["id"], ("Noted.", False)) for b in reply.content]
        )
        forget(conversation)
    raise AssertionError("it did not hand in")


@pytest.mark.parametrize(
    "forget", [cleared, Compaction(lines=60), Compaction(lines=12)]
)
async def test_a_summary_goes_on_to_the_end_and_uses_the_notes_of_all_parts(
    tmp_path: Path, forget: Any
) -> None:
    findings, made = await summarised(tmp_path, forget)

    total = len(DOCUMENT.splitlines())
    reads = [call["input"] for call in made if call["name"] == "read_file"]
    pages = [given for given in reads if "max_lines" not in given]
    starts = [given.get("first_line", 1) for given in pages]
    assert starts == sorted(set(starts)), "no page is read twice"
    assert (findings["status"], findings["open_questions"]) == ("complete", [])
    assert f"{total} lines" in findings["summary"]
    rooms = {
        int(n) for i in findings["items"] for n in re.findall(r"room (\d+)", i["claim"])
    }
    assert len(rooms) >= 3
    assert min(rooms) <= 104 <= max(rooms), "early and late parts"
    for item in findings["items"]:
        [place] = item["evidence"][:1]
        first = int(place["source"].rpartition(":")[2].partition("-")[0])
        assert place["quote"].split("\n")[0] in DOCUMENT.split("\n")[first - 1]


def test_a_stub_is_no_page_and_notes_tell_how_far_a_document_is_read() -> None:
    page = {
        "type": "tool_use",
        "id": "c1",
        "name": "read_file",
        "input": {"path": PATH},
    }
    text = stub("read_file", {"path": PATH}, ref="h1", tokens=99, digest="3\tA rule.")
    told = (
        f"### {PATH}:1-18\n- A rule must hold. [{PATH}:3]\n"
        f"- Read so far: {PATH}:1-18 of 90"
    )
    note = {"section": "Facts", "mode": "append", "text": told}
    noted = {"type": "tool_use", "id": "c2", "name": "update_notes", "input": note}
    conversation = Conversation(BRIEF, TOOLS)
    conversation.messages.append({"role": "assistant", "content": [page]})
    conversation.answer([(text, False)])
    conversation.messages.append({"role": "assistant", "content": [noted]})
    conversation.answer([("Noted.", False)])
    read = Read.of(request_of(conversation.messages, TOOLS))

    reading = reading_of(read, PATH)
    assert (reading.total, reading.next_line(1)) == (90, 19)
    [group] = groups_of(read)
    assert [(p.claim, p.source) for p in group.points] == [
        ("A rule must hold.", f"{PATH}:3")
    ]


# ---- whole runs ---------------------------------------------------------------------


def run(folder: Path, example: str, *, window: int) -> tuple[int, str]:
    """The status and the report of an example in a window of so many tokens."""
    task = str(data_root() / "examples" / f"{example}.yaml")
    setting = ["--set", f"context_policy.window_tokens={window}"]
    command = ["run", task, "--model", "offline", *setting, "--quiet"]
    with redirect_stdout(io.StringIO()) as out:
        status = main([*command, "--runs-dir", str(folder)])
    return status, out.getvalue()


@pytest.mark.parametrize("window", [16000, pytest.param(8192, marks=pytest.mark.slow)])
def test_a_long_document_is_told_of_from_all_its_parts(
    tmp_path: Path, window: int
) -> None:
    status, report = run(tmp_path, "long-document", window=window)

    assert status == 0
    cited = [int(line) for line in re.findall(r"\[DECISIONS\.md:(\d+)", report)]
    total = len((data_root() / "DECISIONS.md").read_text("utf-8").splitlines())
    assert len(cited) >= 4
    assert min(cited) < total / 3
    assert max(cited) > total / 2
    assert "Nothing was found" not in report


@pytest.mark.slow
@pytest.mark.parametrize("window", [8192, 12000])
def test_what_is_found_in_a_large_window_is_found_or_said_to_be_open_in_a_small_one(
    tmp_path: Path, window: int
) -> None:
    status, report = run(tmp_path, "quickstart", window=window)

    assert status == 0
    assert "[orchestrator/spec/limits.py:" in report
    open_told = "Not tried: the limit was reached before it was searched for."
    assert "[orchestrator/messages.py:" in report or open_told in report
    assert report.count("Nothing was found.") <= 1, "what has no place anywhere"


# ---- findings -----------------------------------------------------------------------

TABLE = "agent | title | status | items | unsupported | ended\n"
TASK = "# Objective\n\nFind it.\n\n# Questions\n\n- How high is the rent of the hall?\n"
RENT = "The rent of the hall is 900 euros."
OPENED = f"""a1: all 6 lines
1\t<findings agent="a1" title="{{title}}" status="complete" items="1" unsupported="0">
2\tSummary: it is 900
3\t[a1#1] {RENT} (0.9)
4\t  rent.md:7
5\t  > {RENT}
6\t</findings>"""
LEADS = ("delegate", "finish", "update_notes", "read_ref", "wait_for")


async def delegated() -> tuple[Conversation, str]:
    """A lead that has sent its brief, and the title of that."""
    conversation = Conversation(TASK, LEADS)
    for _ in range(3):
        reply = await conversation.turn()
        if reply.content[-1]["name"] == "delegate":
            return conversation, reply.content[-1]["input"]["briefs"][0]["title"]
        conversation.answer([("Noted.", False)] * len(reply.content))
    raise AssertionError("it did not delegate")


def short(title: str) -> str:
    return (
        f'{TABLE}a1 | {title} | complete | 1 | 0 | submitted\n\n<findings agent="a1" '
        f'title="{title}" status="complete" items="1" unsupported="0">\n'
        "Summary: it is…\n"
        "Items [a1#1] to [a1#1], and the rest, with `read_ref`: art_829b0328977a\n"
        "</findings>"
    )


async def report_of(conversation: Conversation, title: str) -> str:
    """The report, where what is opened shows the findings."""
    for _ in range(4):
        reply = await conversation.turn()
        last = reply.content[-1]
        if last["name"] == "finish":
            return str(last["input"]["report"])
        assert last["name"] == "read_ref", "nothing is sent out a second time"
        assert last["input"] == {"ref": "a1"}
        conversation.answer(
            [
                (
                    OPENED.format(title=title) if b["name"] == "read_ref" else "Noted.",
                    False,
                )
                for b in reply.content
            ]
        )
    raise AssertionError("it did not hand in")


async def test_findings_that_were_shortened_are_opened() -> None:
    conversation, title = await delegated()
    conversation.answer([(short(title), False)])

    report = await report_of(conversation, title)

    assert f"{RENT} [rent.md:7]" in report
    assert "Nothing was found" not in report


async def test_findings_whose_steps_are_gone_are_opened_by_the_table() -> None:
    conversation, title = await delegated()
    text = (
        "# The work so far\n\nSteps 1 to 2 of this conversation have made room.\n\n"
        "## Subagents, as they stand now\n\nid | title | state\n"
        f'a1 | {title} | complete, 1 items, delivered: `read_ref` opens "a1"\n'
    )
    first = conversation.messages[0]["content"][0]
    kept = [first, {"type": "text", "text": text}]
    noted = {"section": "Next", "mode": "replace", "text": "Wait."}
    step = {"type": "tool_use", "id": "c9", "name": "update_notes", "input": noted}
    conversation.messages[:] = [
        user_message(kept),
        {"role": "assistant", "content": [step]},
    ]
    conversation.answer([("Noted.", False)])

    assert f"{RENT} [rent.md:7]" in await report_of(conversation, title)


async def test_findings_that_cannot_be_opened_are_not_said_to_be_nothing() -> None:
    conversation, title = await delegated()
    last_call = "A limit is reached (turns), and this is your last answer."
    conversation.answer([(short(title), False)], said=last_call)

    [call] = (await conversation.turn()).content

    assert "Nothing was found" not in call["input"]["report"]
    assert "what a1 handed in could not be opened again" in call["input"]["report"]


def test_notes_of_findings_stand_in_for_a_result_that_is_cleared() -> None:
    notes = "- a2 brought 2 (complete): #1 my file.md:3, #2 b.md:4-5"
    briefs = {"briefs": [{"title": "Lines 1-9 of b.md"}]}
    given = {"section": "Facts", "mode": "replace", "text": notes}
    calls = [
        {"type": "tool_use", "id": "c1", "name": "delegate", "input": briefs},
        {"type": "tool_use", "id": "c2", "name": "update_notes", "input": given},
    ]
    conversation = Conversation(TASK, LEADS)
    conversation.messages.append({"role": "assistant", "content": calls})
    gone = stub("delegate", briefs, ref="h1.1", tokens=900, digest="")
    conversation.answer([(gone, False), ("Noted.", False)])

    read = recollected(Read.of(request_of(conversation.messages, LEADS)))

    shown = read.calls[0].result
    assert "a2 | Lines 1-9 of b.md | complete | 2 | 0 | submitted" in shown
    assert "  my file.md:3" in shown
    assert "  b.md:4-5" in shown
