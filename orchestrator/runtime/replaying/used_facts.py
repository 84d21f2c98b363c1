"""What an agent learned from results and used later: was it in sight when it did?

Facts are names (paths, ids, identifiers), figures and quotes in the arguments of calls,
hand-ins among them, that first occurred in an earlier result.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from orchestrator.context.figures import names
from orchestrator.context.state import FILE_EDITS, FILE_READS
from orchestrator.ids import AGENT_REFERENCE, HISTORY_REFERENCE, REFERENCE
from orchestrator.messages import encode
from orchestrator.runtime.replaying.recorded_agent import RecordedAgent

__all__ = ["NOTHING_USED", "Sight", "Timeline", "UsedFacts"]

OPENERS: Final = frozenset({"read_ref", "recall"})
"""Tools that open what is no longer sent."""
LEAST_CHARS: Final = 4
"""Of a name: shorter ones occur by chance."""
LEAST_QUOTE_CHARS: Final = 20
MOST_CHARS: Final = 20_000
"""Of one argument that is looked through."""
_FIGURE: Final = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w])|\b\d[\d.]*\d{2,}\b")
_PLACE: Final = re.compile(r"(?::\d+(?:-\d+)?)+$")
_WORD: Final = re.compile(r"\w+", re.ASCII)
_PATHS: Final = frozenset({"path", "paths", "source", "include", "exclude"})
_SIZES: Final = frozenset(
    {
        "first_line", "max_lines", "max_matches", "max_items", "context_lines",
        "timeout_s", "confidence", "max_tokens", "ref",
    }
)  # fmt: skip
"""Arguments that say how much is wanted, or name what the program named."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Of the times that something learned was used, how often it could be read.

    Attributes:
        uses: a fact counts once for each turn that used it.
        facts: different ones.
        visible: it stood in the request.
        reachable: it did not, and could be opened in two calls.
        gone: neither: the agent had no tool to open it with.
    """

    uses: int = 0
    facts: int = 0
    visible: int = 0
    reachable: int = 0
    gone: int = 0

    def __add__(self, other: Sight) -> Sight:
        """Return the sums; the same fact of two agents counts for each."""
        return Sight(
            self.uses + other.uses,
            self.facts + other.facts,
            self.visible + other.visible,
            self.reachable + other.reachable,
            self.gone + other.gone,
        )


NOTHING_USED: Final = Sight()


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was, or would have been, taken away from an agent, and when.

    Attributes:
        cleared: call → place of the first turn without its result, from 0.
        dropped: for each compaction the place of the first turn behind it, and how many
            steps are gone then; oldest first.
        stub_of: call → what stands in the place of its result.
        standing: what stands in the place of the steps, one text for each compaction;
            empty: notes and paths of files touched, which the program keeps, are taken
            to stand there.
        texts: call → what is shown of its result, where that is not as it was.
    """

    cleared: Mapping[str, int] = field(default_factory=dict)
    dropped: Sequence[tuple[int, int]] = ()
    stub_of: Callable[[str], str] = lambda _call: ""
    standing: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def dropped_at(self, turn: int) -> tuple[int, int]:
        """Return how many compactions came before a turn, and how many steps went."""
        count = bisect_right(self.dropped, turn, key=itemgetter(0))
        return count, self.dropped[count - 1][1] if count else 0


@dataclass(slots=True)
class _Piece:
    """A text of a conversation.

    Attributes:
        step: whose it is, from 0; -1: of the first message.
        call: whose result it is, or "".
        text: of it.
        teaches: it is a result, or brings findings.
        is_kept: the program keeps it when the step goes.
    """

    step: int
    call: str
    text: str
    teaches: bool = False
    is_kept: bool = False


class UsedFacts:
    """The facts that one agent used, and every place where each was told."""

    def __init__(self, agent: RecordedAgent) -> None:
        """Look through the conversation as it was recorded."""
        self.can_open = bool(OPENERS & agent.allowed) or not agent.allowed
        used = [list(_used(turn.calls)) for turn in agent.turns]
        anchors = {_anchor(fact) for facts in used for fact in facts} - {""}
        self._pieces = list(_pieces(agent)) if any(used) else []
        found: dict[str, list[int]] = {}
        for at, piece in enumerate(self._pieces):
            for word in anchors.intersection(_WORD.findall(piece.text)):
                found.setdefault(word, []).append(at)
        every = range(len(self._pieces))
        self._told: dict[str, list[int]] = {}
        self._uses: list[tuple[str, int]] = []
        for turn, facts in enumerate(used):
            for fact in facts:
                if fact not in self._told:
                    anchor = _anchor(fact)
                    likely = found.get(anchor, []) if anchor else every
                    self._told[fact] = [
                        at for at in likely if fact in self._pieces[at].text
                    ]
                if self._is_learned(fact, turn):
                    self._uses.append((fact, turn))

    def _is_learned(self, fact: str, turn: int) -> bool:
        """Return whether a result before a turn was the first to tell a fact."""
        first = next((self._pieces[at] for at in self._told[fact]), None)
        return first is not None and first.teaches and first.step < turn

    def sight(self, timeline: Timeline) -> Sight:
        """Return what was in sight when it was used."""
        visible = sum(
            self._is_visible(fact, turn, timeline) for fact, turn in self._uses
        )
        away = len(self._uses) - visible
        return Sight(
            uses=len(self._uses),
            facts=len({fact for fact, _ in self._uses}),
            visible=visible,
            reachable=away if self.can_open else 0,
            gone=0 if self.can_open else away,
        )

    def _is_visible(self, fact: str, turn: int, timeline: Timeline) -> bool:
        count, gone = timeline.dropped_at(turn)
        if count and timeline.standing and fact in timeline.standing[count - 1]:
            return True
        for at in self._told[fact]:
            piece = self._pieces[at]
            if piece.step >= turn:
                break
            if 0 <= piece.step < gone:
                if piece.is_kept and not timeline.standing:
                    return True
            elif piece.call and timeline.cleared.get(piece.call, turn + 1) <= turn:
                if fact in timeline.stub_of(piece.call):
                    return True
            elif not piece.is_kept and fact in timeline.texts.get(piece.call, fact):
                return True
        return False


def _pieces(agent: RecordedAgent) -> Iterator[_Piece]:
    """Yield the texts of a conversation, oldest first."""
    yield _Piece(-1, "", agent.first_text)
    for step, turn in enumerate(agent.turns):
        yield _Piece(step, "", turn.said)
        for call in turn.calls:
            given = call.get("input") or {}
            text = "\n".join(_strings(given))
            yield _Piece(step, "", text)
            name = call.get("name")
            if name == "update_notes":
                yield _Piece(step, "", text, is_kept=True)
            elif name in FILE_READS | FILE_EDITS and isinstance(given, dict):
                yield _Piece(step, "", str(given.get("path", "")), is_kept=True)
        for came in turn.results:
            yield _Piece(step, came.call, came.text, teaches=True)
        yield from (_Piece(step, "", text, teaches=True) for text in turn.found)
        yield from (_Piece(step, "", text) for text in turn.told)


def _used(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the arguments of calls name, each once."""
    seen: set[str] = set()
    for call in calls:
        for key, value in _leaves("", call.get("input") or {}):
            for fact in _facts(key, value):
                if fact not in seen:
                    seen.add(fact)
                    yield fact


def _facts(key: str, value: object) -> Iterator[str]:
    if key in _SIZES or isinstance(value, bool):
        return
    text = str(value)[:MOST_CHARS] if isinstance(value, (str, int, float)) else ""
    if key == "quote":
        line = max((each.strip() for each in text.splitlines()), key=len, default="")
        if len(line) >= LEAST_QUOTE_CHARS:
            yield line
        return
    if key in _PATHS and text.strip():
        yield _PLACE.sub("", text.strip())
    rest = list(text)
    for name in names(text):
        bare = _PLACE.sub("", name.text)
        if len(bare) >= LEAST_CHARS and not _is_reference(bare):
            yield bare
        rest[name.start : name.end] = "_" * (name.end - name.start)
    yield from (match[0] for match in _FIGURE.finditer("".join(rest)))


def _is_reference(text: str) -> bool:
    """Return whether the program gave this name."""
    forms = (REFERENCE, HISTORY_REFERENCE, AGENT_REFERENCE)
    return any(form.fullmatch(text) for form in forms)


def _leaves(key: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what is in an argument, each with the name of its field."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(str(name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(key, inner)
    else:
        yield key, value


def _strings(given: object) -> Iterator[str]:
    """Yield the texts in the arguments of a call, as they were written."""
    yield from (str(value) for _, value in _leaves("", given))
    if not isinstance(given, dict):
        yield encode(given).decode()


def _anchor(fact: str) -> str:
    """Return the longest word of a fact that a text with it must have; "": none."""
    return max(_WORD.findall(fact)[1:-1] or _WORD.findall(fact), key=len, default="")
