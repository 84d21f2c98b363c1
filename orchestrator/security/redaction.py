"""Replace secrets by placeholders before anything else sees a text, and put them back.

The same value always gets the same placeholder within a run, so that an agent can still
tell that two places hold the same secret.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence

from orchestrator.errors import ToolError
from orchestrator.security.credentials import named_secrets
from orchestrator.security.exact import Learnt, Needle, Needles, encoded
from orchestrator.security.formats import CREDENTIAL, PRIVATE_KEY, Span, known_forms
from orchestrator.security.placeholders import (
    PLACEHOLDER,
    Vault,
    kind_of,
    line_ends,
    placeholder,
)
from orchestrator.security.places import placed_secrets

__all__ = ["Redactor"]

LEAST_CHARS = 8
"""No secret is shorter: of those with a name beside them, name and value together."""
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_Find = Callable[[str, str], Iterator[Span]]


class Redactor:
    """Redacts for one run. Safe to use from many threads.

    What it has replaced it can put back. A value that only its place told, or that was
    put back, is known from then on and replaced everywhere.
    """

    def __init__(
        self, salt: bytes, own: Sequence[str] = (), *, personal: bool = False
    ) -> None:
        """Begin without any value.

        Args:
            salt: the run's own; the same salt gives the same placeholders.
            own: values that are secret whatever their form, of 8 characters or more;
                they are never put back.
            personal: whether phone numbers, e-mail addresses, payment cards and the
                like count as secrets; needs the extra `personal`.
        """
        self._salt = salt
        self._personal: _Find | None = None
        # Kinds that are found by themselves wherever they stand.
        self._never_learnt = frozenset({PRIVATE_KEY})
        if personal:
            from orchestrator.security import personal as extra  # noqa: PLC0415 - rare

            self._personal = extra.personal_numbers
            self._never_learnt |= extra.KINDS
        self._own = Needles(_own_needles(own))
        self._vault, self._learnt = Vault(), Learnt()

    def redact(self, text: str) -> str:
        """Return `text` with every secret replaced by `[secret:<kind>:<8 hex>]`.

        Lines keep their numbers. Doing it again changes nothing.
        """
        if len(text) < LEAST_CHARS:  # most texts of a message are: keys, kinds, names
            return text
        # What one pass leaves may look different with the placeholders in it. Each
        # pass leaves less that is no placeholder, so that this ends.
        while spans := self._find(text):
            text = self._replace(text, spans)
        return text

    def restore(self, text: str) -> str:
        """Return `text` with values in place of their placeholders, for the workspace.

        Raises:
            ToolError: a placeholder of which the value is not in memory.
        """
        restored, used = self._vault.restored(text)
        for mark, value in used.items():
            self._learnt.learn(value, kind_of(mark))
        return restored

    def restore_for(self, *, allowed: bool) -> Callable[[str], str]:
        """Return what puts values back into calls that can send them anywhere.

        Args:
            allowed: whether the task has the permission `secrets`; without it each
                placeholder is a `ToolError`.
        """
        return self.restore if allowed else _refused

    def _find(self, text: str) -> list[Span]:
        """Return the secrets in `text`, in order, none overlapping another."""
        low = text.lower()
        if len(low) != len(text):  # a few letters grow when lowered
            low = text.translate(_ASCII_LOWER)
        # Known forms go first, and of those at one place the longest: the kind then
        # hangs on the value alone, and so does the placeholder.
        forms = sorted(known_forms(text, low), key=lambda span: span.start - span.end)
        return _apart(
            text,
            (
                *_outside(self._own.find(text), forms),
                *forms,
                *named_secrets(text, low),
                *placed_secrets(text, low),
                *self._learnt.find(text),
                *(self._personal(text, low) if self._personal else ()),
            ),
        )

    def _replace(self, text: str, spans: Iterable[Span]) -> str:
        parts: list[str] = []
        done = 0
        for span in spans:
            value = text[span.start : span.end]
            mark = placeholder(self._salt, span.kind, value)
            self._keep(mark, value, span.kind)
            parts += [text[done : span.start], mark, line_ends(value)]
            done = span.end
        return "".join([*parts, text[done:]])

    def _keep(self, mark: str, value: str, kind: str) -> None:
        if self._own.overlaps(value):
            return
        self._vault.put(mark, value)
        if kind not in self._never_learnt:
            self._learnt.learn(value, kind)


def _own_needles(own: Iterable[str]) -> Iterator[Needle]:
    for value in own:
        yield Needle(value, CREDENTIAL, may_be_cut=True)
        for part in encoded(value):
            yield Needle(part, CREDENTIAL, is_part=True)


def _refused(text: str) -> str:
    found = PLACEHOLDER.search(text)
    if found is None:
        return text
    raise ToolError(
        f"`{found[0]}` stands for a secret, and this task does not allow `secrets`: it "
        "is put back only into files of the workspace. Let the command read it from "
        "the place where it is kept, or go on without."
    )


def _outside(spans: Iterable[Span], forms: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        if not any(form.start <= span.start and span.end <= form.end for form in forms):
            yield span


def _apart(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return those that overlap neither a placeholder nor one before them, in order."""
    taken: list[tuple[int, int]] | None = None
    kept: list[Span] = []
    for span in spans:
        if taken is None:
            taken = [match.span() for match in PLACEHOLDER.finditer(text)]
        place = bisect(taken, (span.start, span.end))
        is_free_before = place == 0 or taken[place - 1][1] <= span.start
        is_free_behind = place == len(taken) or span.end <= taken[place][0]
        if is_free_before and is_free_behind:
            taken.insert(place, (span.start, span.end))
            kept.append(span)
    return sorted(kept)
