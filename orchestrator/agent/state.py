"""What the loop keeps about one agent; all of it can be rebuilt from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.cache_watch import (
    CLEARED,
    COMPACTED,
    RESULT_REPLACED,
    CacheWatch,
)
from orchestrator.agent.counting import is_too_few
from orchestrator.agent.form import Form
from orchestrator.agent.incoming import ResultSizes
from orchestrator.agent.stops import Say, Streaks, Verdict, refused_by
from orchestrator.block_sizes import content_tokens
from orchestrator.clock import Clock
from orchestrator.context.factor import Factors
from orchestrator.context.marks import End
from orchestrator.context.shown import Shown, ShownResult
from orchestrator.context.transcript import CallMade, Transcript
from orchestrator.errors import LimitReached
from orchestrator.events import (
    ContextCleared,
    ContextCompacted,
    ModelAnswered,
    ModelReplaced,
    ResultReplaced,
    ThinkingDropped,
)
from orchestrator.events.of_agent import Label
from orchestrator.messages import Block, encode, text_block, text_of, tool_result
from orchestrator.models.base import Usage
from orchestrator.models.choose import max_output_tokens
from orchestrator.models.fields import binds_thinking
from orchestrator.spec.profiles import DELEGATION
from orchestrator.tools.calls import Answered, Barred, CallResult, OnRecord, Prior

__all__ = ["AgentState", "Limited"]

READS: Final = frozenset({"read_file"})
EDITS: Final = frozenset({"edit_file", "write_file"})
AGAIN_TURNS = 3
"""A result that is asked for again within so many turns of its clear was needed."""
RAISED = (
    "Not taken yet: the limit that stopped you has been raised. Go on with the work, "
    "and hand in again when it is complete."
)


@dataclass(slots=True)
class Limited:
    """How far an agent is that has reached a limit.

    Attributes:
        reached: the limit.
        is_told: the model was told of it.
        is_answered: the last call was answered.
    """

    reached: LimitReached
    is_told: bool = False
    is_answered: bool = False


@dataclass(slots=True)
class AgentState:
    """Transcript and counters of one agent.

    The next user message is assembled when the next request is made: results in call
    order, then texts. Until then both wait here.

    Attributes:
        transcript: all that was said.
        shown: what is sent of it.
        count: estimates the tokens of a text.
        clock: the time.
        form: of its requests, as they are now.
        factors: what models count for an estimated token.
        max_output_tokens: bound of the next reply.
        turns: model calls made.
        carried_s: seconds at work in earlier processes.
        previous_end: where the newest request ended that was answered.
        previous_message: id of that answer, or "".
        cache: what its next request should find in the service's cache.
        spent: used in earlier processes.
        prior: open call → what is known of it before it would run.
        due: what the newest reply calls for and was not said yet.
        ending: how the newest reply ends the loop, if an earlier process did not get
            to end it.
        limited: the limit that was reached; only the last call is left then.
        edits: of what a damaged log says was sent; they are not in the log yet.
        delivered: deliveries of its subagents that are in the conversation.
        late: how many of the texts that wait are findings.
        incoming: estimated tokens that the calls which run now may bring.
        result_sizes: what each of those may bring; None: as the task says.
        wrap_up: the limit, and its size, for which it was told to wrap up.
        asked_at: turns made when it was asked a further question.
        window: most that a request and its answer may be together, in tokens, as the
            endpoint has shown; None: it has not.
        taken_tokens: size of the conversation at its newest kept answer.
        refused: model that is not asked any more → category of its refusal.
        aside: answer to the newest question beside the conversation, if what it was
            asked for is not done yet.
        clears_next: results are likely to be cleared before the request after the next
            one.
        newest_results: those that no reply has come after.
        is_bound: thinking has been refused, since something before it had changed.
        rent_usd: paid for carrying what a clear would take away, since the last edit.
        lately: what was cleared, by its reference and by its call → turns made then.
        pinned: reference → text that must stay word for word, though its step is gone.
        put_back: what checks of summaries found missing, oldest first.
        words: what people said while it was at work, oldest first.
        compacted: the newest compaction.
        compacted_at: turns made at that, or at the newest attempt.
        compacted_to_tokens: size of the request right after that; None: there was none.
        remind: it is to be reminded after the next step.
        reminded_at: turns made when it was reminded last.
    """

    transcript: Transcript
    shown: Shown
    count: Callable[[str], int]
    clock: Clock
    form: Form
    max_output_tokens: int
    turns: int = 0
    carried_s: float = 0.0
    spent: Amount = NOTHING
    previous_end: End | None = None
    previous_message: str = ""
    cache: CacheWatch = field(default_factory=CacheWatch)
    streaks: Streaks = field(default_factory=Streaks)
    prior: dict[str, Prior] = field(default_factory=dict)
    due: Say = ""
    ending: Verdict | None = None
    limited: Limited | None = None
    edits: list[ResultReplaced | ThinkingDropped] = field(default_factory=list)
    pending_results: list[CallResult] = field(default_factory=list)
    pending_texts: list[str] = field(default_factory=list)
    newest_results: list[CallResult] = field(default_factory=list)
    delivered: set[str] = field(default_factory=set)
    late: int = 0
    incoming: int = 0
    result_sizes: ResultSizes | None = None
    wrap_up: tuple[str, float] | None = None
    asked_at: int = 0
    window: int | None = None
    taken_tokens: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    factors: Factors = field(default_factory=Factors)
    rent_usd: float = 0.0
    is_bound: bool = False
    aside: ModelAnswered | None = None
    clears_next: bool = False
    lately: dict[str | bytes, int] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    put_back: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    compacted: ContextCompacted | None = None
    compacted_at: int = 0
    compacted_to_tokens: int | None = None
    remind: bool = False
    reminded_at: int = 0
    began: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()

    @property
    def waiting(self) -> set[str]:
        """Return the ids of the calls that have no result yet."""
        calls = [call["id"] for call in self.transcript.open_calls]
        return {
            call for call in calls if not isinstance(self.prior.get(call), Answered)
        }

    @property
    def seconds(self) -> float:
        """Return seconds at work; time between two processes does not count."""
        return self.carried_s + self.clock.monotonic() - self.began

    @property
    def last_words(self) -> str:
        """Return the text of the newest message, if it is the model's."""
        newest = self.transcript.messages[-1]
        return text_of(newest["content"]) if newest["role"] == "assistant" else ""

    def last_hand_in(self, tool: str) -> str:
        """Return the input of the newest hand-in as text: useful, though not valid."""
        for call in reversed(self.transcript.open_calls):
            if call["name"] == tool:
                return encode(call["input"]).decode()
        return ""

    @property
    def is_handed_in(self) -> bool:
        """Return whether the newest message holds a hand-in that was accepted."""
        calls = self.transcript.open_calls
        return any(isinstance(self.prior.get(call["id"]), OnRecord) for call in calls)

    def start(
        self, first: Sequence[Block], *, head_tokens: int, tools_tokens: int
    ) -> None:
        """Begin the conversation with its first user message.

        Args:
            first: blocks of it.
            head_tokens: estimated size of system prompt and tools.
            tools_tokens: of the tools alone.
        """
        tokens = content_tokens(first, count=self.count)
        self.transcript.append("user", first)
        self.shown.begin(
            first, head_tokens=head_tokens, tokens=tokens, tools=tools_tokens
        )

    def add(self, results: Sequence[CallResult], texts: Sequence[str]) -> None:
        """Put results and texts into the next user message."""
        self.incoming = 0
        self.pending_results += results
        self.pending_texts += texts
        for each in results:
            self.delivered.update(each.delivers)

    def add_late(self, text: str, delivers: Collection[str]) -> None:
        """Put findings that came in meanwhile into the next user message.

        Args:
            text: one block.
            delivers: the deliveries in it.
        """
        self.pending_texts.append(text)
        self.delivered.update(delivers)
        self.late += 1
        if self.due == "nudge_finish":  # they are said in its place
            self.due = ""
            waited = max(self.streaks.unfinished - 1, 0)
            self.streaks = replace(self.streaks, unfinished=waited)

    @property
    def is_told(self) -> bool:
        """Return whether words of the program wait already, findings aside."""
        return len(self.pending_texts) > self.late

    @property
    def pending_tokens(self) -> int:
        """Return the estimated tokens of what waits for the next user message."""
        results = sum(each.tokens for each in self.pending_results)
        return results + sum(self.count(text) for text in self.pending_texts)

    def flush(self) -> None:
        """Append the waiting user message, if there is one."""
        blocks: list[Block] = [
            tool_result(each.call, each.content, is_error=each.is_error)
            for each in self.pending_results
        ]
        blocks += [text_block(text) for text in self.pending_texts]
        if not blocks:
            return
        step = len(self.transcript.steps)
        layers: dict[str, int] = {}
        for each in self.pending_results:
            layer = _layer(each)
            layers[layer] = layers.get(layer, 0) + each.tokens
        texts = [self.count(text) for text in self.pending_texts]
        if texts:
            layers["text"] = sum(texts)
        self.transcript.append("user", blocks)
        self.shown.append("user", blocks, tokens=sum(layers.values()), layers=layers)
        for each in self.pending_results:
            self._supersede(each)
        self.shown.took(
            ShownResult(each.call, each.name, step, each.tokens, self._label(each))
            for each in self.pending_results
        )
        self.newest_results = self.pending_results
        self.pending_results, self.pending_texts, self.late = [], [], 0

    def answered(self, message: str) -> None:
        """Note that the request with everything up to now was answered.

        Args:
            message: id of the answer, or "".
        """
        self.previous_end, self.previous_message = self.shown.end, message

    def take_reply(self, content: Sequence[Block], usage: Usage) -> None:
        """Append the assistant's message and take over the reported size."""
        told = usage.context_tokens
        is_told = usage.known and told and not is_too_few(told, self.shown.tokens)
        if is_told:
            self._learn(told)
            self.shown.measured(told)
        said = usage.output_tokens or self.count(encode(list(content)).decode())
        thought = min(usage.thinking_tokens, said)
        layers = {"assistant": said - thought, "thinking": thought}
        layers = {name: tokens for name, tokens in layers.items() if tokens}
        self.newest_results = []
        self.transcript.append("assistant", content)
        self.shown.append("assistant", content, tokens=said, layers=layers)
        if is_told:
            self.shown.reported(told + said)
        self.taken_tokens = self.shown.tokens

    def _learn(self, told: int) -> None:
        """Compare what was estimated with what the service counted."""
        shown, model = self.shown, self.form.model
        if not shown.slack_tokens:
            counted = told - shown.known_tokens
            self.factors.learn(model, counted=counted, estimated=shown.added_tokens)
        shown.factor = self.factors.of(model)

    def raise_output(self, ceiling: int) -> None:
        """Double the bound of the next reply, up to `ceiling` tokens."""
        self.max_output_tokens = min(self.max_output_tokens * 2, ceiling)

    def replace_model(self, replaced: ModelReplaced) -> None:
        """Let another model go on: the refusal of the one before is no turn."""
        self.refused[replaced.model] = replaced.reason
        self.form = Form(replaced.instead, replaced.request, tuple(replaced.without))
        most = max_output_tokens(replaced.instead)
        self.max_output_tokens = min(self.max_output_tokens, most)
        self.shown.drop_thinking()
        self.shown.doubt()
        self.turns = replaced.turn - 1
        self.ending, self.window = None, None
        if self.limited is not None:
            self.limited.is_answered = False
        self.previous_end, self.previous_message = None, ""

    def replace_result(self, replaced: ResultReplaced) -> None:
        """Answer a call of the conversation by something else."""
        before = self.shown.answer_anew(
            tool_result(replaced.call, replaced.content, is_error=replaced.is_error),
            tokens=self.count(replaced.content),
        )
        if before is not None and before["content"] != replaced.content:
            self.cache.changed = RESULT_REPLACED

    def clear(self, cleared: ContextCleared) -> int:
        """Put stubs in the place of results; return how many thinking blocks went."""
        sizes = {each["call"]: int(each["stub_tokens"]) for each in cleared.cleared}
        thinking = self.shown.clear(
            cleared.stubs, sizes, spares_newest=cleared.spares_newest
        )
        for each in cleared.cleared:
            made = self.transcript.calls.get(each["call"])
            if made is not None:
                self.lately[made.reference] = self.lately[made.key] = self.turns
        self._rewritten(CLEARED)
        return thinking

    def compact(self, compacted: ContextCompacted) -> int:
        """Put a text in the place of steps; return how many thinking blocks went."""
        before = set(self.shown.results)
        texts = {
            str(block.get("tool_use_id")): text_of([block])
            for message in self.shown.messages[1:]
            for block in message["content"]
        }
        labels = dict(self.shown.results)
        thinking = self.shown.compact(
            compacted.text,
            kept=compacted.kept_messages,
            parts=compacted.parts,
            spares_newest=compacted.spares_newest,
        )
        for call in before - set(self.shown.results):
            if labels[call].label == "critical" and call in self.transcript.calls:
                self.pinned[self.transcript.calls[call].reference] = texts[call]
        self.put_back += compacted.added
        self.compacted, self.compacted_at = compacted, self.turns
        self.compacted_to_tokens = self.shown.tokens
        self.remind = True
        self._rewritten(COMPACTED)
        return thinking

    def _supersede(self, result: CallResult) -> None:
        """Mark what earlier reads of a file showed, if a result is newer than they."""
        made = self.transcript.calls.get(result.call)
        if made is None or result.is_error or made.name not in READS | EDITS:
            return
        for earlier in self.shown.results.values():
            before = self.transcript.calls.get(earlier.call)
            is_read = before is not None and before.name in READS
            if is_read and before is not None and _is_newer(made, before):
                earlier.is_superseded = True

    def _label(self, result: CallResult) -> Label:
        """Return the label of a result: what was cleared and is asked for again stays.

        So a model that needs it does not have to open it a third time.
        """
        made = self.transcript.calls.get(result.call)
        if made is None:
            return result.label
        by_call = self.lately.get(made.key)
        by_ref = self.lately.get(str(made.input.get("ref")))
        at = max(each for each in (by_call, by_ref, -1) if each is not None)
        is_again = at >= 0 and self.turns - at <= AGAIN_TURNS
        return "critical" if is_again else result.label

    def _rewritten(self, why: str) -> None:
        self.cache.changed = why
        self.previous_end, self.rent_usd = None, 0.0
        self.aside = None
        self.streaks = replace(self.streaks, steps=())  # asking again is no repeat now

    def refused_by(self, category: str) -> str:
        """Return why nothing comes of a refusal, with those of models before."""
        return refused_by({**self.refused, self.form.model: category})

    def heard(self, reason: str, text: str) -> None:
        """Take note of what a text of the program is about; as in `text.added`."""
        if reason == "steer":
            self.words.append(text)
        elif reason == "reminder":
            self.remind, self.reminded_at = False, self.turns

    def reopen(self) -> None:
        """Forget how the agent ended: it is given more to do."""
        self.flush()
        self.raise_limit()
        self.ending, self.due = None, ""
        self.prior, self.streaks = {}, Streaks()
        self.wrap_up = None

    def ask(self, text: str) -> None:
        """Put a further question to it, after it had ended."""
        self.reopen()
        self.asked_at = self.turns
        self.words.append(text)
        self.pending_texts.append(text)

    @property
    def spares_newest(self) -> bool:
        """Return whether an edit leaves the thinking of the newest step where it is."""
        return not (self.is_bound or binds_thinking(self.form.model))

    def raise_limit(self) -> None:
        """Forget the limit that was reached: there is more than a last call."""
        self.limited = None

    def go_on(self, hand_in: str) -> None:
        """Go on with the work: the limit that was reached is raised.

        What was handed in at the end is not taken.
        """
        self.raise_limit()
        self.ending, self.due = None, "continue"
        for call in self.transcript.open_calls:
            if call["name"] == hand_in:
                self.due = ""
                if not isinstance(self.prior.get(call["id"]), Answered):
                    self.prior[call["id"]] = Barred(RAISED)


def _is_newer(made: CallMade, before: CallMade) -> bool:
    """Return whether a call shows, or has changed, all that an earlier read showed."""
    if made.input.get("path") != before.input.get("path"):
        return False
    if made.name in EDITS:
        return True
    places = ("first_line", "max_lines")
    return all(made.input.get(name) == before.input.get(name) for name in places)


def _layer(result: CallResult) -> str:
    """Return what the content of a result is, for the composition of a request."""
    return "findings" if result.name in DELEGATION else f"results:{result.name}"
