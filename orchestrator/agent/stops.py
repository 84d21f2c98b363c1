"""What a reply means for the loop: pure rules for every way a turn can end.

`judge` looks at one reply and at what went before, and says what to do. The blocks
decide, not the stop reason: a reply that holds calls gets them run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.messages import Block, encode, is_empty_text, text_of, tool_calls
from orchestrator.models.base import EXCEEDED, Reply

__all__ = [
    "WINDOW",
    "Say",
    "Streaks",
    "Verdict",
    "forgiving",
    "judge",
    "refusal",
    "refused_by",
    "step_key",
    "usable",
]

WINDOW = "window"
"""The limit of who has no room left in its context."""
MAX_EMPTY = 2
MAX_UNFINISHED = 2
MAX_CUT_CALLS = 3
MAX_PAUSES = 10
MAX_HAND_INS = 4
WARN_REPEATS = 3
MAX_REPEATS = 5
MAX_FORGIVEN = 2
MAX_CYCLE = 3
"""Steps of a cycle whose repeats are seen: A A A, A B A B A B, A B C A B C A B C."""
MAX_NAME_CHARS = 64
MAX_CATEGORY_CHARS = 80
_NO_CATEGORY = "no category"
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
# What they answer depends on when they are asked: asking again is no repeat.
_WAITING = frozenset({"wait_for"})
# What some servers put where a model said nothing.
_PLACEHOLDERS = frozenset({"", "(empty content)", "(no content)", "(empty)"})

Say = Literal["", "nudge_empty", "nudge_finish", "continue", "repeat_warning"]


@dataclass(frozen=True, slots=True)
class Streaks:
    """How often something went wrong; all but `hand_ins` in a row, until a step."""

    empty: int = 0
    unfinished: int = 0
    cut_texts: int = 0
    cut_calls: int = 0
    pauses: int = 0
    steps: tuple[bytes, ...] = ()
    """Keys of the newest steps, oldest first; as many as a repeat can be made of."""
    hand_ins: int = 0
    """Steps whose hand-in was sent back, in all; counted by the loop after the step."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a reply.

    Attributes:
        keep: it enters the transcript.
        run: its calls are run.
        say: prompt to add to the next user message.
        more_output: the next request has twice the output.
        end: how the loop ends, or "" to go on.
        reason: why it ends, for people; with `end` limit, the name of the limit.
        count: with `end` limit, how often it happened.
        refused: category of a refusal, or ""; another model may go on.
    """

    keep: bool = True
    run: bool = False
    say: Say = ""
    more_output: bool = False
    end: Literal["", "unvalidated", "failed", "limit"] = ""
    reason: str = ""
    count: int = 0
    refused: str = ""


def usable(reply: Reply, used_ids: Collection[str]) -> Reply:
    """Return a reply whose content may go back to the service.

    Empty text blocks are left out. Names and ids of calls that the service would
    refuse are made legal. A call id that was used before, in the conversation or in
    this reply, gets a suffix, so that each id occurs once; the ids of cut and broken
    calls follow.
    """
    kept: list[Block] = []
    seen = set(used_ids)
    cut: dict[str, str] = {}
    broken: dict[str, str] = {}
    for block in reply.content:
        if is_empty_text(block):
            continue
        if block.get("type") != "tool_use":
            kept.append(block)
            continue
        old = str(block["id"])
        new, name = _fresh(_legal(old), seen), _legal(str(block["name"]))
        seen.add(new)
        is_same = new == old and name == block["name"]
        kept.append(block if is_same else {**block, "id": new, "name": name})
        if old in reply.cut_calls:
            cut[old] = new  # of two with one id, the later one was cut
        if old in reply.broken_calls:
            broken[new] = reply.broken_calls[old]
    return replace(
        reply, content=kept, cut_calls=frozenset(cut.values()), broken_calls=broken
    )


def _legal(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:MAX_NAME_CHARS] or "_"


def _fresh(name: str, seen: Collection[str]) -> str:
    fresh, n = name, 1
    while fresh in seen:
        n += 1
        fresh = f"{name}-{n}"
    return fresh


def step_key(content: Sequence[Block]) -> bytes:
    """Return what identifies the calls of a step, their ids aside: 16 bytes."""
    calls = [[call["name"], call["input"]] for call in tool_calls(content)]
    if not calls:
        return b""
    return hashlib.blake2b(encode(calls), digest_size=16).digest()


def _repeats(steps: Sequence[bytes]) -> int:
    """Return how often the newest step, or cycle of steps, was taken in a row.

    Args:
        steps: keys of steps, oldest first; at least one.
    """
    return max(_times(steps, period) for period in range(1, MAX_CYCLE + 1))


def forgiving(streaks: Streaks, forgiven: dict[bytes, int]) -> Streaks:
    """Return the streaks after an edit: what has gone may be asked for again.

    Twice for each step: who goes on asking for the same makes no use of it.

    Args:
        streaks: as they were.
        forgiven: key of a step → edits that let it be taken again; brought along.
    """
    for key in set(streaks.steps):
        forgiven[key] = forgiven.get(key, 0) + 1
    kept = (key for key in streaks.steps if forgiven[key] > MAX_FORGIVEN)
    return replace(streaks, steps=tuple(kept))


def _times(steps: Sequence[bytes], period: int) -> int:
    """Return how often the newest `period` steps stand in a row at the end."""
    newest, times = steps[-period:], 1
    while steps[-period * (times + 1) : -period * times] == newest:
        times += 1
    return times


def refusal(reply: Reply) -> str:
    """Return the category of a refusal, in the service's words, or ""."""
    if reply.stop_reason != "refusal":
        return ""
    category = " ".join(str((reply.stop_details or {}).get("category") or "").split())
    return category[:MAX_CATEGORY_CHARS] or _NO_CATEGORY


def refused_by(categories: Mapping[str, str]) -> str:
    """Return who refused, in words: model → category, in order."""
    if list(categories.values()) == [_NO_CATEGORY]:
        return "the model refused (no category told)"
    if len(categories) == 1:
        return f"refused: {next(iter(categories.values()))}"
    told = (f"{category} (`{model}`)" for model, category in categories.items())
    return f"refused: {', then '.join(told)}"


def judge(reply: Reply, was: Streaks) -> tuple[Verdict, Streaks]:
    """Return what to do with a usable reply, and the streaks after it."""
    if category := refusal(reply):
        return Verdict(keep=False, end="failed", refused=category), was
    if tool_calls(reply.content):
        return _with_calls(reply, was)
    text = text_of(reply.content).strip()
    if reply.stop_reason in ("max_tokens", EXCEEDED):
        return _cut_text(reply.stop_reason, text, was)
    if text in _PLACEHOLDERS:
        return _empty(was)
    return _paused(was) if reply.stop_reason == "pause_turn" else _unfinished(was)


def _with_calls(reply: Reply, was: Streaks) -> tuple[Verdict, Streaks]:
    steps = _steps_with(reply.content, was.steps)
    repeats = _repeats(steps) if steps else 0
    cut = was.cut_calls + 1 if reply.cut_calls else 0
    now = Streaks(cut_calls=cut, steps=steps, hand_ins=was.hand_ins)
    if cut >= MAX_CUT_CALLS:
        return Verdict(keep=False, end="limit", reason="cut_replies", count=cut), now
    if repeats >= MAX_REPEATS and not reply.cut_calls:
        verdict = Verdict(keep=False, end="limit", reason="repeats", count=repeats)
        return verdict, now
    say: Say = "repeat_warning" if repeats >= WARN_REPEATS else ""
    # Where the window is full, more output is no help.
    more = bool(reply.cut_calls) and reply.stop_reason != EXCEEDED
    return Verdict(run=True, say=say, more_output=more), now


def _steps_with(content: Sequence[Block], was: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the steps up to a new one; none where it waits for others.

    After a wait things may look different, so that all may be asked again.
    """
    if any(call["name"] in _WAITING for call in tool_calls(content)):
        return ()
    return (*was, step_key(content))[-MAX_CYCLE * MAX_REPEATS :]


def _cut_text(stop: str, text: str, was: Streaks) -> tuple[Verdict, Streaks]:
    if stop == EXCEEDED:
        return Verdict(keep=False, end="limit", reason=WINDOW), was
    now = replace(was, cut_texts=was.cut_texts + 1)
    if was.cut_texts == 0:
        return Verdict(keep=False, more_output=True), now
    reason = "two replies in a row were cut by the output limit"
    if text in _PLACEHOLDERS:
        return Verdict(keep=False, end="failed", reason=reason), now
    return Verdict(end="unvalidated", reason=reason), now


def _empty(was: Streaks) -> tuple[Verdict, Streaks]:
    now = replace(was, empty=was.empty + 1)
    if now.empty >= MAX_EMPTY:
        reason = f"{now.empty} empty replies in a row"
        return Verdict(keep=False, end="failed", reason=reason), now
    return Verdict(keep=False, say="nudge_empty"), now


def _paused(was: Streaks) -> tuple[Verdict, Streaks]:
    now = replace(was, pauses=was.pauses + 1)
    if now.pauses > MAX_PAUSES:
        reason = f"paused {MAX_PAUSES} times in a row"
        return Verdict(end="failed", reason=reason), now
    return Verdict(say="continue"), now


def _unfinished(was: Streaks) -> tuple[Verdict, Streaks]:
    now = replace(was, unfinished=was.unfinished + 1, empty=0)
    if now.unfinished > MAX_UNFINISHED:
        reason = "ended its turn without handing in"
        return Verdict(end="unvalidated", reason=reason), now
    return Verdict(say="nudge_finish"), now
