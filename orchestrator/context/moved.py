"""Figures of a summary that no source has: kept, with the source's told beside them.

Which of the two holds is a matter of kind. A count, the progress or the status of the
work moves on, and the summary may know more than any one source: there the source's
figure is told as the one `before`. A limit, an amount, an id, a path, a date or what a
rule says does not move: there the `source` is told, and that is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from orchestrator.context import cues
from orchestrator.context.bearing import is_ruling
from orchestrator.context.figures import Day, Name, Number, dates, names, numbers
from orchestrator.context.old_text import Claim, Near, Statements
from orchestrator.context.statements import any_of, clause_at, terms
from orchestrator.messages import shortened

__all__ = [
    "MOVING",
    "Within",
    "beside",
    "has_moved",
    "is_count_of_work",
    "is_put_off",
    "is_supported",
    "settled",
    "written",
]

MOVING: Final = frozenset({"work", "open", "notes"})
"""Sections of a summary that tell how far the work is."""

_MOST_CHARS: Final = 60
_MOST_WITH_NUMBER: Final = 60
_AROUND_CHARS: Final = 48
_MOST_OWN_COUNT: Final = 999
"""So far one may have counted oneself."""


@dataclass(frozen=True, slots=True)
class Within:
    """Where a statement of a summary stands.

    Attributes:
        section: of the summary; what is still open may name what is not there yet.
        references: further names that are known.
        moving: statements of earlier summaries that tell how far the work was.
        earlier: all statements of earlier summaries.
    """

    section: str
    references: Collection[str] = ()
    moving: Collection[str] = ()
    earlier: Collection[str] = ()


_ONGOING: Final = any_of(
    r"""
    \b(?:so far|left|remain(?:s|ing)?|progress|still|currently?|now|already)\b|
    \bto go(?= *$|[,.;:)])|
    \b(?:as of|to date|status|stage|phase|spent|used|elapsed|until now|no longer)\b|
    \bnewest\b|\blatest\b|
    \b(?:done|completed?|finished|coverage|covered)\b|
    剩|进度|进展|目前|当前|现在?|至今|截至|累计|已|还有|尚|仍|最新|
    完成|覆盖率
    """,
    before="",
    after="",
)
_COUNTED: Final = any_of(
    r"""
    \b(?:fail\w*|pass(?:es|ed|ing)?|errors?|warnings?|bugs?|findings?|alerts?)\b|
    \b(?:open|closed|pending|fixed|processed|converted|translated|reviewed|checked)\b|
    \b(?:tested|resolved|scanned|indexed|verified|compared|labell?ed|read|skipped)\b|
    \d\s*(?:/|of|out of)\s*\d|
    失败|通过|错误|警告|告警|未|待|处理|转换|翻译|检查|审阅|审查|核对|标注|跳过
    """,
    before="",
    after="",
)
_STATED: Final = any_of(
    r"""
    \b(?:limit|at most|at least|max\w*|min(?:imum|imal)?|cap|quota|threshold)\b|
    \b(?:price|fee|cost|budget|quote[sd]?|rent|salary|deposit|fine|timeout|lease)\b|
    \b(?:no more than|up to|allowed|deadline|due|default|capacity|size)\b|
    \b(?:customer|client|account|order|invoice|serial|phone|contract|grant|case|model)
    [ -](?:number|no\.|id)|编号|号码|账号|单号|上限|下限|至多|最多|至少|不超过|限额|
    预算|价格|报价|费用|租金|押金|超时|阈值|配额|期限|截止|默认|容量
    """,
    before="",
    after="",
)
_LEFT: Final = any_of(
    r"""
    \b(?:left|remaining|spent|used|so far)\b|\bto go(?= *$|[,.;:)])|
    剩|已用|已花|累计|花了|用了
    """,
    before="",
    after="",
)
_FURTHER: Final = any_of(
    r"""
    \b(?:progress|done|completed?|finished|coverage|covered|to date|elapsed)\b|
    进度|进展|完成|覆盖率|至今
    """,
    before="",
    after="",
)
_NAMED: Final = any_of(
    r"""
    (?:\b(?:port|clause|version|section|chapter|article|room|hall|gate|page|line|no\.|
    paragraph|ticket|order|invoice|id|flight|platform|volume|code|http|tls|iso|number)|
    端口|条款|版本|房间|展厅|编号|单号|订单|发票|站台)\s*[#:：]?\s*
    """,
    before="",
    after=r"\Z",
)
_TITLED: Final = re.compile(r"(?:#|\b[A-Z][A-Z0-9]{0,5} )\Z")
_MEASURE: Final = re.compile(
    r"[ \-]?(?:EUR|USD|CNY|RMB|GBP|JPY|CHF|euros?|dollars?|pounds?|yuan|[kKMGT]i?B"
    r"|bytes?|ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|days?|weeks?|months?|years?|km"
    r"|m|cm|mm|kg|g|kW|kWh|MWh?|V|A|QPS|rps|[MG]?Hz|px|percent|per cent)(?![\w-])"
    r"|\s?(?:[%％°€$£¥]|万?元|欧元|美元|毫秒|微秒|秒|分钟|小时|天|周|个?月|年|公里|米"
    r"|吨|公斤|千克|QPS)"
)
_RATE: Final = re.compile(r"(?:[ \-][a-z]+)?(?: per | ?/ ?)[a-z]+\b|每")
_CURRENCY: Final = re.compile(r"[$€£¥]\s?\Z")
_CLOSING: Final = re.compile(r"[\])`'\"”’」*]*[\]`'\"”’」*]")
_RESCHEDULED: Final = any_of(
    r"""
    \b(?:moved|postponed|delayed|rescheduled|brought forward|shifted|now|new|next)\b|
    改|推迟|延|提前|现
    """,
    before="",
    after="",
)


def has_moved(
    number: Number,
    claim: Claim,
    source: Claim,
    *,
    within: Within,
    is_along: bool = False,
) -> bool:
    """Return whether a number may differ from the source's because the work went on.

    So it is with counts, progress and statuses of the work; not with what somebody set:
    a limit, an amount, an id, a measure, whatever a rule says; nor with what the task,
    a person or a finding says, unless that itself tells how far something is.

    Args:
        number: of the claim.
        claim: of the summary.
        source: the old statement that has another number in its place.
        within: where the claim stands.
        is_along: another number of the same statement has moved.
    """
    here = _topic(claim.text, number.start)
    if is_ruling(source.text) or _is_named(number, claim.text):
        return False
    is_going = _is_going(number, claim, here)
    is_measured = _is_measured(number, claim.text)
    is_whole = number.values[0].is_integer()
    if source.text not in within.earlier and (is_measured or not is_whole):
        # "Still" or "now" may go with what a measure has always been.
        is_going = is_going and (
            bool(_LEFT.search(here) or _FURTHER.search(here))
            or _is_share_of_work(number, here)
        )
    if source.kind == "state":
        return is_going and _is_progress(source.text)
    if is_going:
        return True
    is_share = is_along and number.unit == "%"
    if _STATED.search(here) or (is_measured and not is_share):
        return False
    return is_along or (
        is_whole and (within.section in MOVING or source.text in within.earlier)
    )


def is_count_of_work(number: Number, claim: Claim) -> bool:
    """Return whether a number may come of counting what was done in many steps."""
    here = _topic(claim.text, number.start)
    is_small = number.values[0].is_integer() and number.values[0] <= _MOST_OWN_COUNT
    is_free = not _is_named(number, claim.text)
    is_share = number.unit == "%" or not _is_measured(number, claim.text)
    return is_small and is_free and is_share and _is_going(number, claim, here)


def _is_going(number: Number, claim: Claim, here: str) -> bool:
    if _STATED.search(here):
        return bool(_LEFT.search(here))
    if _ONGOING.search(here):
        return True
    if _is_share_of_work(number, here):
        return True
    is_count = number.values[0].is_integer()
    return is_count and not _is_measured(number, claim.text) and _is_progress(here)


def _is_share_of_work(number: Number, here: str) -> bool:
    return number.unit == "%" and bool(cues.SECTIONS["work"].search(here))


def _is_progress(text: str) -> bool:
    patterns = (_ONGOING, _COUNTED, cues.SECTIONS["work"])
    return any(pattern.search(text) for pattern in patterns)


def is_put_off(claim: Claim, source: Claim, *, within: Within) -> bool:
    """Return whether a day or a name that an earlier summary told has changed since."""
    return source.text in within.earlier and bool(_RESCHEDULED.search(claim.text))


def _is_named(number: Number, text: str) -> bool:
    """Return whether it is one thing's number, not how many there are."""
    head = text[: number.start]
    return bool(_NAMED.search(head) or _TITLED.search(head))


def _is_measured(number: Number, text: str) -> bool:
    is_price = _CURRENCY.search(text[: number.start])
    is_unit = _MEASURE.match(text, number.end) or _RATE.match(text, number.end)
    return bool(number.unit == "%" or is_price or is_unit)


def _topic(text: str, place: int) -> str:
    """Return the clause of a figure, or the statement where that tells too little."""
    part = clause_at(text, place)
    bare = [term for term in terms(part) if not term[0].isdigit()]
    return part if len(bare) > 1 else text


def is_supported(
    number: Number, claim: Claim, contrary: Near | None, old: Statements
) -> bool:
    """Return whether a result, or a text newer than the contrary one, has the number.

    It must be about the same: a word beside the number there occurs in the claim.

    Args:
        number: of the claim.
        claim: of the summary.
        contrary: the statement that has another number in its place, if any.
        old: all statements.
    """
    about = {t for t in terms(_topic(claim.text, number.start)) if not t[0].isdigit()}
    for place, other in old.at_number(number.text, most=_MOST_WITH_NUMBER):
        is_older = contrary is not None and place <= contrary.place
        if is_older and other.kind != "result":
            continue
        for held in other.numbers:
            if set(held.values) & set(number.values) and _is_alike(
                held, other.text, about, number
            ):
                return True
    return False


def _is_alike(held: Number, text: str, about: set[str], number: Number) -> bool:
    around = text[max(held.start - _AROUND_CHARS, 0) : held.end + _AROUND_CHARS]
    shared = about & terms(around)
    if not number.is_count or len(shared) > 1:
        return bool(shared)
    # Small numbers are everywhere: the very word beside it must be the same.
    return bool(shared & {held.unit, held.before})


def written(text: str, figure: Number | Day | Name) -> tuple[int, int]:
    """Return from where to where a figure goes, its unit of measure included."""
    start, end = figure.start, figure.end
    if isinstance(figure, Number):
        if sign := _CURRENCY.search(text[:start]):
            start = sign.start()
        if measure := _MEASURE.match(text, end):
            end = measure.end()
    return start, end


def beside(
    text: str, figure: Number | Day | Name, told: str, *, is_moved: bool
) -> tuple[int, str]:
    """Return where, behind a figure, what is told of the source: bounded, plain.

    Args:
        text: the statement of the summary.
        figure: of it; stays as it is.
        told: the source's.
        is_moved: the source's is the one before; else it is the one that counts.
    """
    _, end = written(text, figure)
    if closing := _CLOSING.match(text, end):
        end = closing.end()
    word = "before" if is_moved else "source"
    return end, f" ({word}: {shortened(told, _MOST_CHARS)})"


_SOURCE: Final = re.compile(r" \(source: ([^()\n]{1,80})\)")
_ALIKE: Final = 0.75


def settled(text: str) -> str:
    """Return a text with the source's figure alone where one was told beside another.

    So a figure that was doubted once does not bear out the next summary. What only
    tells where a figure comes from, `(source: notes.md)`, stays.
    """
    for mark in reversed(list(_SOURCE.finditer(text))):
        head = text[: mark.start()].rpartition("\n")[2]
        place = _replaced_by(mark[1], head)
        if place is not None:
            first = mark.start() - len(head)
            start, end = first + place[0], first + place[1]
            kept = text[end : mark.start()]
            text = f"{text[:start]}{mark[1]}{kept}{text[mark.end() :]}"
    return text


def _replaced_by(told: str, head: str) -> tuple[int, int] | None:
    """Return where, at the end of a text, the figure is that was told otherwise."""
    kinds: tuple[Callable[[str], Sequence[Number | Day | Name]], ...] = (
        numbers,
        dates,
        names,
    )
    for figures in kinds:
        own, other = figures(head)[-1:], figures(told)
        if not own or len(other) != 1 or written(told, other[0]) != (0, len(told)):
            continue
        start, end = written(head, own[0])
        if head[end:] and not _CLOSING.fullmatch(head[end:]):
            continue
        if isinstance(own[0], Name):
            ratio = SequenceMatcher(None, head[start:end], told).ratio()
            return (start, end) if ratio >= _ALIKE else None
        return start, end
    return None
