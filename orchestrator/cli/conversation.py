"""An agent's conversation as text: who said what, in order, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import orjson

from orchestrator.cli.output import Style, fill, safe, safe_lines, terminal_width
from orchestrator.events.phrases import call_phrase, count_phrase
from orchestrator.ids import reference_of
from orchestrator.messages import Block, Message, text_block, text_of, tool_calls

__all__ = ["Detail", "conversation_lines"]

Detail = Literal["short", "full", "exact"]

SHORT_LINES = 12
SHORT_CHARS = 1200
# What agents are told and say is shown whole, unless it is beyond all reading.
TEXT_LINES = 400
TEXT_CHARS = 20_000
# Calls whose input is the point: it is shown whole, not as a phrase.
_INPUT_IS_TEXT = {
    "bash": "command", "finish": "report", "update_notes": "text",
    "write_file": "text",
}  # fmt: skip


def conversation_lines(
    system: Sequence[Block],
    messages: Sequence[Message],
    *,
    detail: Detail,
    style: Style,
    notes: Mapping[int, Sequence[str]] | None = None,
    turns_before: int = 0,
    begun: int | None = None,
) -> Iterator[str]:
    """Yield the lines of a conversation.

    Args:
        system: the system prompt; empty: it is not shown.
        messages: oldest first.
        detail: `short`: the first lines of long texts; `full`: all of them; `exact`:
            also the input of calls as it is.
        style: colours.
        notes: number of messages → remarks behind so many, on one line each.
        turns_before: turns of the agent that are not in `messages`.
        begun: how many blocks the first message began with; what follows them there is
            the program's. None: all of it.
    """
    whole = detail != "short"
    wrap = detail != "exact"
    if system:
        yield _rule("system prompt", style)
        yield from _body(text_of(system), "", whole=whole, style=style, wrap=wrap)
    names: dict[str, str] = {}
    refs: dict[str, str] = {}
    turn, remarks = turns_before, notes or {}
    for index, message in enumerate(messages):
        yield from _remarks(remarks.get(index, ()), style)
        content = message["content"]
        blocks = [text_block(content)] if isinstance(content, str) else content
        is_user = message["role"] != "assistant"
        turn += not is_user
        refs |= {} if is_user else _refs(blocks, turn)
        if index or system:
            yield ""
        yield _rule(_heading(message["role"], blocks, turn, index), style)
        own = 0 if index else len(blocks) if begun is None else begun
        for place, block in enumerate(blocks):
            is_told = is_user and place >= own and block.get("type") == "text"
            if is_told and (place or not index):
                yield style("• the program says:", "cyan")
            if block.get("type") == "tool_use" and detail == "exact":
                lines = _exact_call(block, names, style)
            else:
                lines = _block(block, names, whole=whole, wrap=wrap, style=style)
            if ref := refs.get(str(block.get("id") or block.get("tool_use_id"))):
                yield f"{style(ref, 'dim')} {next(lines, '')}"
            yield from lines
    yield from _remarks(remarks.get(len(messages), ()), style)


def _remarks(texts: Sequence[str], style: Style) -> Iterator[str]:
    for text in texts:
        yield ""
        yield style(fill(safe(text), indent="   ", first="── "), "yellow")


def _heading(role: str, blocks: Sequence[Block], turn: int, index: int) -> str:
    if role == "assistant":
        return f"assistant, turn {turn} ({reference_of(turn)})"
    if not index:
        return f"user: the task ({reference_of(0)})"
    kinds = [block.get("type") for block in blocks]
    if "tool_result" in kinds:
        return "user: tool results"
    return "user: the program says" if "text" in kinds[:1] else "user"


def _refs(blocks: Sequence[Block], step: int) -> dict[str, str]:
    """Return what opens each call of a step, by its id, where there are several."""
    calls = [str(call.get("id")) for call in tool_calls(blocks)]
    if len(calls) == 1:
        return {}
    return {
        call: reference_of(step, place=place) for place, call in enumerate(calls, 1)
    }


def _exact_call(block: Block, names: dict[str, str], style: Style) -> Iterator[str]:
    name = names[str(block.get("id"))] = str(block.get("name", ""))
    yield style("→ ", "magenta") + style(safe(name), "bold") + " with the input"
    text = orjson.dumps(block.get("input"), option=orjson.OPT_INDENT_2).decode()
    yield from _body(text, "  ", whole=True, style=style)


def _rule(title: str, style: Style) -> str:
    line = "─" * max(terminal_width() - len(title) - 4, 3)
    color = "green" if title.startswith("assistant") else "cyan"
    return style(f"── {title} {line}", color)


def _block(
    block: Block, names: dict[str, str], *, whole: bool, wrap: bool, style: Style
) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        text = str(block.get("text", ""))
        if not whole and _is_within(text, TEXT_LINES, TEXT_CHARS):
            whole = True
        most = TEXT_LINES, TEXT_CHARS
        yield from _body(text, "", whole=whole, style=style, wrap=wrap, most=most)
    elif kind == "thinking":
        yield style("(thinking)", "dim")
        text = str(block.get("thinking", ""))
        yield from _body(text, "  ", whole=whole, style=style, dim=True, wrap=wrap)
    elif kind == "tool_use":
        yield from _call(block, names, whole=whole, style=style)
    elif kind == "tool_result":
        name = names.get(str(block.get("tool_use_id")), "a call")
        is_error = bool(block.get("is_error"))
        verdict = style("error", "red") if is_error else "result"
        yield style("← ", "magenta") + f"{verdict} of {safe(name)}:"
        content = block.get("content") or ""
        yield from _body(text_of(content), "  ", whole=whole, style=style)
        yield from _not_text(content)
    else:
        yield f"({safe(str(kind))} block)"


def _call(
    block: Block, names: dict[str, str], *, whole: bool, style: Style
) -> Iterator[str]:
    name = str(block.get("name", ""))
    names[str(block.get("id"))] = name
    given = block.get("input")
    values: dict[str, Any] = given if isinstance(given, dict) else {}
    arrow = style("→ ", "magenta")
    field = _INPUT_IS_TEXT.get(name)
    if field is not None:
        where = values.get("section", values.get("path"))
        place = f" ({safe(str(where))})" if where is not None else ""
        yield arrow + style(safe(name), "bold") + f"{place}:"
        yield from _body(str(values.get(field, "")), "  ", whole=whole, style=style)
    elif name == "edit_file":
        path = safe(str(values.get("path", "")))
        yield arrow + style(name, "bold") + f" ({path}):"
        for key, sign in (("old", "-"), ("new", "+")):
            text = str(values.get(key, "")).removesuffix("\n")
            yield from _body(text, f"  {sign}", whole=whole, style=style)
    elif name == "delegate" and isinstance(values.get("briefs"), list):
        briefs = values["briefs"]
        yield (
            arrow
            + style("delegate", "bold")
            + f" {count_phrase(len(briefs), 'brief')}:"
        )
        for brief in briefs:
            yield from _brief(brief if isinstance(brief, dict) else {}, whole=whole)
    elif name == "submit_findings":
        yield arrow + style(name, "bold") + f" ({safe(str(values.get('status', '')))}):"
        yield from _findings(values)
    else:
        phrase = safe(call_phrase(name, values))
        shown = fill(phrase, indent="    ", first="").lstrip()
        yield arrow + style(safe(name), "bold") + f": {shown}"


def _brief(brief: dict[str, Any], *, whole: bool) -> Iterator[str]:
    title = safe(str(brief.get("title", "")))
    yield fill(title, indent="    ", first="  • ")
    if whole:
        yield fill(safe(str(brief.get("objective", ""))), indent="    ")
        for question in brief.get("questions") or []:
            yield fill(safe(str(question)), indent="      ", first="    - ")


def _findings(values: dict[str, Any]) -> Iterator[str]:
    yield fill(safe(str(values.get("summary", ""))), indent="  ")
    items = values.get("items")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        yield fill(safe(str(item.get("claim", ""))), indent="    ", first="  • ")
        evidence = item.get("evidence")
        for each in evidence if isinstance(evidence, list) else []:
            if isinstance(each, dict):
                source, quote = str(each.get("source", "")), str(each.get("quote", ""))
                yield fill(safe(f"{source}: “{quote}”"), indent="      ")


def _not_text(content: str | list[Block]) -> Iterator[str]:
    if isinstance(content, list):
        for block in content:
            if block.get("type") != "text":
                yield f"  ({safe(str(block.get('type')))} block)"


def _is_within(text: str, lines: int, chars: int) -> bool:
    return len(text) <= chars and text.count("\n") < lines


def _body(
    text: str,
    indent: str,
    *,
    whole: bool,
    style: Style,
    dim: bool = False,
    wrap: bool = False,
    most: tuple[int, int] = (SHORT_LINES, SHORT_CHARS),
) -> Iterator[str]:
    harmless = safe_lines(text)
    lines = harmless.split("\n")
    shown = lines
    if not whole:
        shown, used = [], 0
        for line in lines[: most[0]]:
            shown.append(line[: most[1] - used])
            used += len(line)
            if used >= most[1]:
                break
    for line in shown:
        text = fill(line, indent=indent) if wrap and line.strip() else indent + line
        yield style(text, "dim" if dim else "") if line else ""
    hidden = len(harmless) - len("\n".join(shown))
    if hidden > 0:
        yield style(f"{indent}… {hidden:,} more characters; --full shows them", "dim")
