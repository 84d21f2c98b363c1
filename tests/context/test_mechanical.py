from __future__ import annotations

import pytest

from orchestrator.context.mechanical import mechanical_summary
from orchestrator.context.stubs import stub
from orchestrator.context.tokens import estimate
from orchestrator.messages import Message, text_block, tool_result


def step(
    at: int, said: str, result: str, *, is_error: bool = False, **given: str
) -> list[Message]:
    use = {"type": "tool_use", "id": f"c{at}", "name": "bash", "input": given}
    return [
        {"role": "assistant", "content": [text_block(said), use]},
        {"role": "user", "content": [tool_result(f"c{at}", result, is_error=is_error)]},
    ]


def first_line(text: str) -> str:
    return text.split("\n", 1)[0]


MESSAGES: list[Message] = [
    {"role": "user", "content": "Mend the import. Do not push to main."},
    *step(1, "First the tests.", "3 failed, 41 passed", command="make test"),
    *step(2, "Redis next.", "connection refused", is_error=True, command="redis-cli"),
    *step(
        3,
        "I decided to use SQLite, because Redis does not start. The limit is 250 rows.",
        "ticket INC-2041 open, all in art_0123456789ab",
        command="cat notes.md",
    ),
    *step(4, "只能在周一部署。下一步：更新 docs/plan.md。", "好", command="ls"),
]


def summary_of(messages: list[Message], limit: int = 2000, earlier: str = "") -> str:
    return mechanical_summary(
        messages,
        digest=first_line,
        limit_tokens=limit,
        count=estimate,
        earlier=earlier,
    ).render()


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("Work done", "- bash `make test` (h1)"),
        ("Decisions and why", "I decided to use SQLite, because Redis does not start."),
        ("Failed attempts and why", "- bash `redis-cli`: connection refused (h2)"),
        ("Facts and figures", "- Do not push to main."),
        ("Facts and figures", "- The limit is 250 rows."),
        ("Facts and figures", "- 3 failed, 41 passed (h1)"),
        ("Facts and figures", "- 只能在周一部署。"),
        ("Open items and next step", "下一步：更新 docs/plan.md。"),
        ("Pointers", "- art_0123456789ab (h3)"),
    ],
)
def test_each_kind_of_line_stands_in_its_section(section: str, line: str) -> None:
    text = summary_of(MESSAGES)

    assert line in text.split(f"## {section}\n")[1].split("\n## ")[0]


def test_the_same_messages_give_the_same_summary() -> None:
    assert summary_of(MESSAGES, 200) == summary_of(MESSAGES, 200)


@pytest.mark.parametrize("limit", [1500, 400, 100, 20, 0])
def test_a_mechanical_summary_keeps_its_limit(limit: int) -> None:
    many = [
        m for at in range(60) for m in step(at, f"Step {at}.", f"row {at}: {at * 7}")
    ]

    text = summary_of(many, limit)

    assert estimate(text) <= limit
    if limit >= 400:
        assert "row 59: 413" in text
        assert "row 1: 7" not in text or limit == 1500


def test_an_earlier_summary_is_merged() -> None:
    earlier = "## Decisions and why\n\n- Keep Python 3.11, the host has no other\n"

    text = summary_of(MESSAGES, earlier=earlier)

    assert text.count("## Decisions and why") == 1
    assert "Keep Python 3.11" in text
    assert "decided to use SQLite" in text


def test_a_call_without_a_result_is_an_open_item() -> None:
    text = summary_of(MESSAGES[:-1])

    assert "bash `ls`: no result yet (h4)" in text.split("## Open items")[1]


def test_an_address_that_was_said_is_a_pointer() -> None:
    text = "Docs: https://a.example/x . Never open https://b.example/y ."
    said: list[Message] = [{"role": "user", "content": text}]

    pointers = summary_of(said).split("## Pointers\n\n")[1].split("\n\n")[0]
    assert pointers == "- Docs: https://a.example/x ."


def test_nothing_gives_an_empty_summary() -> None:
    assert summary_of([]) == ""


def test_what_is_unlike_the_rest_outlives_newer_lines_of_a_row() -> None:
    rows = [f"KEY: k-{at * 7919:08x}" for at in range(40)]
    rows[1] = "RELEASE CODEWORD: heron-4471-quartz"
    messages: list[Message] = [MESSAGES[0]]
    for at, row in enumerate(rows):
        messages += step(at, "On.", row, path=f"part_{at}.txt")

    assert "heron-4471-quartz" in summary_of(messages, 400)


def test_what_the_program_told_the_agent_is_no_part_of_it() -> None:
    told: Message = {"role": "user", "content": [text_block("You must not rest yet.")]}

    assert "must not rest" not in summary_of([*MESSAGES, told])


def test_heads_of_stubs_are_left_out_and_what_they_point_to_is_kept() -> None:
    cleared = stub(
        "bash",
        {"command": "make"},
        ref="h1",
        tokens=2288,
        digest="3 failed",
        artifact="art_0123456789ab",
    )
    messages = step(1, "First the tests.", cleared, command="make test")

    text = summary_of(messages, earlier=f"## Facts\n- {cleared}\n- 41 passed")

    assert "[Cleared" not in text
    assert "2,288" not in text
    assert "- 3 failed (h1)" in text
    assert "- 41 passed" in text
    assert "- art_0123456789ab (h1)" in text
