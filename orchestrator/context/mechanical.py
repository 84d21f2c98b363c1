"""A summary without a model: what was called, said and found, by rules.

It stands in where the model cannot summarise. Lines are taken word for word, the newest
and the rarest first; the same input gives the same summary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.context import cues
from orchestrator.context.bearing import forbids, obliges
from orchestrator.context.main_argument import main_argument
from orchestrator.context.statements import split
from orchestrator.context.stubs import digest_of, without_stubs
from orchestrator.context.summary import SECTIONS, Section, Summary, fit, parse
from orchestrator.context.tokens import Count
from orchestrator.ids import reference_of
from orchestrator.messages import Block, Message, one_line, text_of

__all__ = ["mechanical_summary"]

# Of the limit, for what is found in each section; what one leaves, the later ones get.
_SHARES: Final[Mapping[Section, float]] = {
    "notes": 0.08,
    "pointers": 0.10,
    "failed": 0.12,
    "work": 0.18,
    "decisions": 0.14,
    "open": 0.13,
    "facts": 0.25,
}
_HEADING_TOKENS: Final = 12
_LINE_CHARS: Final = 240
_ARGUMENT_CHARS: Final = 100
_ERROR_CHARS: Final = 160
# Newness counts as much as rareness; both are from 0 to 1.
_NEW: Final = 1.0
_ODD: Final = 1.5
"""What a line is worth beyond that if there is no other of its form."""
_EARLIER: Final = 0.35
"""How new a line of the earlier summary counts."""

_FIGURES: Final = re.compile(r"[0-9a-f]*\d[0-9a-f]*")
_WORD: Final = re.compile(r"[A-Za-z_][\w./-]*\w|\d[\d.,:]*|[\u3400-\u9fff]{2}")
_POINTER: Final = re.compile(r"\bart_[0-9a-f]{6,64}\b|https?://[^\s<>\"')\]]+")
_CUED: Final[tuple[Section, ...]] = ("decisions", "failed", "open", "pointers")
_FIGURE: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _Line:
    section: Section
    text: str
    age: float
    """From 0, the oldest, to 1, the newest."""


def mechanical_summary(
    messages: Sequence[Message],
    *,
    digest: Callable[[str], str],
    limit_tokens: int,
    count: Count,
    earlier: str = "",
    first_step: int = 1,
) -> Summary:
    """Return a summary of messages, with the sections that a model's has.

    Calls with their main argument and outcome, digests of results, sentences that tell
    a decision, a failure, a rule, a figure or what is open, errors, references, and the
    lines of the earlier summary; of these what fits.

    Args:
        messages: those that go, oldest first, in the API's form.
        digest: a few telling lines of a result's text, or "".
        limit_tokens: most that the rendered summary may have by `count`.
        count: tokens of a text.
        earlier: the summary that stands before these messages, merged in.
        first_step: number of the first assistant message among `messages`.
    """
    lines = list(_earlier(earlier))
    lines += _from_messages(messages, digest, first_step)
    chosen = _choose(_unique(lines), limit_tokens, count)
    return fit(Summary(chosen), limit_tokens=limit_tokens, count=count)


def _earlier(text: str) -> Iterator[_Line]:
    summary = parse(without_stubs(text))
    for section in SECTIONS:
        for line in summary.lines(section):
            yield _Line(section, line, _EARLIER)


def _from_messages(
    messages: Sequence[Message], digest: Callable[[str], str], first_step: int
) -> Iterator[_Line]:
    step = first_step - 1
    calls: dict[str, tuple[str, str]] = {}
    last = max(len(messages) - 1, 1)
    for place, message in enumerate(messages):
        age = place / last
        content: Any = message["content"]
        if isinstance(content, str):
            yield from _said(content, age)
            continue
        used = [block for block in content if block.get("type") == "tool_use"]
        step += message["role"] == "assistant"
        for number, call in enumerate(used, 1):
            ref = reference_of(step, place=number if len(used) > 1 else 0)
            calls[str(call["id"])] = (ref, _told(call))
        for block in content:
            match block.get("type"):
                case "text" if message["role"] == "assistant":
                    yield from _said(str(block.get("text") or ""), age)
                case "tool_result":
                    call_id = str(block.get("tool_use_id"))
                    yield from _answered(
                        block, calls.pop(call_id, ("", "")), digest, age
                    )
    for ref, told in calls.values():
        yield _Line("open", f"- {told}: no result yet ({ref})", 1.0)


def _told(call: Block) -> str:
    """Return name and main argument of a call."""
    given: Any = call.get("input")
    arguments = given if isinstance(given, dict) else {}
    main = main_argument(arguments)
    argument = "" if main is None else one_line(str(main), _ARGUMENT_CHARS)
    return f"{call['name']} `{argument}`" if argument else str(call["name"])


def _answered(
    result: Block, call: tuple[str, str], digest: Callable[[str], str], age: float
) -> Iterator[_Line]:
    ref, told = call
    whole = text_of(result.get("content") or "")
    text = without_stubs(digest_of(whole))
    where = f" ({ref})" if ref else ""
    told = told or "a call"
    if result.get("is_error"):
        why = one_line(text, _ERROR_CHARS) or "no reason given"
        yield _Line("failed", f"- {told}: {why}{where}", age)
        return
    yield _Line("work", f"- {told}{where}", age)
    for line in digest(text).splitlines():
        if line.strip():
            yield _Line("facts", f"- {one_line(line, _LINE_CHARS)}{where}", age)
    for pointer in dict.fromkeys(_POINTER.findall(whole)):
        yield _Line("pointers", f"- {pointer}{where}", age)


def _said(text: str, age: float) -> Iterator[_Line]:
    """Yield the sentences that tell something, and the first one as a note."""
    for place, statement in enumerate(split(without_stubs(text))):
        bare = statement.text
        line = f"- {bare[:_LINE_CHARS]}" + (" …" if len(bare) > _LINE_CHARS else "")
        section = _section_of(bare)
        if section or place == 0:
            yield _Line(section or "notes", line, age)


def _section_of(text: str) -> Section | None:
    """Return where a sentence belongs: rules and figures are facts."""
    if forbids(text) or obliges(text):
        return "facts"
    if cues.SETTLED.search(text) and not cues.OWN.search(text):
        return "decisions"
    for section in _CUED:
        if cues.SECTIONS[section].search(text):
            return section
    return "facts" if _FIGURE.search(text) else None


def _unique(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines without repeats; the newest of equal ones counts."""
    newest: dict[tuple[Section, str], _Line] = {}
    for line in lines:
        key = (line.section, line.text)
        newest.pop(key, None)
        newest[key] = line
    return list(newest.values())


def _choose(
    lines: Sequence[_Line], limit_tokens: int, count: Count
) -> dict[Section, str]:
    words = [set(_WORD.findall(line.text)) for line in lines]
    seen = Counter(word for each in words for word in each)
    forms = [_form(line.text) for line in lines]
    alike = Counter(forms)
    scores = [
        _NEW * line.age
        + _ODD / alike[form]
        + max((1 / seen[word] for word in each), default=0.0)
        for line, form, each in zip(lines, forms, words, strict=True)
    ]
    chosen: dict[Section, str] = {}
    left = 0.0
    for section, share in _SHARES.items():
        mine = [at for at, line in enumerate(lines) if line.section == section]
        left += share * limit_tokens
        if not mine:
            continue
        left -= _HEADING_TOKENS
        taken: list[int] = []
        for at in sorted(mine, key=lambda at: (-scores[at], -at)):
            tokens = count(lines[at].text + "\n")
            if tokens <= left:
                taken.append(at)
                left -= tokens
        if taken:
            chosen[section] = "\n".join(lines[at].text for at in sorted(taken))
    return chosen


def _form(text: str) -> str:
    """Return a line without its figures: what a row of lines has in common."""
    return _FIGURES.sub("#", text)
