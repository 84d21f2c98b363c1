"""What was forgotten on purpose: known again when it comes, and nowhere written down.

A keyed hash stands for each key and value. The key of the hash is random and lies
beside them, so that the hashes of one scope say nothing about another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from orchestrator.memory.entries import folded_key

__all__ = ["FORGOTTEN_FILE", "Tombstones"]

FORGOTTEN_FILE: Final = ".forgotten"
"""Not in the folder of the index, which may be deleted at any time."""
MIN_VALUE_CHARS: Final = 8
"""A shorter value says too little to be known by: only its key is."""


@dataclass(frozen=True, slots=True)
class Tombstones:
    """The marks of what was forgotten.

    Attributes:
        secret: the key of the hashes, hex.
        marks: the hashes, hex.
        is_under_way: the index may still hold something of it.
    """

    secret: str = ""
    marks: frozenset[str] = frozenset()
    is_under_way: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what `text` wrote; what cannot be read holds nothing."""
        try:
            data = json.loads(text)
            marks = frozenset(map(str, data["marks"]))
            bytes.fromhex(data["secret"])
            return cls(data["secret"], marks, bool(data.get("under_way")))
        except (ValueError, TypeError, KeyError):
            return cls()

    def text(self) -> str:
        """Return it as the file holds it."""
        data = {
            "secret": self.secret,
            "under_way": self.is_under_way,
            "marks": sorted(self.marks),
        }
        return json.dumps(data, indent=1) + "\n"

    def holds(self, key: str, value: str) -> bool:
        """Return whether a key, or a value, was forgotten."""
        if not self.marks:
            return False
        return self._mark("key", folded_key(key)) in self.marks or (
            len(plain := _plain(value)) >= MIN_VALUE_CHARS
            and self._mark("value", plain) in self.marks
        )

    def with_more(
        self, keys: Iterable[str], values: Iterable[str], *, is_under_way: bool
    ) -> Tombstones:
        """Return these and others."""
        both = Tombstones(self.secret or secrets.token_hex(32))
        marks = {both._mark("key", folded_key(key)) for key in keys}
        for value in values:
            if len(plain := _plain(value)) >= MIN_VALUE_CHARS:
                marks.add(both._mark("value", plain))
        return Tombstones(both.secret, self.marks | marks, is_under_way)

    def _mark(self, what: str, text: str) -> str:
        data = f"{what}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(bytes.fromhex(self.secret), data, hashlib.sha256).hex()[:32]


def _plain(value: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())
