"""What endpoints with the same API may lack, and how their refusals say so."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from orchestrator.settings import FEATURES

__all__ = ["Lacks", "refused_feature"]

# Features → the words that stand for them in a refusal.
_WORDS: Final = {
    "cache_control": r"cache_control|prompt caching",
    "thinking": r"thinking",
    "output_config": r"output_config|effort",
    "diagnostics": r"diagnostics",
}

# How refusals of a field are worded: Anthropic and pydantic (vLLM, LiteLLM), Go
# (Ollama), serde (mistral.rs), JSON Schema, Google, Bedrock, OpenAI and its likes.
# `@` stands for the field and for its quotes and brackets. Each wants the field in the
# very place of what is refused: a list of fields that are allowed names them too, and
# a field that is known but used wrongly must not be taken for one that is lacking.
_QUOTES: Final = r"""["'`\[({]*"""
_REFUSALS: Final = (
    r"@(\.\w+)*: (extra inputs? (is|are)|extra fields?|field|it is)? ?"
    r"(not (permitted|allowed|supported)|unknown|unsupported)",
    r"(unknown|unrecognized|unsupported|unexpected|extraneous)( \w+){0,3} ?:? @",
    r"additional propert(y|ies)( \w+){0,2}:? ?\(?@",
    r"@( \w+)? (is|are|was) (not (permitted|allowed|supported|recognized)"
    r"|unsupported|unexpected|unknown)\b(?! (when|with|while|for empty|on empty|in))",
    r"do(es)?(n't| not) support:?( \w+){0,3}:? @(?! (when|with|while)\b)",
    r"""loc["']?: ?[\[(][^\])]*@[^\])]*[\])][^\[(]{0,40}(extra|unexpected)""",
)
_PATTERNS: Final = {
    feature: tuple(
        re.compile(
            each.replace("@", rf"{_QUOTES}\b({words})\b[\"'`\])}}]*"), re.IGNORECASE
        )
        for each in _REFUSALS
    )
    for feature, words in _WORDS.items()
}
# "adaptive" is a value of `thinking`, not its name.
_VARIANT: Final = re.compile(
    r"unknown variant `adaptive`|thinking\.type: input should be", re.IGNORECASE
)


def refused_feature(message: str, sent: Collection[str]) -> str:
    """Return the optional field that a refusal is about, or "".

    Args:
        message: of a refusal of a wrong request, in the endpoint's own words.
        sent: features that the request made use of; others cannot be the cause.
    """
    text = " ".join(message.split())
    for feature in FEATURES:
        if feature in sent and any(each.search(text) for each in _PATTERNS[feature]):
            return feature
    return "thinking" if "thinking" in sent and _VARIANT.search(text) else ""


class Lacks:
    """What the endpoint of a run is known to lack, by model; shared by all its agents.

    A proxy may stand for many servers, so that what one model lacks says nothing of
    another one.
    """

    def __init__(self, everywhere: Iterable[str] = ()) -> None:
        """Know of `everywhere`: what the user says that all models lack."""
        self._everywhere = frozenset(everywhere)
        self._of: dict[str, frozenset[str]] = {}

    def learn(self, model: str, features: Iterable[str]) -> None:
        """Take note that `model` was found to lack `features`."""
        self._of[model] = self._of.get(model, frozenset()) | set(features)

    def of(self, model: str) -> frozenset[str]:
        """Return what a model, by its bare id, lacks as far as is known."""
        return self._everywhere | self._of.get(model, frozenset())
