"""What is known of the service's prompt cache: how long, how short, how far it looks.

From Anthropic's documentation of prompt caching, as of November 2026. It is silent on
Sonnet 5.5, Haiku 5.5 and the later Fable models; they get the usual figure.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LIFETIME_S", "MOST_MARKS", "shortest_cached"]

LIFETIME_S: Final = 300.0
"""Of what is cached, from the start of the newest request that used it."""
MOST_MARKS: Final = 4
"""A request with more is refused."""

_SHORTEST: Final = (
    (re.compile(r"claude-(opus-5|(fable|mythos)-5$)"), 512),
    (re.compile(r"claude-(opus-4-7|mythos-preview)"), 2048),
    (re.compile(r"claude-(opus-4-[56]|haiku-4-5)"), 4096),
)
_USUAL: Final = 1024


def shortest_cached(model: str) -> int:
    """Return how many tokens the start of a request to `model`, a bare id, must have.

    With fewer the service does not cache it, and does not say so.
    """
    return next((n for pattern, n in _SHORTEST if pattern.match(model)), _USUAL)
