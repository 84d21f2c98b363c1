"""What a comparison of policies rests on, and what it does not know, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.events.phrases import count_phrase, names_phrase, tokens
from orchestrator.models.choose import known_window
from orchestrator.runtime.replaying.left_behind import LeftBehind
from orchestrator.runtime.replaying.policy_comparison import AgentComparison
from orchestrator.runtime.replaying.recorded_agent import RecordedAgent
from orchestrator.runtime.replaying.recorded_run import RecordedRun
from orchestrator.spec.policy import ContextPolicy

__all__ = ["Basis", "caveats"]


@dataclass(frozen=True, slots=True)
class Basis:
    """What was compared.

    Attributes:
        recording: of the run.
        own: its policy.
        other: the other one.
        agents: what came of it.
        left: what compactions are taken to leave.
    """

    recording: RecordedRun
    own: ContextPolicy
    other: ContextPolicy
    agents: Sequence[AgentComparison]
    left: LeftBehind


def caveats(basis: Basis) -> Iterator[str]:
    """Yield what whoever reads the figures has to know, a sentence each."""
    yield (
        "No model was asked: both policies are computed on what was said and read in "
        "the run. Under another policy a model might have done other things."
    )
    agents = basis.recording.agents.values()
    yield from _summaries(basis)
    yield from _entry(basis)
    yield from _windows(basis)
    replaced = [each.id for each in agents if _has_several_models(each)]
    if replaced:
        yield (
            f"Of {names_phrase(replaced)} another model went on: each answer has the "
            "price of its model, and the marks are those of the first."
        )
    if _reminders(basis.own) != _reminders(basis.other):
        yield "Reminders are taken to stand where they stood."
    if basis.own.judge or basis.other.judge:
        yield "What judges of summaries cost is in the first column only."
    if any(agent.asked and not agent.is_cached for agent in agents):
        yield (
            "Where the service told of no use of a cache, nothing is taken to be read "
            "from one."
        )
    if basis.recording.damage:
        lost = count_phrase(basis.recording.damage, "record")
        yield f"{lost} of the log could not be read, and what was in them is left out."


def _has_several_models(agent: RecordedAgent) -> bool:
    return len({turn.asked.model for turn in agent.turns}) > 1


def _reminders(policy: ContextPolicy) -> tuple[int, int]:
    return policy.reminder_turns, policy.reminder_tokens


def _summaries(basis: Basis) -> Iterator[str]:
    compacted = {
        numbers.policy
        for agent in basis.agents
        for numbers, figures in (
            (agent.own, agent.columns.own),
            (agent.other, agent.columns.other),
        )
        if figures.compactions
    }
    if not compacted:
        return
    left = basis.left
    whence = (
        f"as the {count_phrase(left.compactions, 'compaction')} of this run left on "
        "average"
        if left.compactions
        else "the usual sizes, since this run compacted nothing"
    )
    beside = f"{tokens(left.beside_tokens + left.files_tokens)} tokens"
    if "ladder" in compacted:
        yield (
            f"A summary is taken to have {left.summary_share:.0%} of what it stands "
            f"for, within its bound, and {beside} beside it: {whence}. What would have "
            "stood in it is not known."
        )
    else:
        yield f"In the place of steps stand {beside}: {whence}."
    yield (
        "Behind a computed compaction only notes and the paths of files touched count "
        "as in sight, and all of them are taken to fit."
    )


def _entry(basis: Basis) -> Iterator[str]:
    shorter = sum(each.shorter for each in basis.agents)
    longer = sum(each.longer for each in basis.agents)
    if shorter:
        yield (
            f"The other policy cuts {count_phrase(shorter, 'result')} shorter on "
            "entry; calls for what is missing then, such as the next page of a file, "
            "are not counted."
        )
    if longer:
        yield f"It shows more of {count_phrase(longer, 'result')} that had been cut."


def _windows(basis: Basis) -> Iterator[str]:
    models = {each.model for each in basis.agents if each.model}
    unknown = {each for each in models if known_window(each) is None}
    if unknown and not basis.other.window_tokens:
        named = names_phrase([f"`{each}`" for each in sorted(unknown)])
        if basis.own.window_tokens:
            yield (
                f"Nobody knows the window of {named}, and the other policy names none: "
                f"that of the run holds, {basis.own.window_tokens:,} tokens."
            )
        else:
            yield (
                f"Nobody knows the window of {named}, so that there are no marks: "
                "`window_tokens` in the policy would set it."
            )
