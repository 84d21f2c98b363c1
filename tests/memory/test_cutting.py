"""Reports are cut into pieces that are found and shown whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.memory.cutting import (
    MAX_PIECE_CHARS,
    Section,
    cut_at_sentence,
    sections,
)
from orchestrator.memory.search.pieces import most_tokens

REPORT = """\
# Report

What it is about.

## Tokens

Access tokens live 15 minutes.

Refresh tokens live 30 days.

### Storage

- In a cookie.
- Hashed.

```python
# no heading
x = 1

y = 2
```

## Sessions ##

None.
"""


def test_each_section_has_the_headings_above_it_and_not_the_title() -> None:
    assert sections(REPORT) == [
        Section("", "What it is about."),
        Section(
            "Tokens", "Access tokens live 15 minutes.\n\nRefresh tokens live 30 days."
        ),
        Section(
            "Tokens > Storage",
            "- In a cookie.\n\n- Hashed.\n\n"
            "```python\n# no heading\nx = 1\n\ny = 2\n```",
        ),
        Section("Sessions", "None."),
    ]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## A b", "A b"),
        ("  ###\tA b  ", "A b"),
        ("## A b ##", "A b"),
        ("## C#", "C#"),
        ("##", ""),
        ("## ##", ""),
        ("##A b", None),
        ("####### A b", None),
        ("    ## A b", None),
    ],
)
def test_what_is_a_heading_and_what_is_not(line: str, heading: str | None) -> None:
    [*_, last] = sections(f"# Title\n\n{line}\n\nText.\n")

    assert (last.text == "Text.") == (heading is not None)
    assert last.heading == (heading or "")


def test_paragraphs_that_do_not_fit_together_are_pieces_of_their_own() -> None:
    first, second = "One word. " * 40, "Two words. " * 40

    found = sections(f"## A\n\n{first}\n\n{second}")

    assert found == [Section("A", first.strip()), Section("A", second.strip())]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    found = sections("A sentence with some words. " * 60)

    assert len(found) == 3
    assert all(each.text.endswith("words.") for each in found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("字" * 5000, id="Chinese without an end"),
        pytest.param("a" * 5000, id="one word"),
        pytest.param("字" * 100 + "a" * 5000, id="wide first"),
        pytest.param("a" * 900 + "字" * 5000, id="wide last"),
        pytest.param("x={1:[2]};" * 400, id="code"),
    ],
)
def test_whatever_it_is_cut_into_pieces_within_the_bounds(text: str) -> None:
    found = sections(text)

    assert "".join(each.text for each in found) == text
    assert all(len(each.text) <= MAX_PIECE_CHARS for each in found)


def test_chinese_is_cut_where_it_is_as_long_for_a_model() -> None:
    found = sections("令牌的有效期是十五分钟。" * 100)

    assert all(each.text.endswith("。") for each in found)
    assert all(most_tokens(each.text) <= 400 for each in found)


@pytest.mark.parametrize("report", ["", "\n\n", "#", "# \n## \n### ", "```", "~~~\n"])
def test_a_report_that_says_nothing_has_at_most_one_piece(report: str) -> None:
    assert len(sections(report)) <= 1
    assert all(each.text for each in sections(report))


@given(st.text(alphabet=st.sampled_from("ab字 \n#`-.。\r1"), max_size=900))
def test_nothing_but_headings_and_blanks_is_lost(report: str) -> None:
    found = sections(report)

    shown = "".join("".join(each.heading + each.text for each in found).split())
    for line in report.replace("\r", "\n").split("\n"):
        if not line.lstrip().startswith("#"):
            assert all(part in shown for part in line.split()[:1] if len(part) < 100)
    assert all(each.text.strip() for each in found)
    assert all(len(each.text) <= MAX_PIECE_CHARS for each in found)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("Short.", "Short.", id="fits"),
        pytest.param("One two. Three four. Five six seven.", "One two. Three four. …"),
        pytest.param("一二三四五六七八九十。" * 4, "一二三四五六七八九十。" * 2 + " …"),
        pytest.param(
            "One two three four five six seven", "One two three four five six …"
        ),
        pytest.param("a" * 40, "a" * 28 + " …"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_sentence_else_at_a_word(
    text: str, cut: str
) -> None:
    assert cut_at_sentence(text, 30) == cut
