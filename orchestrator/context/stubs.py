"""The text that stands in place of a result that is no longer sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.context.clipping import safe_end
from orchestrator.context.main_argument import main_argument
from orchestrator.messages import clean_text, one_line

__all__ = ["digest_of", "short_call", "stub", "without_stubs"]

_MARK: Final = "[Cleared: "
_NAME_CHARS = 40
_ARGUMENT_CHARS = 100


def digest_of(text: str) -> str:
    """Return what a stub keeps of its result; any other text as it is."""
    return text.partition("\n")[2] if text.startswith(_MARK) else text


_HEAD: Final = re.compile(
    re.escape(_MARK) + r"[^\n]*?; again: read_ref\([^()\n]*\)"
    r"(?:, uncut: read_ref\([^()\n]*\))?\]|" + re.escape(_MARK) + r"[^\n]*"
)
_LABEL: Final = re.compile(r"[ \t>|]*(?:[-*•+][ \t]+)?[^\s:：]*[:：]?[ \t`*\"']*")


def without_stubs(text: str) -> str:
    """Return a text without the heads of stubs, and without lines that hold no more.

    What they name is the program's own: a tool, a size, a reference.
    """
    if _MARK not in text:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        bare = _HEAD.sub("", line)
        if bare == line or not _LABEL.fullmatch(bare):
            lines.append(bare.rstrip() if bare != line else line)
    return "\n".join(lines)


def stub(
    name: str,
    input: Mapping[str, Any],  # noqa: A002 - the API's own word
    *,
    ref: str,
    tokens: int,
    digest: str,
    artifact: str = "",
    form: str = "",
) -> str:
    """Return the stub of a result: its call, its size, where it is, and its digest.

    About 30 tokens and those of the digest; name and argument are cut.

    Args:
        name: of the tool, as the model wrote it.
        input: its arguments, as the model wrote them.
        ref: opens it, like `h12` or `h12.2`.
        tokens: estimated size of what was sent.
        digest: lines of it, or "".
        artifact: where the whole output is, if only a part of it was sent.
        form: what it holds besides text, like `an image`.
    """
    where = f'read_ref("{ref}")'
    if artifact:
        where += f', uncut: read_ref("{artifact}")'
    holds = f", {form}" if form else ""
    size = f"{tokens:,} tokens{holds}"
    head = f"{_MARK}{short_call(name, input)}, {size}; again: {where}]"
    return f"{head}\n{digest}" if digest else head


def short_call(name: str, given: Mapping[str, Any]) -> str:
    """Return a call in short, like `read_file("a.py", first_line=200)`."""
    main = main_argument(given)
    parts = [] if main is None else [_written(main)]
    first = given.get("first_line")
    if isinstance(first, int) and first > 1:
        parts.append(f"first_line={min(first, 10**9)}")
    return f"{_cut(name, _NAME_CHARS)}({', '.join(parts)})"


def _written(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(_cut(value, _ARGUMENT_CHARS), ensure_ascii=False)
    return _cut(json.dumps(value, ensure_ascii=False, default=str), _ARGUMENT_CHARS)


def _cut(text: str, chars: int) -> str:
    text = clean_text(one_line(text[: 4 * chars]))
    if len(text) <= chars:
        return text
    return text[: safe_end(text, chars - 1)] + "…"
