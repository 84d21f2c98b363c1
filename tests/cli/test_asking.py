"""The question on a real terminal, answered by somebody who types."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from io import StringIO

import pytest

from orchestrator.cli.asking import TerminalAsker
from orchestrator.security.permissions import Answer, Ask

ASK = Ask(("shell", "write"), "rm -r build\n\x1b[2Kecho \u202egpj.exe")


class Screen(StringIO):
    """A screen whose person types the next line when a question appears on it."""

    def __init__(self, hand: int, lines: list[str]) -> None:
        super().__init__()
        self._hand, self._lines = hand, lines

    def write(self, text: str) -> int:
        if "[N]o?" in text and self._lines:
            os.write(self._hand, self._lines.pop(0).encode())
        return super().write(text)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    hand, seat = pty.openpty()
    yield hand, seat
    os.close(hand)
    os.close(seat)


async def asked(
    terminal: tuple[int, int], *lines: str, wait_s: float = 20, before: str = ""
) -> tuple[Answer, str]:
    hand, seat = terminal
    screen = Screen(hand, list(lines))
    asker = TerminalAsker(seat, screen, wait_s=wait_s)
    os.write(hand, before.encode())
    return await asker("lead", "bash", ASK), screen.getvalue()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y\n", "once"),
        ("Yes\n", "once"),
        ("a\n", "always"),
        ("n\n", "no"),
        ("\n", "no"),
    ],
)
async def test_a_line_is_the_answer(
    terminal: tuple[int, int], line: str, answer: Answer
) -> None:
    assert (await asked(terminal, line))[0] == answer


async def test_the_effect_is_shown_exactly_and_nothing_in_it_acts(
    terminal: tuple[int, int],
) -> None:
    _, screen = await asked(terminal, "n\n")

    assert "lead wants to use bash, which needs shell, write:" in screen
    assert "    | rm -r build\n    | ␛[2Kecho <U+202E>gpj.exe\n" in screen


async def test_what_was_typed_before_the_question_does_not_count(
    terminal: tuple[int, int],
) -> None:
    assert (await asked(terminal, "n\n", before="y\n"))[0] == "no"


async def test_what_is_no_answer_is_asked_again_and_then_a_no(
    terminal: tuple[int, int],
) -> None:
    answer, screen = await asked(terminal, "what?\n", "hm\n", "maybe\n", "y\n")

    assert answer == "no"
    assert screen.count("[N]o?") == 3


async def test_no_answer_in_time_is_a_no(terminal: tuple[int, int]) -> None:
    answer, screen = await asked(terminal, wait_s=0.05)

    assert answer == "no"
    assert "no answer within" in screen


async def test_the_end_of_input_is_a_no(terminal: tuple[int, int]) -> None:
    assert (await asked(terminal, "\x04"))[0] == "no"
