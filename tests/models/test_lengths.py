"""Sizes, as the refusals of many servers tell them."""

from __future__ import annotations

import pytest

from orchestrator.models.lengths import Lengths, told_lengths


@pytest.mark.parametrize(
    ("message", "told"),
    [
        pytest.param(
            "input length and `max_tokens` exceed context limit: 6145 + 2048 > 8192, "
            "decrease input length or `max_tokens` and try again",
            Lengths(6145, 8192),
            id="Anthropic, both",
        ),
        pytest.param(
            "prompt is too long: 210,345 tokens > 200,000 maximum",
            Lengths(210_345, 200_000),
            id="Anthropic, the prompt",
        ),
        pytest.param(
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output "
            "tokens for claude-haiku-4-5",
            Lengths(output=64_000),
            id="Anthropic, the output",
        ),
        pytest.param(
            "This model's maximum context length is 8192 tokens. However, you "
            "requested 10240 tokens (6145 in the messages, 4095 in the completion). "
            "Please reduce the length of the messages or completion.",
            Lengths(6145, 8192),
            id="vLLM, OpenAI",
        ),
        pytest.param(
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's "
            "maximum context length is 8192 tokens and your request has 6145 input "
            "tokens (8192 > 8192 - 6145).",
            Lengths(6145, 8192),
            id="vLLM, newer",
        ),
        pytest.param(
            "Requested token count exceeds the model's maximum context length of 8192 "
            "tokens. You requested a total of 10000 tokens: 6000 tokens from the input "
            "messages and 4000 tokens for the completion.",
            Lengths(6000, 8192),
            id="SGLang",
        ),
        pytest.param(
            "The input (9000 tokens) is longer than the model's context length (8192 "
            "tokens).",
            Lengths(9000, 8192),
            id="SGLang, the prompt",
        ),
        pytest.param(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
            "4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`",
            Lengths(3000, 4096),
            id="text-generation-inference",
        ),
        pytest.param(
            "request (5000 tokens) exceeds the available context size (4096 tokens), "
            "try increasing it",
            Lengths(5000, 4096),
            id="llama.cpp",
        ),
        pytest.param(
            "The number of tokens to keep from the initial prompt is greater than the "
            "context length (n_keep: 5000>= n_ctx: 4096).",
            Lengths(5000, 4096),
            id="LM Studio",
        ),
        pytest.param(
            "Trying to keep the first 5000 tokens when context the overflows. However, "
            "the model is loaded with context length of only 4096 tokens",
            Lengths(5000, 4096),
            id="LM Studio, older",
        ),
        pytest.param(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
            "32768 maximum context length",
            Lengths(40_000, 32_768),
            id="Mistral",
        ),
        pytest.param(
            "maximum context length is 4096 tokens", Lengths(window=4096), id="half"
        ),
        pytest.param("prompt is too long", Lengths(), id="no figures"),
        pytest.param("request of 12 bytes > 3", Lengths(), id="other figures"),
    ],
)
def test_the_figures_of_a_refusal_are_found(message: str, told: Lengths) -> None:
    assert told_lengths(message) == told
