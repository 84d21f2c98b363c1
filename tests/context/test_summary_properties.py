from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.as_text import render
from orchestrator.context.fidelity import check_summary
from orchestrator.context.mechanical import mechanical_summary
from orchestrator.context.summary import Summary, fit, parse
from orchestrator.context.tokens import estimate
from orchestrator.messages import Message, text_block, tool_result

WORDS = st.sampled_from(
    [
        *("## Work done", "## Facts", "**Next:**", "- none", "### Rules", "# Summary"),
        *("not", "never", "must not push", "Ann confirmed", "asked", "failed", "only"),
        *("12.5%", "3,000", "3k", "1.2万", "4 March 2026", "2026-02-31", "3月4日", "0"),
        *("src/a.py:12", "INC-2041", "h12.2", "`x_y`", "art_0123456789ab", "1,00"),
        *(
            "不得修改",
            "确认",
            "未",
            "失败",
            "it works.",
            "(unconfirmed)",
            '"',
            "\t",
            "1.",
        ),
        *("</result>", "e\u0301", "👩‍👩‍👧", "\u202e", "%", "12e9", "三个", "\r\n"),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=20), max_size=25).map(" ".join) | st.lists(
    WORDS, max_size=25
).map("\n".join)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for at, text in enumerate(draw(st.lists(TEXTS, max_size=5))):
        calls = [
            {"type": "tool_use", "id": f"c{at}.{n}", "name": "bash", "input": given}
            for n, given in enumerate(
                draw(st.lists(st.dictionaries(TEXTS, TEXTS, max_size=2), max_size=2))
            )
        ]
        results = [
            tool_result(str(call["id"]), draw(TEXTS), is_error=draw(st.booleans()))
            for call in calls
        ]
        messages += [
            {"role": "assistant", "content": [text_block(text), *calls]},
            {"role": "user", "content": [*results, text_block(draw(TEXTS))]},
        ]
    return messages


@settings(max_examples=60, deadline=None)
@given(summary=TEXTS, old=st.lists(TEXTS, max_size=6), limit=st.integers(0, 400))
def test_any_text_is_checked_and_what_is_added_stays_within_bounds(
    summary: str, old: list[str], limit: int
) -> None:
    checked = check_summary(
        summary,
        old=old[:4],
        results=old[4:],
        state=old[:1],
        references=old[:1],
        used_later=old[1:2],
        open_calls=["a1"],
        limit_tokens=limit,
        count=estimate,
    )

    assert checked.is_acceptable == (not checked.problem)
    assert sum(estimate(line + "\n") for line in checked.added) <= limit // 4
    source = "\n".join([*old, "a1"])
    assert all(line in source for line in checked.added)


@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_a_parsed_summary_is_stable(text: str) -> None:
    once = parse(text)

    assert parse(once.render()).render() == once.render()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(messages=conversations(), earlier=TEXTS, limit=st.integers(0, 300))
def test_what_is_made_without_a_model_keeps_its_limit(
    messages: list[Message], earlier: str, limit: int
) -> None:
    summary = mechanical_summary(
        messages,
        digest=lambda text: text[:40],
        limit_tokens=limit,
        count=estimate,
        earlier=earlier,
    )

    assert estimate(summary.render()) <= limit
    assert estimate(render(messages, count=estimate, limit_tokens=limit)) <= limit
    assert isinstance(fit(summary, limit_tokens=limit // 2, count=estimate), Summary)
