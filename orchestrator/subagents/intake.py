"""Check findings that a subagent hands in, before anything of them reaches the lead."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.events import FileSeen
from orchestrator.evidence import NEAR_LINES, Source, fold, quote_problem
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.ids import REFERENCE, SKILL_PREFIX
from orchestrator.messages import one_line, shortened
from orchestrator.security.untrusted import defused
from orchestrator.security.urls import is_url
from orchestrator.subagents.lookup import LookUp, Version, best

__all__ = ["Checked", "Origin", "Problem", "Settled", "check", "settle"]

MIN_CLAIM_CHARS = 12
MIN_CLAIM_WORDS = 3
MIN_PROVEN_CHARS = 8
"""Of a claim whose quote was found; the others must be sentences."""
MIN_CJK_CHARS = 6
MIN_SUMMARY_CHARS = 12
SHOWN_CHARS = 60

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DUMMY = re.compile(
    r"\W*(?:(?:this is )?(?:a |the |my |some )?(?:test(?:ing)?|dummy|placeholder|"
    r"sample|"
    r"example|foo|bar|baz|todo|tbd|none|null|n/?a|unknown|claim|item|finding|summary|"
    r"result|text|string|value|content|asdf|xxx+|lorem ipsum.*)s?(?: (?:text|claim|"
    r"item|"
    r"finding|summary|value|here|data|\d+|[a-z]))*|测试|占位符?|示例|无|暂无|待定|"
    r"摘要|结论)"
    r"[\W\d]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to mend before findings are accepted.

    Attributes:
        text: what is wrong and what to do, for the model.
        item: number of the item, from 1; 0 for the findings as a whole.
        evidence: number of the evidence in its item, from 1; 0 for the item itself.
    """

    text: str
    item: int = 0
    evidence: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """The version of a file in which evidence was found.

    Attributes:
        item: number of the item, from 1.
        path: relative to the workspace.
        sha256: of its bytes, as it was read.
        age: of that version; 0 for the first that the agent saw.
    """

    item: int
    path: str
    sha256: str
    age: int


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings after the look-up.

    Attributes:
        findings: with the lines at which each quote really stands, and without
            references that lead nowhere.
        faults: what sends them back; empty if they are accepted.
        notes: what the program changed, a line each, for the lead.
        origins: where quotes were found, if in files.
    """

    findings: Findings
    faults: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Return what sends the findings back, in words for the model."""
        return [fault.text for fault in self.faults]

    @property
    def sources(self) -> dict[str, str]:
        """Return path → SHA-256 of the file in which evidence was found.

        Where quotes are from several versions it is the oldest: a later one does not
        hold them all at their lines.
        """
        return _sources(self.origins)


@dataclass(frozen=True, slots=True)
class Settled:
    """Findings that are taken although something is wrong with them.

    Attributes:
        findings: never `complete`.
        unsupported: numbers, from 1, of the items without a quote that was found.
        notes: what is wrong, a line each, for the lead.
        sources: as `Checked.sources`, without items that are unsupported.
    """

    findings: Findings
    unsupported: tuple[int, ...]
    notes: tuple[str, ...]
    sources: Mapping[str, str] = field(default_factory=dict)


def check(
    findings: Findings,
    seen: Mapping[str, Sequence[FileSeen]],
    read_text: Callable[[str], str],
) -> Checked:
    """Look up every quote, and refuse what says nothing.

    A quote found away from the lines given gets the lines at which it stands. It reads
    each text once; call it in a thread.

    Args:
        findings: as submitted.
        seen: path → versions that this agent was shown, newest last.
        read_text: reference → its text; raises StoreError if there is none.
    """
    looked_up = LookUp(seen, read_text)
    problems: list[Problem] = []
    items: list[Item] = []
    proven: set[int] = set()
    origins: list[Origin] = []
    for number, item in enumerate(findings.items, 1):
        checked, found, places = _check_item(item, number, looked_up)
        items.append(checked)
        origins += places
        problems += found
        if item.evidence and not found:
            proven.add(number)
        if findings.status == "complete" and not item.evidence:
            problems.append(
                Problem(
                    f"item {number} (“{_shown(item.claim)}”) has no evidence: add "
                    "`source` and `quote`, or drop the item, or hand in as `partial`",
                    number,
                )
            )
    if findings.status == "complete" and not findings.items:
        problems.append(
            Problem(
                "status `complete` needs items with evidence: put each answer into an "
                "item, or say `nothing_found` or `partial`"
            )
        )
    problems = [*_dummy_problems(findings, proven), *problems]
    artifacts, notes = _known_artifacts(findings, looked_up)
    changed = findings.model_copy(
        update={"items": tuple(items), "artifacts": artifacts}
    )
    if looked_up.moved:
        notes.append(f"lines of {looked_up.moved} quotes were corrected")
    return Checked(changed, tuple(problems), tuple(notes), tuple(origins))


def settle(checked: Checked) -> Settled:
    """Return findings as they are taken when the model insists on them.

    Evidence that was not found goes where the item has other evidence; an item left
    with none is unsupported. With any fault the status is `partial` at best, and
    `failed` where nothing but dummies was handed in.
    """
    findings, problems = checked.findings, checked.faults
    if not problems:
        return Settled(findings, (), checked.notes, checked.sources)
    unsupported: list[int] = []
    items: list[Item] = []
    for number, item in enumerate(findings.items, 1):
        mine = [problem for problem in problems if problem.item == number]
        wrong = {problem.evidence for problem in mine}
        right = tuple(
            evidence
            for place, evidence in enumerate(item.evidence, 1)
            if place not in wrong
        )
        if mine and (0 in wrong or not right):
            unsupported.append(number)
            items.append(item)
        elif mine:
            items.append(item.model_copy(update={"evidence": right}))
        else:
            items.append(item)
    status = "partial" if findings.status == "complete" else findings.status
    is_empty = len(unsupported) == len(items)
    if is_empty and _is_dummy(findings.summary, MIN_SUMMARY_CHARS):
        status = "failed"
    changed = findings.model_copy(update={"items": tuple(items), "status": status})
    notes = [
        "taken as it is, with what is wrong still in it: "
        + f"{len(unsupported)} of {len(items)} items unsupported"
    ]
    notes += [problem.text for problem in problems if not problem.item]
    kept = [each for each in checked.origins if each.item not in unsupported]
    return Settled(
        changed, tuple(unsupported), (*checked.notes, *notes), _sources(kept)
    )


def _sources(origins: Iterable[Origin]) -> dict[str, str]:
    oldest: dict[str, Origin] = {}
    for each in origins:
        if each.path not in oldest or each.age < oldest[each.path].age:
            oldest[each.path] = each
    return {path: each.sha256 for path, each in oldest.items()}


def _check_item(
    item: Item, number: int, looked_up: LookUp
) -> tuple[Item, list[Problem], list[Origin]]:
    evidence: list[Evidence] = []
    problems: list[Problem] = []
    origins: list[Origin] = []
    for place, each in enumerate(item.evidence, 1):
        found = _check_evidence(each, looked_up)
        if isinstance(found, str):
            evidence.append(each)
            text = f"item {number}, evidence {place} (`{_shown(each.source)}`): {found}"
            problems.append(Problem(text, number, place))
            continue
        source, version = found
        evidence.append(each.model_copy(update={"source": str(source)}))
        if version.sha256:
            origins.append(Origin(number, source.target, version.sha256, version.age))
    return item.model_copy(update={"evidence": tuple(evidence)}), problems, origins


def _check_evidence(
    evidence: Evidence, looked_up: LookUp
) -> tuple[Source, Version] | str:
    """Return the place of the quote and the version it is in, or what is wrong."""
    source, versions = looked_up.resolve(evidence.source)
    if not versions:
        return _unseen(source, looked_up)
    quote = defused(evidence.quote)  # as all that was shown
    short = [quote_problem(quote, each.text) for each in versions]
    if all(short):
        return f"{short[0]}; copy more of the text around it"
    near = None if source.first is None else (source.first, source.last or source.first)
    found = best(quote, versions, near)
    if found is None:
        return (
            f"the quote “{_shown(evidence.quote)}” is not in that file as you read it; "
            "copy it word for word, without leaving anything out, or drop the claim"
        )
    place, version = found
    if near is not None and place.distance(near) > NEAR_LINES:
        looked_up.moved += 1
    return Source(source.target, place.first, place.last), version


def _unseen(source: Source, looked_up: LookUp) -> str:
    """Return why there is no text that a quote from this source could be in."""
    target = source.target
    if looked_up.was_opened(target):
        return (
            f"`{_shown(target)}` is too big to be kept, so that quotes from it "
            "cannot be checked; quote from a smaller file or a stored result"
        )
    if is_url(target):
        return (
            f"you have not fetched `{_shown(target)}`; fetch it and quote from "
            "what you see, or drop this evidence"
        )
    if target.startswith(SKILL_PREFIX):
        return (
            "a skill says how to work, and is no evidence; quote from a file, a page "
            "or a stored result, or drop this evidence"
        )
    return (
        f"you never opened `{_shown(target)}`; open it and quote from what "
        "you see, or drop this evidence"
    )


def _dummy_problems(findings: Findings, proven: Collection[int]) -> list[Problem]:
    """Return what says nothing; a short claim with a found quote says enough."""
    problems = []
    if _is_dummy(findings.summary, MIN_SUMMARY_CHARS):
        problems.append(
            Problem(
                f"`summary` says nothing (“{_shown(findings.summary)}”): answer the "
                "brief in one or more sentences"
            )
        )
    first: dict[str, int] = {}
    for number, item in enumerate(findings.items, 1):
        claim = fold(item.claim).casefold()
        words = 1 if number in proven else MIN_CLAIM_WORDS
        chars = MIN_PROVEN_CHARS if number in proven else MIN_CLAIM_CHARS
        if _is_dummy(item.claim, chars, words):
            text = (
                f"item {number}: the claim “{_shown(item.claim)}” is no sentence; say "
                "what you found, so that it can be checked"
            )
            problems.append(Problem(text, number))
        elif claim in first:
            text = f"item {number} claims the same as item {first[claim]}; drop one"
            problems.append(Problem(text, number))
        first.setdefault(claim, number)
    return problems


def _is_dummy(text: str, min_chars: int, min_words: int = 1) -> bool:
    """Tell whether `text` is too short to say anything, or stands for nothing."""
    flat = fold(text)
    words = re.findall(r"\w+", flat.casefold())
    if _DUMMY.fullmatch(flat) or len(set(flat) - {" "}) < 4:
        return True
    if len(_CJK.findall(flat)) >= MIN_CJK_CHARS:
        return False
    says_one_thing = len(words) > 1 and len(set(words)) == 1
    is_letters = all(len(word) == 1 for word in words)
    is_short = len(flat) < min_chars or len(words) < min_words
    return says_one_thing or is_letters or is_short


def _known_artifacts(
    findings: Findings, looked_up: LookUp
) -> tuple[tuple[str, ...], list[str]]:
    known = tuple(
        name
        for name in dict.fromkeys(findings.artifacts)
        if REFERENCE.fullmatch(name) and looked_up.is_stored(name)
    )
    unknown = [name for name in dict.fromkeys(findings.artifacts) if name not in known]
    if not unknown:
        return known, []
    return known, ["unknown references were dropped: " + _list(unknown)]


def _list(names: Collection[str]) -> str:
    shown = [_shown(name) for name in names][:5]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _shown(text: str) -> str:
    # A reference in full would count as one that was shown, and could be opened.
    flat = REFERENCE.sub(lambda match: f"{match[0][:8]}…", one_line(text))
    return shortened(flat, SHOWN_CHARS)
