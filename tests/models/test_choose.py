"""From names to models."""

from __future__ import annotations

import pytest

from orchestrator.errors import SpecError
from orchestrator.models.choose import max_output_tokens, open_model, window_tokens
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock


@pytest.mark.parametrize("name", ["", "  ", "anthropic:", "two words", "openai:gpt-5"])
def test_what_is_no_model_is_refused_by_name(name: str) -> None:
    with pytest.raises(SpecError, match="allowed are") as caught:
        open_model(name, clock=FakeClock())
    assert caught.value.field == "model"


async def test_an_endpoint_is_retried_and_sends_nothing_when_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-tests")

    model = open_model("anthropic:claude-opus-5-5", clock=FakeClock())

    assert isinstance(model, Governor)
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize(
    ("name", "window", "output"),
    [
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("anthropic:claude-fable-5-2", 1_000_000, 128_000),
        ("claude-haiku-5-5", 1_000_000, 128_000),
        ("claude-haiku-4-5", 200_000, 64_000),
        ("claude-haiku-4-5-20251001", 200_000, 64_000),
        ("claude-opus-4-5", 200_000, 64_000),
        ("qwen3:8b", 32_000, 8_192),
    ],
)
def test_sizes_are_known_or_cautious(name: str, window: int, output: int) -> None:
    assert (window_tokens(name), max_output_tokens(name)) == (window, output)
