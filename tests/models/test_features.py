"""What endpoints say when they lack something, and when we made a mistake."""

from __future__ import annotations

import pytest

from orchestrator.models.features import Lacks, refused_feature
from orchestrator.settings import FEATURES

PYDANTIC = (
    "Error code: 422 - {'detail': [{'type': 'extra_forbidden', 'loc': ['body', "
    "'thinking'], 'msg': 'Extra inputs are not permitted', 'input': {'type': "
    "'adaptive'}}]}"
)


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        pytest.param(
            "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
            "cache_control",
            id="a path of pydantic",
        ),
        pytest.param(
            "thinking: Extra inputs are not permitted", "thinking", id="top level"
        ),
        pytest.param(
            "thinking.display: Extra inputs are not permitted",
            "thinking",
            id="a part of it",
        ),
        pytest.param(PYDANTIC, "thinking", id="a list of pydantic"),
        pytest.param(
            '[{"type":"extra_forbidden","loc":["body","messages",0,"cache_control"],'
            '"msg":"Extra inputs are not permitted"}]',
            "cache_control",
            id="the same as JSON",
        ),
        pytest.param(
            'json: unknown field "cache_control"', "cache_control", id="strict Go"
        ),
        pytest.param(
            "unknown field `output_config`, expected one of `model`, `thinking`",
            "output_config",
            id="serde",
        ),
        pytest.param(
            "thinking: unknown variant `adaptive`, expected `enabled` or `disabled`",
            "thinking",
            id="a variant",
        ),
        pytest.param(
            '"llama3.2" does not support thinking', "thinking", id="an Ollama model"
        ),
        pytest.param(
            "adaptive thinking is not supported on this model",
            "thinking",
            id="an older model",
        ),
        pytest.param(
            "This model does not support the effort parameter.",
            "output_config",
            id="effort",
        ),
        pytest.param(
            "litellm.UnsupportedParamsError: ollama does not support parameters: "
            "['thinking'], for model=qwen3",
            "thinking",
            id="LiteLLM",
        ),
        pytest.param(
            "Additional properties are not allowed ('cache_control' was unexpected)",
            "cache_control",
            id="JSON Schema",
        ),
        pytest.param(
            'Invalid JSON payload received. Unknown name "cache_control" at '
            "'system[0]': Cannot find field.",
            "cache_control",
            id="Google",
        ),
        pytest.param(
            "#: extraneous key [output_config] is not permitted",
            "output_config",
            id="Bedrock",
        ),
        pytest.param(
            "Unrecognized request argument supplied: diagnostics",
            "diagnostics",
            id="OpenAI",
        ),
        pytest.param(
            "Unsupported parameter: 'thinking' is not supported with this model.",
            "thinking",
            id="OpenAI, newer",
        ),
        pytest.param(
            "'messages.0': property 'cache_control' is unsupported",
            "cache_control",
            id="Groq",
        ),
        pytest.param(
            "Prompt caching is not supported for this model",
            "cache_control",
            id="in words",
        ),
    ],
)
def test_a_feature_that_is_lacking_is_told_from_the_refusal(
    message: str, feature: str
) -> None:
    assert refused_feature(message, FEATURES) == feature


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("", id="no words"),
        pytest.param(
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            id="one mark too many",
        ),
        pytest.param(
            "messages.0.content.1.text: cache_control cannot be set for empty text "
            "blocks",
            id="a mark on nothing",
        ),
        pytest.param(
            "`max_tokens` must be greater than `thinking.budget_tokens`", id="a budget"
        ),
        pytest.param(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, "
            "but found `tool_use`.",
            id="thinking left out",
        ),
        pytest.param(
            "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the "
            "latest assistant message cannot be modified.",
            id="thinking changed",
        ),
        pytest.param(
            "unknown field `tempurature`, expected one of `thinking`, `cache_control`",
            id="another field; ours are among those allowed",
        ),
        pytest.param(
            "messages.0.tool: Extra inputs are not permitted", id="another field"
        ),
        pytest.param(
            "thinking is not supported when tool_choice is set", id="a combination"
        ),
        pytest.param("model: claude-opus-9 not found", id="no such model"),
        pytest.param("I am thinking about what is not supported", id="prose"),
    ],
)
def test_a_mistake_is_not_taken_for_a_feature_that_is_lacking(message: str) -> None:
    assert refused_feature(message, FEATURES) == ""


def test_what_was_not_sent_is_not_the_cause() -> None:
    assert refused_feature('"m" does not support thinking', ("cache_control",)) == ""


def test_what_one_model_lacks_says_nothing_of_another() -> None:
    lacks = Lacks(["diagnostics"])

    lacks.learn("qwen3", ["thinking"])
    lacks.learn("qwen3", ["cache_control"])

    assert lacks.of("qwen3") == {"diagnostics", "thinking", "cache_control"}
    assert lacks.of("llama3") == {"diagnostics"}
