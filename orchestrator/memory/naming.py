"""The key of an entry for a claim that a run has found.

A key names the subject and leaves values out, so that the same fact found again, with
another figure perhaps, has the same key. None of it depends on the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from orchestrator.memory.search.stems import STOP_WORDS, stem
from orchestrator.memory.search.words import WIDE

__all__ = ["DASH", "MAX_WORDS", "is_wide", "key_of", "label_of"]

MAX_KEY_CHARS: Final = 80
MAX_WORDS: Final = 5
"""Of a sentence; one less where a heading says what it is about."""
MAX_WIDE_CHARS: Final = 16
MAX_HEAD_CHARS: Final = 60
DASH: Final = " – "

_PROSE: Final = frozenset(
    (".md", ".markdown", ".txt", ".rst", ".html", ".htm", ".adoc", ".pdf", ".docx")
)
_STOPS: Final = STOP_WORDS | {"per", "least", "therefore", "together", "another"}
_SAYS_LITTLE: Final = frozenset(
    """
    __init__ __main__ index main mod lib utils util common base types readme
    """.split()  # noqa: SIM905
)
_WIDE: Final = re.compile(f"[{WIDE}]")
_LATIN: Final = re.compile(r"[A-Za-z]")
_NUMBERED: Final = re.compile(
    r"^\s*(?:\d+(?:\.\d+)*[.)、]\s*|[一二三四五六七八九十]+[、.．]\s*|第.{1,3}[章节条]\s*)"
)
_HEAD: Final = re.compile(
    r"^(?P<head>[^:：。!?\n]{2,60}?)(?::\s+|：\s*)(?P<rest>\S.*)$", re.S
)
_UNIT: Final = (
    r"days?|hours?|minutes?|seconds?|weeks?|months?|years?|euros?|dollars?|pounds?|"
    r"percent|kg|km|ms|[kmg]b|tokens?|bytes?|times?|lines?|characters?|chars?"
)
_FIGURE: Final = re.compile(
    r"(?P<name>\b[A-Z]\w*\s)?"
    rf"(?<![\w.-])[€$£¥￥~≈]?\d[\d.,:]*(?:\s?[%％€])?(?![\w-])(?:\s(?:{_UNIT})\b)?",
)
_WIDE_FIGURE: Final = re.compile(
    r"(?:共有|约需?|大约|最多|至少|不超过|超过|不低于|不少于|近)?\s*"
    r"(?:(?<![\w.-])|(?<=[\u3400-\u9fff]))\d[\d,.]*(?![\dA-Za-z])\s*"
    r"(?:个?月|个?小时|分钟|秒|天|日|年|元|位|人|次|个|号|万|千|[%％])?\s*"
)
_WIDE_END: Final = re.compile(r"[，。；！？,;（(]")
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)")
_SOFT: Final = " 为是的于在约达至有共每"
_MODS: Final = (
    r"(?:(?:pub|export|async|static|public|private|abstract|final|default)\s+)*"
)
_DEFINED: Final = re.compile(
    rf"^{_MODS}(?:class|def|function|func|fn|struct|interface|trait|type|enum|impl|const"
    r"|let|var)\s+`?(?P<name>[A-Za-z_$][\w$.]*)"
)
_ASSIGNED: Final = re.compile(r"^`?(?P<name>[A-Za-z_][\w.]*)`?\s*=(?!=)")
_NAME: Final = re.compile(r"^`?([A-Za-z_]\w*)`?$")
_TOKEN: Final = re.compile(r"[^\s,;()\[\]{}\"“”`]+")
_KEY_MARKS: Final = re.compile(r"[`*#:：|<>\[\]]+")


def is_wide(text: str) -> bool:
    """Return whether a text is Chinese or the like rather than Latin."""
    return 3 * len(_WIDE.findall(text)) > len(_LATIN.findall(text))


def label_of(path: str) -> str:
    """Return a short name of a file: of a document its words, of code its file name."""
    pure = PurePosixPath(path)
    suffix, name = pure.suffix.lower(), pure.stem
    above = pure.parent.name
    if suffix not in _PROSE:
        says_little = name.lower() in _SAYS_LITTLE and above
        return f"{above}/{pure.name}" if says_little else pure.name
    if name.lower() in _SAYS_LITTLE and above:
        name = f"{above} {name}"
    # `INC-2041` and `2026-06-10` are one name each.
    words = re.sub(r"_+|(?<![A-Z\d])-+|-+(?!\d)", " ", name).strip()
    return words[:1].upper() + words[1:] or path


def key_of(claim: str, path: str, *, words: int = MAX_WORDS) -> str:
    """Return the key of what a claim says, the same in every run.

    Args:
        claim: a sentence; a heading may stand before it, with a colon.
        path: of the file it is from.
        words: most that are taken from the sentence.
    """
    names = list(_defined(claim))
    if names:
        return _tidy(f"{'.'.join(names)} in {label_of(path)}")
    text = " ".join(claim.split())
    head, rest = _headed(text)
    said = _said(rest, words - bool(head))
    label = label_of(path)
    if _stems(head) <= _stems(said):
        head = ""
    parts = [head, said]
    if not _stems(label) <= _stems(f"{head} {said}"):
        parts.insert(0, label)
    key = _tidy(DASH.join(filter(None, parts))) or _tidy(label)
    return key[:1].upper() + key[1:] if parts[0] != label else key


def _headed(text: str) -> tuple[str, str]:
    """Return the heading of a claim, without its number, and what stands under it."""
    bare = _NUMBERED.sub("", text)
    found = _HEAD.match(bare)
    if found is None or len(found["head"]) > MAX_HEAD_CHARS:
        return "", bare
    head, rest = found["head"].strip(), found["rest"]
    if _FIGURE.search(head):
        return "", bare
    return head, rest


def _said(text: str, words: int) -> str:
    """Return the words of a sentence that name what it is about, values left out."""
    row, dash, _value = text.partition(DASH)
    if dash and len(row) <= MAX_HEAD_CHARS:
        text = row
    if is_wide(text):
        clauses = (_bare_clause(each) for each in _WIDE_END.split(text))
        return next((each for each in clauses if len(each) > 1), "")
    end = _SENTENCE_END.search(text)
    bare = _FIGURE.sub(_without_figure, text[: end.start()] if end else text)
    told = [each.strip(".,'’-–—:/?!") for each in _TOKEN.findall(bare)]
    kept = [each for each in told if each and each.lower() not in _STOPS]
    return " ".join(_lowered(kept)[:words])


def _without_figure(found: re.Match[str]) -> str:
    # `Python 3.11`, `HTTP 404`: the number is a part of the name.
    return found[0] if found["name"] and found.start() else f"{found['name'] or ''} "


def _lowered(words: Sequence[str]) -> list[str]:
    """Return words, the first in small letters unless it is a name."""
    return [
        each.lower() if not at and each.istitle() else each
        for at, each in enumerate(words)
    ]


def _bare_clause(clause: str) -> str:
    bare = re.sub(r"\s+", "", _WIDE_FIGURE.sub("", clause)).strip(_SOFT)
    return bare[:MAX_WIDE_CHARS].strip(_SOFT)


def _defined(claim: str) -> Iterator[str]:
    """Yield the names that a line of code defines, the outermost first."""
    segments = re.split(r":\s+", claim.strip())
    has_name = False
    for at, segment in enumerate(segments[:4]):
        found = _DEFINED.match(segment) or _ASSIGNED.match(segment)
        if found is None and (bare := _NAME.match(segment)) and at + 1 < len(segments):
            # `subagents: Count = …`
            is_typed = "=" in segments[at + 1] and (has_name or _is_code(bare[1]))
            found = bare if is_typed else None
            if found:
                yield found[1]
                return
        if found is None:
            return
        has_name = True
        yield found["name"]


def _is_code(name: str) -> bool:
    return "_" in name or (name.upper() == name and len(name) > 2)


def _stems(text: str) -> set[str]:
    if _WIDE.search(text):
        return {text.casefold()[at : at + 2] for at in range(len(text) - 1)}
    return {stem(word) for word in re.findall(r"[a-z0-9]+", text.lower())}


def _tidy(key: str) -> str:
    """Return a key without marks, and at most `MAX_KEY_CHARS` long."""
    plain = " ".join(_KEY_MARKS.sub(" ", key).split()).strip(" –-")
    if len(plain) <= MAX_KEY_CHARS:
        return plain
    cut = plain[:MAX_KEY_CHARS]
    return (cut.rpartition(" ")[0] or cut).strip(" –-")
