"""Which optional fields a request carries."""

from __future__ import annotations

import pytest

from orchestrator.models.fields import binds_thinking, request_fields


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-4-5-20251101"])
def test_the_service_s_models_are_asked_why_the_cache_was_missed(model: str) -> None:
    fields = request_fields(model, None)

    assert fields["diagnostics"] == {"previous_message_id": None}


@pytest.mark.parametrize("model", ["qwen3:8b", "offline", "my-claude-proxy"])
def test_others_get_no_field_that_they_may_not_know(model: str) -> None:
    assert request_fields(model, None) == {}


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-6", "claude-opus-4-8", "claude-opus-5", "claude-fable-5"]
)
def test_thinking_of_these_is_bound_to_itself_alone(model: str) -> None:
    assert not binds_thinking(model)


@pytest.mark.parametrize(
    "model", ["claude-haiku-5-5", "claude-opus-5-5", "claude-sonnet-5.1", "qwen3:8b"]
)
def test_thinking_of_later_ones_and_of_strangers_is_bound(model: str) -> None:
    assert binds_thinking(model)
