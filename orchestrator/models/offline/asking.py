"""What kind of answer a question wants, and whether a place holds one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from orchestrator.models.offline import lexicon
from orchestrator.models.offline.passages import Unit

__all__ = ["AnswerType", "asks_for", "has_number", "holds"]

AnswerType = Literal["", "number", "duration", "money", "date", "person"]

_ASKS: tuple[tuple[AnswerType, re.Pattern[str]], ...] = (
    (
        "money",
        re.compile(r"\bhow much (?:money|does .* cost|is paid)|多少钱|多少元", re.I),
    ),
    (
        "duration",
        re.compile(r"\bhow (?:long|often|soon|quickly)\b|多久|多长时间", re.I),
    ),
    (
        "date",
        re.compile(
            r"^\W*when\b|\b(?:until|since|by|from) when\b|\bwhat (?:date|day|time)\b"
            r"|\bwhich (?:date|day)\b|什么时候|何时|哪天|哪一天",
            re.I,
        ),
    ),
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|old|far|large|big|heavy|fast|high)\b"
            r"|\bwhat (?:is|was|are) the (?:\w+ ){0,3}"
            r"(?:maximum|minimum|highest|lowest|price|"
            r"cost|fee|rent|rate|salary|allowance|payload|weight|size|capacity|amount|"
            r"number|percentage)\b"
            r"|\b(?:what|which) (?:number|amount|value|share|percentage)\b"
            r"|多少|几[个次位天年月种块名条小]|多[大高长重远]",
            re.I,
        ),
    ),
)

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER_WORD = (
    "(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|"
    "fifteen|sixteen|seventeen|eighteen|nineteen|"
    f"(?:{_TENS})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|"
    "(?:(?:one|a) )?(?:hundred|thousand|million|dozen))"
)
_HAN_NUMBER = "[零〇一二两三四五六七八九十百千万半]+"
_NUMBER = re.compile(
    rf"\d|\b{_NUMBER_WORD}s?\b|\bone\b(?! of| another)|\bhalf\b"
    rf"|{_HAN_NUMBER}\s*(?:[个次位天周年月种块名条只项倍人页辆元台岁楼层成件份点家间张把支套折]"
    r"|小时|分钟|秒)",
    re.I,
)
_DURATION = re.compile(
    r"\b(?:an hour|a (?:day|week|month|year|minute))\b"
    rf"|(?:\d|\b(?:one|half|{_NUMBER_WORD})\b)[\s-]*(?:[a-z]+\s+){{0,2}}"
    r"(?:ms|s|sec|seconds?|minutes?|min|hours?|h|days?|weeks?|months?|years?)\b"
    rf"|(?:\d|{_HAN_NUMBER})\s*(?:毫秒|秒|分钟|个?小时|天|周|个?星期|个月|个?工作日|日内)"
    rf"|(?<!\d)\d{{1,2}}\s*年|{_HAN_NUMBER}年"
    r"|_s\b|_seconds\b|permanent|for ever|永久|每[天周月年]"
    r"|\b(?:daily|weekly|monthly|yearly)",
    re.I,
)
_MONEY = re.compile(
    rf"[€$£¥￥]\s?\d|(?:\d[\d,.]*|\b(?:one|{_NUMBER_WORD})(?:[\s-]{_NUMBER_WORD})*)\s*"
    rf"(?:euros?|eur|usd|dollars?|pounds?|元|块|万)|{_HAN_NUMBER}\s*(?:元|块|万)"
    r"|free of charge|for free|costs? nothing|\busd|免费|不收费",
    re.I,
)
_DATE = re.compile(
    r"\d{4}|\d{1,2}:\d{2}|\d+\s*[月日号点时]|\b(?:"
    + "|".join([*lexicon.MONTHS, "mondays?", "tuesdays?", "wednesdays?", "thursdays?"])
    + r"|fridays?|saturdays?|sundays?|before|after|until|at the end"
    r"|noon|midnight|o'clock)\b|\d ?[ap]\.?m\b"
    rf"|\b(?:at|by) (?:half past )?(?:one|{_NUMBER_WORD})\b(?! of)"
    rf"|[周星期]+[一二三四五六日]|之前|之后|以前|以后|月底|年底|{_HAN_NUMBER}\s*[月日号点时]"
    rf"|(?:\d+|\b(?:one|{_NUMBER_WORD})) ?(?:hours?|days?|weeks?|months?)"
    r"|\b(?:first|second|third|fourth|fifth|tenth|\d+th) (?:[a-z]+ )?days?\b"
    rf"|(?:\d|第?{_HAN_NUMBER})\s*(?:个?工作日|个?小时|天|周|个月)",
    re.I,
)
_ANSWERS: Mapping[AnswerType, re.Pattern[str]] = {
    "number": _NUMBER,
    "duration": _DURATION,
    "money": _MONEY,
    "date": _DATE,
    "person": re.compile(r"(?<=[a-z,:(] )[A-Z][a-z]+\b|^[A-Z][a-z]+(?= [a-z(])"),
}


def asks_for(question: str) -> AnswerType:
    """Return what kind of answer `question` wants, or "" where any will do."""
    for kind, wanted in _ASKS:
        if wanted.search(question):
            return kind
    return ""


def has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words."""
    return bool(_NUMBER.search(text))


def holds(wants: AnswerType, unit: Unit) -> bool:
    """Return whether a unit holds a number, a date … where one was asked for."""
    if not wants or _ANSWERS[wants].search(unit.text):
        return True
    if wants == "date":
        return bool(unit.heads and _DATE.search(unit.heads[-1]))
    # In a table the currency or the unit stands in the head.
    return wants == "money" and " – " in unit.text and has_number(unit.text)
