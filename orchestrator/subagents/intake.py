"""Check findings that a subagent hands in, before anything of them reaches the lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import StoreError
from orchestrator.events import FileSeen
from orchestrator.evidence import (
    NEAR_LINES,
    FoldedText,
    Found,
    Source,
    fold,
    parse_source,
    quote_problem,
)
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.ids import REFERENCE

__all__ = ["Checked", "Problem", "Settled", "check", "settle"]

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
class Checked:
    """Findings after the look-up.

    Attributes:
        findings: with the lines at which each quote really stands, and without
            references that lead nowhere.
        faults: what sends them back; empty if they are accepted.
        notes: what the program changed, a line each, for the lead.
    """

    findings: Findings
    faults: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Return what sends the findings back, in words for the model."""
        return [fault.text for fault in self.faults]


@dataclass(frozen=True, slots=True)
class Settled:
    """Findings that are taken although something is wrong with them.

    Attributes:
        findings: never `complete`.
        unsupported: numbers, from 1, of the items without a quote that was found.
        notes: what is wrong, a line each, for the lead.
    """

    findings: Findings
    unsupported: tuple[int, ...]
    notes: tuple[str, ...]


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
    looked_up = _LookUp(seen, read_text)
    problems: list[Problem] = []
    items: list[Item] = []
    proven: set[int] = set()
    for number, item in enumerate(findings.items, 1):
        checked, found = _check_item(item, number, looked_up)
        items.append(checked)
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
    return Checked(changed, tuple(problems), tuple(notes))


def settle(checked: Checked) -> Settled:
    """Return findings as they are taken when the model insists on them.

    Evidence that was not found goes where the item has other evidence; an item left
    with none is unsupported. With any fault the status is `partial` at best, and
    `failed` where nothing but dummies was handed in.
    """
    findings, problems = checked.findings, checked.faults
    if not problems:
        return Settled(findings, (), checked.notes)
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
    return Settled(changed, tuple(unsupported), (*checked.notes, *notes))


class _LookUp:
    """Finds quotes in what an agent was shown; folds each text once."""

    def __init__(
        self,
        seen: Mapping[str, Sequence[FileSeen]],
        read_text: Callable[[str], str],
    ) -> None:
        self._seen = seen
        self._read_text = read_text
        self._folded: dict[str, list[FoldedText]] = {}
        self.moved = 0

    def texts(self, target: str) -> list[FoldedText]:
        """Return what was shown of `target`, newest first; empty if nothing was."""
        if target not in self._folded:
            if target in self._seen:
                names = [each.artifact for each in reversed(self._seen[target])]
            else:
                names = [target] if REFERENCE.fullmatch(target) else []
            texts = [text for name in names if (text := self._text(name)) is not None]
            self._folded[target] = [FoldedText(text) for text in texts]
        return self._folded[target]

    def _text(self, reference: str) -> str | None:
        if not reference:  # too big to be kept
            return None
        try:
            return self._read_text(reference)
        except StoreError:
            return None

    def is_stored(self, reference: str) -> bool:
        """Tell whether `reference` can be opened."""
        return self._text(reference) is not None

    def full_name(self, target: str) -> str:
        """Return the one opened path that `target` means, or `target`.

        An absolute path ends with the name that was opened, a shortened one is the end
        of it.
        """
        if target in self._seen or not target or "://" in target:
            return target
        is_absolute = target.startswith("/") or target[1:2] == ":"
        meant = [
            path
            for path in self._seen
            if (is_absolute and target.endswith(f"/{path}"))
            or path.endswith(f"/{target}")
        ]
        return meant[0] if len(meant) == 1 else target

    def resolve(self, source: str) -> tuple[Source, list[FoldedText]]:
        """Return `source` with a name that was opened, and its texts."""
        for reading in _readings(source):
            target = self.full_name(reading.target)
            texts = self.texts(target)
            if texts or target in self._seen:
                return Source(target, reading.first, reading.last), texts
        return parse_source(source), []

    def was_opened(self, target: str) -> bool:
        """Tell whether this agent was shown anything of `target`."""
        return target in self._seen


def _readings(source: str) -> list[Source]:
    """Return what `source` may mean, the likeliest first."""
    parsed = parse_source(source)
    readings = [parsed]
    inner = parse_source(parsed.target)
    if inner.first is not None:  # `path:line:column`
        readings.append(inner)
    readings.append(Source(source.strip()))  # a name that ends like lines
    plain = parsed.target.replace("\\", "/")
    if "://" not in plain:
        readings.append(Source(posixpath.normpath(plain), parsed.first, parsed.last))
    return readings


def _check_item(
    item: Item, number: int, looked_up: _LookUp
) -> tuple[Item, list[Problem]]:
    evidence: list[Evidence] = []
    problems: list[Problem] = []
    for place, each in enumerate(item.evidence, 1):
        checked, wrong = _check_evidence(each, looked_up)
        evidence.append(checked)
        if wrong:
            text = f"item {number}, evidence {place} (`{_shown(each.source)}`): {wrong}"
            problems.append(Problem(text, number, place))
    return item.model_copy(update={"evidence": tuple(evidence)}), problems


def _check_evidence(evidence: Evidence, looked_up: _LookUp) -> tuple[Evidence, str]:
    """Return the evidence with the lines of its quote, and what is wrong or ""."""
    source, texts = looked_up.resolve(evidence.source)
    if not texts and looked_up.was_opened(source.target):
        return evidence, (
            f"`{_shown(source.target)}` is too big to be kept, so that quotes from it "
            "cannot be checked; quote from a smaller file or a stored result"
        )
    if not texts:
        return evidence, (
            f"you never opened `{_shown(source.target)}`; open it and quote from what "
            "you see, or drop this evidence"
        )
    short = [quote_problem(evidence.quote, text) for text in texts]
    if all(short):
        return evidence, f"{short[0]}; copy more of the text around it"
    near = None if source.first is None else (source.first, source.last or source.first)
    found = _best(evidence.quote, texts, near)
    if found is None:
        return evidence, (
            f"the quote “{_shown(evidence.quote)}” is not in that file as you read it; "
            "copy it word for word, without leaving anything out, or drop the claim"
        )
    if near is not None and found.distance(near) > NEAR_LINES:
        looked_up.moved += 1
    place = Source(source.target, found.first, found.last)
    return evidence.model_copy(update={"source": str(place)}), ""


def _best(
    quote: str, texts: Sequence[FoldedText], near: tuple[int, int] | None
) -> Found | None:
    """Return where `quote` stands: in the newest text that has it close to `near`."""
    places = [place for text in texts if (place := text.find(quote, near)) is not None]
    if near is None:
        return places[0] if places else None
    close = [place for place in places if place.distance(near) <= NEAR_LINES]
    return next(iter([*close, *places]), None)


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
    findings: Findings, looked_up: _LookUp
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
    flat = REFERENCE.sub(lambda match: f"{match[0][:8]}…", " ".join(text.split()))
    return flat if len(flat) <= SHOWN_CHARS else f"{flat[: SHOWN_CHARS - 1]}…"
