"""Events as plain sentences."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.events import KINDS, Event
from orchestrator.events.phrases import call_phrase, count_phrase, duration, tokens
from orchestrator.inspection.sentences import describe


def said(kind: str, **data: Any) -> str:
    return describe(Event(1, "", "run", "lead", kind, 0, data))


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (999_600, "1M"),
        (3_000_000, "3M"),
        (2_500_000_000, "2.5G"),
    ],
)
def test_tokens_take_at_most_five_characters(count: int, shown: str) -> None:
    assert tokens(count) == shown
    assert len(shown) <= 5


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0.0s"),
        (0.44, "0.4s"),
        (9.97, "10s"),
        (59.7, "1m00s"),
        (132, "2m12s"),
        (11_100, "3h05m"),
        (400_000, "4d"),
    ],
)
def test_durations_take_at_most_six_characters(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
    assert len(shown) <= 6


def test_one_thing_is_not_plural() -> None:
    assert [count_phrase(n, "brief") for n in (1, 2)] == ["1 brief", "2 briefs"]
    assert [count_phrase(n, "try") for n in (0, 1)] == ["0 tries", "1 try"]
    assert count_phrase(2, "day") == "2 days"


@pytest.mark.parametrize("kind", [*KINDS, "log.damaged"])
def test_every_kind_has_a_sentence_of_one_line(kind: str) -> None:
    text = said(kind, text="a\nb", reason="c\nd", message="e\nf")

    assert text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (
            "tool.started",
            {"name": "grep", "input": {"pattern": "token", "path": "src"}},
            "searches for “token” in src",
        ),
        (
            "tool.ended",
            {"name": "read_file", "tokens": 200, "full_tokens": 6200, "seconds": 0.2},
            "read_file gave 200 of 6.2k tokens in 0.2s",
        ),
        (
            "tool.ended",
            {"name": "grep", "is_error": True, "content": "no such path\nmore"},
            "grep failed: no such path",
        ),
        (
            "subagent.ended",
            {"id": "a2", "status": "nothing_found", "explored_tokens": 1500},
            "a2 nothing found: explored 1.5k tokens, returned 0",
        ),
        (
            "limit.reached",
            {"limit": "usd", "used": 2.0, "allowed": 2, "set_aside": 0.5},
            "limit `usd` reached: 1.5 used and 0.5 set aside, of 2",
        ),
        (
            "report.submitted",
            {"accepted": False, "citations": 1, "wrong": ["[x:1]"]},
            "report sent back: 1 citation, 1 wrong: [x:1]",
        ),
        (
            "model.replaced",
            {"model": "a", "instead": "b", "reason": "cyber"},
            "goes on with b: a refused (cyber)",
        ),
        (
            "model.adapted",
            {"model": "a", "without": ["thinking"], "message": "unknown field"},
            "asks a without thinking from now on: unknown field",
        ),
        (
            "model.adapted",
            {"model": "a", "without": ["thinking", "diagnostics"], "message": ""},
            "asks a without thinking, diagnostics from now on, as others have found "
            "out",
        ),
        (
            "cache.missed",
            {"expected": 9000, "read": 0, "cause": "expired"},
            "read 0 of 9k tokens from the prompt cache: too long after the request "
            "before",
        ),
        (
            "cache.missed",
            {
                "expected": 9000,
                "read": 3000,
                "cause": "prefix_changed",
                "detail": "thinking is left out",
                "reported": "messages_changed",
            },
            "read 3k of 9k tokens from the prompt cache: thinking is left out (the "
            "service says: messages_changed)",
        ),
        (
            "cache.missed",
            {"expected": 5000, "read": 0, "cause": "not_cached"},
            "the endpoint does not tell of any prompt cache; all input costs in full",
        ),
        (
            "context.cleared",
            {
                "stubs": {"t1": "x", "t2": "y"},
                "why": "soft",
                "thinking": 1,
                "tokens_before": 61_000,
                "tokens_after": 12_500,
            },
            "2 results and 1 block of thinking no longer sent (61k → 12.5k tokens): "
            "the soft mark is reached",
        ),
        (
            "context.compacted",
            {
                "how": "model",
                "why": "hard",
                "first_dropped": 1,
                "last_dropped": 40,
                "tokens_before": 150_000,
                "tokens_after": 31_000,
                "checks": [{"check": "names", "found": 2, "lost": ["a.py", "b.py"]}],
                "added": ["b.py is done"],
                "failures": ["empty"],
            },
            "a summary stands in place of steps 1 to 40 (150k → 31k tokens): the hard "
            "mark is reached; the check mended 2 places, put back 1 line; 1 try for a "
            "summary failed",
        ),
        (
            "context.compacted",
            {
                "how": "none",
                "why": "window",
                "first_dropped": 3,
                "last_dropped": 3,
                "tokens_before": 900,
                "tokens_after": 500,
            },
            "no longer sent: step 3 (900 → 500 tokens): only the last steps are kept",
        ),
        (
            "model.requested",
            {"turn": 4, "purpose": "judge", "estimated_tokens": 9000, "model": "big"},
            "asks big for a check of a summary, about 9k tokens",
        ),
        (
            "model.answered",
            {"turn": 4, "purpose": "summary", "usage": {}, "model": "small"},
            "small is asked for a summary and writes text (0 in, 0 out, 0.0s)",
        ),
        (
            "model.failed",
            {"error": "overloaded", "message": "busy", "purpose": "judge"},
            "model gave no answer when asked for a check of a summary: overloaded: "
            "busy",
        ),
        ("moon.risen", {"phase": "full"}, "phase=full"),
        (
            "memory.kept",
            {"by": "model", "outcomes": [], "failure": "the disk is full"},
            "memory is not brought up to date: the disk is full",
        ),
    ],
)
def test_sentences_say_what_happened(
    kind: str, data: dict[str, Any], words: str
) -> None:
    assert said(kind, **data) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": "view", "path": "/memories"}, "looks into memory"),
        (
            {"command": "view", "path": "/memories/auth.md"},
            "looks into memory: auth.md",
        ),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "b.md"},
            "moves in memory: a.md to b.md",
        ),
        ({}, "memory"),
    ],
)
def test_a_memory_command_is_told_in_words(given: dict[str, Any], words: str) -> None:
    assert call_phrase("memory", given) == words


def test_a_tool_nobody_has_a_phrase_for_is_shown_with_its_input() -> None:
    assert call_phrase("query_order", {"id": 7}) == "query_order(id=7)"
