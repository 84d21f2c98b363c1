"""`write_file` and `edit_file`: the only tools that change the files of a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.events.phrases import count_phrase
from orchestrator.evidence import split_lines
from orchestrator.messages import shortened
from orchestrator.security.permissions import Ask
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.nearest import why_not_found
from orchestrator.tools.proposing import proposed
from orchestrator.tools.replacing import Before, Changed, Writer, restored
from orchestrator.tools.texts import LINE_END, line_end
from orchestrator.tools.turn import WAIT_S
from orchestrator.tools.versions import as_shown

__all__ = ["EditFile", "WriteFile"]

_TIMEOUT_S = WAIT_S + 60.0
_AROUND = 2
_MOST_ROWS = 12
_ROW_CHARS = 200
_MOST_PLACES = 20


class WriteFileArgs(BaseModel):
    """Arguments of `write_file`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    text: str


class WriteFile:
    """Gives a file a whole new text, or makes a new one."""

    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = (
        "Create a file, or replace all of one that you have read whole. For a change "
        "within a file use `edit_file`."
    )
    Args: ClassVar[type[BaseModel]] = WriteFileArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = _TIMEOUT_S

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def asks(self, args: WriteFileArgs, context: ToolContext) -> Ask:
        """Return what a person is asked: the new file, or what would change in it."""

        def in_full() -> str:
            new = partial(_new_text, args, context)
            return proposed(args.path, new, context, fragment=("", args.text))

        return Ask(("write",), f"write {args.path}", in_full)

    async def run(self, args: WriteFileArgs, context: ToolContext) -> ToolOutput:
        """Write the file and return how many lines it has.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: it may not or cannot be written; it is as it was.
        """
        new = partial(_new_text, args, context)
        changed = await self._writer.change(args.path, context, new, is_whole=True)
        name, lines = changed.before.name, len(changed.version.lines)
        if changed.before.found is None:
            told = f"created {name}:{_lines(1, lines)}"
        else:
            was = count_phrase(len(split_lines(changed.before.text.text)), "line")
            told = f"replaced {name}:{_lines(1, lines)} (it had {was})"
        return _output(told, changed)


def _new_text(args: WriteFileArgs, context: ToolContext, before: Before) -> str:
    """Return a text with the line ends of the file that it replaces."""
    text = restored("text", args.text, context)
    end = line_end(before.text.text)
    return LINE_END.sub(end, text) if end else text


class EditFileArgs(BaseModel):
    """Arguments of `edit_file`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    old: str
    new: str
    all: bool = Field(default=False, description="Every place, not the only one.")


class EditFile:
    """Replaces one piece of a file."""

    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = (
        "Replace `old` by `new` in a file that you have read. `old` is copied exactly, "
        "without line numbers, and long enough to stand there once."
    )
    Args: ClassVar[type[BaseModel]] = EditFileArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = _TIMEOUT_S

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def asks(self, args: EditFileArgs, context: ToolContext) -> Ask:
        """Return what a person is asked: the file and what would change in it."""

        def edited(before: Before) -> str:
            return _edit(before, args, context).text

        def in_full() -> str:
            piece = args.old, args.new
            return proposed(args.path, edited, context, fragment=piece)

        return Ask(("write",), f"edit {args.path}", in_full)

    async def run(self, args: EditFileArgs, context: ToolContext) -> ToolOutput:
        """Make the change and return the lines around it.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: `old` is not there, or more than once; or the file may not or
                cannot be written. It is as it was.
        """
        if not args.old:
            raise ToolError(
                "`old` is empty; give the text to replace, or use `write_file`"
            )
        if args.old == args.new:
            raise ToolError("`old` and `new` are the same; nothing would change")
        edits: list[_Edit] = []

        def make(before: Before) -> str:
            edit = _edit(before, args, context)
            edits.append(edit)
            return edit.text

        changed = await self._writer.change(args.path, context, make, is_whole=False)
        return _output(_told(edits[0], changed), changed)


@dataclass(frozen=True, slots=True)
class _Edit:
    """A change of a text.

    Attributes:
        text: all of it, changed.
        was: first and last line of the first place before, from 1.
        now: likewise afterwards.
        places: how many were changed.
    """

    text: str
    was: tuple[int, int]
    now: tuple[int, int]
    places: int


def _edit(before: Before, args: EditFileArgs, context: ToolContext) -> _Edit:
    """Return the text of a file with the change made.

    Raises:
        ToolError: `old` is not there as often as it should be.
    """
    if before.found is None:
        raise ToolError(
            f"no file `{before.name}`; `write_file` makes one, `glob` finds others"
        )
    text = before.text.text
    old = restored("old", args.old, context)
    new = restored("new", args.new, context)
    pattern = re.compile(
        f"(?:{LINE_END.pattern})".join(map(re.escape, LINE_END.split(old)))
    )
    places = [match.span() for match in pattern.finditer(text)]
    if not places:
        why = why_not_found(split_lines(as_shown(text, context)), args.old)
        raise ToolError(f"`old` is not in `{before.name}`: {why}")
    again = pattern.search(text, places[0][0] + 1)  # one may begin within another
    if not args.all and again is not None:
        found = places if len(places) > 1 else [*places, again.span()]
        raise ToolError(_ambiguous(before.name, text, found))
    start, end = places[0]
    put = LINE_END.sub(line_end(text[start:end]) or before.text.line_end, new)
    parts, done = [], 0
    for first, last in places:
        parts += [text[done:first], put]
        done = last
    whole = "".join([*parts, text[done:]])
    line = _line(text, start)
    return _Edit(
        whole,
        (line, max(_line(text, end - 1), line)),
        (line, max(_line(whole, start + len(put) - 1), line)),
        len(places),
    )


def _ambiguous(name: str, text: str, places: Sequence[tuple[int, int]]) -> str:
    lines = [str(_line(text, start)) for start, _ in places[:_MOST_PLACES]]
    more = f" and {len(places) - len(lines)} more" if len(places) > len(lines) else ""
    return (
        f"`old` is {len(places)} times in `{name}`: at lines {', '.join(lines)}{more}. "
        "Copy more of the lines around the one you mean, or set `all`"
    )


def _line(text: str, at: int) -> int:
    """Return the number of the line, from 1, in which a character stands."""
    before = text[: max(at, 0)]
    return before.count("\n") + before.count("\r") - before.count("\r\n") + 1


def _told(edit: _Edit, changed: Changed) -> str:
    """Return what was done, and the lines around the first place."""
    first, last = edit.now
    lines = changed.version.lines
    start, end = max(first - _AROUND, 1), min(last + _AROUND, len(lines))
    numbers = list(range(start, end + 1))
    if len(numbers) > _MOST_ROWS:
        numbers = [*numbers[: _MOST_ROWS // 2], 0, *numbers[-_MOST_ROWS // 2 :]]
    rows = [
        f"{number}\t{shortened(lines[number - 1], _ROW_CHARS)}" if number else "…"
        for number in numbers
    ]
    more = f", the first of {edit.places} places" if edit.places > 1 else ""
    was = "" if edit.was == edit.now else f" (was {_lines(*edit.was)})"
    head = f"edited {changed.before.name}:{_lines(first, last)}{was}{more}"
    return "\n".join([head, *rows])


def _output(told: str, changed: Changed) -> ToolOutput:
    seen = changed.version.seen
    files = (seen,) if seen.artifact else ()
    return ToolOutput(told, files=files, changes=(changed.change,))


def _lines(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first)
