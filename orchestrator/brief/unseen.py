"""Find words of a brief that point at what only the lead has seen."""

from __future__ import annotations

import re

__all__ = ["has_anchor", "narrow", "unseen"]

# Wide punctuation, so that patterns need to know only one form of each mark.
_WIDE = str.maketrans({chr(0xFEE0 + ord(mark)): mark for mark in ",.:;!?()"})

_I = re.IGNORECASE
_NOUN = (
    r"(?:file|function|class|module|bug|issue|error|test|folder|directory|document|"
    r"method|commit|change|problem|script|section|report|point|item|approach|design|"
    r"question|component|snippet|code|list|table|log|feature|service|endpoint)s?"
)
_TOLD = (
    r"(?:discussed|talked about|mentioned|saw|looked at|found|reviewed|opened|read|"
    r"identified|agreed(?: on| upon)?|covered|spotted|noticed|noted|listed|described|"
    r"went through|spoke about|were talking about|decided(?: on)?|fixed)"
)
_PAST = r"(?:previous(?:ly)?|earlier|prior|preceding|last|foregoing)"

# What points out of the brief, whatever else it says.
_UNSEEN = tuple(
    re.compile(pattern, _I)
    for pattern in (
        r"\b(?:as|like|see|per|than|from|cf\.?)\s+(?:\w+\s+)?(?:above|"
        r"before)\b(?!\s+\w+ing)",
        r"\b(?:mentioned|described|discussed|noted|listed|shown|stated|explained|"
        r"outlined|"
        r"identified|found|seen|given|reported|specified|defined|agreed)\s+"
        r"(?:above|earlier|before|previously)\b",
        r"\bas\s+(?:already\s+|we\s+)?(?:discussed|agreed|mentioned|described|noted|"
        r"said|"
        r"explained|planned|instructed|requested)\b(?!\s+(?:in|by|at|on|for|under)\b)",
        r"\b(?:above|afore|before)-?\s?(?:mentioned|said|described|listed)\b",
        r"\b(?:previously|earlier|already|just)\s+(?:been\s+)?(?:discussed|mentioned|"
        r"described|identified|found|reported|explored|analy[sz]ed|reviewed|agreed|"
        r"covered|collected)\b(?!\s+by\b)",
        r"\b(?:we|I)(?:'ve|\s+have|\s+had)?\s+(?:just\s+|already\s+|previously\s+|"
        r"earlier\s+)?(?:discussed|talked about|spoke about|mentioned|were talking "
        r"about|"
        r"went through|agreed (?:on|upon))\b",
        r"\b(?:the|that|those|these|all|every|each|"
        rf"any)\s+(?:[\w-]+\s+){{0,3}}?{_NOUN}\s+"
        r"(?:that\s+|which\s+)?(?:we|I)(?:'ve|\s+have)?\s+(?:just\s+|"
        rf"already\s+)?{_TOLD}\b",
        rf"\byou\s+(?:(?:just|already|previously|earlier)\s+{_TOLD}|{_TOLD}\s+"
        r"(?:earlier|before|previously|last time))\b",
        rf"\b{_PAST}\s+(?:sub-?agent|agent|explorer|reviewer|assistant|brief|"
        r"conversation|"
        r"chat|discussion|findings?|investigation|exploration|delegation)s?\b",
        rf"\b(?:your|our|my|its|their)\s+{_PAST}\s+(?:\w+\s+)?(?:analysis|report|"
        r"results?|"
        r"answers?|search|work|research|step|task|message|turn|response|round|run|"
        r"notes?)\b",
        r"\b(?:see|per|use|using|based on|building on|build on|continue(?: from| "
        r"with)?|"
        r"according to|following up on|follow up on|compare with|as in|contradicts?|"
        r"expand on|redo|repeat|given)\s+(?:the\s+|"
        rf"all\s+)?{_PAST}\s+(?:\w+\s+)?(?:analysis|"
        r"report|results?|answers?|search|work|research|step|task|message|turn|"
        r"response|"
        r"round|output|notes?|review)\b",
        r"\b(?:the\s+)?(?:other|first|second|third|another|same|parent|main|lead|"
        r"sibling)\s+"
        r"(?:sub-?agent|agent|explorer|reviewer)s?(?:'s?|\s+(?:has|have|"
        r"had))?\s+(?:already\s+)?"
        r"(?:found|reported|said|wrote|findings?|results?|report|work|notes?|output|"
        r"conclusions?|looked|did|saw|read|covers?|covered)\b",
        r"\bthe\s+(?:other|first|second|third|last|next|parent)\s+(?:sub-?agent|"
        r"explorer|"
        r"reviewer)s?\b",
        r"\byou(?:'ve|\s+have|\s+had)\s+(?:just\s+|already\s+|previously\s+)?(?:read|"
        r"seen|"
        r"found|looked|checked|explored|opened|listed|reported|written|collected|"
        r"done)\b",
        r"\b(?:from|in|of)\s+(?:the\s+|our\s+)?(?:last|previous|earlier|prior|first)\s+"
        r"(?:round|exchange|pass|reply)\b",
        r"\A\W*(?:same|ditto|likewise)\b|\bsame\s+as\s+(?:the|in|"
        r"for)\s+(?:\w+\s+)?(?:brief|"
        r"task|one|last|first|other)|\bother\s+briefs?\b",
        r"\bI(?:'ve|\s+have|\s+had)?\s+(?:just\s+|already\s+|previously\s+|"
        r"earlier\s+)?(?:"
        r"described|listed|showed|shown|gave|given|told|sent|pasted|named|outlined|"
        r"explained|"
        r"specified|collected|gathered|asked|wrote|found|saw)\b",
        r"\b(?:the|those|these|all)\s+(?:\w+\s+)?(?:results?|findings?|facts?|"
        r"claims?|files?|"
        r"lists?|tables?|points?|questions?|names?|lines?|output|"
        r"text)\s+above\b(?!\s+\d)",
        r"\byou\s+(?:were|are|have been|'ve been)\s+(?:just\s+|already\s+)?(?:given|"
        r"told|shown|"
        r"sent|handed)\b",
        r"\b(?:context|findings|results|work|progress|discussion|knowledge|"
        r"information|notes|"
        r"answers)\s+so\s+far\b",
        r"\b(?:is|are|remains?)\s+still\s+(?:open|left|missing|unanswered|undone|"
        r"unclear|to be "
        r"(?:done|checked|answered))\b|\bloose ends\b",
        r"\b(?:from|in|of)\s+(?:the\s+)?(?:last|previous|earlier|prior|"
        r"preceding)\s+(?:step|"
        r"turn|answer|message)\b(?!\s+(?:of|in|is|was))",
        r"\bwhat\s+(?:the\s+)?(?:other|first|second|lead|"
        r"another)\s+(?:sub-?)?agents?\b",
        r"\b(?:like|as|from|than)\s+(?:last time|earlier|previously)\b",
        r"\b(?:the\s+)?same\s+(?:\w+\s+)?(?:as\s+)?(?:before|last time|earlier|"
        r"previously|"
        r"the other (?:one|brief|task|agent)s?)\b",
        r"\bsame\s+(?:thing|task|work|questions?|analysis|way|format|"
        r"approach)\s+(?:again|as "
        r"(?:before|above|for the other))\b",
        r"\bdo\s+the\s+same\b",
        r"\b(?:continue|carry on|go on|pick up|resume)\s+(?:from\s+)?where\b",
        r"\bcontinue\s+(?:the|your|our|with the|with your)\s+(?:\w+\s+)?(?:work|"
        r"analysis|"
        r"investigation|search|exploration|review|task)\b",
        r"\b(?:do|finish|check|cover|handle|review|look at|complete|take)\s+the\s+"
        r"(?:rest|remaining(?: ones)?|others?|remainder)\b(?!\s+of\s+(?:the\s+)?`)",
        r"\b(?:in|from|of|per|to)\s+(?:our|my|this|the)\s+(?:conversation|chat|"
        r"discussion|"
        r"thread|context window)\b",
        r"\b(?:our|my)\s+(?:plan|notes|history|progress notes)\b",
        r"\bas\s+(?:you\s+(?:already\s+)?(?:know|saw|remember|recall)|we\s+know)\b",
        r"\b(?:you\s+already\s+(?:know|have|saw)|(?:remember|recall)\s+(?:that|the|"
        r"when|how|"
        r"what))\b",
        r"\b(?:as|what)\s+(?:the\s+)?user\s+(?:asked|said|requested|told|explained|"
        r"described|"
        r"wrote)\b",
        r"\b(?:the|see|see the)\s+attached\b",
        r"\b(?:in|at|of|per)\s+step\s+\d+\s+(?:of\s+the\s+plan|above)\b",
        rf"\b(?:the|that)\s+{_NOUN}\s+(?:from\s+(?:before|earlier|last time)|in "
        r"question)\b",
        r"\b(?:the|that|those)\s+(?:[\w-]+\s+)?(?:one|ones)\s+(?:from\s+)?(?:before|"
        r"earlier|"
        r"above)\b",
    )
) + tuple(
    re.compile(pattern)
    for pattern in (
        r"如上(?!传|线|架|升)|如前(?:所述|面|文)?(?!端|缀|置)|同上|同前|照旧",
        r"(?:上面|前面|前文|上文|以上)(?:所)?(?:提到|提及|说|讨论|列出|列举|描述|"
        r"分析|发现|"
        r"找到|给出|总结)",
        r"(?:上面|前面|上文|前文)的?(?:文件|函数|模块|问题|结果|分析|发现|讨论|结论|"
        r"报告|方案|"
        r"步骤|对话|内容|那个|那些|几个)",
        r"(?:之前|此前|先前|早先|以前)(?:我们|你|我)?(?:所|已经?)?(?:提到|提及|讨论|"
        r"聊|说过|"
        r"说的|谈|找到的|看过|看到的|分析过|分析的|列出的|给出的|总结的|发现的|"
        r"查到的|研究过|"
        r"研究的|调查过|调查的|读过)",
        r"(?:(?<![\u4e00-\u9fff])|[你我和与按照据从对跟像用见把将]|我们|根据|参考|"
        r"参照|基于|"
        r"继续|沿用|结合|依据)(?:之前|此前|先前|早先)的?(?:文件|结果|发现|分析|讨论|"
        r"报告|代理|"
        r"结论|对话|任务|问题|工作|调查|思路|方法|格式|那个|那些|子代理)",
        r"刚才|方才|刚刚(?:提到|讨论|说|看|找|发现|分析|那)",
        r"(?:上一|前一|另一|其他|其它|别的|前几|上几|"
        r"第[一二三四五])[个位名]?的?(?:子代理|代理|"
        r"智能体|助手|[Aa]gent)",
        r"(?:子代理|代理|智能体)\s*[Aa]?\d+|[Aa]gent\s*\d+",
        r"(?:上一|前一)(?:次|轮|条|步|个)的?(?:结果|分析|报告|对话|消息|发现|讨论|"
        r"结论|调查|回答|"
        r"任务的?(?:结果|发现|报告|结论))",
        r"上次(?:的)?(?:分析|讨论|结果|报告|发现|对话|任务|一样|那样|提到|说|看|找|"
        r"那个|调查|结论)",
        r"[和像跟与同](?:之前|上次|以前|前面|先前)(?:的)?(?:一样|那样|相同|类似)",
        r"(?:按照?|照着?|依照)(?:之前|上次|前面|上面|先前|老)",
        r"我们(?:之前|刚刚|已经|前面|上次)?(?:讨论|提到|谈到|聊到?|说过|看过|找到|"
        r"商量|约定)(?:过|的|了)",
        r"(?:继续|接着)(?:之前|上次|刚刚|前面|先前|完成剩|做剩|你的|我们的)",
        r"(?:做|进行)?同样的(?:分析|检查|工作|任务|调查|事情?|问题|统计)|做(?:一样|"
        r"相同)的",
        r"(?:剩下|剩余|其余)的?(?:文件|部分|问题|模块|工作|任务|内容)(?=[,。;\s]|$)",
        r"[你我]们?(?:上次|上回|之前|刚|先前)|(?:没有?|未)(?:查|做|写|看|"
        r"完)完?成?的(?=[^\u4e00-\u9fff]|"
        r"文件|部分|工作|接口|任务|内容)",
        r"(?:你|大家)(?:也)?(?:已经)?(?:知道|记得)的?",
        r"用户(?:刚刚?|之前|原来|最初)?(?:说|提|问|要求)(?:过|的)(?:那|话|问题|需求)?",
        r"(?:见|参见|看)(?:附件|附图|上图)|附件中?的?",
    )
)

# What needs something concrete before it in the same brief.
_POINTERS = re.compile(
    rf"\b(?:this|that|these|those|said|the above|the following)\s+{_NOUN}\b"
    r"|\A\W*(?:\w+\s+){0,3}(?:why|how|where|when|whether|if|what)\s+(?:it|they|this|"
    r"that)\s+"
    r"(?!is\s+\w+\s+(?:to|that)\b)\w+"
    r"|\bthe above\b|(?:这|那|该|此)(?:个|些|份|段|几个)?(?:文件|函数|类|模块|问题|"
    r"错误|缺陷|"
    r"测试|目录|文档|方法|提交|脚本|代码|报告|日志|接口|服务|bug)|上述|前述|以上",
    _I,
)

_AGENT_ID = re.compile(
    r"(?<![A-Za-z0-9_./\\=(`$-])a[1-9]\d{0,2}(?![A-Za-z0-9_(/`-]|\.\w)(?!\s*[=*+])"
)
_NO_AGENT = re.compile(
    r"\b(?:cells?|columns?|range|variables?|coefficients?|instance|paper|section|"
    r"appendix|size|sheet|row|route|road|grade|level|key|param(?:eter)?s?|args?|"
    r"registers?|"
    r"vitamin|factors?|terms?|vectors?|points?)\W*(?:\w+\W+)?\Z|(?:单元格|变量|系数|"
    r"附录|参数|列|"
    r"向量|寄存器)\W*\Z",
    _I,
)

_ANCHOR = re.compile(
    r"`[^`\s][^`]*`|[\w-]+/[\w./-]+|\b\w+\.[A-Za-z]{1,5}\b|\b\w+_\w+|\b\w+\(\)"
    r"|\b[a-z]+[A-Z]\w+|\b(?:[A-Z][a-z]+){2,}\b|\b[A-Z]{2,}\b|\"[^\"]{2,}\"|“[^”]{2,}”"
    r"|「[^」]{2,}」|《[^》]{2,}》|#\d+|\b[0-9a-f]{7,40}\b|art_[0-9a-f]+"
)


def unseen(text: str, before: str = "") -> str:
    """Return the first words in `text` that point at what only the lead has seen.

    Args:
        text: one field of a brief.
        before: what a reader has read of the brief already; there "this file" may
            have its name.
    """
    text, before = narrow(text), narrow(before)
    for pattern in _UNSEEN:
        match = pattern.search(text)
        if match is not None:
            return match[0].strip()
    for match in _AGENT_ID.finditer(text):
        if not _NO_AGENT.search(text[: match.start()]):
            return match[0]
    for match in _POINTERS.finditer(text):
        if not has_anchor(before + "\n" + text[: match.start()] + text[match.end() :]):
            return match[0].strip()
    return ""


def narrow(text: str) -> str:
    """Return `text` with wide commas, stops and the like as ASCII."""
    return text.translate(_WIDE)


def has_anchor(text: str) -> bool:
    """Tell whether `text` names something: a path, an identifier, a quoted word."""
    return _ANCHOR.search(text) is not None
