from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.context.tokens import estimate
from orchestrator.memory.search.pieces import MOST_TOKENS, most_tokens, pieces_of

TEXTS = sorted((Path(__file__).parents[2] / "data" / "tokens").glob("*.txt"))


def test_a_short_entry_is_one_piece() -> None:
    (piece,) = pieces_of("token lifetime", "15 minutes.\n\nRefresh: 30 days.")

    assert piece.heading == "token lifetime"
    assert piece.text == "15 minutes.\n\nRefresh: 30 days."


def test_an_entry_without_a_value_is_found_by_its_key() -> None:
    assert [piece.heading for piece in pieces_of("empty", " \n")] == ["empty"]


def test_headings_within_a_value_part_it() -> None:
    text = "Intro.\n\n### Limits\n\nTen.\n\n#### Costs\nFree.\n"

    found = pieces_of("api", text)

    assert [(piece.heading, piece.text) for piece in found] == [
        ("api", "Intro."),
        ("api / Limits", "Ten."),
        ("api / Costs", "Free."),
    ]


def test_a_heading_in_a_fence_is_text() -> None:
    (piece,) = pieces_of("script", "```sh\n### not a heading\necho\n```")

    assert "### not a heading" in piece.text


def test_code_is_parted_by_definition() -> None:
    body = "\n".join(f"    value = {at}" for at in range(25))
    code = f"```python\ndef one():\n{body}\n\ndef two():\n{body}\n```"

    found = pieces_of("code", code)

    assert len(found) == 2
    assert "def two" in found[1].text.splitlines()[0]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_no_piece_is_longer_than_it_may_be(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    found = pieces_of("a key of some words", text)

    for piece in found:
        assert estimate(f"{piece.heading}: {piece.text}") <= MOST_TOKENS
    kept = "".join("".join(piece.text.split()) for piece in found)
    headings = {word for piece in found for word in piece.heading.split()}
    for word in text.split():
        assert word in kept or word in headings or set(word) <= {"#"}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_the_cheap_count_is_never_below_the_careful_one(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").split("\n"):
        assert most_tokens(line) >= estimate(line)


def test_a_key_without_end_leaves_room_for_its_value() -> None:
    found = pieces_of("k" * 5000, "the value")

    assert all(estimate(f"{p.heading}: {p.text}") <= MOST_TOKENS for p in found)
    assert found[-1].text == "the value"
