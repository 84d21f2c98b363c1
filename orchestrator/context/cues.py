"""Words by which one sees what a sentence of a conversation tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from orchestrator.context.statements import any_of
from orchestrator.context.summary import Section

__all__ = ["MAY_FORBID", "OWN", "SECTIONS", "SETTLED", "TOLD"]

MAY_FORBID: Final = any_of(
    r"""
    \bnot\b|n['’]t\b|never|forbid|prohibit|off[- ]limits|hands off|allowed|不|勿|禁|别
    """,
    before="",
    after="",
)
"""Quick to look for: what has none of these forbids nothing."""

TOLD: Final = any_of(
    r"""
    \b(?:asked|said|told|wanted|mentioned|requested|reminded)\b.*\b(?:not|never)\b|
    \b(?:at first|initially|originally|early on|back then|in the beginning|
    at the (?:start|beginning|outset))\b|
    (?:曾|之前)?(?:提到|提过|说过|要求过)|一开始|起初|最初|当初
    """,
    before="",
    after="",
)
"""A prohibition as a thing of the past: it does not bind any more."""

SETTLED: Final = any_of(
    r"""
    \b(?:confirmed|approved|agreed|accepted|signed off|granted|green-?lit)\b|
    \b(?:rejected|declined|refused|denied|turned down|vetoed|awaiting|pending)\b|
    确认|批准|同意|拒绝|否决|驳回|待定
    """,
    before="",
    after="",
)
"""Somebody settles something, or is to."""

OWN: Final = any_of(
    r"""
    ^(?:now |so |then |ok,? )?(?:I|we)(?:['’](?:ve|ll|d))? |[?？]$|
    \bI (?:have )?(?:confirmed|accepted)|^我|
    ^已?经?确认了?[^，。]{0,6}(?:存在|正常|可用)
    """,
    before="",
    after="",
)
"""What the agent does or asks itself: a detail."""

SECTIONS: Final[Mapping[Section, re.Pattern[str]]] = {
    "work": any_of(
        r"""
        \b(?:wrote|written|created|edited|updated|added|implemented|fixed|merged)\b|
        \b(?:refactored|renamed|removed|moved|installed|built|finished|completed?)\b|
        \b(?:done|drafted|extracted|imported|converted|cleaned|patched|deployed)\b|
        \b(?:migrated|read|copied|mends|fixes|pass(?:es|ed)?|trained|sent|raised)\b|
        \b(?:lowered|upgraded|translated|went (?:out|in ?to)|gone through)\b|
        \b(?:is|are) (?:ready|out|in place|set up)\b|\bha(?:s|ve) been \w+e[dn]\b|
        \bI(?: have|['’]ve) \w+ed\b|
        写好|写完|写了|写入|创建|新建|修改|更新|添加|新增|实现|修复|合并|重构|完成|删除|
        移动|安装|部署|迁移|整理|导入|导出|读完|读了|标完|筛完|看完|量好|量完
        """,
        before="",
        after="",
    ),
    "decisions": any_of(
        r"""
        \b(?:decid\w+|decision|chose|chosen|choose|opted|settled on|going with)\b|
        \b(?:go with|went with|agreed to|will use|prefer(?:red)?|picked)\b|
        \b(?:in favou?r of|instead of|rather than|off the table|hence)\b|
        决定|选用|选择|采用|改用|敲定|定为|而不是
        """,
        before="",
        after="",
    ),
    "failed": any_of(
        r"""
        \bfail(?:ed|s|ure)?\b|\bd(?:id|oes)(?: not|n['’]t) (?:work|help)\b|dead end|
        \b(?:gave up|crash(?:ed|es)|timed out|unsuccessful|abandon(?:ed)?|aborted)\b|
        \b(?:rolled back|to no avail|no luck|broke|ruled out|went nowhere)\b|
        \b(?:in vain|tried|attempted|out of memory|deadlock\w*|proved impossible)\b|
        \b(?:changed|made|brought) (?:nothing|no difference)\b|\b(?:as|than) before\b|
        \b(?:nonsense|unusable|pointless|no use)\b|
        失败|行不通|不成功|没有?成功|未成功|试过|走不通|报错|放弃|超时|无效|没有用|没用|
        崩溃|回滚
        """,
        before="",
        after="",
    ),
    "open": any_of(
        r"""
        ^(?:the )?next\b(?! one| page| file| part)|\b(?:comes|is|are|that's) next\b|
        \bnext (?:step|up|I|we)\b|\b(?:to-?do|remains?|remaining|awaiting)\b|
        \bwaiting (?:for|on)\b|\bstill (?:to|need\w*|open|miss\w+|ha\w+ to|wait\w*)\b|
        \bnot (?:yet|done)\b|\b(?:yet to|left to do|things? left|missing)\b|
        \bopen (?:question|item|point)s?\b|\b(?:unanswered|outstanding)\b|
        \bto be \w+(?:ed|en|ne)\b|n['’]t \w+ .{0,40}\byet\b|
        下一步|接下来|待办|还需|尚未|等待|剩下|还没|未完成|待确认|遗留
        """,
        before="",
        after="",
    ),
    "pointers": any_of(
        r"""
        \bart_[0-9a-f]{6,}|https?://|\b(?:see|described in|documented in|lives in)\b|
        \b(?:kept|stored|saved|found) (?:in|at|as|to|under)\b|\blocated\b|
        \bfull (?:log|text|list|output)\b|
        参见|见于|保存在|存放在|记录在|位于|存于|详见|完整(?:日志|列表|输出)
        """,
        before="",
        after="",
    ),
}
"""What belongs into each section; facts are told by their figures."""
