"""From names to models."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.models.choose import (
    bare_id,
    credentials_found,
    max_output_tokens,
    open_model,
    window_tokens,
)
from orchestrator.models.retry import Retrying
from orchestrator.testing import FakeClock


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("anthropic:claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
        (" claude-opus-5-5 ", "claude-opus-5-5"),
        ("offline", "offline"),
        ("qwen3:8b", "qwen3:8b"),
        ("anthropic:openai/gpt-oss-20b", "openai/gpt-oss-20b"),
    ],
)
def test_a_name_with_and_without_its_prefix_is_one_model(name: str, bare: str) -> None:
    assert bare_id(name) == bare


@pytest.mark.parametrize("name", ["", "  ", "anthropic:", "two words", "openai:gpt-5"])
def test_what_is_no_model_is_refused_by_name(name: str) -> None:
    with pytest.raises(SpecError, match="allowed are") as caught:
        open_model(name, clock=FakeClock(), outage_s=1)
    assert caught.value.field == "model"


async def test_an_endpoint_is_retried_and_sends_nothing_when_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-tests")

    model = open_model("anthropic:claude-opus-5-5", clock=FakeClock(), outage_s=1)

    assert isinstance(model, Retrying)
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


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("bare_environment")
def test_without_any_sign_of_credentials_the_sdk_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "orchestrator.models.anthropic", None)

    assert not credentials_found()


@pytest.mark.usefixtures("bare_environment")
@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_in_the_environment_is_enough(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "key-for-tests")

    assert credentials_found()


@pytest.mark.usefixtures("bare_environment")
def test_other_settings_leave_it_to_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    assert not credentials_found()
