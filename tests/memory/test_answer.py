"""What a model's answer asks to remember."""

from __future__ import annotations

import pytest

from orchestrator.memory.answer import MAX_ENTRIES, changes_in, topic_path
from orchestrator.memory.entries import Place
from orchestrator.memory.keeping import Drop, Put

ANSWER = """\
# auth.md: How requests are authenticated

## Token lifetime

Access tokens live 15 minutes.

- evidence: auth/tokens.py:12-14
- evidence: auth/tokens.py:30
- confidence: 0.9

## Old key

Drop.

# deploy.md

## Order of steps

```sh
# build
make
```
"""


def test_entries_stand_under_their_topic_with_evidence() -> None:
    lifetime, old, steps = changes_in(ANSWER) or []

    assert lifetime == Put(
        "auth.md",
        "Token lifetime",
        "Access tokens live 15 minutes.",
        evidence=(Place("auth/tokens.py", 12, 14), Place("auth/tokens.py", 30, 30)),
        confidence=0.9,
        description="How requests are authenticated",
    )
    assert old == Drop("Old key")
    assert isinstance(steps, Put)
    assert (steps.topic, steps.key) == ("deploy.md", "Order of steps")
    assert "# build" in steps.value


def test_a_fence_around_all_of_it_is_no_part_of_it() -> None:
    assert changes_in(f"```markdown\n{ANSWER}```\n") == changes_in(ANSWER)
    told = f"This is worth keeping:\n\n```md\n{ANSWER}```\n\nThat is all."
    assert changes_in(told) == changes_in(ANSWER)


def test_lines_may_end_as_on_windows() -> None:
    assert changes_in(ANSWER.replace("\n", "\r\n")) == changes_in(ANSWER)


@pytest.mark.parametrize(
    "answer", ["nothing", "Nothing.", "“nothing”", "None of it.", "没有", "无"]
)
def test_nothing_is_an_answer(answer: str) -> None:
    assert changes_in(answer) == []


@pytest.mark.parametrize(
    "answer",
    ["", "  \n", "I would like to help.", "# auth.md: only a heading", "## No value\n"],
)
def test_what_is_no_answer_is_told_apart(answer: str) -> None:
    assert changes_in(answer) is None


def test_entries_without_a_topic_go_to_one_file() -> None:
    (put,) = changes_in("## A key\n\nA value.\n") or []

    assert isinstance(put, Put)
    assert put.topic == "notes.md"


def test_a_heading_in_code_of_any_fence_names_no_topic() -> None:
    value = "~~~\n# make\n```\n# all\n~~~"
    (put,) = changes_in(f"# build.md: Steps\n\n## Order\n\n{value}\n") or []

    assert isinstance(put, Put)
    assert (put.topic, put.value) == ("build.md", value)


def test_a_long_answer_is_cut_after_whole_entries() -> None:
    many = "".join(f"## Key {n}\n\nValue {n}.\n\n" for n in range(40))

    assert len(changes_in(many) or []) == MAX_ENTRIES


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("auth.md", "auth.md"),
        ("Auth", "auth.md"),
        ("`/memories/deploy/steps.md`", "deploy/steps.md"),
        ("../../etc/passwd", "etc/passwd.md"),
        ("a/b/c/d.md", "c/d.md"),
        ("..", "notes.md"),
        ("How tokens work?", "how-tokens-work.md"),
        ("部署", "部署.md"),
        (".hidden/.index", "hidden/index.md"),
    ],
)
def test_a_topic_is_a_plain_relative_file(name: str, path: str) -> None:
    assert topic_path(name) == path
