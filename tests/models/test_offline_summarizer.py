"""The offline model as summarizer: all parts read, noted, merged within the size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation, explore, until_hand_in
from tool_bench import ToolBench

from orchestrator.brief import Brief, lint
from orchestrator.context.tokens import estimate
from orchestrator.evidence import find_quote, parse_source
from orchestrator.findings import Findings
from orchestrator.messages import text_of
from orchestrator.resources import data_root
from orchestrator.spec.profile_file import read_profile
from orchestrator.subagents.render import as_body
from orchestrator.tools.calls import CallSpec

TOOLS = (*LOOKING, "update_notes", "submit_findings")
PATH = "docs/minutes.md"
MONTHS = ("January", "March", "May", "July", "September", "November")
CHAPTERS = 60


def minutes(chapters: int = CHAPTERS) -> str:
    """Minutes of many meetings: mostly talk, and one decision in each."""
    return "\n".join(["# Minutes", "", *_lines(chapters)]) + "\n"


def _lines(chapters: int) -> Iterator[str]:
    for number in range(1, chapters + 1):
        month = MONTHS[number % len(MONTHS)]
        yield from (f"## Meeting {number}", "")
        for row in range(20):
            place = ("hall", "garden", "cellar", "yard")[(number + row) % 4]
            yield f"We talked about the {place} and heard how people felt about it."
            yield "Somebody told a story, and everybody had tea and went on talking."
        yield ""
        yield f"It was decided that room {100 + number} must be closed in {month}."
        yield ""


DOCUMENT = minutes()


def brief(
    text: str = f"Summarise `{PATH}` for the board: what was decided.",
    *,
    max_tokens: int = 1200,
    subagents: str = "",
) -> str:
    return (
        f"# The minutes\n\n{text}\n\n# Scope\n\n- Look in: `{PATH}`\n\n{subagents}"
        f"# Deliverable\n\n\n\nFindings of at most {max_tokens} tokens in all, handed "
        "in with `submit_findings`."
    )


async def summarise(
    folder: Path, first: str, text: str = DOCUMENT
) -> tuple[Findings, Conversation]:
    findings, conversation = await explore(
        folder,
        first,
        tools=TOOLS,
        files={PATH: text},
        max_turns=60,
        profile="summarizer",
    )
    return Findings.model_validate(findings), conversation


def called(conversation: Conversation, name: str) -> list[dict[str, Any]]:
    return [call["input"] for call in conversation.calls if call["name"] == name]


def rooms(findings: Findings) -> list[int]:
    return [int(n) for i in findings.items for n in re.findall(r"room (\d+)", i.claim)]


async def test_all_of_it_is_read_and_each_part_noted_before_the_next_is_open(
    tmp_path: Path,
) -> None:
    findings, conversation = await summarise(tmp_path, brief())

    turns = [m["content"] for m in conversation.messages if m["role"] == "assistant"]
    names = [[call["name"] for call in turn] for turn in turns]
    pages = len(names) - 1
    assert pages >= 5
    assert names == [
        ["read_file"],
        *[["update_notes", "read_file"]] * (pages - 1),
        ["update_notes", "submit_findings"],
    ]
    reads = called(conversation, "read_file")
    starts = [given.get("first_line", 1) for given in reads]
    notes = called(conversation, "update_notes")
    heads = [note["text"].partition("\n")[0] for note in notes]
    total = len(DOCUMENT.splitlines())
    ends = [*(start - 1 for start in starts[1:]), total]
    assert heads == [
        f"### {PATH}:{start}-{end}" for start, end in zip(starts, ends, strict=True)
    ]
    assert all(f"[{PATH}:" in note["text"] for note in notes)
    assert findings.status == "complete"
    assert f"{total} lines" in findings.summary
    assert "without a language model" in findings.summary


@pytest.mark.parametrize("max_tokens", [300, 1200, 4000])
async def test_the_merge_keeps_to_the_brief_and_hears_as_many_parts_as_it_can(
    tmp_path: Path, max_tokens: int
) -> None:
    findings, conversation = await summarise(tmp_path, brief(max_tokens=max_tokens))

    assert estimate(as_body(findings, agent="a1")) <= max_tokens
    starts = [g.get("first_line", 1) for g in called(conversation, "read_file")]
    lines = [parse_source(i.evidence[0].source).first or 0 for i in findings.items]
    heard = {max(start for start in starts if start <= line) for line in lines}
    assert len(heard) == min(len(findings.items), len(starts))
    assert len(findings.items) >= 2
    assert rooms(findings), "decisions are more telling than talk"


async def test_every_quote_stands_at_its_place(tmp_path: Path) -> None:
    text = (data_root() / "DECISIONS.md").read_text(encoding="utf-8") * 3
    findings, _ = await summarise(tmp_path, brief(), text)

    for item in findings.items:
        for each in item.evidence:
            source = parse_source(each.source)
            first = source.first or 0
            found = find_quote(each.quote, text, (first, source.last or first))
            assert found is not None
            assert found.first == first


async def test_the_same_document_gives_the_same_summary(tmp_path: Path) -> None:
    one, _ = await summarise(tmp_path / _made(tmp_path, "one"), brief())
    two, _ = await summarise(tmp_path / _made(tmp_path, "two"), brief())
    assert one == two


def _made(folder: Path, name: str) -> str:
    (folder / name).mkdir()
    return name


async def test_what_parts_share_is_said_once_and_numbers_that_differ_are_named(
    tmp_path: Path,
) -> None:
    rule = "Every visitor must sign the book of guests at the gate."
    fee = "The yearly fee of the library must be paid in advance: {} euros."
    text = DOCUMENT.replace("## Meeting 9\n", f"## Meeting 9\n\n{rule}\n{fee}\n\n")
    text = text.replace("{}", "40").replace(
        "## Meeting 55\n", f"## Meeting 55\n\n{rule}\n{fee.format(45)}\n\n"
    )
    asked = brief(
        f"Summarise `{PATH}`.\n\n# Questions\n\n- What about visitors at the gate?\n"
        "- What is the yearly fee of the library?"
    )
    findings, _ = await summarise(tmp_path, asked, text)

    [said] = [i for i in findings.items if "visitor" in i.claim]
    assert len(said.evidence) == 2
    [differs] = [i for i in findings.items if "yearly fee" in i.claim]
    assert "differ in a number" in differs.claim
    assert "40 euros" in differs.claim
    assert "45 euros" in differs.claim
    assert len({each.source for each in differs.evidence}) == 2


async def test_only_the_lines_that_a_brief_names_are_read(tmp_path: Path) -> None:
    findings, conversation = await summarise(
        tmp_path, brief(f"Summarise lines 901-1000 of `{PATH}`.")
    )

    assert called(conversation, "read_file") == [
        {"path": PATH, "first_line": 901, "max_lines": 100}
    ]
    assert findings.status == "complete"
    places = [parse_source(e.source) for i in findings.items for e in i.evidence]
    assert all(place.first and 901 <= place.first <= 1000 for place in places)


async def test_a_limit_hands_in_what_was_read_and_names_the_lines_that_were_not(
    tmp_path: Path,
) -> None:
    bench = ToolBench(tmp_path)
    bench.write(PATH, DOCUMENT)
    system = read_profile(data_root() / "agents/summarizer.md").profile.prompt
    conversation = Conversation(brief(), TOOLS, system=system)
    reply = await conversation.turn()
    [page] = await bench.run(_spec(reply.content[0]))
    text = text_of(page.content)
    last_call = "A limit is reached (turns), and this is your last answer."
    conversation.answer([(text, False)], said=last_call)
    findings = (await conversation.turn()).content[-1]["input"]

    more = re.search(r"first_line=(\d+)", text)
    assert more is not None
    total = len(DOCUMENT.splitlines())
    assert findings["status"] == "partial"
    assert findings["items"]
    assert findings["open_questions"] == [
        f"`{PATH}`, lines {more[1]}-{total}, were not read"
    ]


async def test_a_document_that_cannot_be_read_is_a_failure_with_its_reason(
    tmp_path: Path,
) -> None:
    findings, _ = await explore(
        tmp_path, brief(), tools=TOOLS, files={"a.md": "x"}, profile="summarizer"
    )
    assert findings["status"] == "failed"
    assert f"`{PATH}` was not read: no file" in findings["open_questions"][0]


async def test_a_brief_that_names_no_document_is_explored(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path,
        "# Rent\n\nFind it.\n\n# Questions\n\n- How much is the rent of the hall?",
        files={"rent.md": "The rent of the hall is 900 euros a month.\n"},
        profile="summarizer",
    )
    assert findings["items"][0]["evidence"][0]["source"] == "rent.md:1"


class TestHandingOut:
    SUBAGENTS = (
        "# Subagents\n\nYou may hand parts out. Levels of subagents left below you: 1. "
        "You can name as `agent` in a brief:\n\n- `explorer`: Reads.\n"
        "- `summarizer`: Turns documents into a summary.\n\n"
    )
    WITH_DELEGATE = (*TOOLS, "delegate", "wait_for")
    LONG = minutes(160)

    async def begun(self, folder: Path) -> tuple[Conversation, ToolBench]:
        """A summarizer that has read one page, and is about to go on."""
        bench = ToolBench(folder)
        bench.write(PATH, self.LONG)
        system = read_profile(data_root() / "agents/summarizer.md").profile.prompt
        conversation = Conversation(
            brief(subagents=self.SUBAGENTS), self.WITH_DELEGATE, system=system
        )
        reply = await conversation.turn()
        [page] = await bench.run(_spec(reply.content[0]))
        conversation.answer([(text_of(page.content), False)])
        return conversation, bench

    async def handed_out(
        self, folder: Path
    ) -> tuple[list[dict[str, Any]], Conversation, ToolBench]:
        conversation, bench = await self.begun(folder)
        calls = (await conversation.turn()).content
        assert [call["name"] for call in calls] == ["update_notes", "delegate"]
        return calls[1]["input"]["briefs"], conversation, bench

    async def test_equal_ranges_go_out_in_one_call_to_its_own_kind(
        self, tmp_path: Path
    ) -> None:
        briefs, _conversation, bench = await self.handed_out(tmp_path)

        spans = [re.findall(r"\d+", each["title"])[:2] for each in briefs]
        covered = [n for a, b in spans for n in range(int(a), int(b) + 1)]
        assert covered == list(range(1, len(self.LONG.splitlines()) + 1))
        assert 3 <= len(briefs) <= 8
        assert {each["agent"] for each in briefs} == {"summarizer"}
        sent = [Brief.model_validate(each) for each in briefs]
        for each in sent:
            others = [other for other in sent if other is not each]
            known = ("explorer", "summarizer")
            workspace = bench.workspace
            assert not lint(each, workspace=workspace, profiles=known, others=others)

    async def test_findings_are_merged_with_their_places_and_a_failed_range_is_named(
        self, tmp_path: Path
    ) -> None:
        briefs, conversation, _bench = await self.handed_out(tmp_path)
        conversation.answer([("Noted.", False), (self.came_back(briefs), False)])
        [call] = (await conversation.turn()).content

        findings = call["input"]
        assert findings["status"] == "partial"
        failed = re.search(r"\d+-\d+", briefs[1]["title"])
        assert failed is not None
        assert findings["open_questions"] == [
            f"`{PATH}` lines {failed[0]} were not summarised"
        ]
        lines = self.LONG.splitlines()
        evidence = [each for i in findings["items"] for each in i["evidence"]]
        assert len(evidence) == len(briefs) - 1
        for each in evidence:
            line = int(each["source"].rpartition(":")[2])
            assert each["quote"] == lines[line - 1]

    def came_back(self, briefs: list[dict[str, Any]]) -> str:
        """Findings of each range but the second, which failed."""
        lines = self.LONG.splitlines()
        rows, blocks = ["agent | title | status | items | unsupported | ended"], []
        for number, each in enumerate(briefs, 1):
            start = int(re.findall(r"\d+", each["title"])[0])
            at = next(n for n in range(start, len(lines)) if "decided" in lines[n - 1])
            status, ended = ("complete", "submitted") if number != 2 else (
                "failed", "failed (the endpoint was gone)",
            )  # fmt: skip
            rows.append(f"a{number} | {each['title']} | {status} | 1 | 0 | {ended}")
            said = lines[at - 1]
            item = f"[a{number}#1] {said} (0.7)\n  {PATH}:{at}\n  > {said}"
            blocks.append(
                f'<findings agent="a{number}" title="{each["title"]}" '
                f'status="{status}" items="1" unsupported="0">\nSummary: s\n'
                f"{item if number != 2 else ''}\n</findings>"
            )
        return "\n\n".join(["\n".join(rows), *blocks])

    @pytest.mark.slow
    async def test_refused_briefs_are_read_by_itself(self, tmp_path: Path) -> None:
        briefs, conversation, bench = await self.handed_out(tmp_path)
        refusal = "\n\n".join(
            f"briefs[{i}] “{each['title']}” was refused; nothing was spent on it:\n"
            "- all 24 subagents of this run are used up"
            for i, each in enumerate(briefs)
        )
        conversation.answer([("Noted.", False), (refusal, True)])
        findings = await until_hand_in(conversation, bench, max_turns=60)

        assert findings["status"] == "complete"
        reads = called(conversation, "read_file")
        assert len(reads) > 10

    async def test_a_short_document_is_read_alone(self, tmp_path: Path) -> None:
        findings, conversation = await explore(
            tmp_path,
            brief(subagents=self.SUBAGENTS),
            tools=self.WITH_DELEGATE,
            files={PATH: minutes(12)},
            profile="summarizer",
        )
        assert findings["status"] == "complete"
        assert not called(conversation, "delegate")


def _spec(block: dict[str, Any]) -> CallSpec:
    return CallSpec(block["id"], block["name"], block["input"])
