"""Read a request as a model would: what is wanted, what was called, what came back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.messages import Block, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.models.offline.openings import Opening, opening_in
from orchestrator.models.offline.words import concepts, is_question

__all__ = [
    "Call",
    "Conversation",
    "asked_in",
    "asking_sections",
    "bullets",
    "parts_of",
    "paths_in",
    "questions_of",
    "sections",
]

_NOT_ASKING = ("constraints", "context files", "scope", "deliverable", "subagents")
_HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*#*$")
_CONTEXT_FILE = re.compile(
    r"^={3,} begin (\S+?):.*?^={3,} end \1 ={3,}$", re.MULTILINE | re.DOTALL
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)、])\s+(.*)$")
_LAST_CALL = re.compile(
    r"\b(?:is|was) reached\b.*\blast answer\b|\blast (?:call|answer|turn)\b|最后一次",
    re.IGNORECASE | re.DOTALL,
)
# How findings begin; whatever a subagent wrote cannot begin so.
_FINDINGS = re.compile(r'^<findings agent="a\d+" title="', re.MULTILINE)
_SO_FAR = "# The work so far\n"
"""How the text begins that stands in the place of earlier steps."""
_CLEARED = "[Cleared: "
_LEFT_OUT = re.compile(r"^\[… [^\n]{1,80} left out; all of it: ", re.MULTILINE)
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(
    r"(?<![\w/.])((?:[\w.\-]+/)+[\w.\-]*|[\w\-]+\.[A-Za-z]{1,5})(?![\w/])"
)
_SENTENCE = re.compile(
    r"(?<=[。！？])|(?<=[.!?])\s+|(?<=[?!])(?=[\u3400-\u9fff])",
)
# Where a sentence goes on to ask for something else.
_CLAUSE = re.compile(
    r"(?<=；)|(?<=;)\s+"
    r"|,? and (?=(?:how|where|what|which|who|when|why)\b)"
    r"|, (?=(?:how|what|why)\b|(?:which|whose) \w+ (?:is|are|was|were|do|does|did|"
    r"can|may|must|should|will|has|have)\b)"
    r"|[，,]?(?:以及|并且)",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"^(?:and |then |please |also )?(?:find|list|say|explain|describe|name|tell|show|"
    r"give|collect|compare|count|determine|state|summari[sz]e)\b"
    r"|^请?(?:列出|找出|说明|解释|找到|查[一找出明]|写出|指出|描述|总结)",
    re.IGNORECASE,
)
_HAN_ASKS = re.compile(
    r"什么|多[少久大高长远重]|[哪谁吗呢]|怎么|怎样|如何|为何|何时|何处|是否|几[个次位天年月点种]"
)
_HAN_COMMA = re.compile(r"(?<=[\u3400-\u9fff])[，,]\s*(?:还有|和|而且)?")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the conversation and its result."""

    id: str
    name: str
    input: Mapping[str, Any]
    result: str = ""
    is_error: bool = False
    answered: bool = False
    turn: int = 0
    """Assistant messages before the one that holds it."""

    @property
    def is_cleared(self) -> bool:
        """Whether only a stub of the result is left."""
        return self.result.startswith(_CLEARED)

    @property
    def is_cut(self) -> bool:
        """Whether a part of the result was never shown."""
        return bool(_LEFT_OUT.search(self.result))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request, read once."""

    tools: frozenset[str]
    first: str
    """Text of the first user message: the task or the brief."""
    calls: tuple[Call, ...]
    """In order of the conversation."""
    said: tuple[str, ...] = ()
    """Texts after the first message, oldest first."""
    turns: int = 0
    """Assistant messages so far."""
    just_said: str = ""
    """Text of the last message, results and openings left out."""
    openings: tuple[Opening, ...] = ()
    """Further questions and the like, oldest first; no part of the texts above."""
    late: tuple[tuple[int, str], ...] = ()
    """Findings that came by themselves, each with the turns before it; no part too."""
    system: str = ""
    """Text of the system prompt."""
    so_far: str = ""
    """What stands in the place of earlier steps; no part of the texts above."""

    @classmethod
    def of(cls, request: ModelRequest) -> Conversation:
        """Read `request`."""
        results: dict[str, Block] = {}
        calls: list[tuple[Block, int]] = []
        said: list[str] = []
        openings: list[Opening] = []
        late: list[tuple[int, str]] = []
        turns, just_said, so_far = 0, "", ""
        for message in request.messages:
            blocks = _blocks(message.get("content") or "")
            texts = [block for block in blocks if block.get("type") == "text"]
            just_said = text_of(texts)
            if message.get("role") == "assistant":
                calls += [(block, turns) for block in blocks if _is_call(block)]
                turns += 1
                continue
            for block in blocks:
                if block.get("type") == "tool_result":
                    results[str(block.get("tool_use_id"))] = block
            # The very first text is the task or the brief, whatever it holds.
            start = 0 if said else 1
            late += [(turns, text_of([b])) for b in texts[start:] if _is_late(b)]
            texts = [*texts[:start], *(b for b in texts[start:] if not _is_late(b))]
            so_far = so_far or text_of([b for b in texts[start:] if _is_so_far(b)])
            texts = [*texts[:start], *(b for b in texts[start:] if not _is_so_far(b))]
            kept, found = _without_openings(texts, turns, start=start)
            openings += found
            just_said = text_of(kept)
            said.append(just_said)
        return cls(
            tools=frozenset(str(tool.get("name")) for tool in request.tools),
            first=said[0] if said else "",
            calls=tuple(_call(block, results, turn) for block, turn in calls),
            said=tuple(text for text in said[1:] if text),
            turns=turns,
            just_said=just_said,
            openings=tuple(openings),
            late=tuple(late),
            system=text_of(list(request.system)),
            so_far=so_far,
        )

    def between(self, start: int, end: int) -> Conversation:
        """Return it with the calls of these turns alone, `end` not included."""
        calls = tuple(call for call in self.calls if start <= call.turn < end)
        # What is said after a turn has that turn before it.
        late = tuple(each for each in self.late if start < each[0] <= end)
        return replace(self, calls=calls, late=late)

    def named(self, name: str) -> tuple[Call, ...]:
        """Return the calls of one tool, oldest first."""
        return tuple(call for call in self.calls if call.name == name)

    def has_made(self, name: str, arguments: Mapping[str, Any]) -> Call | None:
        """Return the call with exactly this input, if it was made."""
        for call in self.calls:
            if call.name == name and dict(call.input) == dict(arguments):
                return call
        return None

    @property
    def brought(self) -> str:
        """Return all that subagents brought, in the order in which it came."""
        joins = ("delegate", "wait_for", "follow_up")
        told = [(c.turn + 1, c.result) for c in self.calls if c.name in joins]
        return "\n\n".join(text for _turn, text in sorted([*told, *self.late], key=_at))

    @property
    def listed(self) -> list[str]:
        """Return the names that `list_dir` showed, folders with a slash."""
        names: list[str] = []
        for call in self.named("list_dir"):
            if call.answered and not call.is_error:
                for row in call.result.splitlines()[1:]:
                    name = re.sub(r" \([^()]*\)$", "", row.strip())
                    if name and not name.startswith("["):
                        names.append(name)
        return names

    @property
    def must_end(self) -> bool:
        """Whether the last message says that this is the last answer."""
        return self.turns > 0 and bool(_LAST_CALL.search(self.just_said))


def _blocks(content: str | Sequence[Block]) -> Sequence[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _without_openings(
    texts: Sequence[Block], turn: int, *, start: int
) -> tuple[list[Block], list[Opening]]:
    """Return the texts that open nothing, and what the others open."""
    kept, openings = list(texts[:start]), []
    for block in texts[start:]:
        opening = opening_in(text_of([block]), turn)
        if opening:
            openings.append(opening)
        else:
            kept.append(block)
    return kept, openings


def _at(told: tuple[int, str]) -> int:
    return told[0]


def _is_late(block: Block) -> bool:
    return bool(_FINDINGS.search(text_of([block])))


def _is_so_far(block: Block) -> bool:
    return text_of([block]).startswith(_SO_FAR)


def _is_call(block: Block) -> bool:
    return block.get("type") == "tool_use"


def _call(block: Block, results: Mapping[str, Block], turn: int) -> Call:
    result = results.get(str(block.get("id")))
    given = block.get("input")
    return Call(
        id=str(block.get("id")),
        name=str(block.get("name")),
        input=given if isinstance(given, dict) else {},
        result=text_of(result.get("content") or "") if result else "",
        is_error=bool(result and result.get("is_error")),
        answered=result is not None,
        turn=turn,
    )


# ---- first messages -----------------------------------------------------------------


def sections(text: str) -> dict[str, str]:
    """Return the text under each heading, by the heading in lower case.

    Context files are left out; text before the first heading has the key "". What the
    first heading of its own name holds is kept where a name occurs twice.
    """
    found: dict[str, list[str]] = {"": []}
    current = found[""]
    in_fence = False
    for line in _CONTEXT_FILE.sub("", text).splitlines():
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        heading = None if in_fence else _HEADING.match(line)
        if heading:
            current = found.setdefault(heading.group(1).strip("*:").lower(), [])
        else:
            current.append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def asking_sections(text: str) -> list[str]:
    """Return the parts of a brief that say what is asked, bounds and forms left out."""
    found = sections(text).items()
    return [part for name, part in found if name not in _NOT_ASKING]


def bullets(text: str) -> list[str]:
    """Return the items of a list, continued lines joined; what leads in is no item."""
    items: list[str] = []
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if _BULLET.match(line)), 0)
    for line in lines[first:]:
        match = _BULLET.match(line)
        if match:
            items.append(match.group(1).strip())
        elif line.strip() and items:
            items[-1] = f"{items[-1]} {line.strip()}"
        elif line.strip():
            items.append(line.strip())
    return [item for item in items if item]


def questions_of(named: str, objective: str) -> list[str]:
    """Return the questions: those listed, else what the objective asks or says.

    Args:
        named: text under the heading of the questions, or "".
        objective: text of the objective.
    """
    listed = bullets(named)
    if listed:
        return list(dict.fromkeys(listed))
    whole = " ".join(objective.split())
    sentences = _cut(_SENTENCE, whole)
    asked = [each for each in sentences if is_question(each) or _ORDERS.match(each)]
    if not any(is_question(each) for each in sentences):
        asked = []
        sentences = [part for each in sentences for part in parts_of(each)]
    return list(dict.fromkeys((asked[:24] or sentences[:6]) or [whole]))


def asked_in(text: str) -> list[str]:
    """Return the questions of a text without headings: listed, and asked around it."""
    lines = text.splitlines()
    marked = [at for at, line in enumerate(lines) if _BULLET.match(line)]
    if not marked:
        return questions_of("", text)
    # What follows the list after an empty line, and is not set in, is no part of it.
    end = next(
        (
            at
            for at in range(marked[-1] + 1, len(lines))
            if not lines[at - 1].strip() and lines[at].strip() and lines[at][0] != " "
        ),
        len(lines),
    )
    around = [" ".join(lines[: marked[0]]), " ".join(lines[end:])]
    before, after = (
        [each for each in _cut(_SENTENCE, part) if is_question(each)] for part in around
    )
    listed = bullets("\n".join(lines[marked[0] : end]))
    return list(dict.fromkeys([*before, *listed, *after]))


def parts_of(question: str) -> list[str]:
    """Return what `question` asks for, one by one; itself where that is one thing.

    Every part is kept: one that is about nothing by itself stays with the part before.
    """
    sentences = _cut(_SENTENCE, " ".join(question.split()))
    asked = [each for each in sentences if is_question(each)] or sentences
    parts: list[str] = []
    for sentence in asked:
        for clause in _cut(_CLAUSE, sentence):
            for part in _han_parts(clause):
                if parts and all(concept.is_weak for concept in concepts(part)):
                    parts[-1] = f"{parts[-1]} {part}"
                else:
                    parts.append(part)
    return parts if len(parts) > 1 else [question]


def _han_parts(clause: str) -> list[str]:
    """Cut a Chinese clause at its commas where both sides ask something."""
    found: list[str] = []
    for piece in _cut(_HAN_COMMA, clause):
        if found and not (_HAN_ASKS.search(found[-1]) and _HAN_ASKS.search(piece)):
            found[-1] = f"{found[-1]}，{piece}"
        else:
            found.append(piece)
    return found if len(found) > 1 else [clause]


def _cut(where: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in where.split(text) if part and part.strip()]


def paths_in(texts: Iterable[str]) -> list[str]:
    """Return what looks like a path in `texts`: code spans first, in order."""
    found: dict[str, None] = {}
    for text in texts:
        for span in _CODE_SPAN.findall(text):
            if " " not in span.strip():
                found[span.strip()] = None
        for path in _PATH.findall(_CODE_SPAN.sub(" ", text)):
            found[path.rstrip(".")] = None
    return list(found)
