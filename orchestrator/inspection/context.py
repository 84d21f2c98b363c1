"""What filled the context of each agent, turn by turn, as the events tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events import Event
from orchestrator.events.edits import EDITS
from orchestrator.events.phrases import number, one_line
from orchestrator.ids import HISTORY_REFERENCE, reference_of
from orchestrator.inspection.tokens import Tokens
from orchestrator.messages import list_items

__all__ = [
    "AgentContext",
    "Aside",
    "Call",
    "Edit",
    "Turn",
    "contexts_of",
]

SAID_CHARS = 200

Data = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """One turn: the newest request that it took, and the answer."""

    turn: int
    estimated: int = 0
    """Tokens of the request, as estimated before it left."""
    composition: dict[str, int] = field(default_factory=dict)
    """The same by layer."""
    reported: int | None = None
    """Tokens of it, as the service counted them; None: it told nothing."""
    cache_read: int = 0
    output: int = 0
    first_token_s: float | None = None
    seconds: float | None = None
    usd: float | None = None
    requests: int = 0
    calls: int = 0
    """Tool calls that ended, and those of them that were errors."""
    errors: int = 0
    rent_usd: float | None = None
    newest_unwritten: bool = False

    @property
    def size(self) -> int:
        """Return the tokens of the request: as reported, else as estimated."""
        return self.reported or self.estimated

    @property
    def cache_share(self) -> float:
        """Return which part of it was read from the cache, 0 to 1."""
        return self.cache_read / self.reported if self.reported else 0.0

    @property
    def error(self) -> float | None:
        """Return how far the estimate was off, 0.1 for a tenth too much, or None."""
        return self.estimated / self.reported - 1 if self.reported else None

    def to_dict(self) -> Data:
        """Return everything by name."""
        names = [*self.__dataclass_fields__, "cache_share", "error"]
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Call:
    """One tool call, its result, and how long that was sent."""

    id: str
    name: str
    turn: int
    """Whose answer made it."""
    step: int
    """Number of the assistant message, as references count them."""
    place: int
    """Among the calls of its step, from 1."""
    input: Data
    tokens: int = 0
    """Of the result as the model was shown it, estimated."""
    full_tokens: int = 0
    artifact: str = ""
    label: str = ""
    is_error: bool = False
    is_over: bool = False
    sent: int = 0
    """Requests that held the result whole."""
    gone: int = 0
    """Turn from which on it is not sent whole any more; 0: it still is."""
    ref: str = ""

    @property
    def carried(self) -> int:
        """Return the tokens that all requests with the whole result add up to."""
        return self.tokens * self.sent

    def to_dict(self) -> Data:
        """Return everything but the input, by name."""
        left_out = ("input", "is_over", "place")
        names = [name for name in self.__dataclass_fields__ if name not in left_out]
        return {name: getattr(self, name) for name in [*names, "carried"]}


@dataclass(slots=True)
class Edit:
    """Something that is no longer sent from a turn on."""

    turn: int
    kind: str
    event: Event
    calls: list[Call]
    """Whose results went, oldest first."""
    steps: range
    """Numbers of the steps that went, if it is a compaction."""
    nth: int
    """Among those of its kind, from 1."""
    step: int
    """The newest step then."""

    @property
    def is_compaction(self) -> bool:
        """Return whether steps went and one text stands in their place."""
        return self.kind == "context.compacted"


@dataclass(frozen=True, slots=True)
class Aside:
    """A request that the program made for itself: of a summary, of a judgement."""

    seq: int
    """Of the answer in the log."""
    turn: int
    purpose: str
    tokens_in: int
    tokens_out: int
    usd: float | None
    seconds: float
    model: str
    found: tuple[str, ...] = ()
    """What a judge says that the summary lacks, a line each."""


@dataclass(slots=True)
class AgentContext:
    """Everything that one agent was sent, and when."""

    id: str
    title: str = ""
    role: str = ""
    model: str = ""
    window_tokens: int | None = None
    """Usable, and the marks in it; None: the log does not tell."""
    soft_tokens: int | None = None
    hard_tokens: int | None = None
    turns: dict[int, Turn] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    asides: list[Aside] = field(default_factory=list)
    said: dict[int, str] = field(default_factory=dict)
    """Step → the start of what the agent said in it."""
    _dropped: int = 0
    """The newest step that went with a compaction."""
    _step: int = 0
    _reply: int = 0
    """`seq` of the event that began the newest step."""
    _is_open: bool = False
    """The newest message is the assistant's."""
    _turn: int = 0
    _shown: dict[str, Call] = field(default_factory=dict)
    """Calls whose results are sent whole."""

    @property
    def peak(self) -> int:
        """Return the size of the largest request."""
        return max((each.size for each in self.turns.values()), default=0)

    @property
    def sent(self) -> int:
        """Return the tokens of all requests together, those of the program left out."""
        return sum(each.size for each in self.turns.values())

    @property
    def cache_share(self) -> float:
        """Return which part of all that was sent came from the cache, 0 to 1."""
        known = sum(each.reported or 0 for each in self.turns.values())
        read = sum(each.cache_read for each in self.turns.values())
        return read / known if known else 0.0

    @property
    def compactions(self) -> list[Edit]:
        """Return the compactions, oldest first."""
        return [each for each in self.edits if each.is_compaction]

    def apply(self, event: Event) -> None:
        """Take over one event of this agent; they come in the order of the log."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event, event.data)
        elif event.kind in EDITS:
            self._edit(event, event.data)

    def _started(self, _event: Event, data: Data) -> None:
        for name in ("title", "role", "model"):
            setattr(self, name, str(data.get(name) or getattr(self, name)))
        settings = data.get("settings")
        told = settings.get("context") if isinstance(settings, dict) else None
        marks = told if isinstance(told, dict) else {}
        self.window_tokens = _size(marks.get("window_tokens"))
        self.soft_tokens = _size(marks.get("soft_tokens"))
        self.hard_tokens = _size(marks.get("hard_tokens"))

    def _requested(self, _event: Event, data: Data) -> None:
        if data.get("purpose"):
            return
        self._turn = int(number(data.get("turn")))
        is_new = self._turn not in self.turns
        turn = self.turns.setdefault(self._turn, Turn(self._turn))
        turn.requests += 1
        turn.estimated = int(number(data.get("estimated_tokens")))
        layers = data.get("composition")
        turn.composition = {
            str(layer): int(number(count))
            for layer, count in (layers if isinstance(layers, dict) else {}).items()
        }
        turn.rent_usd = _amount(data.get("rent_usd"))
        turn.newest_unwritten = bool(data.get("newest_unwritten"))
        for call in self._shown.values() if is_new else ():
            call.sent += 1

    def _answered(self, event: Event, data: Data) -> None:
        used = Tokens()
        usage = data.get("usage")
        used.add_usage(usage if isinstance(usage, dict) else {})
        usd = _amount(data.get("usd"))
        seconds = number(data.get("seconds"))
        if purpose := data.get("purpose"):
            told = str(purpose), used.sent, used.output, usd, seconds
            model = one_line(data.get("model"))
            found = _listed(data.get("content")) if purpose == "judge" else ()
            self.asides.append(Aside(event.seq, self._turn, *told, model, found))
            return
        turn = self.turns.setdefault(self._turn, Turn(self._turn))
        turn.reported = used.sent or None
        turn.cache_read, turn.output = used.cache_read, used.output
        turn.first_token_s = _amount(data.get("first_token_s"))
        turn.seconds, turn.usd = seconds, usd
        content = data.get("content")
        if data.get("kept", True) and content:
            self._begin(event.seq)
            self._take_content(content if isinstance(content, list) else [])

    def _take_content(self, content: list[Any]) -> None:
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else ""
            if kind == "tool_use":
                self._call(str(block.get("id")), str(block.get("name")), block)
            elif kind == "text":
                self.said.setdefault(
                    self._step, one_line(block.get("text"))[:SAID_CHARS]
                )

    def _begin(self, reply: int) -> None:
        """Begin another step, unless the newest message goes on."""
        self._step += not self._is_open
        self._is_open, self._reply = True, reply

    def _call(self, call: str, name: str, data: Mapping[str, Any]) -> Call:
        given = data.get("input")
        before = [each for each in self._newest() if each.step == self._step]
        place = len(before) + 1
        for each in before[:1] if place == 2 else ():
            each.ref = reference_of(self._step, place=1)
        ref = reference_of(self._step, place=place if before else 0)
        made = Call(call, name, self._turn, self._step, place, {}, ref=ref)
        made.input = given if isinstance(given, dict) else {}
        return self.calls.setdefault(call, made)

    def _newest(self) -> Iterable[Call]:
        """Yield the calls of the newest step, and at most one more."""
        for each in reversed(self.calls.values()):
            yield each
            if each.step != self._step:
                return

    def _tool_started(self, event: Event, data: Data) -> None:
        call = str(data.get("call", ""))
        if call not in self.calls:
            if event.cause and event.cause != self._reply:  # its reply is lost
                self._is_open = False
                self._begin(event.cause)
            self._call(call, str(data.get("name", "")), data)
        elif isinstance(data.get("input"), dict):
            self.calls[call].input = data["input"]  # without what is secret

    def _tool_ended(self, _event: Event, data: Data) -> None:
        self._is_open = False
        id_, name = str(data.get("call", "")), str(data.get("name", ""))
        call = self.calls.get(id_) or self._call(id_, name, {})
        turn = self.turns.get(call.turn)
        if turn is not None and not call.is_over:
            turn.calls += 1
            turn.errors += bool(data.get("is_error"))
        call.is_over, call.is_error = True, bool(data.get("is_error"))
        call.tokens = int(number(data.get("tokens")))
        call.full_tokens = int(number(data.get("full_tokens")))
        call.artifact = str(data.get("artifact") or "")
        call.label = str(data.get("label") or "")
        self._shown[id_] = call

    def _told(self, _event: Event, _data: Data) -> None:
        self._is_open = False

    def _edit(self, event: Event, data: Data) -> None:
        turn = int(number(data.get("turn")))
        first, last = (int(number(data.get(f"{e}_dropped"))) for e in ("first", "last"))
        is_clear = event.kind == "context.cleared"
        first = max(first, self._dropped + 1)  # what went before is not told again
        steps = range(0) if is_clear else range(first, last + 1)
        self._dropped = max(self._dropped, 0 if is_clear else last)
        stubs = data.get("stubs")
        named = stubs if isinstance(stubs, dict) else {}
        gone = [
            each
            for each in self.calls.values()
            if (each.id in named if is_clear else each.step in steps)
        ]
        for call in gone:
            self._shown.pop(call.id, None)
            call.gone = call.gone or turn
        nth = 1 + sum(each.kind == event.kind for each in self.edits)
        self.edits.append(Edit(turn, event.kind, event, gone, steps, nth, self._step))
        self._take_refs(data.get("cleared"))

    def _take_refs(self, cleared: object) -> None:
        for each in cleared if isinstance(cleared, list) else []:
            call = (
                self.calls.get(str(each.get("call")))
                if isinstance(each, dict)
                else None
            )
            if call is not None and HISTORY_REFERENCE.fullmatch(str(each.get("ref"))):
                call.ref = str(each["ref"])

    _HANDLERS: ClassVar[dict[str, Callable[[AgentContext, Event, Data], None]]] = {
        "agent.started": _started,
        "model.requested": _requested,
        "model.answered": _answered,
        "tool.started": _tool_started,
        "tool.ended": _tool_ended,
        "text.added": _told,
        "run.reopened": _told,
        "subagent.asked": _told,
    }


def contexts_of(events: Iterable[Event]) -> dict[str, AgentContext]:
    """Return what filled the context of each agent, in the order of their start.

    Args:
        events: of a run, in order; large fields may be references.
    """
    agents: dict[str, AgentContext] = {}
    for event in events:
        if event.agent:
            agents.setdefault(event.agent, AgentContext(event.agent)).apply(event)
    return {name: each for name, each in agents.items() if each.turns or each.role}


def _listed(content: object) -> tuple[str, ...]:
    """Return the items of the lists in an answer, each on one line."""
    blocks = content if isinstance(content, list) else []
    texts = [str(each.get("text", "")) for each in blocks if isinstance(each, dict)]
    return tuple(one_line(item) for text in texts for item in list_items(text))


def _size(value: object) -> int | None:
    return int(number(value)) or None


def _amount(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number(value) if is_number else None
