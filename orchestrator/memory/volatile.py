"""Tell what will be wrong by the next time it is read.

What counts is the statement, not the word: that something *is running right now*
passes, that a service *reads the current user* stays. Code, and what is quoted as code,
says nothing about now; nor does a clause with `if` or `when`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.fences import outside_fences

__all__ = ["why_volatile"]

_SHOWN_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class _Rule:
    """Words that make a statement one of a moment.

    Attributes:
        what: the reason, behind the words.
        pattern: of the words.
        is_conditional: a clause with `if`, `when` and the like is general, and stays.
    """

    what: str
    pattern: re.Pattern[str]
    is_conditional: bool = False


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_MOMENT: Final = "holds only for a moment"
_RELATIVE: Final = "is counted from now; name the date"
_PROGRESS: Final = "is progress of one run"
_LIVE: Final = "is of one process that runs now"
_TEMPORARY: Final = "is a temporary path"

_UNIT: Final = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?)"
)
# Before `currently`: it says which of them, and not when.
_WHICH: Final = (
    r"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!\bany )(?<!\beach )(?<!\bevery )(?<!\ball )"
    r"(?<!\bof )(?<!\bfor )(?<!\bwith )(?<!\bto )(?<!\bby )(?<!\bin )(?<!\bfrom )"
    r"(?<!\bits )(?<!\btheir )(?<!\bthat )(?<!\bthis )(?<!\bno )"
)
# Before `today`: it is a value there.
_AS_VALUE: Final = (
    r"(?<!\bthe )(?<!\ba )(?<!\bto )(?<!\bthan )(?<!\bequals )(?<!\bnamed )"
    r"(?<!\bcalled )(?<!\bof )(?<!\bbefore )(?<!\bafter )(?<!\buntil )(?<!\bas )"
    r"(?<!\bby )(?<!\bwith )(?<!\bfor )(?<!\bon )(?<!\bfrom )(?<!= )(?<!\bis )"
    r"(?<!\bor )(?<!\band )(?<!\bmeans )"
)
_NO_POSSESSIVE: Final = r"(?!['’]s\b|\(|[-_])"
_AS_NAME: Final = (
    r"(?! (?:column|button|view|tab|field|page|widget|filter|panel|list|key|flag|value"
    r"|parameter|argument|function|date|or|and)\b)"
)
_SIDE: Final = r"[^.;\n]{0,30}?"
_DONE: Final = r"(?:done|complete|completed|finished|processed|passed|read|so far|left)"

_RULES: Final = (
    _Rule(
        _MOMENT,
        _words(
            rf"{_WHICH}\bcurrently\b",
            r"\bat (?:the|this) (?:present )?moment\b(?! (?:of|when|that|where|in)\b)",
            r"\bat (?:the )?(?:present time|time of writing)\b",
            r"\bfor the time being\b",
            r"\b(?:right|just) now\b",
            r"\bas of (?:now|today|this (?:writing|run|moment))\b",
            r"\btemporarily (?:disabled|off|down|unavailable|broken|set|using|moved)\b",
        ),
        is_conditional=True,
    ),
    _Rule(
        _MOMENT,
        _words(
            r"\bthis (?:run|turn|conversation|chat)\b",
            r"\b(?:in|during|of|for) (?:this|the current|my) session\b",
            r"\b(?:in|during|for) the current (?:run|turn|conversation)\b",
        ),
        is_conditional=True,
    ),
    _Rule(
        _RELATIVE,
        _words(
            rf"{_AS_VALUE}\btoday\b{_NO_POSSESSIVE}{_AS_NAME}",
            rf"{_AS_VALUE}\b(?:yesterday|tomorrow|tonight)\b{_NO_POSSESSIVE}{_AS_NAME}",
            r"\bthis (?:morning|afternoon|evening)\b",
            r"(?<!\bthe )(?<!\beach )(?<!\bevery )\b(?:last|next) "
            rf"(?:week|month|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
            rf"{_NO_POSSESSIVE}(?! of\b)",
            r"(?<!\bthe )\bthis (?:week|month)\b(?! of\b)",
            rf"(?<!\bthan )(?<!\bleast )(?<!\bfrom )(?<!\bbefore )(?<!\buntil )"
            rf"(?<!\bmost )\b(?:\d+|a few|an?|some|two|three|several) {_UNIT} ago\b",
            r"\b(?:moments|a moment|a while) ago\b",
        ),
    ),
    _Rule(
        _PROGRESS,
        _words(
            rf"\b(?:steps?|parts?|phases?|tasks?|items?) \d+ ?(?:/|of|out of) ?\d+\b"
            rf"{_SIDE}\b{_DONE}\b",
            rf"\b\d+ ?(?:/|of|out of) ?(?:the )?\d+\b{_SIDE}\b{_DONE}\b",
            r"(?:^|\d[^.;\n]{0,60}?)\bso far\b(?! as\b)",
            r"\b\d+(?:\.\d+)? ?% (?:is |are )?(?:done|complete|completed|finished)\b",
            r"\b(?:is|are) still (?:running|pending|waiting|in progress|working|open"
            r"|to do)\b",
            r"\b(?:is|are) in progress\b",
            r"\bI(?:['’]m| am) (?:now |about to |still )?(?:working|waiting|reading"
            r"|doing|looking|going)\b",
            r"\b(?:I|we)(?:['’]ve| have)? just (?:\w+ed|began|built|did|found|got|made"
            r"|put|ran|read|saw|sent|set|went|wrote)\b",
        ),
        is_conditional=True,
    ),
    _Rule(
        "is what one run has left",
        _words(
            r"\b\d[\d,.]*k? ?(?:tokens?|turns?|steps?|usd|dollars?|minutes?|seconds?"
            r"|calls?|requests?|credits?) (?:are |is )?(?:still )?(?:left|remaining"
            r"|remain)\b",
            r"\$ ?\d[\d,.]*(?: \w+){0,3} (?:is |are )?(?:left|remaining)\b",
            r"\bremaining budget (?:is|:)",
        ),
        is_conditional=True,
    ),
    _Rule(
        _LIVE,
        _words(
            r"\bpids?(?: is|[ :=#])+\s*\d{2,}\b",
            r"\bprocess(?: id)?(?: is|[ :=#])+\d{3,}\b",
            r"(?:(?<=^)|(?<=[^\w]))(?:is|was|now|already) (?:now )?"
            r"(?:running|started|up) (?:on|at) (?:port |localhost:|127\.0\.0\.1:|0\.0\.0\.0:|https?://localhost:)"
            r"\d+(?! (?:in|by)\b)",
            r"\b(?:listening|listens|serving|bound)\b[^;\n]{0,24}?(?:port |:)"
            r"(?!50051\b)(?:3[3-9]\d{3}|[4-6]\d{4})\b",
        ),
    ),
    _Rule(
        _TEMPORARY,
        _words(
            r"(?<![\w.~-])(?:/private)?/(?:tmp|var/tmp|dev/shm)/[\w.-]+",
            r"(?<![\w.~-])(?:/private)?/var/folders/\w+",
            r"\\(?:Local\\)?Temp\\[\w.-]+",
        ),
    ),
    _Rule(
        _MOMENT,
        _words(
            r"目前(?!的?时间)",
            r"当前(?=[,，、:：]|(?:是|有|没|不|已|还|在|处于|正|仅|只|为|共|剩余|卡|被|需要)"
            r"|(?:构建|测试|流水线|进度|任务|服务|版本)[^,，。;；\n]{0,6}"
            r"(?:失败|通过|中断|进行|已|不可用|挂))",
            r"(?<![到与和距离比至于是用])现在(?!的?时间|时刻|时态|时间戳)",
            r"此刻|眼下|暂时(?!表|文件)",
            r"正在(?![^,，。;；\n]{1,10}的)",
            r"临时(?!文件|目录|表|变量|路径|数据|缓存|对象|存储|凭证|令牌|密码|用户|账号"
            r"|分支|密钥|空间|会话|性)",
            r"(?:本次|这次|本轮|这一轮)(?!请求|调用|事务|操作|登录|提交|查询|更新|连接|迭代)",
        ),
        is_conditional=True,
    ),
    _Rule(
        _RELATIVE,
        _words(
            r"(?<![到至为于是与和])(?:今天|昨天|前天|明天|昨晚|今早|今晚)"
            r"(?!的?(?:日期|分区|数据|记录|报表|之前|之后|零点)|按钮|列|字段|或|和)",
            r"(?:上周|上个?月|下周|下个?月|本周|这周)(?!的|[到至日末])",
            r"刚才|刚刚(?!好)",
            r"(?<![超过早于大于至少])[\d一二三两几]+\s*(?:秒钟?|分钟|小时|天|周|个月)(?:之)?前"
            r"(?!的)",
        ),
    ),
    _Rule(
        _PROGRESS,
        _words(
            r"第\s*[\d一二三四五六七八九十]+\s*步[^,，。;；\n]{0,4}(?:已?完成|做完)",
            r"(?:已完成|完成了|做完了)\s*\d+\s*(?:/|%|个|步|项)",
            r"进度[^,，。;；\n]{0,4}\d",
            r"(?:还剩|剩余|剩下)\s*\d",
            r"(?:预算|额度)[^,，。;；\n]{0,4}(?:还剩|剩余|剩下)",
        ),
        is_conditional=True,
    ),
    _Rule(_LIVE, _words(r"进程(?:号|\s*ID)?\s*(?:为|是|[:：])?\s*\d{2,}")),
)
_CODE: Final = re.compile(r"(`+)[^`\n]+\1|(?<!\w)\"[^\"\n]{1,60}\"(?!\w)")
_CALLS: Final = re.compile(r"\b[\w.]+\(\)")
_SENTENCE: Final = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n")
_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|while|whether|until|unless|once|as long as|in case)\b"
    r"|如果|若|是否|一旦|只要|当[^前天时]|的?时候?(?=[,，]|会|应|才|就|将|则)|期间",
    re.IGNORECASE,
)


def why_volatile(text: str) -> str:
    """Return why a value will be wrong by the next time, or "".

    Args:
        text: Markdown, in English or Chinese.
    """
    for sentence in _sentences(text):
        condition = _CONDITION.search(sentence)
        for rule in _RULES:
            if rule.is_conditional and condition:
                continue
            if (match := rule.pattern.search(sentence)) is not None:
                shown = match[0].strip()[:_SHOWN_CHARS]
                return f"not lasting: “{shown}” {rule.what}"
    return ""


def _sentences(text: str) -> Iterator[str]:
    lines = text.split("\n")
    prose = "\n".join(line for _, line in outside_fences(lines))
    prose = _CALLS.sub("()", _CODE.sub("``", prose))
    # What runs on in the next line is one sentence with it.
    prose = re.sub(r"(?<=[^\n.!?;:。！？；：])\n(?=[a-z(\u4e00-\u9fff])", " ", prose)
    yield from filter(None, map(str.strip, _SENTENCE.split(prose)))
