"""Texts of 21 kinds and what eight tokenizers count for each: `tests/data/tokens`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KINDS", "TOKENIZERS", "CountedText"]

_FOLDER = Path(__file__).parents[1] / "data/tokens"


@dataclass(frozen=True, slots=True)
class CountedText:
    """One text and its tokens by tokenizer."""

    text: str
    counts: dict[str, int]

    @property
    def dearest(self) -> int:
        """Return the most that any tokenizer counts."""
        return max(self.counts.values())


def _kinds() -> dict[str, tuple[CountedText, ...]]:
    told = json.loads((_FOLDER / "counts.json").read_text(encoding="utf-8"))
    kinds = {}
    for kind, rows in told.items():
        whole = (_FOLDER / f"{kind}.txt").read_text(encoding="utf-8")
        kinds[kind] = tuple(
            _counted(text, dict(row))
            for text, row in zip(whole.split("\n=====\n"), rows, strict=True)
        )
    return kinds


def _counted(text: str, row: dict[str, int | str]) -> CountedText:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert row.pop("sha256") == digest, "changed since it was counted: run count.py"
    return CountedText(text, {name: int(count) for name, count in row.items()})


KINDS = _kinds()
TOKENIZERS = tuple(KINDS["english"][0].counts)
