"""Check a summary against what it covers before it takes that place, and mend it.

Two directions: what it says that the old text does not bear out, and what it leaves out
that is still needed. The text is compared by words, figures and the way it is meant; no
model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from orchestrator.context.claims import UNCONFIRMED, doubts
from orchestrator.context.flips import OWN_NOTE, Check, Doubt
from orchestrator.context.losses import Loss, Wanted, losses
from orchestrator.context.moved import MOVING, Within, settled
from orchestrator.context.old_text import Statements
from orchestrator.context.statements import any_of, split
from orchestrator.context.stubs import without_stubs
from orchestrator.context.summary import HEADINGS, SECTIONS, Section, Summary, parse
from orchestrator.context.tokens import Count
from orchestrator.messages import shortened

__all__ = ["CHECKS", "OWN_NOTE", "UNCONFIRMED", "Checked", "Finding", "check_summary"]

CHECKS: Final[tuple[Check, ...]] = get_args(Check)
"""In the order in which they are reported."""

ADDED_SHARE: Final = 0.25
"""Of the limit: as much may be put back where no other bound is given."""
_LOST_CHARS: Final = 160
_MOST_NAMED: Final = 8
_MENDED_CHARS: Final = 240
_MOST_MENDED: Final = 24


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a summary.

    Attributes:
        check: which check found it.
        text: of the source, word for word; where there is none, of the summary.
        where: `summary` for what it says wrongly; for what it lost, where that stood:
            `said`, `result`, `later`, or the section of an earlier summary.
        said: the statement of the summary, or "".
        source: of what it says wrongly, the nearest old statement, or "".
        now: what stands there now, or "".
        is_update: it may be newer than its source, which is told as the one before.
    """

    check: Check
    text: str
    where: str
    said: str = ""
    source: str = ""
    now: str = ""
    is_update: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A summary after its check.

    Attributes:
        findings: everything that was found, in the order of the checks.
        added: lines that must be put back, word for word, most important first.
        own_rules: rules that nobody stated; marked in `corrected`.
        corrected: the summary with its sections in order. A figure stays, and the
            source's is told beside it: as the one `before` where it is a count, the
            progress or the status of the work, which may be newer; as the `source`
            where it repeats a fact (a limit, an amount, an id, a path, a date), which
            then counts; `(unconfirmed)` where no source is near. A sentence that turns
            round a negation or a status is replaced by its source.
        tokens: size of the summary as it came.
        problem: why it is no summary at all: "", `empty`, `placeholder`, `tool call`
            or `refused`; nothing else was looked at then.
    """

    findings: tuple[Finding, ...]
    added: tuple[str, ...]
    own_rules: tuple[str, ...]
    corrected: str
    tokens: int
    problem: str = ""

    @property
    def is_acceptable(self) -> bool:
        """Return whether it may stand for the old text, mended."""
        return not self.problem

    def checks(self) -> list[dict[str, Any]]:
        """Return how much each check found and what is lost, in short, for the event.

        An update is found, but nothing is lost by it.
        """
        return [
            {
                "check": check,
                "found": len(found),
                "lost": [text[:_LOST_CHARS] for text in texts[:_MOST_NAMED]],
            }
            for check in CHECKS
            for found in [[f for f in self.findings if f.check == check]]
            for texts in [[f.text for f in found if not f.is_update]]
        ]

    def mended(self) -> list[dict[str, str]]:
        """Return what was mended in the summary's own text, in short, for the event.

        Each has its `check`, what the model `said`, what the nearest `source` says, or
        "", and what stands there `now`.
        """
        return [
            {
                "check": finding.check,
                "said": _short(finding.said),
                "source": _short(finding.source),
                "now": _short(finding.now),
            }
            for finding in self.findings
            if finding.said
        ][:_MOST_MENDED]


def check_summary(  # noqa: PLR0913 - all by name
    summary: str,
    *,
    old: Sequence[str],
    state: Sequence[str],
    references: Collection[str],
    used_later: Sequence[str],
    open_calls: Collection[str],
    limit_tokens: int,
    count: Count,
    results: Sequence[str] = (),
    added_tokens: int | None = None,
) -> Checked:
    """Compare a summary with what it covers.

    Linear in the size of the old texts, which are indexed once. Of two texts that
    differ the newer one counts, and a result is never the older one. Lines of the
    program that the summary copied, heads of stubs, are taken away before.

    Args:
        summary: the answer, with or without headings.
        old: what was said in what it covers, oldest first: texts of users and of the
            assistant, an earlier summary. Their prohibitions and statuses must survive.
        state: lines that the program writes out beside the summary; what is there is
            not lost, and counts as a source.
        references: ids, paths and references that stay known otherwise.
        used_later: inputs of the calls in the steps that are kept.
        open_calls: ids or names of what is still running.
        limit_tokens: most that the summary should have.
        count: tokens of a text.
        results: output of tools and inputs of calls in what it covers: a source (paths
            of written files stand only in calls), but nothing in it must survive.
        added_tokens: most that `added` may have; None: a quarter of the limit.
    """
    tokens = count(summary)
    summary = settled(without_stubs(summary))
    if problem := _problem(summary):
        return Checked((), (), (), "", tokens, problem)
    parsed = parse(summary)
    said = [without_stubs(text) for text in old]
    earlier = [settled(text) for text in said if _is_summary(text)]
    since = [text for text in said if not _is_summary(text)]
    index = Statements(
        [("said", earlier), ("result", results), ("said", since), ("state", state)]
    )
    moving = _statements(earlier, MOVING)
    known = _statements(earlier, SECTIONS)
    mended: dict[Section, str] = {}
    found: list[Finding] = []
    for section in SECTIONS:
        if text := parsed.sections.get(section):
            within = Within(section, references, moving, known)
            mended[section], doubted = _mended(text, index, within)
            found += doubted
    corrected = Summary(mended)
    gone = losses(
        corrected,
        old=index,
        state=state,
        wanted=Wanted(used_later, open_calls, references),
    )
    room = added_tokens if added_tokens is not None else int(ADDED_SHARE * limit_tokens)
    findings = [*found, *map(_of_loss, gone)]
    if tokens > limit_tokens:
        text = f"{tokens:,} tokens, at most {limit_tokens:,}"
        findings.append(Finding("length", text, "summary"))
    return Checked(
        tuple(sorted(findings, key=lambda each: CHECKS.index(each.check))),
        _added(gone, room, count),
        tuple(dict.fromkeys(d.said for d in found if d.check == "rules")),
        corrected.render(),
        tokens,
    )


def _of_doubt(doubt: Doubt, now: str) -> Finding:
    return Finding(
        doubt.check,
        doubt.source or doubt.said,
        "summary",
        doubt.said,
        doubt.source,
        now,
        doubt.is_update,
    )


def _short(text: str) -> str:
    return shortened(text, _MENDED_CHARS)


def _of_loss(loss: Loss) -> Finding:
    return Finding(loss.check, loss.line, loss.where)


def _added(gone: Sequence[Loss], room: int, count: Count) -> tuple[str, ...]:
    taken: list[str] = []
    for line in dict.fromkeys(loss.line for loss in gone):
        tokens = count(line + "\n")
        if tokens <= room:
            taken.append(line)
            room -= tokens
    return tuple(taken)


def _is_summary(text: str) -> bool:
    if text.startswith(f"## {HEADINGS['notes']}\n"):
        return True
    return "#" in text and not parse(text).is_free


def _statements(earlier: Sequence[str], names: Collection[str]) -> frozenset[str]:
    """Return the statements of some sections of earlier summaries."""
    summaries = map(parse, earlier)
    texts = (
        s.sections[name] for s in summaries for name in s.sections if name in names
    )
    return frozenset(each.text for text in texts for each in split(text))


def _mended(text: str, index: Statements, within: Within) -> tuple[str, list[Finding]]:
    """Return a section with what is doubtful mended, and what was found."""
    found: list[Finding] = []
    for statement in reversed(list(split(text))):
        here = doubts(statement.text, old=index, within=within)
        now = statement.text
        for doubt in sorted(here, key=lambda each: -each.start):
            now = f"{now[: doubt.start]}{doubt.instead}{now[doubt.end :]}"
        text = f"{text[: statement.start]}{now}{text[statement.end :]}"
        found = [*(_of_doubt(doubt, now) for doubt in here), *found]
    return text, found


_CALL: Final = any_of(
    r"""
    <\w*:?(?:tool_call|function_calls?|tool_use|invoke)\b|<\|(?:tool|python)|
    \[?\s*\{\s*"(?:name|tool|type|function|tool_calls?|recipient_name)"\s*:|
    [a-z_]+\(\{?[^()\n]*\}?\)\s*\Z
    """,
    before=r"\s*(?:```\w*\s*)?",
    after="",
)
_REFUSAL: Final = any_of(
    r"""
    (?:I['’]m |I am )?(?:very )?sorry\b|I apologi[sz]e|as an ai\b|I must decline|
    (?:unfortunately,? )?I (?:can(?:not|['’]t)|am (?:not able|unable)|won['’]t)|
    (?:unfortunately,? )?I will not|
    I['’]m (?:unable|not able)|很?抱歉|对不起|我(?:无法|不能|没法)
    """,
    before=r"\W*",
    after="",
)
_PLACEHOLDER: Final = any_of(
    r"""
    (?:the |your |a |insert |write |conversation )*summary(?: goes)?(?: here)?|to-?do|
    tbd|none|n/?a|null|ok(?:ay)?|done|sure|understood|yes|no|placeholder|lorem ipsum.*|
    摘要|总结|略|无|好的?|已?完成|明白了?
    """,
    before=r"[\W_]*",
    after=r"[\W_]*",
)
_MOST_REFUSED_CHARS: Final = 600


def _problem(text: str) -> str:
    """Return why a text is no summary at all, or ""."""
    bare = text.strip()
    if not re.search(r"\w", bare):
        return "placeholder" if bare else "empty"
    if _CALL.match(bare):
        return "tool call"
    sections = parse(text).sections
    if not sections or _PLACEHOLDER.fullmatch(bare):
        return "placeholder"
    if all(_PLACEHOLDER.fullmatch(each) for each in sections.values()):
        return "placeholder"
    is_short = len(bare) <= _MOST_REFUSED_CHARS and parse(text).is_free
    return "refused" if is_short and _REFUSAL.match(bare) else ""
