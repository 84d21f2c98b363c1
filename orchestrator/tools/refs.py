"""`read_ref`: open again what was clipped, cleared or named in findings.

An artifact, a step of the agent's own conversation, or what a subagent delivered.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.context.history import item_text, result_text
from orchestrator.errors import StoreError, ToolError
from orchestrator.evidence import split_lines
from orchestrator.ids import AGENT_REFERENCE, HISTORY_REFERENCE, REFERENCE
from orchestrator.tools.arguments import listed, shown
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.cleaning import clean
from orchestrator.tools.hits import parse_line
from orchestrator.tools.pages import Source, around, fitting, page_output
from orchestrator.tools.ripgrep import lines_of_ripgrep
from orchestrator.tools.scan import simple_scan

__all__ = ["ReadRef"]

_HIT_CHARS = 1000
_MAX_HITS = 500
_SHOWN_ITEMS = 5
_SHOWN_TEXT = 2000
_STEP = re.compile(r"\[(\d+)\]")
_FOOT_TOKENS = 100


class ReadRefArgs(BaseModel):
    """Arguments of `read_ref`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: str = Field(min_length=1, max_length=200, description="Such as `h12.2`.")
    first_line: int = Field(default=1, ge=1)
    max_lines: int | None = Field(default=None, ge=1)
    pattern: str = Field(
        default="", max_length=2000, description="Only lines that match this regex."
    )
    fields: tuple[str, ...] = Field(
        default=(),
        max_length=20,
        description="Only these parts of a JSON content, e.g. `items.0.name`.",
    )


class ReadRef:
    """Opens a stored content, page by page or in parts."""

    name: ClassVar[str] = "read_ref"
    description: ClassVar[str] = (
        "Open again what you no longer see: `art_…`, the whole of something that was "
        "cut (only ones that you were shown); `h12`, step 12 of this conversation, or "
        "`h12.2`, its second call and result; `a2`, what subagent a2 delivered. A page "
        "at a time, or only matching lines, or only some fields."
    )
    Args: ClassVar[type[BaseModel]] = ReadRefArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 40

    def run(self, args: ReadRefArgs, context: ToolContext) -> ToolOutput:
        """Return a page, the lines that match, or the fields.

        Raises:
            ToolError: the reference is not this agent's, is gone, or does not hold what
                is asked for.
        """
        stored = _opened(args.ref, context, only_result=bool(args.fields))
        if args.fields:
            text = _fields(stored.text, stored.ref, args.fields)
        elif args.pattern:
            return _matching(stored, args, context)
        else:
            text = stored.text
        lines = split_lines(text)
        source = Source(stored.ref, lines, len(lines))
        return page_output(
            source, context, first_line=args.first_line, max_lines=args.max_lines
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a reference stands for; `is_kept`: it is an artifact of that name."""

    ref: str
    text: str
    is_kept: bool = False


def _opened(written: str, context: ToolContext, *, only_result: bool) -> _Stored:
    ref = written.strip().strip("`\"'[]()")
    if HISTORY_REFERENCE.fullmatch(ref):
        return _of_history(ref, context, only_result=only_result)
    agent = ref.partition("#")[0]
    if AGENT_REFERENCE.fullmatch(agent):
        return _of_agent(agent, context)
    ref = _known(ref, context)
    try:
        return _Stored(ref, context.artifacts.read_text(ref), is_kept=True)
    except StoreError as error:
        raise ToolError(f"`{ref}` cannot be opened: {error}") from error


def _of_history(ref: str, context: ToolContext, *, only_result: bool) -> _Stored:
    opened = result_text if only_result else item_text
    try:
        text = opened(context.history(), ref)
    except LookupError as error:
        raise ToolError(str(error.args[0])) from error
    return _Stored(ref, context.redact(clean(text)))


def _of_agent(agent: str, context: ToolContext) -> _Stored:
    text = context.findings_of(agent)
    if not text:
        raise ToolError(
            f"`{agent}` has delivered nothing to you; only findings of your own "
            "subagents can be opened, once they have come"
        )
    return _Stored(agent, context.redact(clean(text)))


def _known(written: str, context: ToolContext) -> str:
    match = REFERENCE.match(written)
    if match is None:
        raise ToolError(
            f"{shown(written)} is no reference; one looks like `art_0123456789ab`, "
            "`h12`, `h12.2` or `a2`"
        )
    if not context.knows_ref(match[0]):
        # Not in full: the message itself is something that was shown.
        raise ToolError(
            f"`{match[0][:8]}…` does not occur in what you were shown; only references "
            "that you have seen can be opened"
        )
    return match[0]


def _matching(stored: _Stored, args: ReadRefArgs, context: ToolContext) -> ToolOutput:
    ref = stored.ref
    wanted = min(args.max_lines or _MAX_HITS, _MAX_HITS)
    rows: list[str] = []
    numbers: list[int] = []
    more = False
    for number, at, line in _hits(stored, args.pattern, context):
        if number < args.first_line:
            continue
        if len(rows) == wanted:
            more = True
            break
        rows.append(f"{number}\t{around(line, at, chars=_HIT_CHARS)}")
        numbers.append(number)
    if not rows:
        return ToolOutput(f"No line of `{ref}` matches from {args.first_line} on.")
    limit = max(context.read_tokens - _FOOT_TOKENS, context.read_tokens // 2)
    fit = fitting(rows, limit_tokens=limit, count=context.count)
    if fit.rows < len(rows) or more:
        rows = rows[: fit.rows]
        rows.append(
            f"[more lines match; go on with first_line={numbers[fit.rows - 1] + 1}]"
        )
    return ToolOutput("\n".join([f"{ref}: matching lines", *rows]), paged=True)


def _hits(
    stored: _Stored, pattern: str, context: ToolContext
) -> list[tuple[int, int, str]]:
    """Return number, index of the match and text of each matching line."""
    scan = simple_scan(pattern)
    if scan is not None and scan.fits(stored.text):
        return [(hit.line, hit.at, hit.text) for hit in scan.hits(stored.text)]
    ref = stored.ref
    if not stored.is_kept:  # ripgrep reads files
        ref = context.artifacts.put(stored.text.encode())
    path = context.artifacts.path(ref)
    options = ["--line-number", "--column", "--no-heading", "--with-filename", "--null"]
    found: list[tuple[int, int, str]] = []
    with closing(
        lines_of_ripgrep(
            [*options, "--text", "--regexp", pattern, "--", path.name],
            folder=path.parent,
        )
    ) as lines:
        for line in lines:
            hit = parse_line(line, is_count=False)
            if hit is not None:
                found.append((hit.line, hit.at, hit.text))
    return found


def _fields(text: str, ref: str, fields: tuple[str, ...]) -> str:
    try:
        content = orjson.loads(text)
    except ValueError as error:
        raise ToolError(
            f"`{ref}` is not JSON, so it has no fields; use `pattern` or `first_line`"
        ) from error
    parts: list[str] = []
    for name in fields:
        value = _abridged(_pick(content, name))
        parts.append(f"{name[:200]}: {_written(value)}")
    return "\n".join(parts) + "\n"


def _pick(value: Any, name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the part of `value` at a dotted name; on a list, of each of its items."""
    steps = [step for step in _STEP.sub(r".\1", name).split(".") if step]
    for index, step in enumerate(steps):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, list) and _has(value, step):
            rest = ".".join(steps[index:])
            return [_pick(item, rest) for item in value if _has([item], step)]
        else:
            where = ".".join(steps[:index]) or "the content"
            raise ToolError(
                f"no field {shown(step)} in `{where[:200]}`: {_what(value)}"
            )
    return value


def _has(items: list[Any], key: str) -> bool:
    return any(isinstance(item, dict) and key in item for item in items)


def _what(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {listed(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)} items, counted from 0"
    return f"a plain value, {shown(value)}"


def _abridged(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return `value` with long lists and texts shortened, and said so."""
    if isinstance(value, list):
        items = [_abridged(item) for item in value[:_SHOWN_ITEMS]]
        if len(value) > _SHOWN_ITEMS:
            items.append(f"[{len(value)} items in all; ask for one by its number]")
        return items
    if isinstance(value, dict):
        return {key: _abridged(item) for key, item in value.items()}
    if isinstance(value, str) and len(value) > _SHOWN_TEXT:
        return f"{value[:_SHOWN_TEXT]} [… {len(value):,} characters in all]"
    return value


def _written(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
