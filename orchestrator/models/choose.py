"""From a model's name in a task file to the model itself, and what is known of it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Final

from orchestrator.clock import Clock
from orchestrator.models.base import Model
from orchestrator.models.governor import Governor
from orchestrator.settings import MOST_AT_ONCE, OFFLINE, bare_model

__all__ = [
    "known_window",
    "max_output_tokens",
    "open_model",
    "smallest",
    "window_tokens",
]

# Anthropic's model pages, November 2026: prompt and longest output, in tokens.
_SIZES: Final = (
    (re.compile(r"claude-(fable|mythos|opus|sonnet)-5\b"), 1_000_000, 128_000),
    (re.compile(r"claude-haiku-5\b"), 1_000_000, 128_000),
    (re.compile(r"claude-"), 200_000, 64_000),
    (re.compile(r"offline$"), 200_000, 64_000),
)
_UNKNOWN_SIZE: Final = (32_000, 8_192)
"""Of a model that somebody serves with the same API; small ones are common."""


def open_model(name: str, *, clock: Clock, most_at_once: int = MOST_AT_ONCE) -> Model:
    """Return the model called `name`; nothing is sent yet.

    A model of an endpoint answers for every id that its endpoint knows, since a
    request names its own: one is enough for a process, and all that share its
    credentials share its governor.

    Args:
        name: `anthropic:<id>`, a bare id, or `offline`.
        clock: waits between tries.
        most_at_once: requests of one model under way at the same time, 1 or more.

    Raises:
        SpecError: `name` is no model's name.
        ModelError: the credentials that were found cannot be used.
    """
    if bare_model(name) == OFFLINE:
        # By name, so that neither world is loaded for the other.
        offline: Model = import_module("orchestrator.models.offline").OfflineModel()
        return offline
    endpoint: Model = import_module("orchestrator.models.anthropic").AnthropicModel(
        clock=clock
    )
    return Governor(endpoint, clock, most_at_once=most_at_once)


def window_tokens(name: str, told: int | None = None) -> int:
    """Return the context window of a model, in tokens; small for unknown ones.

    Args:
        name: of the model.
        told: as for `known_window`.
    """
    return known_window(name, told) or _UNKNOWN_SIZE[0]


def known_window(name: str, told: int | None = None) -> int | None:
    """Return the context window of a model, in tokens, or None if it is unknown.

    Args:
        name: of the model.
        told: the user's word for it; of a model that is known, only a smaller one
            counts.
    """
    size = _size(name)
    known = None if size is _UNKNOWN_SIZE else size[0]
    return smallest(known, told)


def smallest(*windows: int | None) -> int | None:
    """Return the smallest of the windows that are known, or None."""
    return min((each for each in windows if each), default=None)


def max_output_tokens(name: str) -> int:
    """Return the longest output of a model, in tokens; small for unknown ones."""
    return _size(name)[1]


def _size(name: str) -> tuple[int, int]:
    bare = bare_model(name)
    for pattern, window, output in _SIZES:
        if pattern.match(bare):
            return window, output
    return _UNKNOWN_SIZE
