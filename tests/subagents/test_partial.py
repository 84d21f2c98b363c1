from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.findings import Findings
from orchestrator.subagents.partial import partial_from, text_of_input, unvalidated


def test_the_work_of_an_agent_that_ended_early_is_kept() -> None:
    found = partial_from(
        reason="limit `turns` reached",
        notes="## Facts\n- KEY comes from the environment",
        files=["src/a.py", "src/b.py", "src/a.py"],
        last_text="I was about to open src/c.py.",
    )

    assert found.status == "partial"
    assert found.items == ()
    for words in (
        "Ended early: limit `turns` reached.",
        "KEY comes from the environment",
        "Files it opened: src/a.py, src/b.py\n",
        "I was about to open src/c.py.",
        "none of it was checked",
    ):
        assert words in found.summary


def test_nothing_known_is_failed() -> None:
    found = partial_from(reason="it raised `KeyError`", files=["src/a.py"])

    assert found.status == "failed"
    assert "it raised `KeyError`" in found.summary


def test_raw_text_is_kept_and_marked_unvalidated() -> None:
    """Long work must not be lost since only its validated form could come back."""
    found = unvalidated("Tokens are checked in src/a.py:12.", reason="no hand-in")

    assert found.status == "partial"
    assert "unvalidated" in found.summary
    assert "Tokens are checked in src/a.py:12." in found.summary


def test_no_words_at_all_are_failed() -> None:
    assert unvalidated(" \n", reason="empty answers").status == "failed"


def test_words_are_found_in_a_hand_in_of_any_shape() -> None:
    broken = {
        "summary": "Useful words",
        "items": [{"claim": "c", "evidence": "src/a.py:1"}, "loose"],
        "n": 3,
        "none": None,
    }

    assert text_of_input(broken) == (
        "summary: Useful words\nclaim: c\nevidence: src/a.py:1\nitems: loose\nn: 3"
    )


@given(
    st.text(), st.text(max_size=20_000), st.lists(st.text(), max_size=100), st.text()
)
def test_what_the_program_makes_is_bounded(
    reason: str, notes: str, files: list[str], last: str
) -> None:
    for found in (
        partial_from(reason=reason, notes=notes * 50, files=files, last_text=last * 50),
        unvalidated(notes * 50, reason=reason),
    ):
        assert Findings.model_validate(found.model_dump()) == found
        assert len(found.summary) <= 8000


def test_a_deep_hand_in_does_not_hurt() -> None:
    deep: object = "x"
    for _ in range(10_000):
        deep = [deep]

    assert text_of_input(deep) == ""
