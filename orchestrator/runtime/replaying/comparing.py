"""Where a request of a replay first differs from the one that was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from orchestrator.events import AgentStarted, Event, parse
from orchestrator.messages import Block, encode, one_line
from orchestrator.models.base import ModelRequest
from orchestrator.store.transcript import rebuild

__all__ = ["Difference", "first_difference"]

SHOWN_CHARS = 200
BEFORE_CHARS = 40
"""Of an excerpt: what is the same, before the first character that is not."""
NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was.

    Attributes:
        agent: whose it is; "" for the run.
        seq: of the event of the record; 0 where the record has none.
        turn: of that agent, or 0.
        where: in words, down to the line.
        recorded: what it was, an excerpt on one line.
        now: what it is now, likewise.
    """

    agent: str
    seq: int
    turn: int
    where: str
    recorded: str
    now: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def first_difference(
    events: Sequence[Event], intent: Event, request: ModelRequest
) -> Difference:
    """Return where a request first differs from what was sent.

    Args:
        events: of the whole run up to the intent, with full data.
        intent: `model.requested` of what was sent.
        request: what would be sent now; its bytes differ.
    """
    found = next(_differences(events, intent, request), None)
    where, recorded, now = found or (
        "fields beside system prompt, tools and messages (settings, cache marks)",
        f"{intent.data['bytes']:,} bytes, sha256 {intent.data['sha256'][:12]}",
        f"{len(request.body):,} bytes",
    )
    before, after = _excerpts(recorded, now)
    turn = int(intent.data["turn"])
    return Difference(intent.agent, intent.seq, turn, where, before, after)


def _differences(
    events: Sequence[Event], intent: Event, request: ModelRequest
) -> Iterator[tuple[str, str, str]]:
    """Yield place, what was sent and what would be, in the order of the request."""
    purpose = str(intent.data.get("purpose") or "")
    is_alone = purpose and not request.tools and not request.system
    if not is_alone:
        start = next(
            each
            for each in events
            if each.kind == AgentStarted.KIND and each.agent == intent.agent
        )
        began = parse(start, AgentStarted)
        yield from _in_blocks("system prompt", began.system, request.system)
        yield from _in_tools(began.tools, request.tools)
        sent = rebuild(events, intent.agent)
        now = request.messages[: len(sent)] if purpose else request.messages
        yield from _in_messages(sent, now)
    most = intent.data["max_output_tokens"]
    if most != request.max_output_tokens:
        yield "most output, in tokens", str(most), str(request.max_output_tokens)
    if purpose:
        asked = request.messages[-1]["content"]
        yield f"the question beside the conversation ({purpose})", "", _said(asked)


def _in_tools(
    sent: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    before = {str(each["name"]): each for each in sent}
    after = {str(each["name"]): each for each in now}
    for name in dict.fromkeys([*before, *after]):
        if name not in after or name not in before:
            there = "(is there)"
            old, new = (there, NOTHING) if name in before else (NOTHING, there)
            yield f"tool `{name}`", old, new
            continue
        for part in ("description", "input_schema"):
            was, is_now = before[name].get(part), after[name].get(part)
            if was != is_now:
                yield f"tool `{name}`, {part}", _flat(was), _flat(is_now)
    if list(before) != list(after):
        yield "order of the tools", ", ".join(before), ", ".join(after)


def _in_messages(
    sent: Sequence[Any], now: Sequence[Any]
) -> Iterator[tuple[str, str, str]]:
    for number, (old, new) in enumerate(zip_longest(sent, now), 1):
        if old is None or new is None:
            shown = [
                NOTHING if each is None else _said(each["content"])
                for each in (old, new)
            ]
            yield f"message {number}", shown[0], shown[1]
            return
        where = f"message {number} ({new['role']})"
        yield from _in_blocks(where, old["content"], new["content"])


def _in_blocks(
    where: str, sent: Sequence[Block], now: Sequence[Block]
) -> Iterator[tuple[str, str, str]]:
    for number, (old, new) in enumerate(zip_longest(sent, now), 1):
        if old == new:
            continue
        place = f"{where}, block {number}" if max(len(sent), len(now)) > 1 else where
        before, after = _text(old), _text(new)
        if before == after:  # they differ in what is no text
            yield place, _flat(old), _flat(new)
        yield from _in_lines(place, before, after)


def _in_lines(where: str, sent: str, now: str) -> Iterator[tuple[str, str, str]]:
    lines = zip_longest(sent.split("\n"), now.split("\n"))
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            yield (
                f"{where}, line {number}",
                NOTHING if old is None else old,
                NOTHING if new is None else new,
            )


def _text(block: Block | None) -> str:
    """Return what a block says, or its JSON where that is no text."""
    if block is None:
        return ""
    content = block.get("text", block.get("content"))
    return content if isinstance(content, str) else _flat(block)


def _said(content: Any) -> str:  # noqa: ANN401 - content of a message
    return " ".join(map(_text, content)) if isinstance(content, list) else str(content)


def _flat(value: object) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _excerpts(recorded: str, now: str) -> tuple[str, str]:
    """Return both on one line each, from a little before where they part."""
    same = 0
    for old, new in zip(recorded, now, strict=False):
        if old != new:
            break
        same += 1
    start = max(same - BEFORE_CHARS, 0)
    lead = "…" if start else ""

    def shown(text: str) -> str:
        return f"{lead}{one_line(text[start : start + SHOWN_CHARS])}"

    return shown(recorded), shown(now)
