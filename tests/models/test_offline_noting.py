"""The offline model goes on where results are cut, cleared or summarised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation, request_of
from tool_bench import ToolBench

from orchestrator.context.stubs import stub
from orchestrator.messages import Block, text_of, user_message
from orchestrator.models.offline.noting import noted_in, row_note, search_note
from orchestrator.models.offline.reading import Conversation as Read
from orchestrator.models.offline.reading import sections
from orchestrator.resources import data_root
from orchestrator.spec.profile_file import read_profile
from orchestrator.spec.prompts import PromptBook
from orchestrator.tools.calls import CallSpec

BRIEF = """# Objective

Answer the question below.

# Questions

- How many retries does the uploader make by default?
"""
ANSWER = "The uploader makes 7 retries by default."
FILES = {
    f"notes/{name}.md": "\n".join(
        [f"# About {name}", *(f"The {name} has a default of {n}." for n in range(60))]
    )
    for name in (f"the_other_machine_{number}" for number in range(40))
}
TOOLS = (*LOOKING, "update_notes", "read_ref", "recall", "submit_findings")


def bench_in(folder: Path) -> ToolBench:
    bench = ToolBench(folder, clip_tokens=120, read_tokens=1200)
    for name, text in FILES.items():
        bench.write(name, text)
    long = "\n".join(f"Line {n} says nothing of it." for n in range(300))
    bench.write("zeta/transfer.md", f"{long}\n{ANSWER}\n{long}")
    return bench


def cleared(conversation: Conversation) -> None:
    """Put stubs in the place of all results but the newest step's."""
    calls = {call["id"]: call for call in conversation.calls}
    for message in conversation.messages[:-1]:
        for block in message["content"]:
            if block["type"] == "tool_result" and len(text_of([block])) > 200:
                made = calls[block["tool_use_id"]]
                block["content"] = stub(
                    made["name"], made["input"], ref="h1", tokens=999, digest=""
                )


class Compaction:
    """Puts a text in the place of all but the newest step, as the program does."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps = 0

    def __call__(self, conversation: Conversation) -> None:
        self.steps += 1
        newest = conversation.messages[-2]["content"]
        self.notes += [c["input"]["text"] for c in newest if "text" in c["input"]]
        told = (
            f"# The work so far\n\nSteps 1 to {self.steps - 1} of this conversation "
            "have made room for what comes next.\n\n"
            "## State, from the program's records\n\n### Facts (your notes)\n"
        )
        first = conversation.messages[0]["content"][0]
        text = {"type": "text", "text": told + "\n".join(self.notes)}
        conversation.messages[:-2] = [user_message([first, text])]


async def played(folder: Path, forget: Any, *, most: int = 14) -> dict[str, Any]:
    """What is handed in, where results are short and `forget` is done each turn."""
    bench = bench_in(folder)
    system = read_profile(data_root() / "agents" / "explorer.md").profile.prompt
    conversation = Conversation(BRIEF, TOOLS, system=system)
    for _ in range(most):
        reply = await conversation.turn()
        last: Block = reply.content[-1]
        if last["name"] == "submit_findings":
            return dict(last["input"])
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


@pytest.mark.parametrize("forget", [cleared, Compaction()])
async def test_what_was_found_outlasts_its_results(tmp_path: Path, forget: Any) -> None:
    handed_in = await played(tmp_path, forget)

    [item] = handed_in["items"]
    assert item["evidence"][0]["quote"] == ANSWER
    assert item["evidence"][0]["source"] == "zeta/transfer.md:301"


def test_notes_are_read_as_they_were_written() -> None:
    told = "\n".join(
        [
            search_note(1, 1200, [("torn", 3), ("event log", 41)], [("a b.py", 0)]),
            search_note(2, 9, [], [("c.py", 12), ("d.py", 0)]),
            row_note("c.py", 12, "    def f(): | `x` "),
        ]
    )
    call = {"text": told, "section": "Facts", "mode": "append"}
    use = {"type": "tool_use", "id": "c1", "name": "update_notes", "input": call}
    conversation = Conversation("go", ["update_notes"])
    conversation.messages.append({"role": "assistant", "content": [use]})
    request = request_of(conversation.messages, conversation.tools)

    searches, rows = noted_in(Read.of(request))

    assert searches[1].files == 1200
    assert searches[1].found_in == {"torn": 3, "event log": 41}
    assert searches[1].to_read == [("a b.py", 0)]
    assert searches[2].to_read == [("c.py", 12), ("d.py", 0)]
    assert rows == {"c.py": {12: "    def f(): | `x` "}}


async def test_asked_for_a_summary_it_merges_the_one_before() -> None:
    earlier = (
        "# The work so far\n\nSteps 1 to 4 of this conversation have made room.\n\n"
        "## Summary of these steps\n\n## Work done\n\n- read_file old.md\n\n"
        "## Facts and figures\n\n- The uploader waits 30 s\n"
    )
    conversation = Conversation(BRIEF, TOOLS)
    conversation.messages[0]["content"].append({"type": "text", "text": earlier})
    use = {"type": "tool_use", "id": "c1", "name": "read_file"}
    said = [{**use, "input": {"path": "new.md"}}]
    words = PromptBook().fill
    form = words("sections/summary_form", source="the conversation")
    asked = words("summarize", form=form, tokens="900")
    conversation.messages.append({"role": "assistant", "content": said})
    conversation.answer([(f"new.md: all 1 line\n1\t{ANSWER}", False)], said=asked)

    [block] = (await conversation.turn()).content

    found = sections(block["text"])
    assert list(found)[1:] == [
        "work done",
        "decisions and why",
        "failed attempts and why",
        "facts and figures",
        "open items and next step",
        "pointers",
    ]
    assert (
        found["work done"].split("\n\n")[0] == "- read_file old.md\n- read_file new.md"
    )
    assert "- The uploader waits 30 s" in found["facts and figures"]
    assert ANSWER in found["facts and figures"]
