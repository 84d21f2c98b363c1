"""How long a request was, as a refusal tells it: figures out of an endpoint's words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Lengths", "told_lengths"]


@dataclass(frozen=True, slots=True)
class Lengths:
    """What a refusal says of sizes, in tokens; 0 where it is silent.

    Attributes:
        input: of the whole prompt, as the endpoint counts it.
        window: most that prompt and output may be together.
        output: most that the output may be, whatever the prompt.
    """

    input: int = 0
    window: int = 0
    output: int = 0


_FIGURE: Final = r"\d[\d,_]*"
_MARK: Final = re.compile("@([iwo])")
# `@i`, `@w` and `@o` stand for the figures of prompt, window and longest output. The
# first that fits wins. As worded, November 2026, by Anthropic, vLLM (newer, older; the
# latter as OpenAI), SGLang, text-generation-inference, llama.cpp, LM Studio, Mistral.
_WORDINGS: Final = tuple(
    re.compile(_MARK.sub(lambda at: rf"(?P<{at[1]}>{_FIGURE})", each), re.IGNORECASE)
    for each in (
        r"exceed context limit: @i \+ \d[\d,_]* > @w",
        r"prompt is too long: @i tokens > @w maximum",
        r"max_tokens: \d[\d,_]* > @o,",
        r"maximum context length (is|of) @w tokens.{0,60}?request has @i input",
        r"maximum context length (is|of) @w tokens.{0,80}?\(@i in the (messages"
        r"|prompt)",
        r"maximum context length (is|of) @w tokens.{0,80}?: @i tokens from the "
        r"input",
        r"must be <=? ?@w\. given: @i `?inputs`? tokens",
        r"input \(@i tokens\) is longer than the model's context length \(@w",
        r"request \(@i tokens\) exceeds the available context size \(@w",
        r"n_keep: ?@i ?>=? ?n_ctx: ?@w",
        r"first @i tokens when.{0,60}context length of only @w",
        r"prompt contains @i tokens.{0,80}?@w maximum context",
        r"maximum context length (is|of) @w",
    )
)


def told_lengths(message: str) -> Lengths:
    """Return the sizes that a refusal names; zeros where its words are not known."""
    text = " ".join(message.split())
    for wording in _WORDINGS:
        if found := wording.search(text):
            figures = {name: _number(told) for name, told in found.groupdict().items()}
            return Lengths(
                figures.get("i", 0), figures.get("w", 0), figures.get("o", 0)
            )
    return Lengths()


def _number(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
