"""Replace secrets by placeholders before anything else sees a text.

The same value always gets the same placeholder within a run, so that an agent can still
tell that two places hold the same secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.security.credentials import named_secrets
from orchestrator.security.formats import CREDENTIAL, Span, known_forms

__all__ = ["PLACEHOLDER", "Redactor"]

PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")
LEAST_CHARS = 8
"""No secret is shorter: of those with a name beside them, name and value together."""
_HEAD_CHARS = 12
"""Of an exact value; so much of it is taken for it where the text is cut off."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class Redactor:
    """Redacts for one run. Safe to use from many threads.

    Args:
        salt: the run's own; the same salt gives the same placeholders.
        own: values that are secret whatever their form, of 8 characters or more.
    """

    def __init__(self, salt: bytes, own: Sequence[str] = ()) -> None:
        self._salt, self._own = salt, tuple(own)

    def redact(self, text: str) -> str:
        """Return `text` with every secret replaced by `[secret:<kind>:<8 hex>]`.

        Lines keep their numbers. Doing it again changes nothing.
        """
        if len(text) < LEAST_CHARS:  # most texts of a message are: keys, kinds, names
            return text
        # What one pass leaves may look different with the placeholders in it. Each
        # pass leaves less that is no placeholder, so that this ends.
        while spans := _find(text, self._own):
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


def _find(text: str, own: Sequence[str]) -> list[Span]:
    """Return the secrets in `text`, in order, none overlapping another."""
    low = text.lower()
    if len(low) != len(text):  # a few letters grow when lowered
        low = text.translate(_ASCII_LOWER)
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    kept: list[Span] = []
    # Known forms go first, and of those at one place the longest: the kind then hangs
    # on the value alone, and so does the placeholder.
    forms = sorted(known_forms(text, low), key=lambda span: span.start - span.end)
    exact = [
        span
        for value in own
        for span in _exact(text, value)
        if not any(form.start <= span.start and span.end <= form.end for form in forms)
    ]
    for span in [*exact, *forms, *named_secrets(text, low)]:
        place = bisect(taken, (span.start, span.end))
        is_free_before = place == 0 or taken[place - 1][1] <= span.start
        is_free_behind = place == len(taken) or span.end <= taken[place][0]
        if is_free_before and is_free_behind:
            taken.insert(place, (span.start, span.end))
            kept.append(span)
    return sorted(kept)


def _exact(text: str, value: str) -> Iterator[Span]:
    """Yield where `value` stands in `text`, also cut off at an end or before `…`."""
    head = value[:_HEAD_CHARS]
    at = text.find(head)
    while at != -1:
        end = at + len(head)
        for char, wanted in zip(
            text[end : at + len(value)], value[end - at :], strict=False
        ):
            if char != wanted:
                break
            end += 1
        if end - at == len(value) or text[end : end + 1] in ("", "…"):
            yield Span(at, end, CREDENTIAL)
        at = text.find(head, max(end, at + 1))
