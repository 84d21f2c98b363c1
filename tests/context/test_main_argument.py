from __future__ import annotations

from typing import Any

import pytest

from orchestrator.context.main_argument import main_argument


@pytest.mark.parametrize(
    ("given", "main"),
    [
        ({"text": "x", "path": "a.py"}, "a.py"),
        ({"timeout_s": 5, "command": "make"}, "make"),
        ({"format": "text", "url": "https://example.org"}, "https://example.org"),
        ({"path": "", "pattern": "x"}, "x"),
        ({"amount": 0, "why": "late"}, 0),
        ({"why": "", "other": None, "last": "x"}, "x"),
        ({"why": ""}, None),
        ({}, None),
    ],
)
def test_the_most_telling_argument_is_found(
    given: dict[str, Any], main: object
) -> None:
    assert main_argument(given) == main
