"""The offline model as reviewer: which statements their places do not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation, explore

from orchestrator.models.offline.roles import role_of
from orchestrator.models.offline.statements import statements_in
from orchestrator.resources import data_root
from orchestrator.spec.profile_file import read_profile

TOOLS = (*LOOKING, "update_notes", "submit_findings")
LEASE = """# Lease

The lease of the hall runs for five years, until the end of May 2031.

## Deposit

The tenant pays a deposit of 2,400 euros. It is held by the bank.
"""
CODE = '''"""Tokens."""

MAX_AGE_S = 900


def check(token: str) -> bool:
    """Return whether `token` was signed by us and is not older than MAX_AGE_S."""
    return verify(token)
'''
RULE = "# 退款\n\n租车开始前 48 小时以上取消的，全额退款。\n"
FILES = {"docs/lease.md": LEASE, "src/tokens.py": CODE, "docs/退款.md": RULE}

HOLDS = {
    "as it is said": "The lease of the hall runs for five years [docs/lease.md:3].",
    "a number in digits": "The lease runs for 5 years [docs/lease.md:3].",
    "other words around": "A tenant has to pay a deposit of 2,400 euros to the bank "
    "[docs/lease.md:7].",
    "code": "`check` refuses tokens that are older than `MAX_AGE_S` "
    "[src/tokens.py:6-8].",
    "two places": "The lease ends in 2031 and the deposit is 2,400 euros "
    "[docs/lease.md:3, 7].",
    "chinese": "租车开始前 48 小时以上取消，全额退款 [docs/退款.md:3]。",
}
FAILS = {
    "another number": ("The lease runs for seven years, until 2033 [docs/lease.md:3].",
                       "2033"),
    "another matter": ("Guests may park their bicycles in the yard [docs/lease.md:7].",
                       "bicycl"),
    "a name that is not there": ("`check_all` looks at tokens [src/tokens.py:6-8].",
                                 "check_all"),
    "chinese": ("押金为 600 元 [docs/退款.md:3]。", "600"),
}  # fmt: skip


def brief(*statements: str) -> str:
    listed = "\n".join(f"- {each}" for each in statements)
    return (
        "# Constraints\n\n- Cite [docs/gone.md:1] never.\n\n# Check of the draft\n\n"
        "Check the statements below. The report has to say how long the lease runs."
        f"\n\n# Background\n\n{listed}\n\n# Deliverable\n\nFaults."
    )


async def review(folder: Path, *statements: str) -> dict[str, Any]:
    findings, _ = await explore(
        folder, brief(*statements), tools=TOOLS, files=FILES, profile="reviewer"
    )
    return findings


@pytest.mark.parametrize("statement", HOLDS.values(), ids=HOLDS)
async def test_a_statement_that_its_place_holds_is_no_fault(
    tmp_path: Path, statement: str
) -> None:
    findings = await review(tmp_path, statement)

    assert findings["status"] == "nothing_found"
    assert findings["items"] == []
    assert findings["summary"].startswith("The draft holds, as far as words")
    assert "1 of 1 statements" in findings["summary"]
    assert findings["failed_attempts"][0]["why"].startswith("no fault: ")
    assert "No language model was used" in findings["summary"]


@pytest.mark.parametrize(("statement", "lacking"), FAILS.values(), ids=FAILS)
async def test_what_the_cited_lines_do_not_hold_is_reported_with_their_text(
    tmp_path: Path, statement: str, lacking: str
) -> None:
    findings = await review(tmp_path, statement, *HOLDS.values())

    assert findings["status"] == "complete"
    [item] = findings["items"]
    assert item["claim"].startswith("Unsupported: “")
    assert lacking in item["claim"].rpartition("do not hold")[2]
    path, _, lines = item["evidence"][0]["source"].rpartition(":")
    first = int(lines.partition("-")[0])
    quote = item["evidence"][0]["quote"]
    assert quote.split("\n")[0] == FILES[path].split("\n")[first - 1]
    assert findings["summary"].startswith("The draft does not hold")


async def test_a_place_that_cannot_be_opened_is_named_and_not_passed(
    tmp_path: Path,
) -> None:
    findings = await review(
        tmp_path,
        "The rent is low [docs/gone.md:1].",
        "The rent is due [docs/lease.md:90-91].",
        HOLDS["as it is said"],
    )
    assert findings["status"] == "partial"
    assert findings["items"] == []
    [gone, beyond] = findings["open_questions"]
    assert "docs/gone.md:1 cannot be opened" in gone
    assert "docs/lease.md:90-91" in beyond
    assert "1 of 3 statements" in findings["summary"]


async def test_places_are_opened_together_each_once(tmp_path: Path) -> None:
    _, conversation = await explore(
        tmp_path,
        brief(*HOLDS.values(), HOLDS["code"]),
        tools=TOOLS,
        files=FILES,
        profile="reviewer",
    )
    reads = [call["input"] for call in conversation.calls[:-1]]
    assert len(conversation.messages) == 4
    assert len(reads) == len({str(given) for given in reads}) == 4


async def test_what_a_limit_left_unread_is_named() -> None:
    prompt = read_profile(data_root() / "agents/reviewer.md").profile.prompt
    conversation = Conversation(brief(*HOLDS.values()), TOOLS, system=prompt)
    reply = await conversation.turn()
    said = "A limit is reached (turns), and this is your last answer."
    conversation.answer([("stopped", True)] * len(reply.content), said=said)
    findings = (await conversation.turn()).content[0]["input"]

    assert findings["status"] == "partial"
    assert len(findings["open_questions"]) == len(HOLDS)


async def test_a_brief_without_a_citation_is_explored(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path,
        "# Lease\n\nFind it.\n\n# Questions\n\n- How long does the lease of the hall "
        "run?",
        files=FILES,
        profile="reviewer",
    )
    assert findings["items"][0]["evidence"][0]["source"] == "docs/lease.md:3"


def test_a_citation_belongs_to_the_sentence_right_before_it() -> None:
    text = "Check: A holds. B is red [a.md:1] [b.md:2-3]; C is blue [c.md:4, 9]. D too."
    found = [
        (each.text, [(p.path, p.first, p.last) for p in each.places])
        for each in statements_in(text)
    ]
    assert found == [
        ("B is red", [("a.md", 1, 1), ("b.md", 2, 3)]),
        ("C is blue", [("c.md", 4, 4), ("c.md", 9, 9)]),
    ]
    quoted = 'Find what answers: "- E is green [e.md:5]."\n\n- E is green [e.md:5].'
    assert [each.text for each in statements_in(quoted)] == ["E is green"]


def test_the_shipped_prompts_tell_the_roles_apart() -> None:
    for path in (data_root() / "agents").glob("*.md"):
        if path.stem != "lead":
            assert role_of(read_profile(path).profile.prompt) == path.stem
