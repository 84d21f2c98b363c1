"""How a statement is meant: what it denies, where a thing stands, what it binds to."""

from __future__ import annotations

import re
from typing import Final, Literal

from orchestrator.context.statements import any_of

__all__ = [
    "CONFLICTS",
    "Status",
    "denials",
    "denied",
    "denies",
    "forbids",
    "has_shade",
    "is_ruling",
    "obliges",
    "shades",
    "statuses",
]

Status = Literal["confirmed", "asked", "denied", "done", "planned", "failed", "passed"]

CONFLICTS: Final[dict[Status, frozenset[Status]]] = {
    "confirmed": frozenset({"asked", "denied"}),
    "asked": frozenset({"confirmed", "denied"}),
    "denied": frozenset({"confirmed", "asked"}),
    "done": frozenset({"planned"}),
    "planned": frozenset({"done"}),
    "failed": frozenset({"passed"}),
    "passed": frozenset({"failed"}),
}
"""Status → those that must not take its place."""

_I: Final = re.IGNORECASE


_DENIAL: Final = any_of(
    r"""
    \bnot\b(?! only| even)|\bno\b(?! doubt| (?:more|less|fewer|later|earlier) than)|
    \b(?:never|none|neither|nor|cannot|nobody|nothing|nowhere)\b|n['’]t\b|
    (?<!而)不(?![同过仅但断久少错论管止如妨料禁])|没(?!收)|未(?!来)|无(?![线论状服限]|人机)|
    勿|别(?=[动改再用在把删去])|禁止|严禁
    """,
    before="",
    after="",
)
_NAYSAY: Final = any_of("rejects|refuses|forbids|prohibits|disallows")
_SAYS_NO: Final = any_of(
    "reject|refus|lack|forbid|prohibit|prevent|exclu|disallow", after=""
)
# Words that say no in other ways; where one stands, a lost "not" may only be reworded.
_SHADE: Final = any_of(
    r"""
    \b(?:deni|deny|declin|fail|miss(?:ing|es)|absent|unable|avoid|skip|ignor|disabl|drop|
    remov|unchanged|read-only|except|rather than|instead|without|needs?\b|requires?\b|
    stop|block|off-limits|untouched|only|out of|free of|hardly|rarely|little|few|zero|
    empty|ban|leave|left|keep|kept|stay|remain|impossible|invalid|hands off|abandon|
    bypass|dead\b|lost\b|ruled? out|against|withdr|broke|cancel|veto|nil|
    off the table|short\b|shortage|
    incompatible|inactive|illegal|unclear|unknown|un[a-z]+(?:ed|able)\b|unsafe|
    dis[a-z]{5,}|non-?[a-z]|pending|open\b|yet\b|still\b)|
    拒|失败|缺|避免|停|禁|除|仅|只|否|难|错|跳过|忽略|保持|仍|维持|原样|取消|放弃|
    待|尚|空|关闭|而不是|而非
    """,
    before="",
    after="",
)

_NEGATED: Final = (
    r"(?P<no>(?:\b(?:not|never|no|yet to be)|n['’]t)\b(?:\W+\w+){0,2}?\W+)?\b"
)
_STATUS: Final[tuple[tuple[Status, re.Pattern[str]], ...]] = (
    (
        "confirmed",
        any_of(
            """
            confirmed|confirms|approved|approves|agreed|agrees|accepted|accepts|granted|
            signed off|green-?lit|green light|go-?ahead|okayed|verified|validated|
            consented|ratified|settled|(?:I|we) (?:approve|confirm|agree|accept)
            """,
            before=_NEGATED,
        ),
    ),
    (
        "asked",
        any_of(
            """
            asked|requested|proposed|proposes|pending|awaiting|awaits|awaited|tbc|
            waiting (?:for|on)|unconfirmed|to be confirmed|inquired|queried|suggested|
            unanswered|being asked|put to|raised with|up for approval
            """,
            before=_NEGATED,
        ),
    ),
    (
        "denied",
        any_of(
            """
            rejected|rejects|declined|declines|refused|refuses|denied|turned down|
            vetoed|disapproved
            """,
            before=_NEGATED,
        ),
    ),
    (
        "done",
        any_of(
            """
            done|finished|completed?|fixed|merged|deployed|shipped|released|resolved|
            implemented|closed|migrated|landed|removed|installed
            """,
            before=_NEGATED,
        ),
    ),
    (
        "planned",
        any_of(
            """
            to-?do|planned|not started|in progress|underway|ongoing|still open|
            unresolved|unfinished|outstanding|remains? to|scheduled|
            to be (?:done|fixed|merged|deployed|released|implemented|migrated)|
            to be (?:completed|finished)
            """,
            before=_NEGATED,
        ),
    ),
    (
        "failed",
        any_of(
            """
            failed|fails|failing|broken|crashed|crashes|errored|unsuccessful|useless|
            in vain|dead end|no luck|nowhere
            """,
            before=_NEGATED,
        ),
    ),
    (
        "passed",
        any_of(
            """
            passed|passes|passing|worked|(?:did|does) work|helped|did help|succeeded|
            succeeds|successful|successfully
            """,
            before=_NEGATED,
        ),
    ),
)
_OPPOSITE: Final[dict[Status, Status]] = {
    "confirmed": "asked",
    "done": "planned",
    "passed": "failed",
    "failed": "passed",
}
_HAN_STATUS: Final[tuple[tuple[Status, re.Pattern[str]], ...]] = (
    (
        "asked",
        re.compile(
            r"(?:待|等待?|尚未|还没有?|未|没有|请|需要?|要求|是否|征求).{0,8}?"
            r"(?:确认|批准|同意|核实|审批|答复|回复|批复)|询问|请求|提议|已申请|申请[了中]|"
            r"问(?:了|过|是否)|待定|征询"
        ),
    ),
    ("denied", re.compile(r"拒绝|否决|驳回|不同意|不批准|不予|回绝")),
    (
        "failed",
        re.compile(
            r"失败|不成功|没有?成功|未成功|行不通|不通过|未通过|没通过|没有通过|崩溃"
        ),
    ),
    (
        "planned",
        re.compile(
            r"(?:未|没有?|尚未|待|还没有?)(?:完成|修复|合并|部署|上线|解决|发布|迁移|实现)|"
            r"进行中|待办|计划|尚未开始"
        ),
    ),
    ("confirmed", re.compile(r"确认|批准|同意|核实|认可|敲定|答应|准许|获批")),
    (
        "done",
        re.compile(
            r"完成|已?修复|合并|已?部署|上线|已解决|解决了|已发布|迁移完|已迁移"
        ),
    ),
    ("passed", re.compile(r"通过(?!率)|成功")),
)


def statuses(text: str) -> frozenset[Status]:
    """Return where the things that a text tells of stand; "not done" is planned."""
    found: set[Status] = set()
    for status, pattern in _STATUS:
        for match in pattern.finditer(text):
            if not match["no"]:
                found.add(status)
            elif status in _OPPOSITE:
                found.add(_OPPOSITE[status])
    if text.isascii():
        return frozenset(found)
    rest = text
    for status, pattern in _HAN_STATUS:
        shorter = pattern.sub("，", rest)
        if shorter != rest:
            found.add(status)
        rest = shorter
    return frozenset(found)


def denies(text: str) -> bool:
    """Return whether a text holds a plain negation."""
    return bool(_DENIAL.search(text) or _NAYSAY.search(text))


def denied(text: str) -> list[str]:
    """Return what stands behind each negation of a text."""
    found = [*_DENIAL.finditer(text), *_NAYSAY.finditer(text)]
    return [text[match.end() :] for match in found]


def denials(text: str) -> int:
    """Return how many negations a text holds, verbs that say no included."""
    return len(_DENIAL.findall(text)) + len(_NAYSAY.findall(text))


def shades(text: str, *, but: str = "") -> int:
    """Return how often a text says no in any way, however weak.

    Args:
        text: any.
        but: weak words that stand in this text, too, do not count.
    """
    known = but.lower()
    weak = sum(1 for each in _SHADE.findall(text) if each.lower() not in known)
    return len(_DENIAL.findall(text)) + len(_SAYS_NO.findall(text)) + weak


def has_shade(text: str) -> bool:
    """Return whether a text says no in any way, however weak."""
    return bool(_DENIAL.search(text) or _SAYS_NO.search(text) or _SHADE.search(text))


_FORBIDS: Final = re.compile(
    r"\b(?:must|shall|may|should) (?:not|never)\b|\bmust(?:n['’]t| never)|"
    r"(?:^|[.:;,!(–—*\"-]\s*|\bplease,? |\byou |\band |\bbut |\bthen |\bso |\bor )"
    r"(?:please )?(?:do not|don['’]t|never)\b(?= [a-z])|"
    r"\b(?:not allowed|forbidden|prohibited|off[- ]limits|not permitted|"
    r"under no circumstances|hands off)\b|\bto never\b|\bnever to\b|\bnot to be\b|"
    r"不得|不要|不许|不准|不可(?!能|避)|禁止|严禁|切勿|请勿|勿|绝不|决不|不允许|"
    r"别(?=[动改再用在把删去])",
    _I | re.MULTILINE,
)
_FIRM: Final = re.compile(
    r"\bmust\b|\bshall\b|\bnot (?:allowed|permitted|to be)\b|\bnever\b|\bdo not\b|"
    r"\bdon['’]t\b|forbidden|prohibited|off[- ]limits|no circumstances|hands off|"
    r"[\u3400-\u9fff]",
    _I,
)
_OBLIGES: Final = any_of(
    r"""
    \bmust\b(?! have (?:been|had))|\balways\b|\bshall\b|\bmandatory\b|\bobligatory\b|
    \b(?:is|are) (?:required|obliged) to\b|(?:^|[.:;,]\s*)only [a-z]+|
    \bonly\b.{1,60}\b(?:may|can|if|when|after|with|on|allowed)\b|\b(?:may|can) only\b|
    \bevery\b.{1,40}\b(?:has|have|needs?) to\b|
    必须|务必|只能|只准|只允许|一律|始终|一定要|不得不
    """,
    before="",
    after="",
)
_NARRATED: Final = any_of(
    r"""
    (?:I|we|it|they|he|she|which|that|there)(?:'d|'ve|'m)? (?:do not|don['’]t)|
    (?:I|we|it|they|he|she|which|that|there)(?:'d|'ve|'m)?[ ]
    (?:never|must(?! not\b)|always)|
    must be (?:a|an|the)|must have (?:been|\w+ed)
    """
)


def forbids(text: str) -> bool:
    """Return whether a text tells somebody not to do something."""
    if not _FORBIDS.search(text) or not _FIRM.search(text):
        return False
    return not _NARRATED.search(text)


def obliges(text: str) -> bool:
    """Return whether a text binds to something: must, always, only."""
    return bool(_OBLIGES.search(text)) and not _NARRATED.search(text)


def is_ruling(text: str) -> bool:
    """Return whether a text is a rule of either kind."""
    return forbids(text) or obliges(text)
