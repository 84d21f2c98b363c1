"""A stub says what was called, how much it was, and how to see it again."""

from __future__ import annotations

import pytest

from orchestrator.context.stubs import digest_of, stub
from orchestrator.context.tokens import estimate


def test_a_stub_names_call_size_reference_and_what_mattered() -> None:
    text = stub(
        "read_file",
        {"max_lines": 50, "path": "src/auth.py", "first_line": 200},
        ref="h12.2",
        tokens=3012,
        digest="212\tLIMIT = 40",
    )
    assert text == (
        '[Cleared: read_file("src/auth.py", first_line=200), 3,012 tokens; '
        'again: read_ref("h12.2")]\n212\tLIMIT = 40'
    )


def test_what_was_cut_on_entry_is_named_whole() -> None:
    text = stub(
        "bash", {"command": "make"}, ref="h3", tokens=9, digest="", artifact="art_0"
    )
    assert text.endswith('again: read_ref("h3"), uncut: read_ref("art_0")]')


def test_an_image_is_said_to_be_one() -> None:
    text = stub("shot", {}, ref="h3", tokens=1500, digest="", form="an image")
    assert text == '[Cleared: shot(), 1,500 tokens, an image; again: read_ref("h3")]'


@pytest.mark.parametrize(
    "given",
    [
        {"text": "long " * 10_000},
        {"briefs": [{"title": "x" * 9000}] * 50},
        {"a\nb": "多" * 5000 + "\ud83d"},
        {"first_line": 10**40},
    ],
)
def test_a_stub_is_bounded_and_one_line(given: dict[str, object]) -> None:
    text = stub("n" * 900, given, ref="h1", tokens=10**6, digest="")
    assert estimate(text) <= 220
    assert "\n" not in text
    text.encode()


def test_what_a_stub_keeps_of_its_result_is_told_apart() -> None:
    text = stub("grep", {"pattern": "x"}, ref="h1", tokens=9, digest="a\nb")

    assert digest_of(text) == "a\nb"
    assert digest_of("no stub\nat all") == "no stub\nat all"
