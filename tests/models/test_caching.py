"""What is known of the service's prompt cache."""

from __future__ import annotations

import pytest

from orchestrator.models.caching import shortest_cached


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5-5", 512),
        ("claude-fable-5", 512),
        ("claude-fable-5-2", 1024),
        ("claude-sonnet-5-5", 1024),
        ("claude-haiku-5-5", 1024),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-haiku-4-5-20251001", 4096),
        ("somebody-s", 1024),
    ],
)
def test_the_shortest_start_that_is_cached_is_the_model_s(
    model: str, tokens: int
) -> None:
    assert shortest_cached(model) == tokens
