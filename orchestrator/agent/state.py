"""What the loop keeps about one agent; all of it can be rebuilt from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.cache_watch import RESULT_REPLACED, CacheWatch
from orchestrator.agent.counting import is_too_few
from orchestrator.agent.form import Form
from orchestrator.agent.incoming import ResultSizes
from orchestrator.agent.stops import Say, Streaks, Verdict, refused_by
from orchestrator.clock import Clock
from orchestrator.context.marks import End
from orchestrator.context.transcript import Transcript
from orchestrator.errors import LimitReached
from orchestrator.events import ModelReplaced, ResultReplaced, ThinkingDropped
from orchestrator.messages import Block, encode, text_block, text_of, tool_result
from orchestrator.models.base import Usage
from orchestrator.models.choose import max_output_tokens
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
        transcript: what was said.
        count: estimates the tokens of a text.
        clock: the time.
        form: of its requests, as they are now.
        max_output_tokens: bound of the next reply.
        turns: model calls made.
        carried_s: seconds at work in earlier processes.
        previous_end: where the newest request ended that was answered.
        previous_message: id of that answer, or "".
        cache: what its next request should find in the service's cache.
        composition: estimated tokens by layer.
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
    """

    transcript: Transcript
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
    composition: dict[str, int] = field(default_factory=dict)
    prior: dict[str, Prior] = field(default_factory=dict)
    due: Say = ""
    ending: Verdict | None = None
    limited: Limited | None = None
    edits: list[ResultReplaced | ThinkingDropped] = field(default_factory=list)
    pending_results: list[CallResult] = field(default_factory=list)
    pending_texts: list[str] = field(default_factory=list)
    delivered: set[str] = field(default_factory=set)
    late: int = 0
    incoming: int = 0
    result_sizes: ResultSizes | None = None
    wrap_up: tuple[str, float] | None = None
    asked_at: int = 0
    window: int | None = None
    taken_tokens: int = 0
    refused: dict[str, str] = field(default_factory=dict)
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

    def start(self, first: Sequence[Block], *, head_tokens: int) -> None:
        """Begin the conversation with its first user message."""
        tokens = self.count(text_of(first))
        self.composition = {"prompt": head_tokens, "task": tokens}
        self.transcript.append("user", first, tokens=head_tokens + tokens)

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
        results = sum(each.tokens for each in self.pending_results)
        texts = sum(self.count(text) for text in self.pending_texts)
        self._compose("results", results)
        self._compose("text", texts)
        self.transcript.append("user", blocks, tokens=results + texts)
        self.pending_results, self.pending_texts, self.late = [], [], 0

    def answered(self, message: str) -> None:
        """Note that the request with everything up to now was answered.

        Args:
            message: id of the answer, or "".
        """
        self.previous_end, self.previous_message = self.transcript.end, message

    def take_reply(self, content: Sequence[Block], usage: Usage) -> None:
        """Append the assistant's message and take over the reported size."""
        told = usage.context_tokens
        is_told = usage.known and told and not is_too_few(told, self.transcript.tokens)
        if is_told:
            self.transcript.measured(told)
        said = usage.output_tokens or self.count(encode(list(content)).decode())
        self._compose("assistant", said)
        self.transcript.append("assistant", content, tokens=said)
        if is_told:
            self.transcript.reported(told + said)
        self.taken_tokens = self.transcript.tokens

    def raise_output(self, ceiling: int) -> None:
        """Double the bound of the next reply, up to `ceiling` tokens."""
        self.max_output_tokens = min(self.max_output_tokens * 2, ceiling)

    def replace_model(self, replaced: ModelReplaced) -> None:
        """Let another model go on: the refusal of the one before is no turn."""
        self.refused[replaced.model] = replaced.reason
        self.form = Form(replaced.instead, replaced.request, tuple(replaced.without))
        most = max_output_tokens(replaced.instead)
        self.max_output_tokens = min(self.max_output_tokens, most)
        self.transcript.drop_thinking()
        self.transcript.doubt()
        self.turns = replaced.turn - 1
        self.ending, self.window = None, None
        if self.limited is not None:
            self.limited.is_answered = False
        self.previous_end, self.previous_message = None, ""

    def replace_result(self, replaced: ResultReplaced) -> None:
        """Answer a call of the conversation by something else."""
        before = self.transcript.answer_anew(
            tool_result(replaced.call, replaced.content, is_error=replaced.is_error)
        )
        if before is not None and before["content"] != replaced.content:
            less = self.count(text_of([before])) - self.count(replaced.content)
            self.transcript.shortened(less)
            self._compose("results", -less)
            self.cache.changed = RESULT_REPLACED

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

    def ask(self, text: str) -> None:
        """Put a further question to it, after it had ended."""
        self.reopen()
        self.asked_at = self.turns
        self.pending_texts.append(text)

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

    def _compose(self, layer: str, tokens: int) -> None:
        self.composition[layer] = self.composition.get(layer, 0) + tokens
