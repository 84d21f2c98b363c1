"""The one way by which tool output enters a context: clean, redact, clip, spill.

In this order, so that context, log and artifacts hold the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from orchestrator.block_sizes import content_tokens
from orchestrator.context.structured import abridge
from orchestrator.events import FileChange, FileSeen
from orchestrator.events.of_agent import Label
from orchestrator.ids import artifact_id
from orchestrator.messages import Block, text_block, text_of
from orchestrator.tools.base import Clip, ToolContext, ToolOutput
from orchestrator.tools.cleaning import clean
from orchestrator.tools.pictures import judged

__all__ = ["EMPTY", "Admitted", "admit"]

EMPTY = "(no output)"
F = TypeVar("F", FileSeen, FileChange)

# What a paged tool may be over its page: the lines that say where to read on.
_PAGE_SLACK_TOKENS = 200
# Above this the whole size is extrapolated from the start; it is only a figure.
_COUNTED_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the model is shown of one result, and what is kept of the rest.

    `tokens` estimates what is shown, `full_tokens` the whole; images count in both.
    """

    content: str | list[Block]
    is_error: bool
    tokens: int
    full_tokens: int
    artifact: str = ""
    files: tuple[FileSeen, ...] = ()
    ends: bool = False
    value: Any = field(default=None)
    delivers: tuple[str, ...] = ()
    label: Label = "reference"
    changes: tuple[FileChange, ...] = ()


def admit(
    output: ToolOutput | str,
    context: ToolContext,
    clip: Clip,
    *,
    fields: Sequence[str] = (),
    own_marks: bool = False,
) -> Admitted:
    """Return `output` as it may enter the context.

    Longer than the limit: the whole text goes to an artifact, and head and tail remain
    with a marker that names it; of JSON that is no error, an abridged form. May be
    called in any thread.

    Args:
        output: of the tool.
        context: of the call.
        clip: bounds a text.
        fields: of a result that is JSON, only these parts are shown, whatever its size.
        own_marks: it speaks for the program, whose marks stay.

    Raises:
        StoreError: the whole text cannot be kept.
    """
    if isinstance(output, str):
        output = ToolOutput(output)
    raw, images = output.text, list[Block]()
    if output.blocks:
        texts = [block for block in output.blocks if block.get("type") == "text"]
        others = [block for block in output.blocks if block.get("type") != "text"]
        images, notes = judged(others)
        raw = "\n".join(part for part in (raw, text_of(texts), *notes) if part)
    text = context.redact(clean(raw, own_marks=own_marks))
    if not text.strip():
        text = "" if images else EMPTY
    full = _count(text, context.count)
    shown = _bounded(text, full, output, context, clip, fields)
    tokens, artifact = full, ""
    files = tuple(_named(each, context.redact(each.path)) for each in output.files)
    if shown != text:
        artifact = context.artifacts.put(text.encode())
        text, tokens = shown, context.count(shown)
        # A page that was cut has not shown all its lines.
        files = tuple(replace(each, first=0, last=0) for each in files)
    content: str | list[Block] = text
    pictured = 0
    if images:
        content = [text_block(text), *images] if text else list(images)
        pictured = content_tokens(images, count=context.count)
    return Admitted(
        content,
        output.is_error,
        tokens + pictured,
        full + pictured,
        artifact,
        files,
        output.ends,
        output.value,
        output.delivers,
        output.label,
        tuple(_named(each, context.redact(each.path)) for each in output.changes),
    )


def _named(file: F, path: str) -> F:
    return file if file.path == path else replace(file, path=path)


def _bounded(
    text: str,
    full: int,
    output: ToolOutput,
    context: ToolContext,
    clip: Clip,
    fields: Sequence[str],
) -> str:
    """Return what is shown of a text, with the reference of the whole if not all."""
    limit = context.clip_tokens
    if output.paged:
        page = output.limit_tokens or max(limit, context.read_tokens)
        limit = page + _PAGE_SLACK_TOKENS
    is_plain = not (output.is_error or output.paged)
    if full <= limit and not (fields and is_plain):
        return text
    ref = artifact_id(text.encode())
    found = (
        abridge(text, limit_tokens=limit, count=context.count, ref=ref, fields=fields)
        if is_plain
        else None
    )
    if found is not None:
        # What JSON wrote with escapes is written out now.
        return text if found.is_whole else context.redact(clean(found.text))
    if full <= limit:
        return text
    shown = clip(text, limit_tokens=limit, is_error=output.is_error, ref=ref)
    if ref not in shown:  # no room for the marker
        shown += f'\n[clipped; the whole text: read_ref("{ref}")]'
    return shown


def _count(text: str, count: Callable[[str], int]) -> int:
    if len(text) <= _COUNTED_CHARS:
        return count(text)
    return count(text[:_COUNTED_CHARS]) * len(text) // _COUNTED_CHARS
