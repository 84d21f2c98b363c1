"""`read_ref`: open again what was clipped, cleared or named in findings.

An artifact, a step of the agent's own conversation, or what a subagent delivered.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.context.history import item_text, result_text
from orchestrator.context.structured import parse, pick, shortened, written
from orchestrator.errors import StoreError, ToolError
from orchestrator.evidence import split_lines
from orchestrator.ids import AGENT_REFERENCE, HISTORY_REFERENCE, REFERENCE, SKILL_PREFIX
from orchestrator.tools.arguments import shown
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.cleaning import clean
from orchestrator.tools.hits import parse_line
from orchestrator.tools.pages import Source, around, fitting, page_output
from orchestrator.tools.ripgrep import lines_of_ripgrep
from orchestrator.tools.scan import simple_scan
from orchestrator.tools.skills import Skills

__all__ = ["ReadRef"]

_HIT_CHARS = 1000
_MAX_HITS = 500
_FOOT_TOKENS = 100


class ReadRefArgs(BaseModel):
    """Arguments of `read_ref`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: str = Field(min_length=1, max_length=200)
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
        "Open again what you no longer see: `art_…`, the whole of what was cut (ones "
        "you were shown); `h12`, step 12 of this conversation, `h12.2` its second call "
        "and result; `a2`, what subagent a2 delivered. By page, lines that match, or "
        "fields."
    )
    Args: ClassVar[type[BaseModel]] = ReadRefArgs
    effects: ClassVar[Effects] = "reads"
    own_marks: ClassVar[bool] = True  # what it opens was defused when it came in
    timeout_s: ClassVar[float] = 40

    def __init__(self, skills: Skills | None = None) -> None:
        """Take what else can be opened.

        Args:
            skills: of the task; None: it has none.
        """
        self._skills = skills

    def run(self, args: ReadRefArgs, context: ToolContext) -> ToolOutput:
        """Return a page, the lines that match, or the fields.

        Raises:
            ToolError: the reference is not this agent's, is gone, or does not hold what
                is asked for.
        """
        if self._skills and args.ref.startswith(SKILL_PREFIX):
            text = context.redact(clean(self._skills.text(args.ref)))
            stored = _Stored(args.ref, text)
        else:
            stored = _opened(args.ref, context, only_result=bool(args.fields))
        if args.fields:
            found = _fields(stored.text, stored.ref, args.fields)
            text = context.redact(clean(found))
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
    return _Stored(ref, context.redact(clean(text, own_marks=True)))


def _of_agent(agent: str, context: ToolContext) -> _Stored:
    text = context.findings_of(agent)
    if not text:
        raise ToolError(
            f"`{agent}` has delivered nothing to you; only findings of your own "
            "subagents can be opened, once they have come"
        )
    return _Stored(agent, context.redact(clean(text, own_marks=True)))


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
    content = parse(text)
    if content is None:
        raise ToolError(
            f"`{ref}` is not JSON, so it has no fields; use `pattern` or `first_line`"
        )
    try:
        parts = [(name, pick(content, name)) for name in fields]
    except LookupError as error:
        raise ToolError(str(error.args[0])) from error
    rows = [f"{name[:200]}: {written(shortened(value))}" for name, value in parts]
    return "\n".join(rows) + "\n"
