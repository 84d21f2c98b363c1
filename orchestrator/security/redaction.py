"""Replace secrets by placeholders before anything else sees a text.

The same value always gets the same placeholder within a run, so that an agent can still
tell that two places hold the same secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect
from collections.abc import Iterable

from orchestrator.security.credentials import named_secrets
from orchestrator.security.formats import Span, known_forms

__all__ = ["PLACEHOLDER", "Redactor"]

PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")
_LINE_END = re.compile(r"\r\n|\n|\r")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class Redactor:
    """Redacts for one run. Safe to use from many threads.

    Args:
        salt: the run's own; the same salt gives the same placeholders.
    """

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    def redact(self, text: str) -> str:
        """Return `text` with every secret replaced by `[secret:<kind>:<8 hex>]`.

        Lines keep their numbers. Doing it again changes nothing.
        """
        # What one pass leaves may look different with the placeholders in it. Each
        # pass leaves less that is no placeholder, so that this ends.
        while spans := _find(text):
            text = self._replace(text, spans)
        return text

    def _replace(self, text: str, spans: Iterable[Span]) -> str:
        parts: list[str] = []
        done = 0
        for span in spans:
            value = text[span.start : span.end]
            lines = "".join(_LINE_END.findall(value))
            parts += [
                text[done : span.start],
                self._placeholder(span.kind, value),
                lines,
            ]
            done = span.end
        return "".join([*parts, text[done:]])

    def _placeholder(self, kind: str, value: str) -> str:
        data = value.encode("utf-8", "surrogatepass")
        mark = hmac.digest(self._salt, data, hashlib.sha256).hex()[:8]
        return f"[secret:{kind}:{mark}]"


def _find(text: str) -> list[Span]:
    """Return the secrets in `text`, in order, none overlapping another."""
    low = text.lower()
    if len(low) != len(text):  # a few letters grow when lowered
        low = text.translate(_ASCII_LOWER)
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    kept: list[Span] = []
    # Known forms go first, and of those at one place the longest: the kind then hangs
    # on the value alone, and so does the placeholder.
    forms = sorted(known_forms(text, low), key=lambda span: span.start - span.end)
    for span in [*forms, *named_secrets(text, low)]:
        place = bisect(taken, (span.start, span.end))
        is_free_before = place == 0 or taken[place - 1][1] <= span.start
        is_free_behind = place == len(taken) or span.end <= taken[place][0]
        if is_free_before and is_free_behind:
            taken.insert(place, (span.start, span.end))
            kept.append(span)
    return sorted(kept)
