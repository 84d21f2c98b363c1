"""Estimating tokens without a tokenizer."""

from __future__ import annotations

import base64
import hashlib
import time

import pytest
from counted_texts import KINDS
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.tokens import estimate


def noise(size: int) -> bytes:
    blocks = range(size // 32 + 1)
    return b"".join(hashlib.sha256(b"%d" % n).digest() for n in blocks)[:size]


ENGLISH = (
    "The lead agent writes a short brief for every question, and each of them goes to "
    "a fresh context that knows nothing of the others. What comes back is bounded. "
) * 20
CHINESE = "每个子代理都在全新的上下文中工作，只把有限的结论交还给主代理。" * 20
RUSSIAN = (
    "Каждый агент получает свою задачу и возвращает короткий отчёт о находках. " * 20
)
PYTHON = (
    'def read(path: Path) -> str:\n    """Return it."""\n    return path.text\n' * 30
)
LOGS = "".join(
    f"2026-11-29 12:{n % 60:02d}:07,{n:03d} INFO server.request: GET /api/v1/items/{n} "
    f"status=200 in {n % 37} ms\n"
    for n in range(100)
)
TABLE = "".join(f"{n * 7919 % 99991},{n * 104729 % 99991}\n" for n in range(200))


@pytest.mark.parametrize(
    ("text", "dearest"),
    [
        # Characters per token in the dearest of eight vocabularies.
        pytest.param(ENGLISH, 4.45, id="english"),
        pytest.param(CHINESE, 1.12, id="chinese"),
        pytest.param(RUSSIAN, 2.08, id="russian"),
        pytest.param(PYTHON, 3.48, id="python"),
        pytest.param(LOGS, 1.94, id="logs"),
        pytest.param(base64.b64encode(noise(3000)).decode(), 1.30, id="base64"),
        pytest.param(noise(3000).hex(), 1.15, id="hex"),
        pytest.param(TABLE, 1.00, id="table of numbers"),
    ],
)
def test_every_kind_of_text_is_within_a_quarter_of_its_dearest_count(
    text: str, dearest: float
) -> None:
    tokens = len(text) / dearest

    assert 0.75 * tokens <= estimate(text) <= 1.35 * tokens


@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_is_near_the_dearest_of_eight_tokenizers(kind: str) -> None:
    errors = [estimate(each.text) / each.dearest - 1 for each in KINDS[kind]]

    assert sum(map(abs, errors)) / len(errors) <= 0.15
    assert sum(errors) / len(errors) >= -0.10


def test_over_all_kinds_of_text_it_is_within_a_twentieth() -> None:
    errors = [
        estimate(one.text) / one.dearest - 1 for kind in KINDS.values() for one in kind
    ]

    assert sum(map(abs, errors)) / len(errors) <= 0.05


def letters(kinds: str, size: int, *, line: int) -> str:
    drawn = "".join(kinds[byte % len(kinds)] for byte in noise(size))
    return "\n".join(drawn[at : at + line] for at in range(0, size, line))


@pytest.mark.parametrize(
    ("text", "chars_a_token"),
    [
        # Measured with cl100k.
        pytest.param(letters("acgt", 9500, line=1900), 2.07, id="genes"),
        pytest.param(letters("ACGT", 9500, line=1900), 1.93, id="genes in capitals"),
        pytest.param(
            letters("ACDEFGHIKLMNPQRSTVWY", 9600, line=60), 1.75, id="protein"
        ),
        pytest.param(
            "donaudampfschifffahrtsgesellschaftskapitaen rindfleischetikettierungs"
            "ueberwachungsaufgabenuebertragungsgesetz " * 40,
            2.85,
            id="words run together",
        ),
        pytest.param("\u2500" * 3000 + "\u2502\u250c\u2510" * 100, 1.19, id="boxes"),
        pytest.param("\u2192\u2190\u2191\u2193" * 700, 0.71, id="arrows"),
        pytest.param("\u200b\u200d" * 1500, 0.67, id="without a width"),
    ],
)
def test_what_is_no_language_is_not_free(text: str, chars_a_token: float) -> None:
    assert 0.6 <= estimate(text) * chars_a_token / len(text) <= 1.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        " ",
        "\n",
        "\x00",
        "\ud83d",
        "é",
        "中",
        "한",
        "ж",
        "─",
        "👩‍🚒",
        "ไทย",
        "हिन्दी",
    ],
)
def test_any_text_has_a_count_and_only_nothing_is_free(text: str) -> None:
    assert (estimate(text) > 0) == bool(text)


def test_a_page_of_blanks_or_box_lines_is_not_free() -> None:
    assert estimate(" " * 32_000) >= 1000
    assert estimate("─" * 1000) >= 400


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(head: str, tail: str) -> None:
    assert estimate(head + tail) + 1 >= estimate(head)


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_whole_is_about_its_parts(head: str, tail: str) -> None:
    # A seam may make one word too long for any vocabulary.
    assert estimate(head + tail) <= estimate(head) + estimate(tail) + 5


def test_ten_megabytes_take_less_than_a_second() -> None:
    text = (ENGLISH + PYTHON + LOGS) * 200
    began = time.process_time()
    estimate(text)
    seconds = time.process_time() - began

    assert len(text) / 1e6 / seconds >= 10
