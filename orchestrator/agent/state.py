"""What the loop keeps about one agent; all of it can be rebuilt from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

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
from orchestrator.agent.sight import Sight
from orchestrator.agent.stops import Say, Streaks, Verdict, forgiving, refused_by
from orchestrator.block_sizes import content_tokens
from orchestrator.clock import Clock
from orchestrator.context.factor import Factors
from orchestrator.context.marks import End
from orchestrator.context.shown import Shown
from orchestrator.context.transcript import Transcript
from orchestrator.context.view import Head
from orchestrator.errors import LimitReached
from orchestrator.events import (
    ContextCleared,
    ContextCompacted,
    ModelReplaced,
    ResultReplaced,
    ThinkingDropped,
)
from orchestrator.messages import Block, encode, text_block, text_of, tool_result
from orchestrator.models.base import Usage
from orchestrator.models.choose import max_output_tokens
from orchestrator.models.fields import binds_thinking
from orchestrator.spec.profiles import DELEGATION
from orchestrator.tools.calls import Answered, Barred, CallResult, OnRecord, Prior

__all__ = ["AgentState", "Limited"]

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
        late: those of the texts that wait that are findings.
        incoming: estimated tokens that the calls which run now may bring.
        result_sizes: what each of those may bring; None: as the task says.
        wrap_up: the limit, and its size, for which it was told to wrap up.
        asked_at: turns made when it was asked a further question.
        window: most that a request and its answer may be together, in tokens, as the
            endpoint has shown; None: it has not.
        taken_tokens: size of the conversation at its newest kept answer.
        refused: model that is not asked any more → category of its refusal.
        newest_results: those that no reply has come after.
        sight: what is in sight of the conversation, and what is kept of the rest.
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
    late: list[str] = field(default_factory=list)
    incoming: int = 0
    result_sizes: ResultSizes | None = None
    wrap_up: tuple[str, float] | None = None
    asked_at: int = 0
    window: int | None = None
    taken_tokens: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    factors: Factors = field(default_factory=Factors)
    sight: Sight = field(default_factory=Sight)
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
    def first_step(self) -> int:
        """Return the number of the first step that is sent whole, from 1."""
        return len(self.transcript.steps) - len(self.shown.steps) + 1

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

    def start(self, first: Sequence[Block], head: Head, memory_tokens: int = 0) -> None:
        """Begin the conversation with its first user message.

        Args:
            first: blocks of it.
            head: of every request.
            memory_tokens: of the message, what memory found.
        """
        layers = {"task": content_tokens(first, count=self.count) - memory_tokens}
        if memory_tokens:
            layers["memory"] = memory_tokens
        self.transcript.append("user", first)
        self.shown.begin(
            first, layers=layers, head_tokens=head.tokens, tools=head.tools_tokens
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
        self.late.append(text)
        if self.due == "nudge_finish":  # they are said in its place
            self.due = ""
            waited = max(self.streaks.unfinished - 1, 0)
            self.streaks = replace(self.streaks, unfinished=waited)

    @property
    def is_told(self) -> bool:
        """Return whether words of the program wait already, findings aside."""
        return len(self.pending_texts) > len(self.late)

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
        layers: dict[str, int] = {}
        for each in self.pending_results:
            layer = _layer(each)
            layers[layer] = layers.get(layer, 0) + each.tokens
        for text in self.pending_texts:
            layer = "findings" if text in self.late else "text"
            layers[layer] = layers.get(layer, 0) + self.count(text)
        self.transcript.append("user", blocks)
        self.shown.append("user", blocks, tokens=sum(layers.values()), layers=layers)
        self.sight.take_in(
            self.pending_results, self.transcript, self.shown, turns=self.turns
        )
        self.newest_results = [*self.newest_results, *self.pending_results]
        self.pending_results, self.pending_texts, self.late = [], [], []

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
        self.turns, self.sight.fitted_for = replaced.turn - 1, 0
        self.ending, self.window = None, None
        self.sight.is_bound = False  # the one before was
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
            self.sight.edited(self.shown)

    def clear(self, cleared: ContextCleared) -> int:
        """Put stubs in the place of results; return how many thinking blocks went."""
        sizes = {each["call"]: int(each["stub_tokens"]) for each in cleared.cleared}
        thinking = self.shown.clear(
            cleared.stubs, sizes, spares_newest=cleared.spares_newest
        )
        self.sight.cleared(cleared, self.transcript, self.shown, turns=self.turns)
        self._edited(CLEARED)
        return thinking

    def compact(self, compacted: ContextCompacted) -> int:
        """Put a text in the place of steps; return how many thinking blocks went."""
        kept = compacted.kept_messages
        self.sight.pinned = self.pinned_after(kept)
        thinking = self.shown.compact(
            compacted.text,
            kept=kept,
            parts=compacted.parts,
            spares_newest=compacted.spares_newest,
        )
        self.sight.was_compacted(compacted, self.shown, turns=self.turns)
        self._edited(COMPACTED)
        return thinking

    def pinned_after(self, kept: int) -> dict[str, str]:
        """Return what is pinned once all but so many messages have gone."""
        return self.sight.pinned_after(kept, self.transcript, self.shown)

    def _edited(self, why: str) -> None:
        self.cache.changed, self.previous_end = why, None
        self.streaks = forgiving(self.streaks, self.sight.forgiven)

    def refused_by(self, category: str) -> str:
        """Return why nothing comes of a refusal, with those of models before."""
        return refused_by({**self.refused, self.form.model: category})

    def reopen(self) -> None:
        """Forget how the agent ended: it is given more to do."""
        self.flush()
        self.raise_limit()
        self.ending, self.due = None, ""
        self.prior, self.streaks = {}, Streaks()
        self.wrap_up = None
        self.sight.fitted_for = 0

    def ask(self, text: str) -> None:
        """Put a further question to it, after it had ended."""
        self.reopen()
        self.asked_at = self.turns
        self.sight.words.append(text)
        self.pending_texts.append(text)

    @property
    def spares_newest(self) -> bool:
        """Return whether an edit leaves the thinking of the newest step where it is."""
        return not (self.sight.is_bound or binds_thinking(self.form.model))

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


def _layer(result: CallResult) -> str:
    """Return what the content of a result is, for the composition of a request."""
    return "findings" if result.name in DELEGATION else f"results:{result.name}"
