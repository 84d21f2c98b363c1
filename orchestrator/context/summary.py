"""The named sections of a summary: read from an answer, written out, shortened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, cast, get_args

from orchestrator.context.clipping import safe_end
from orchestrator.context.tokens import Count

__all__ = ["HEADINGS", "SECTIONS", "Section", "Summary", "fit", "is_nothing", "parse"]

Section = Literal["work", "decisions", "failed", "facts", "open", "pointers", "notes"]
SECTIONS: Final = cast("tuple[Section, ...]", get_args(Section))
"""In the order in which they are written out."""

HEADINGS: Final[Mapping[Section, str]] = {
    "work": "Work done",
    "decisions": "Decisions and why",
    "failed": "Failed attempts and why",
    "facts": "Facts and figures",
    "open": "Open items and next step",
    "pointers": "Pointers",
    "notes": "Notes",
}
"""As the prompt asks for them; `notes` holds what came under no heading."""

_SHORTENED_FIRST: Final[tuple[Section, ...]] = (
    "notes",
    "work",
    "pointers",
    "failed",
    "decisions",
    "open",
    "facts",
)
_SHARES: Final[Mapping[Section, float]] = {
    "notes": 0.08,
    "work": 0.14,
    "pointers": 0.12,
    "failed": 0.14,
    "decisions": 0.16,
    "open": 0.16,
    "facts": 0.20,
}
_HEADING_TOKENS: Final = 12
"""More than a heading with its blank lines costs."""

# Tried in this order: "what did not work" is no work done, "not done" is open.
_KINDS: Final[tuple[tuple[Section, re.Pattern[str]], ...]] = tuple(
    (cast("Section", kind), re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "failed",
            r"fail|dead.ends?|(?:not|n['’]t) work|unsuccessful|attempt|tried|失败|失敗|"
            r"未成功|行不通|走不通|不成功|试过|尝试",
        ),
        ("decisions", r"deci[sd]|choices?\b|chosen|决定|決定|决策|抉择|取舍|选择"),
        (
            "open",
            r"\bopen\b|\bnext\b|remain|to.?dos?\b|pending|outstanding|unresolved|"
            r"unfinished|not (?:yet )?done|still to|待办|待處理|待处理|待解决|未完成|"
            r"未决|未解决|下一步|后续|遗留|剩余|尚未|接下来",
        ),
        (
            "pointers",
            r"pointer|referen|where to (?:find|look)|\blinks?\b|\bsources?\b|"
            r"locations?|指针|指引|引用|参考|出处|索引|位置|线索|来源",
        ),
        (
            "facts",
            r"\bfacts?\b|figures?\b|finding|\bdata\b|numbers?\b|learne?[dt]|"
            r"key (?:information|points|details)|事实|事實|数据|數據|数字|发现|要点|"
            r"关键信息|结论",
        ),
        (
            "work",
            r"\bwork\b|\bdone\b|complet|progress|accomplish|achiev|changes\b|"
            r"actions?\b|files? (?:changed|touched)|完成|工作|进展|进度|已做|所做",
        ),
        ("notes", r"^(?:other |further )?(?:notes?|remarks?)$|^(?:备注|其他|附注)$"),
    )
)

_TAGS: Final = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL | re.IGNORECASE)
_ASIDES: Final = ("analysis", "thinking", "scratchpad")
_FENCED: Final = re.compile(r"\A\s*```\w*\n(.*?)\n```\s*\Z", re.DOTALL)
_NUMBER: Final = r"(?:\(?[0-9]{1,2}[.)、:：]|[（(]?[一二三四五六七八九十]{1,2}[)）、.])"
_HASHED: Final = re.compile(rf"(#{{1,6}})[ \t]*(?:{_NUMBER})?[ \t]*(.+?)[ \t]*#*$")
_BOLD: Final = re.compile(
    rf"(?:[-*•][ \t]+)?(?:{_NUMBER}[ \t]*)?(?:\*\*|__|【)(?:{_NUMBER}[ \t]*)?"
    r"(?P<name>[^*_】\n]{2,60}?)(?P<in>[:：])?(?:\*\*|__|】)(?P<out>[ \t]*[:：])?"
    r"(?P<rest>.*)$"
)
_PLAIN: Final = re.compile(
    rf"(?:{_NUMBER}[ \t]*)?(?P<name>[^\W\d][^:：\n]{{1,39}}?)(?P<colon>[:：])?[ \t]*$"
)
_EMPTY: Final = re.compile(
    r"[\W_]*(?:none|nothing|n/?a|nil|empty|无|没有|暂无|無)?(?: so far| yet)?[\W_]*",
    re.IGNORECASE,
)
_INTRO: Final = re.compile(
    r"[\W_]*(?:(?:here (?:is|'s|are)|below is)\b.{0,80}[:：.]|summary|conversation "
    r"summary|(?:以下|下面)是.{0,30}[:：。]|(?:对话)?(?:总结|摘要))[\W_]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summary says, by section; an empty section is not there."""

    sections: Mapping[Section, str] = field(default_factory=dict)

    def render(self) -> str:
        """Return it as Markdown, each section under its heading; "" if it is empty."""
        return "\n\n".join(
            f"## {HEADINGS[name]}\n\n{self.sections[name]}"
            for name in SECTIONS
            if self.sections.get(name)
        )

    def lines(self, section: Section) -> list[str]:
        """Return the lines of a section that are not blank."""
        text = self.sections.get(section, "")
        return [line for line in text.splitlines() if line.strip()]

    @property
    def is_free(self) -> bool:
        """Return whether it has no named section."""
        return not any(self.sections.get(name) for name in SECTIONS if name != "notes")


def parse(text: str) -> Summary:
    """Return the sections of an answer, however its headings are written.

    Any level, bold, numbered, renamed or Chinese; text under no known heading becomes
    the section `notes`, with what heading it has. Never fails.
    """
    found: dict[Section, list[str]] = {}
    current: Section = "notes"
    level = 0
    for line in _body(text).splitlines():
        heading = _heading(line, current, level)
        if heading is None:
            found.setdefault(current, []).append(line.rstrip())
            continue
        current, level, rest = heading
        lines = found.setdefault(current, [])
        if lines and lines[-1]:
            lines.append("")
        if rest:
            lines.append(rest)
    sections = {
        name: text
        for name in SECTIONS
        if not is_nothing(text := _joined(found.get(name, ())))
    }
    if _INTRO.fullmatch(sections.get("notes", "")) and len(sections) > 1:
        del sections["notes"]
    return Summary(sections)


def is_nothing(text: str) -> bool:
    """Return whether a section says that there is nothing to say."""
    return bool(_EMPTY.fullmatch(text))


def _body(text: str) -> str:
    """Return what is between the tags of a summary, or all but asides.

    A summary may quote such tags, of documentation or of pages: they hold less of it
    than what stands outside of them.
    """
    body = _without_asides(text)
    if inside := _TAGS.findall(text):
        tagged = max(inside, key=len)
        if _named(tagged) >= _named(_TAGS.sub("", body)):
            body = tagged
    fenced = _FENCED.match(body)
    return fenced[1] if fenced else body


def _named(text: str) -> int:
    """Return how many named sections a text opens."""
    headings = (_heading(line, "notes", 0) for line in text.splitlines())
    return len({found[0] for found in headings if found} - {"notes"})


def _without_asides(text: str) -> str:
    """Return the text without what stands between tags of thinking; in linear time."""
    for tag in _ASIDES:
        kept: list[str] = []
        while True:
            before, opened, rest = text.partition(f"<{tag}>")
            _, closed, after = rest.partition(f"</{tag}>")
            if not opened or not closed:
                break
            kept.append(before)
            text = after
        text = "".join([*kept, text])
    return text


def _joined(lines: list[str] | tuple[()]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n").rstrip()


def _heading(
    line: str, current: Section, level: int
) -> tuple[Section, int, str] | None:
    """Return section, level and the text behind it of a line that is a heading."""
    bare = line.strip()
    if not bare:
        return None
    if hashed := _HASHED.match(bare):
        return _hashed(hashed, current, level)
    if bold := _BOLD.match(bare):
        rest = bold["rest"].strip()
        has_colon = bool(bold["in"] or bold["out"])
        kind = _kind(bold["name"]) if has_colon or not rest else None
        # A heading behind a heading is no text of it; such a line stays as it is.
        is_heading = kind is not None and not _heading(rest, current, level)
        return (kind, level, rest) if kind and is_heading else None
    plain = _PLAIN.match(bare)
    if plain and not line.startswith((" ", "\t")):
        name = plain["name"].strip()
        is_known = name.casefold() in _KNOWN
        if is_known or (plain["colon"] and len(name.split()) <= 5):
            kind = _kind(name)
            return (kind, level, "") if kind else None
    return None


def _hashed(
    hashed: re.Match[str], current: Section, level: int
) -> tuple[Section, int, str] | None:
    depth = len(hashed[1])
    name = hashed[2].strip("*_ :：")
    if kind := _kind(name):
        return kind, min(level or depth, depth), ""
    if 0 < level < depth:
        # A heading inside a section is a line of it.
        return current, level, f"**{name}**"
    if level == 0 and _INTRO.fullmatch(name):
        return current, level, ""
    return "notes", level, f"**{name}**"


_KNOWN: Final = frozenset(
    {
        *(heading.casefold() for heading in HEADINGS.values()),
        *("decisions", "failed attempts", "facts", "open items", "next steps"),
        *("已完成的工作", "完成的工作", "已完成工作", "决定及原因", "决定与理由"),
        *("决定", "失败的尝试", "失败的尝试及原因", "事实与数据", "事实和数字"),
        *("待办事项", "待办事项与下一步", "待办与下一步", "下一步", "参考位置"),
    }
)


def _kind(name: str) -> Section | None:
    """Return which section a heading of that name opens."""
    if len(name) > 60 or len(name.split()) > 9:
        return None
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), None)


def fit(summary: Summary, *, limit_tokens: int, count: Count) -> Summary:
    """Return the summary within a limit: whole lines go, section by section.

    Sections over their share give first, notes before work and facts last; then each is
    reduced to one line; then whole sections go. The oldest lines of a section go first,
    of open items the last. How many went is said.

    Args:
        summary: any.
        limit_tokens: most that `render()` of the result may have by `count`.
        count: tokens of a text.
    """
    if count(summary.render()) <= limit_tokens:
        return summary
    kept: dict[Section, list[str]] = {
        name: summary.lines(name) for name in SECTIONS if summary.sections.get(name)
    }
    total = {name: len(lines) for name, lines in kept.items()}
    for room in _rooms(limit_tokens):
        for name in _SHORTENED_FIRST:
            if name not in kept:
                continue
            kept[name] = _within(kept[name], room(name), count, is_open=name == "open")
            if not kept[name]:
                del kept[name]
            shorter = _with_gaps(kept, total)
            if count(shorter.render()) <= limit_tokens:
                return shorter
    return Summary()


def _rooms(limit_tokens: int) -> Iterator[Callable[[Section], int]]:
    """Yield, from lenient to strict, how many tokens each section may have."""
    for part in (1.0, 0.7, 0.4, 0.2):
        yield partial(_share, part * limit_tokens)
    yield lambda _name: 0


def _share(tokens: float, name: Section) -> int:
    return max(int(_SHARES[name] * tokens) - _HEADING_TOKENS, 1)


def _within(
    lines: list[str], room_tokens: int, count: Count, *, is_open: bool
) -> list[str]:
    """Return the lines that fit, or a part of the one that matters most."""
    if room_tokens <= 0:
        return []
    ordered = lines if is_open else lines[::-1]
    taken: list[str] = []
    used = 0
    for line in ordered:
        used += count(line + "\n")
        if used > room_tokens:
            break
        taken.append(line)
    if not taken:
        line = ordered[0]
        end = safe_end(line, max(len(line) * room_tokens // max(count(line), 1), 1))
        taken = [line[:end].rstrip() + " …"] if end < len(line) else [line]
    return taken if is_open else taken[::-1]


def _with_gaps(
    kept: Mapping[Section, list[str]], total: Mapping[Section, int]
) -> Summary:
    sections: dict[Section, str] = {}
    for name, lines in kept.items():
        gone = total[name] - len(lines)
        marker = [f"- (shortened: {gone} more lines)"] if gone else []
        sections[name] = "\n".join([*lines, *marker])
    return Summary(sections)
