"""Find quotes in what an agent was shown, version by version."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import StoreError
from orchestrator.events import FileSeen
from orchestrator.evidence import NEAR_LINES, FoldedText, Found, Source, parse_source
from orchestrator.ids import REFERENCE
from orchestrator.security.untrusted import as_written
from orchestrator.security.urls import is_url, meant_url

__all__ = ["LookUp", "Version", "best"]


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a file or of a stored result.

    Attributes:
        text: as it was shown.
        sha256: of the file's bytes; "" for what is no file.
        age: 0 for the first that was seen, and so on.
    """

    text: FoldedText
    sha256: str = ""
    age: int = 0


class LookUp:
    """Finds quotes in what an agent was shown; folds each text once."""

    def __init__(
        self,
        seen: Mapping[str, Sequence[FileSeen]],
        read_text: Callable[[str], str],
    ) -> None:
        self._seen = seen
        self._read_text = read_text
        self._versions: dict[str, list[Version]] = {}
        self.moved = 0

    def versions(self, target: str) -> list[Version]:
        """Return what was shown of `target`, newest first; empty if nothing was."""
        if target not in self._versions:
            if target in self._seen:
                seen = self._seen[target]
                named = [(each.artifact, each.sha256) for each in seen]
            else:
                named = [(target, "")] if REFERENCE.fullmatch(target) else []
            self._versions[target] = [
                Version(FoldedText(text), sha256, age)
                for age, (artifact, sha256) in reversed([*enumerate(named)])
                if (text := self._text(artifact)) is not None
            ]
        return self._versions[target]

    def _text(self, reference: str) -> str | None:
        if not reference:  # too big to be kept
            return None
        try:
            return self._read_text(reference)
        except StoreError:
            return None

    def is_stored(self, reference: str) -> bool:
        """Tell whether `reference` can be opened."""
        return self._text(reference) is not None

    def full_name(self, target: str) -> str:
        """Return the one opened path or address that `target` means, or `target`.

        An absolute path ends with the name that was opened, a shortened one is the end
        of it. An address may be written in several forms.
        """
        if target in self._seen or not target:
            return target
        if is_url(target):
            return meant_url(target, self._seen)
        is_absolute = target.startswith("/") or target[1:2] == ":"
        meant = [
            path
            for path in self._seen
            if (is_absolute and target.endswith(f"/{path}"))
            or path.endswith(f"/{target}")
        ]
        return meant[0] if len(meant) == 1 else target

    def resolve(self, source: str) -> tuple[Source, list[Version]]:
        """Return `source` with a name that was opened, and what was shown of it."""
        for reading in _readings(source):
            target = self.full_name(reading.target)
            versions = self.versions(target)
            if versions or target in self._seen:
                return Source(target, reading.first, reading.last), versions
        return parse_source(source), []

    def was_opened(self, target: str) -> bool:
        """Tell whether this agent was shown anything of `target`."""
        return target in self._seen


def best(
    quote: str, versions: Sequence[Version], near: tuple[int, int] | None
) -> tuple[Found, Version] | None:
    """Return where `quote` stands: in the newest text that has it close to `near`.

    Args:
        quote: as it was copied.
        versions: newest first.
        near: lines, from 1; None where none were given.
    """
    places = [
        (place, version)
        for version in versions
        if (place := version.text.find(quote, near)) is not None
    ]
    if near is None:
        return places[0] if places else None
    close = [each for each in places if each[0].distance(near) <= NEAR_LINES]
    return next(iter([*close, *places]), None)


def _readings(source: str) -> list[Source]:
    """Return what `source` may mean, the likeliest first."""
    parsed = parse_source(source)
    readings = [parsed]
    inner = parse_source(parsed.target)
    if inner.first is not None:  # `path:line:column`
        readings.append(inner)
    readings.append(Source(source.strip()))  # a name that ends like lines
    if (raw := as_written(source)) != source:
        readings.append(parse_source(raw))
    plain = parsed.target.replace("\\", "/")
    if not is_url(plain):
        readings.append(Source(posixpath.normpath(plain), parsed.first, parsed.last))
    return readings
