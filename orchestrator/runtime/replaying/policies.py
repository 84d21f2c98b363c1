"""Another context policy on a recorded run, compared: no model is asked.

For each agent there are three columns: what it sent and paid, what the run's own policy
comes to when it is computed, and what the other one does, computed likewise. The first
two tell how far the third can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from orchestrator.context.numbers import Numbers, resolve
from orchestrator.context.recorded import stub_like_live
from orchestrator.context.whatif import what_if
from orchestrator.errors import SpecError, StoreError
from orchestrator.ids import reference_of
from orchestrator.models.caching import LIFETIME_S
from orchestrator.models.choose import known_window
from orchestrator.models.pricing import Price
from orchestrator.runtime.replaying.caveats import Basis, caveats
from orchestrator.runtime.replaying.figures import Figures, computed, recorded, total
from orchestrator.runtime.replaying.left_behind import LeftBehind, stub_size
from orchestrator.runtime.replaying.policy_comparison import (
    AgentComparison,
    Columns,
    PolicyComparison,
    changes,
)
from orchestrator.runtime.replaying.recorded_agent import RecordedAgent
from orchestrator.runtime.replaying.recorded_run import RecordedRun
from orchestrator.runtime.replaying.sizing import Sized, sized
from orchestrator.runtime.replaying.used_facts import Timeline, UsedFacts
from orchestrator.settings import OFFLINE
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.policy_file import blame_policy, read_policy
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.store.records import REF

__all__ = ["compare_policies"]

USUAL_OUTPUT_TOKENS = 8192
"""Longest reply, where the log does not tell."""


def compare_policies(
    folder: RunFolder, policy: ContextPolicy, *, source: Path | None = None
) -> PolicyComparison:
    """Return what `policy` would have made of the run in `folder`.

    Nothing is written; of a live run what is in its log by now counts.

    Args:
        folder: of the run; its log may be damaged.
        policy: the other one.
        source: the file that it is from, for messages.

    Raises:
        SpecError: the policy does not fit the window of a model, or `task.yaml` of the
            run cannot be read.
        StoreError: the log cannot be read.
    """
    own = read_policy(folder.task)
    artifacts = Artifacts(folder.artifacts)
    load = _loader(artifacts)
    recording = RecordedRun.of(read_events(folder.events), load)
    tried = _Tried(
        recording=recording,
        own=own,
        other=policy,
        left=LeftBehind.of(recording.agents.values()),
        whole=_reader(artifacts),
    )
    try:
        agents = tuple(tried.agent(each) for each in recording.agents.values())
    except SpecError as error:
        raise (blame_policy(error, source) if source else error) from error
    columns = Columns(
        *(
            total(getattr(each.columns, name) for each in agents)
            for name in ("was", "own", "other")
        )
    )
    unpriced = {
        asked.model
        for agent in recording.agents.values()
        for asked in agent.asked
        if asked.price is None
    }
    basis = Basis(recording, own, policy, agents, tried.left)
    return PolicyComparison(
        run=folder.id,
        changes=changes(own, policy),
        agents=agents,
        total=columns,
        caveats=tuple(caveats(basis)),
        unpriced=tuple(sorted(unpriced)),
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    """Tries two policies on the agents of a run.

    Attributes:
        recording: of the run.
        own: its policy.
        other: the one to compare.
        left: what compactions are taken to leave.
        whole: artifact → its text, or "".
        stub_tokens: longest digest → how long stubs are with that.
    """

    recording: RecordedRun
    own: ContextPolicy
    other: ContextPolicy
    left: LeftBehind
    whole: Callable[[str], str]
    stub_tokens: dict[int, int | None] = field(default_factory=dict)

    def agent(self, agent: RecordedAgent) -> AgentComparison:
        """Return the columns of one agent."""
        own, other = self._own_numbers(agent), self._other_numbers(agent)
        facts = UsedFacts(agent)
        as_it_was = sized(agent, own)
        as_it_would_be = sized(agent, other, before=own, whole=self.whole)
        columns = Columns(
            recorded(agent, facts.sight(_recorded_timeline(agent))),
            self._computed(agent, own, as_it_was, facts),
            self._computed(agent, other, as_it_would_be, facts),
        )
        return AgentComparison(
            id=agent.id,
            parent=agent.parent,
            title=agent.title,
            profile=agent.profile,
            model=agent.model,
            columns=columns,
            own=own,
            other=other,
            shorter=as_it_would_be.shorter,
            longer=as_it_would_be.longer,
        )

    def _computed(
        self, agent: RecordedAgent, numbers: Numbers, sized: Sized, facts: UsedFacts
    ) -> Figures:
        digest = numbers.digest_tokens
        if digest not in self.stub_tokens:
            every = self.recording.agents.values()
            self.stub_tokens[digest] = stub_size(every, digest)
        stub_tokens = sized.stub_tokens(self.stub_tokens[digest])
        outcome = what_if(
            sized.conversation,
            numbers,
            price=agent.turns[0].asked.price if agent.turns else None,
            lifetime_s=LIFETIME_S,
            leaves=self.left.under(
                numbers, factor=sized.factor, stub_tokens=stub_tokens
            ),
        )
        timeline = Timeline(
            cleared={call: turn - 1 for call, turn in outcome.cleared.items()},
            dropped=[(turn - 1, steps) for turn, steps in outcome.dropped],
            stub_of=_stubs(agent, sized, digest),
            texts=sized.texts,
        )
        return computed(
            agent, outcome, facts.sight(timeline), summaries=self._summaries(agent)
        )

    def _summaries(self, agent: RecordedAgent) -> tuple[str, Price | None] | None:
        """Return the other model that writes summaries of an agent, and its price."""
        model = self.recording.models.get("summaries") or ""
        if not model or agent.model in (OFFLINE, model):
            return None
        return model, self.recording.prices.get(model)

    def _own_numbers(self, agent: RecordedAgent) -> Numbers:
        """Return the numbers that an agent had, also in a window that is too small."""
        try:
            return _numbers(agent, self.own, self.own, agent.output_tokens)
        except SpecError:
            unbound = self.own.model_copy(update={"window_tokens": None})
            return _resolved(agent, unbound, None, agent.output_tokens)

    def _other_numbers(self, agent: RecordedAgent) -> Numbers:
        """Return the numbers of the other policy.

        Raises:
            SpecError: they do not fit the window.
        """
        try:
            return _numbers(agent, self.other, self.own, agent.most_output_tokens)
        except SpecError as error:
            raise SpecError(
                f"profile `{agent.profile}` on `{agent.model}`: {error.message}",
                field=error.field,
            ) from error


def _numbers(
    agent: RecordedAgent, policy: ContextPolicy, own: ContextPolicy, output: int | None
) -> Numbers:
    """Return the numbers of a policy; of a model that nobody knows, the run's window.

    Raises:
        SpecError: they do not fit the window.
    """
    window = known_window(agent.model, policy.window_tokens) if agent.model else None
    return _resolved(agent, policy, window or own.window_tokens, output)


def _resolved(
    agent: RecordedAgent, policy: ContextPolicy, window: int | None, output: int | None
) -> Numbers:
    return resolve(
        policy,
        window_tokens=window,
        fixed_tokens=agent.base_tokens,
        max_output_tokens=output or USUAL_OUTPUT_TOKENS,
    )


def _recorded_timeline(agent: RecordedAgent) -> Timeline:
    """Return what was taken away from an agent, and what stood in its place."""
    cleared: dict[str, int] = {}
    stubs: dict[str, str] = {}
    for edit in agent.edits:
        cleared |= dict.fromkeys(edit.stubs, edit.turn)
        stubs |= edit.stubs
    made = [edit for edit in agent.edits if edit.is_compaction]
    return Timeline(
        cleared=cleared,
        dropped=[(edit.turn, edit.dropped) for edit in made],
        stub_of=lambda call: stubs.get(call, ""),
        standing=[edit.text for edit in made],
    )


def _stubs(
    agent: RecordedAgent, sized: Sized, digest_tokens: int
) -> Callable[[str], str]:
    """Return what makes the stub of a call, as a run would have made it."""
    made: dict[str, str] = {}

    def stub_of(call: str) -> str:
        if call not in made:
            made[call] = _stub(agent, sized, call, digest_tokens)
        return made[call]

    return stub_of


def _stub(agent: RecordedAgent, sized: Sized, call: str, digest_tokens: int) -> str:
    step, turn = agent.turn_of(call)
    for place, block in enumerate(turn.calls, 1):
        if str(block.get("id")) == call:
            ref = reference_of(step, place=place if len(turn.calls) > 1 else 0)
            came = next(each for each in turn.results if each.call == call)
            text = sized.texts.get(call, came.text)
            return stub_like_live(block, ref, text, digest_tokens=digest_tokens)
    return ""


def _loader(artifacts: Artifacts) -> Callable[[Any], Any]:
    """Return what gives a field that is stored apart, or None where it is lost."""

    def load(field: Any) -> Any:  # noqa: ANN401 - any JSON value
        try:
            return orjson.loads(artifacts.read(field[REF]))
        except (StoreError, ValueError):
            return None

    return load


def _reader(artifacts: Artifacts) -> Callable[[str], str]:
    """Return what gives the text of an artifact, or "" where it is lost."""

    def read(ref: str) -> str:
        try:
            return artifacts.read_text(ref)
        except StoreError:
            return ""

    return read
