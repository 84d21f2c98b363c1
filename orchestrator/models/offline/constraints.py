"""Read one constraint: what it leaves out, what it keeps to, or that it is not clear.

Only plain forms are read, and they must be the whole of a clause: a constraint that is
read wrongly would be turned into its opposite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Said", "read_constraint"]

_P = "\x01"
"""Stands for a path in a clause."""
_ODD = "\x02"
"""Stands for a path that no scope can hold: a glob, or one from the root of a disk."""

_KIND = r"(?:sub)?folders?|director(?:y|ies)|dirs?|files?|documents?|contents?"
_FILLER = (
    rf"(?:(?:the|any|anything|all|everything|{_KIND}|in|inside|under|within|below|from|"
    r"of|at|into|to)\b\s*|(?:任何|所有|全部|文件夹|目录|文件|内容)\s*)"
)
_AND = r"\s*(?:,|，|、|&|\band\b|\bor\b|\bnor\b|以及|和|与|及|或者|或|跟)\s*"
_LIST = rf"(?:{_FILLER})*?{_P}(?:\s+(?:{_KIND})\b)?(?:{_AND}(?:{_FILLER})*?{_P})*"
_TAIL = (
    rf"(?:\s*(?:\b(?:{_KIND}|please|entirely|altogether|completely)\b|"
    r"文件夹|目录|文件|内容|里面|里|中|下|内|的|任何|所有))*"
)
_OBJECT = rf"\s*{_LIST}{_TAIL}"
_READ = (
    r"(?:open|read|use|search|look|touch|access|consult|cite|quote|enter|view|visit|go|"
    r"include|consider)"
)
_VERB = rf"(?:{_READ}|change|edit|modify|write|delete)\b"
_DO = rf"{_VERB}(?:\s*(?:,|\band\b|\bor\b|\bnor\b|/)\s*{_VERB})*"
_NOT = (
    r"(?:you\s+)?(?:do not|don['’]t|never|must not|mustn['’]t|may not|should not|"
    r"shouldn['’]t|cannot|can['’]t)"
)
_LEAVE = (
    r"(?:leave out|exclude|skip|ignore|avoid|stay (?:out of|away from)|"
    r"keep (?:out of|away from))"
)
_BUT = r"(?:except(?: for)?|but|other than|apart from|outside(?: of)?)"
_HAN_DO = r"(?:打开|查看|阅读|看|读取|读|使用|用|搜索|查找|查|进入|访问|引用|碰|动)"
_HAN_NOT = r"(?:不要|请勿|勿|别|不得|禁止|不准|不许|不能)再?去?"


def _form(*forms: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?:please|and|also|but|请|并且|并|但)\s*)*(?:{'|'.join(forms)})",
        re.IGNORECASE,
    )


_OUT = _form(
    rf"{_NOT}\s+{_DO}{_OBJECT}",
    rf"{_LEAVE}\b{_OBJECT}(?:\s+from (?:the|your) (?:search|report|answers?))?",
    rf"leave\b{_OBJECT}\s+(?:out|unopened|unread|closed|alone|aside)",
    rf"{_OBJECT}\s+(?:is|are) off[- ]limits",
    rf"{_HAN_NOT}{_HAN_DO}(?:{_AND}{_HAN_DO})*{_OBJECT}",
    rf"(?:跳过|避开|忽略|排除|略过){_OBJECT}",
)
_NOR = _form(rf"(?:not|never) (?=in|under|from|inside|within){_OBJECT}")
_KEEP = _form(
    rf"{_READ}\s+(?:only|solely|exclusively)\b{_OBJECT}",
    rf"(?:only|solely|exclusively)\s+{_READ}{_OBJECT}",
    rf"only (?=in|under|from|inside|within){_OBJECT}",
    rf"(?:{_READ}|answer|work|stay)\s+{_OBJECT} only",
    rf"only\b{_OBJECT}\s+(?:may|can|should|must) be "
    r"(?:read|used|opened|searched|cited)",
    r"(?:keep|stick|(?:confine|limit|restrict) (?:yourself|the search|your search)) "
    rf"to\b{_OBJECT}",
    rf"(?:stay|keep|remain) (?:within|inside|in)\b{_OBJECT}",
    rf"(?:{_LEAVE}|{_NOT}\s+{_READ}) "
    r"(?:(?:at|in) )?(?:everything|anything|all(?: files)?)(?: else)? "
    rf"{_BUT}\b{_OBJECT}",
    rf"{_READ} (?:(?:at|in) )?nothing {_BUT}\b{_OBJECT}",
    rf"{_NOT}\s+{_READ} outside(?: of)?\b{_OBJECT}",
    rf"(?:只|仅|只能|仅能|只可|只许|仅限)在?{_HAN_DO}?{_OBJECT}{_HAN_DO}?",
    rf"(?:限于|仅限于){_OBJECT}",
    rf"除了?{_OBJECT}\s*(?:以外|之外|外)?\s*[,，]?\s*(?:其他|其它|别的|什么)?的?"
    rf"(?:文件|内容)?(?:都|全都|全部|一律)?{_HAN_NOT}{_HAN_DO}",
)
_MORE = _form(rf"(?:or )?{_OBJECT}")

_VERBS_AHEAD = (
    r"(?=(?:do not|don['’]t|never|leave|exclude|skip|ignore|avoid|stay|keep|stick|"
    r"look|search|read|use|open|only|not (?:in|under|from))\b)"
)
_SENTENCE = re.compile(r"[;；。!！]|\.(?=\s|$)")
_CLAUSE = re.compile(rf"[,，:：]|\s(?:and|but) {_VERBS_AHEAD}", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:except\w*|but|however|though|although|other than|apart from|outside|unless|"
    r"if|when|until|save for|instead|rather|questions?|first|normally|usually|"
    r"preferably)\b|off[- ]limits|除|以外|之外|如果|若|但|问题|通常|首先",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|\w+n['’]t|never|nothing|none|no|without|cannot)\b|[不勿别]|禁止", re.I
)
_NARROWS = re.compile(
    rf"{_DOUBT.pattern}|{_NEGATED.pattern}|\b(?:leave|exclude|skip|ignore|avoid|only|"
    r"solely|stay|keep|stick)\b|[只仅]|限于|避开|排除|忽略|跳过",
    re.IGNORECASE,
)
# Nothing is ever written, so that these hold by themselves.
_WRITES = re.compile(
    r"\b(?:chang|modif|edit|writ|delet|creat|mov|renam|overwrit|commit)\w*\b"
    r"|修改|更改|改动|写入|删除|创建|移动",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"\b(?:open|read|look|search|use|leave|skip|exclude|ignore|avoid|stay|keep|only|see|"
    r"cite|quote|include|consult|consider)\b|[看读用搜查只仅]|打开|跳过|排除|忽略|避开",
    re.IGNORECASE,
)
_ONLY = re.compile(r"\bonly\b|[只仅]", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(slots=True)
class Said:
    """What a constraint says about where to look."""

    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    unclear: str = ""
    """A path that it names, where it cannot be told what it asks of it."""
    is_held: bool = False
    """It holds by itself, since nothing is ever written."""


def read_constraint(constraint: str, listed: Sequence[str]) -> Said:
    """Return what `constraint` says of the paths that are there.

    Args:
        constraint: one of the task's.
        listed: names of the top of the workspace, folders with a slash.
    """
    text = " ".join(constraint.split())
    said = Said(is_held=bool(_WRITES.search(text) and _NEGATED.search(text)))
    marked, paths, first_named = _marked(text, listed)
    if not first_named:
        return said
    if not _read(marked, list(paths), said):
        said = Said(is_held=said.is_held, unclear=first_named)
    return said


def _read(marked: str, paths: list[str], said: Said) -> bool:
    """Take what a constraint says; False where some of it is not plain."""
    if _KEEP.fullmatch(marked.strip(" .。;；!！")):
        said.include += paths
        return True
    return all(
        _read_sentence(sentence, paths, said) for sentence in _SENTENCE.split(marked)
    )


def _read_sentence(sentence: str, paths: list[str], said: Said) -> bool:
    """Take what a sentence says, its paths first in `paths`; False if not plain."""
    kind: list[str] | None = None
    is_negated = False
    for clause in map(str.strip, _CLAUSE.split(sentence)):
        count = clause.count(_P)
        if not count:
            if _ODD in clause or _DOUBT.search(clause):
                return False
            is_negated = is_negated or bool(_NEGATED.search(clause))
            continue
        mine, paths[:] = paths[:count], paths[count:]
        if _is_held(clause):
            kind = None
            continue
        kind = _kind_of(clause, kind, said)
        if kind is None or is_negated:
            return False
        kind += mine
    return True


def _kind_of(clause: str, before: list[str] | None, said: Said) -> list[str] | None:
    """Return the list that the paths of a clause belong to, if that is certain."""
    if _OUT.fullmatch(clause) or (before is not None and _NOR.fullmatch(clause)):
        return said.exclude
    if _KEEP.fullmatch(clause):
        return said.include
    return before if _MORE.fullmatch(clause) else None


def _is_held(clause: str) -> bool:
    """Return whether a clause is about writing alone."""
    rest = _ONLY.sub("", clause)
    is_bound = rest != clause or _NEGATED.search(clause)
    return bool(is_bound and _WRITES.search(clause) and not _LOOKS.search(rest))


def _marked(text: str, listed: Sequence[str]) -> tuple[str, list[str], str]:
    """Return `text` with marks for paths, the paths, and the first it clearly names.

    Without paths where it clearly names none: a word may be the name of a folder by
    chance.
    """
    seen = {name.rstrip("/").casefold(): name for name in listed if name.rstrip("/")}
    if not seen:
        return text, [], ""
    names = "|".join(re.escape(name) for name in sorted(seen, key=len, reverse=True))
    path = re.compile(
        r"(?P<open>[\"“‘「`']?)"
        rf"(?P<path>(?:(?<![\w:/.\-])(?:\./|/)?|(?<=[\u3400-\u9fff]))(?P<top>{names})"
        r"(?P<rest>(?:/[\w.\-*?]+)*/?)(?<!\.))(?![A-Za-z0-9_\-]|[./]\w)"
        r"[\"”’」`']?",
        re.IGNORECASE,
    )
    paths: list[str] = []
    first = ""

    def mark(match: re.Match[str]) -> str:
        nonlocal first
        top = seen[match["top"].casefold()]
        rest = match["rest"]
        found = top if rest in ("", "/") else top.rstrip("/") + rest
        is_odd = match["path"].startswith("/") or re.search(r"[*?]|\.\.", rest)
        if not first and _is_clear(text, match, top):
            first = top if is_odd else found
        if is_odd:
            paths.append("")
            return _ODD
        paths.append(found)
        return _P

    marked = path.sub(mark, text)
    if not first and not _is_plain(marked):
        return text, [], ""
    return marked, [each for each in paths if each], first or (paths or [""])[0]


def _is_plain(marked: str) -> bool:
    pieces = [
        piece.strip()
        for sentence in _SENTENCE.split(marked)
        for piece in _CLAUSE.split(sentence)
    ]
    return any(_OUT.fullmatch(each) or _KEEP.fullmatch(each) for each in pieces)


def _is_clear(text: str, match: re.Match[str], top: str) -> bool:
    """Return whether a path is meant, not a word that a folder happens to have."""
    if match["open"] or match["rest"] or not match["top"].isascii() or "." in top:
        return True
    if not _NARROWS.search(text):
        return False
    if _HAN.search(text):
        return True
    before, after = text[: match.start()], text[match.end() :]
    return bool(
        re.search(
            rf"\b(?:in|under|from|of|within|below|inside|outside|to|{_KIND}|open|skip|"
            r"leave out|exclude|ignore|avoid|except|but|read|use|search)\s+"
            r"(?:the\s+)?$",
            before,
            re.IGNORECASE,
        )
        or re.match(rf"\s+(?:{_KIND})\b", after, re.IGNORECASE)
    )
