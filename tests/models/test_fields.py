"""Which optional fields a request carries."""

from __future__ import annotations

import pytest

from orchestrator.models.fields import request_fields


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-opus-4-5-20251101"])
def test_the_service_s_models_are_asked_why_the_cache_was_missed(model: str) -> None:
    fields = request_fields(model, None)

    assert fields["diagnostics"] == {"previous_message_id": None}


@pytest.mark.parametrize("model", ["qwen3:8b", "offline", "my-claude-proxy"])
def test_others_get_no_field_that_they_may_not_know(model: str) -> None:
    assert request_fields(model, None) == {}
