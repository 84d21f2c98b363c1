"""Random histories of an agent: what its model says, and what befalls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from hypothesis import strategies as st

from orchestrator.messages import Block
from orchestrator.spec.policy import ContextPolicy
from orchestrator.testing import say

__all__ = ["MODEL", "UNBOUND", "Plan", "Turn", "plans"]

PICTURE: Final[Block] = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": (
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
            "awAAAABJRU5ErkJggg=="
        ),
    },
}
MODEL, UNBOUND = "claude-haiku-5-5", "claude-opus-5"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model says once.

    Attributes:
        thought: text of its thinking; "": redacted; None: it does not think.
        says: a text, or "".
        calls: what each call gives: an index of `Plan.outputs`, or another tool.
        ends: how the request ends: "" well, else as named in `_ENDS`.
    """

    thought: str | None = None
    says: str = ""
    calls: tuple[int | tuple[str, Mapping[str, Any]], ...] = ()
    ends: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A history, the policy that it is kept by, and what befalls it.

    Attributes:
        policy: of the context.
        window: of the model.
        turns: of the model, in order; then it hands in.
        outputs: of the tool.
        summaries: how requests of a summary end, in order; then well.
        model: bare id.
        kills: shares of the log after which the process dies, in order.
    """

    policy: ContextPolicy
    window: int | None
    turns: tuple[Turn, ...]
    outputs: tuple[str | list[Block], ...]
    summaries: tuple[str, ...] = ()
    model: str = MODEL
    kills: tuple[float, ...] = ()


_WORDS = st.sampled_from(
    "alpha|ERR-1701|must not|中文测试|x=3.14|/srv/a.py:12|ok|日本".split("|")  # noqa: SIM905
)
_TEXT = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
_ODD = st.sampled_from(["", " ", "\n", "\x00\x1b[31mred", "{}", "[]", "null", "🙂" * 9])


_KINDS = (
    *("text", "text", "long", "long", "long", "json", "json"),
    *("error", "odd", "picture", "pin"),
)


@st.composite
def _outputs(draw: st.DrawFn) -> str | list[Block]:
    kind = draw(st.sampled_from(_KINDS))
    text = draw(_TEXT)
    times = draw(st.integers(1, 60)) * (10 if kind == "long" else 1)
    lines = "\n".join(f"{n} {text}" for n in range(times))
    if kind == "json":
        rows = [{"id": n, "name": text} for n in range(times)]
        return orjson.dumps({"rows": rows, "total": times}).decode()
    if kind == "odd":
        return draw(_ODD)
    if kind == "picture":
        return [say(text), PICTURE] if times % 2 else [PICTURE]
    return {"error": "ERROR " + text, "pin": "PIN " + lines[:400]}.get(kind, lines)


def _calls() -> st.SearchStrategy[Any]:
    other = st.one_of(
        st.sampled_from(["a.txt", "b.txt", "none.txt"]).map(
            lambda path: ("read_file", {"path": path})
        ),
        st.integers(0, 9).map(lambda n: ("read_ref", {"ref": f"h{n}"})),
        _WORDS.map(lambda word: ("recall", {"query": word})),
        st.just(("no_such_tool", {"a": 1})),
        st.just(("give", {"at": "wrong"})),
    )
    return st.one_of(st.integers(0, 9), st.integers(0, 9), other)


_ENDS = ("too_long", "bound", "bound_twice", "cancel", "refusal", "exceeded")


_IDLE = st.builds(Turn, says=st.sampled_from(["", " ", "I wait.", "等等"]))


@st.composite
def _turns(draw: st.DrawFn, *, thinks: bool, odd: bool) -> Turn:
    if draw(st.integers(0, 12)) == 7:
        return draw(_IDLE)
    thought = None
    if thinks:
        thought = draw(st.one_of(_TEXT, st.none(), st.just(""), st.just("hm " * 300)))
    ends = draw(st.sampled_from(("",) * 15 + (_ENDS if odd else ("cancel",))))
    calls = draw(st.lists(_calls(), min_size=1, max_size=3))
    return Turn(thought, draw(st.one_of(st.just(""), _TEXT)), tuple(calls), ends)


_WAYS = (
    *("", "", "call", "empty", "refusal"),
    *("too_long", "overloaded", "long", "cancel"),
)


@st.composite
def plans(draw: st.DrawFn, *, longest: int = 14) -> Plan:
    """Return a plan: any history, any policy, anything that befalls it."""
    name = draw(st.sampled_from(["ladder", "ladder", "ladder", "window", "budget"]))
    window = draw(st.sampled_from([4000, 5000, 6000, 8192, 12_000, 20_000, None]))
    every = draw(st.sampled_from([None, None, None, 2, 5]))
    policy = ContextPolicy(
        policy=name,
        window_tokens=window if draw(st.booleans()) else None,
        keep_results=draw(st.integers(1, 4)),
        last_steps=draw(st.integers(1, 6)),
        tail_steps=draw(st.integers(1, 4)),
        digest_tokens=draw(st.sampled_from([0, 20, 60])),
        every_turns=every if name == "ladder" else None,
        reminder_turns=draw(st.integers(1, 6)),
    )
    thinks, odd = draw(st.booleans()), draw(st.booleans())
    turn = _turns(thinks=thinks, odd=odd)
    turns = draw(st.lists(turn, min_size=min(longest, 6), max_size=longest))
    return Plan(
        policy=policy,
        window=window,
        turns=tuple(turns),
        outputs=tuple(draw(st.lists(_outputs(), min_size=3, max_size=6))),
        summaries=tuple(draw(st.lists(st.sampled_from(_WAYS), max_size=4))),
        model=draw(st.sampled_from([MODEL, MODEL, UNBOUND])),
        kills=tuple(draw(st.lists(st.floats(0.1, 1.0), max_size=2))),
    )
