"""Tell whether a brief names a topic, but not what to find out about it."""

from __future__ import annotations

import re

from orchestrator.brief.unseen import has_anchor, narrow

__all__ = ["is_vague", "is_vague_form"]

_I = re.IGNORECASE
_FILLER = re.compile(
    r"\b(?:please|kindly|can you|could you|would you|i want you to|i need you to|we "
    r"need to|"
    r"you should|thoroughly|carefully|quickly|briefly|in (?:more )?(?:detail|depth)|"
    r"a bit|"
    r"for me|for us|(?:and|then|to) (?:then )?(?:report back|get back to (?:me|us)|"
    r"let (?:me|us) "
    r"know)|report back|(?:and )?(?:tell|show|give|let|report)(?: to)?(?: me| "
    r"us)?(?: know)?"
    r"(?: on| about)? (?:what(?:ever)? you (?:find|think|see|learn|can)|anything|"
    r"something|your (?:thoughts|findings|opinion))|what(?:ever)? you (?:find|think|"
    r"see|can)|"
    r"(?:(?:and )?see )?(?:what(?:'s| is| was) (?:there|going on|up|wrong|happening|"
    r"in there|"
    r"inside|interesting|relevant|important)|if (?:anything|something|everything|it|"
    r"there)"
    r"(?:'s| is) \w+(?: \w+)?)|"
    r"(?:and )?(?:\w+ )?what(?:ever)? (?:seems|looks|appears|is|might be|could be) "
    r"(?:\w+ )?"
    r"(?:important|interesting|relevant|useful|wrong|off|odd|notable|good|bad|missing)|"
    r"what it (?:does|is)|(?:for|with|of)? ?(?:any|some|every|no)thing(?: (?:else|"
    r"interesting|relevant|useful|important|unusual|wrong|noteworthy|of (?:note|"
    r"interest)|"
    r"worth \w+|that (?:looks|seems|is|stands) \w+))*|for (?:possible |potential |"
    r"any )?(?:issues|"
    r"problems|bugs|errors|improvements|mistakes|flaws|quality|review)|"
    r"(?:and |then )?(?:write|give|make|produce|provide|prepare|send)(?: me| us)? "
    r"(?:a |an |"
    r"some |your )?(?:short |brief |good |nice |detailed |full )?(?:report|summary|"
    r"overview|"
    r"findings|feedback|notes|insights)|(?:and )?(?:summari[sz]e|take notes)(?: it| "
    r"findings)?\Z)",
    _I,
)
_LOOKING = (
    r"look(?:ing)? (?:in ?to|at|over|through|around)|(?:take|have) a (?:\w+ "
    r")?look(?: at| into|"
    r" through| around)?|investigate|explore|research|dig into|dive into|go "
    r"(?:through|over)|"
    r"poke around|get (?:familiar with|to know|a feel for|an overview of|(?:some |"
    r"more )?"
    r"(?:information|info|details|context) (?:on|about))|familiari[sz]e yourself(?: "
    r"with)?|"
    r"learn(?: more)? about|find out(?: more)?(?: about)?|figure out|read up on|"
    r"think about|"
    r"work on|help(?: me| us)?(?: with)?|handle|deal with|gather (?:some )?(?:info|"
    r"information|context|details)(?: about| on)?|tell (?:me|us)(?: more)? about|do|"
    r"see|"
    r"search"
)
_JUDGING = (
    r"check(?: out| on)?|review|analy[sz]e|examine|study|inspect|scan|understand|read"
    r"(?: through)?|fix|improve|cover|evaluate|assess|audit|debug|test|verify"
)
_ANY_VERB = r"summari[sz]e|describe|explain|document|list|find|map|trace|compare"
_VERBS = re.compile(
    r"\W*(?:(?:just|first|go|try to|also|then|again|"
    rf"and)\s+)*(?:(?P<looking>{_LOOKING})|"
    rf"(?P<judging>{_JUDGING})|(?P<any>{_ANY_VERB}))\b",
    _I,
)
_CLAUSE = re.compile(
    r"\b(?:whether|if|how|why|where|which|what|when|who|whose|against|compare|report|"
    r"name|"
    r"count|identify|determine|decide|confirm|verify|cite|quote|state|collect|"
    r"extract|list|"
    r"map|trace|locate|each|every|all|that\s+\w+\s+\w+|for\s+(?!me\b|us\b|now\b|"
    r"details?\b)"
    r"\w+(?:\s+\w+)?|to\s+(?:see|find|learn|decide|know|tell|show|prove|"
    r"establish))\b|\?",
    _I,
)
_GENERIC = re.compile(
    r"\b(?:the|a|an|our|my|your|its|this|that|these|those|it|them|all|whole|entire|"
    r"full|"
    r"some|current|of|in|on|about|and|or|for|with|to|me|us|code|codebase|base|repo|"
    r"repository|project|workspace|files?|folders?|directory|directories|system|"
    r"things?|"
    r"stuff|app|application|modules?|docs?|documents?|documentation|bugs?|issues?|"
    r"problems?|"
    r"task|everything|anything|something|info|information|details?|source|sources|"
    r"program|"
    r"data|content|contents|question|questions|topic|area|part|parts|work|job|up|down|"
    r"again|more|there|here|around|now|generally?|overview|summary|report|"
    r"implementation)\b|"
    r"[\W_]+",
    _I,
)
_ABOUT = re.compile(
    r"\W*(?:everything|anything|all|info|information|more|details?|stuff|things?|"
    r"some|general|"
    r"overview|background|insights?|thoughts)\b.*\b(?:about|on|of|regarding|around)\b",
    _I,
)

_ZH_FILLER = re.compile(
    r"请|麻烦|帮忙|帮我|帮|给我|我们需要|需要|简单地?|大致|大概|好好|仔细|详细地?|"
    r"深入|全面|认真|"
    r"(?:看看|并)?(?:有没有|有|是否有|存在)?(?:什么|任何)?(?:问题|发现|情况|有用的|"
    r"有趣的|有意思的|"
    r"可以改进的)(?:的地方)?(?=[,。??!吗]|$)|怎么样|怎么回事|(?:是)?什么情况|"
    r"(?:[,,]?(?:然后|并|再|最后|并且)?(?:向我|给我|给出|写|做|出|提交|输出|生成|"
    r"告诉我|汇报|"
    r"反馈|总结|说说)(?:一下)?(?:一?[份个])?(?:简单的?|详细的?|完整的?)?(?:你的)?"
    r"(?:报告|总结|结论|反馈|汇报|说明|结果|发现|情况|想法|看法|意见)?(?=[,。;!??]|$))"
)
_ZH_LOOKING = (
    r"研究|看一看|看看|看一下|看下|瞧瞧|瞧一下|了解|查一查|查查|查一下|调查|探索|"
    r"熟悉|浏览|调研|"
    r"处理|弄|搞|学习|摸清|过一遍|扫一眼|关注|搜集|收集|想想|考虑|摸一摸|看"
)
_ZH_JUDGING = (
    r"查看|检查|分析|阅读|读一下|读读|读|梳理|审查|审阅|优化|改进|评估|总结|介绍|"
    r"说说|讲讲|谈谈|"
    r"解释|描述|整理|排查|测试|修复"
)
_ZH_VERBS = re.compile(
    rf"\W*(?:你|再|先|去|来|要|也|都)*(?:(?P<looking>{_ZH_LOOKING})|"
    rf"(?P<judging>{_ZH_JUDGING}))(?:一下|一遍|一番|下)?"
)
_ZH_CLAUSE = re.compile(
    r"是否|如何|怎么|怎样|为什么|为何|为啥|哪|什么|多少|几[个种处条次]|谁|有没有|"
    r"能否|能不能|会不会|"
    r"可否|是不是|吗|[??]|列出|找出|指出|说明|确认|判断|统计|对比|比较|核对|标出|"
    r"引用|定位|追踪|"
    r"原因|差异|区别|所有|每[个一种条处次]|各[个项种]|给出每|逐[一条个]"
)
_ZH_GENERIC = re.compile(
    r"这个|那个|这些|那些|我们|整个|全部|一下|的|代码库|代码|仓库|项目|文件夹|文件|"
    r"目录|系统|东西|"
    r"应用|程序|模块|文档|问题|任务|内容|情况|资料|相关|实现|它|部分|信息|[\W_]+"
)

_VAGUE_QUESTION = re.compile(
    r"\W*(?:any(?:thing)?(?: (?:else|interesting|thoughts?|ideas?|issues|problems|"
    r"bugs|comments|"
    r"wrong|useful|important|to (?:note|know)))*|something|thoughts|etc|"
    r"what(?:'s| is| are| about| else)?(?: (?:up|interesting|new|wrong|going on|it|"
    r"this|that|"
    r"there|happening|the (?:problem|issue|situation|status)))*|(?:is|are|does) "
    r"(?:it|this|that|"
    r"they|everything|the code|there anything \w+) ?(?:good|ok(?:ay)?|fine|bad|"
    r"correct|right|work|"
    r"\w+)?|how (?:about|is) (?:it|this|that)|how is (?:the )?(?:code|project)|"
    r"怎么样|如何|有什么(?:问题|发现|想法|建议|看法)?|还有(?:什么|吗|别的吗)|"
    r"有问题吗|好吗|行吗|对吗|"
    r"怎么回事|什么情况|有没有(?:什么)?(?:问题|发现)|(?:这个|代码|它)?(?:好不好|"
    r"怎么样|如何))\W*",
    _I,
)
_VAGUE_FORM = re.compile(
    r"\W*(?:whatever.*|any(?:thing)?(?: (?:form(?:at)?|way|you (?:like|want|find)|"
    r"useful|"
    r"interesting|relevant|is fine|goes|works|will do))*|something(?: \w+)?|everything"
    r"(?: you (?:find|can|know|learn))?|as you (?:see fit|like|wish|prefer|want)|up "
    r"to you|"
    r"your choice|tbd|tba|todo|n/?a|none|unknown|don'?t (?:care|know|mind)|not sure|"
    r"some (?:info|information|notes|insights|thoughts|details|ideas|stuff|results?)|"
    r"stuff|"
    r"info(?:rmation)?|details|insights|thoughts|useful (?:info|information|stuff|"
    r"insights)|"
    r"(?:an? )?(?:good|nice|useful|great|proper) (?:\w+ )?(?:overview|summary|report|"
    r"answer|"
    r"result)|随便|都行|都可以|看着办|任意|你看着.*|随意|无所谓|什么都行|不限|"
    r"一些信息|相关信息|"
    r"有用的(?:信息|东西|内容)|你觉得.*|待定|自己(?:决定|看着办)|尽量多.*|(?:详细|"
    r"好)?(?:一点|点)的?"
    r"(?:报告|总结))\W*",
    _I,
)


def is_vague(objective: str, questions: tuple[str, ...] = ()) -> bool:
    """Tell whether an objective names a topic but not what to find out.

    A question that asks something makes up for it.
    """
    if any("?" in narrow(each) or not _is_vague(each) for each in _real(questions)):
        return False
    return _is_vague(objective)


def _real(questions: tuple[str, ...]) -> list[str]:
    """Return the questions that ask more than `anything else?`."""
    return [
        each
        for each in questions
        if not _VAGUE_QUESTION.fullmatch(narrow(each.strip()))
    ]


def is_vague_form(form: str) -> bool:
    """Tell whether the form of a deliverable says nothing."""
    text = narrow(form.strip())
    if not text:
        return False
    if _VAGUE_FORM.fullmatch(text):
        return True
    starts = _VERBS.match(text) or _ZH_VERBS.match(text)
    return bool(starts and starts["looking"]) and _is_vague(text)


def _is_vague(text: str) -> bool:
    text = narrow(text.strip())
    if _VAGUE_QUESTION.fullmatch(text):
        return True
    if len(re.findall(r"[\u4e00-\u9fff]", text)) >= 2:
        return _is_vague_chinese(text)
    return _is_vague_english(text)


def _is_vague_english(text: str) -> bool:
    bare = " ".join(_FILLER.sub(" ", text).split())
    verb = _VERBS.match(bare)
    rest = bare[verb.end() :] if verb else bare
    if not _GENERIC.sub("", rest):
        return True
    if _CLAUSE.search(rest):
        return False
    words = len(rest.split())
    if verb is None:
        return words < 4 or _ABOUT.match(bare) is not None
    if verb["judging"]:
        return words < 7 or not has_anchor(rest)
    return verb["looking"] is not None


def _is_vague_chinese(text: str) -> bool:
    bare = _ZH_FILLER.sub("", text).strip()
    verb = _ZH_VERBS.match(bare)
    rest = bare[verb.end() :] if verb else bare
    if not _ZH_GENERIC.sub("", rest):
        return True
    if _ZH_CLAUSE.search(rest):
        return False
    if verb is None:
        return len(rest) < 8 and not _ZH_CLAUSE.search(bare)
    if verb["looking"]:
        return True
    return len(rest) < 16 or not has_anchor(rest)
