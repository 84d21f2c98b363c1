"""What changes in an agent's requests where one was refused: each thing once.

A field that the endpoint does not know is left out; thinking that it does not take back
is, too; an output for which there is no room is lowered; after a refusal by the model
another one goes on. Every change is an event, so that a later process sends the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from orchestrator.agent.form import Form
from orchestrator.agent.state import AgentState
from orchestrator.agent.window import (
    LAST_OUTPUT_TOKENS,
    held_results,
    learn_from_refusal,
    output_within,
    to_leave_out,
)
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import (
    ModelAdapted,
    ModelReplaced,
    ResultReplaced,
    ThinkingDropped,
)
from orchestrator.messages import encode
from orchestrator.models.choose import smallest
from orchestrator.models.features import Lacks, refused_feature
from orchestrator.models.fields import request_fields
from orchestrator.settings import OFFLINE
from orchestrator.spec.profiles import DELEGATION
from orchestrator.store.eventlog import EventLog

__all__ = ["Mender"]

LEFT_OUT: Final = (
    "This result is left out: the context is full. It is stored as `{ref}`."
)
BOUND: Final = "the endpoint does not take it back: {told}"
WHY_LEFT_OUT: Final = "results before it are left out, and it is bound to them"
MAX_TOLD_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Mender:
    """Changes the requests of one agent.

    Attributes:
        agent: its id.
        log: where each change is written down.
        lacks: what the endpoint lacks, as all agents of the run have found out.
        fallback: bare id of the model that goes on after a refusal, or "".
        store: keeps a content and returns its reference; may block.
    """

    agent: str
    log: EventLog
    lacks: Lacks
    fallback: str
    store: Callable[[bytes], str]

    def adapt(self, state: AgentState) -> None:
        """Leave out what others have found the endpoint to lack."""
        form = state.form
        news = self.lacks.of(form.model) & form.features
        if news:
            self._leave_out(state, news, "")

    def mends(self, state: AgentState, error: ModelError, *, output: int) -> str:
        """Change what a refusal is about, and return what that is; "": nothing.

        Args:
            state: as it was when the request left.
            error: how that ended.
            output: the most output that it asked for, in tokens.
        """
        learn_from_refusal(state, error.kind, message=error.message)
        if error.kind == "thinking_bound":
            return self._without_thinking(state, error)
        if error.kind not in ("invalid", "too_long"):
            return ""
        form = state.form
        feature = refused_feature(error.message, form.features)
        if feature and error.kind == "invalid":
            self.lacks.learn(form.model, {feature})
            self._leave_out(state, {feature}, error.message)
            return feature
        return "output" if self._is_lower(state, output) else ""

    def falls_back(self, state: AgentState, category: str) -> bool:
        """Let the fallback go on in place of a model that refused, if there is one.

        It stays: what was refused is in the conversation from now on.

        Args:
            state: the agent's; its newest reply was a refusal.
            category: of that, in the service's words.
        """
        old, new = state.form, self.fallback
        if not new or OFFLINE in (old.model, new) or old.model == new:
            return False
        effort = old.fields.get("output_config", {}).get("effort")
        form = Form(new, request_fields(new, effort)).lacking(self.lacks.of(new))
        replaced = ModelReplaced(
            turn=state.turns,
            model=old.model,
            instead=new,
            reason=category,
            request=form.fields,
            without=list(form.without),
        )
        self.log.append(replaced, agent=self.agent)
        state.replace_model(replaced)
        return True

    async def make_room(self, state: AgentState, window: int | None) -> str:
        """Leave out results, so that a last call fits; return what went; "": nothing.

        Args:
            state: with everything that the call sends.
            window: of the model, in tokens, as far as is known.
        """
        window = smallest(window, state.window)
        if window is None:
            return ""
        output = min(state.max_output_tokens, LAST_OUTPUT_TOKENS)
        held = list(held_results(state.shown.messages, state.count))
        done = ""
        while chosen := to_leave_out(
            held, state.shown.tokens + output - window, spared=DELEGATION
        ):
            each, done = chosen[0], "results"
            held.remove(each)
            if not each.is_newest:
                self._drop_thinking(state, WHY_LEFT_OUT)
            content = each.content
            data = content.encode() if isinstance(content, str) else encode(content)
            ref = await anyio.to_thread.run_sync(self.store, data)
            replaced = ResultReplaced(
                each.call, LEFT_OUT.format(ref=ref), is_error=False
            )
            self.log.append(replaced, agent=self.agent)
            state.replace_result(replaced)
        return done

    def _leave_out(self, state: AgentState, features: Iterable[str], told: str) -> None:
        adapted = ModelAdapted(state.form.model, sorted(features), told)
        self.log.append(adapted, agent=self.agent)
        state.form = state.form.lacking(adapted.without)

    def _without_thinking(self, state: AgentState, error: ModelError) -> str:
        why = BOUND.format(told=error.message[:MAX_TOLD_CHARS])
        return "thinking blocks" if self._drop_thinking(state, why) else ""

    def _drop_thinking(self, state: AgentState, why: str) -> int:
        blocks = state.shown.drop_thinking()
        if blocks:
            state.sight.is_bound = True
            self.log.append(ThinkingDropped(why, blocks), agent=self.agent)
        return blocks

    @staticmethod
    def _is_lower(state: AgentState, output: int) -> bool:
        """Return whether the next request would ask for less output than the last."""
        try:
            return output_within(state, None) < output
        except LimitReached:
            return False
