"""What of `context_policy` does nothing in a run, in words for whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.events.phrases import names_phrase
from orchestrator.models.choose import known_window
from orchestrator.settings import ModelsChosen
from orchestrator.spec.policy import PRESETS, ContextPolicy
from orchestrator.spec.profiles import Selection

__all__ = ["context_notices"]

_OF_THE_LADDER = ("keep_results", "tail_steps", "summary_share")
"""Numbers that only clears and summaries heed."""
_OF_THE_WINDOW = ("last_steps",)


def context_notices(
    policy: ContextPolicy, models: ModelsChosen, profiles: Selection
) -> Iterator[str]:
    """Yield a line for what was set and changes nothing.

    Args:
        policy: as the task has it.
        models: which model each role uses.
        profiles: the lead's and those of subagents.
    """
    yield from _larger(policy, models, profiles)
    if idle := [*_idle(policy)]:
        verb = "has" if len(idle) == 1 else "have"
        of = f" (preset `{policy.preset}`)" if PRESETS[policy.preset] else ""
        yield (
            f"{names_phrase(idle)} of `context_policy` {verb} no effect: policy "
            f"`{policy.policy}`{of} {_DOES[policy.policy]}"
        )


_DOES = {
    "ladder": "does not count the steps that it shows",
    "window": "clears and summarises nothing",
    "budget": "clears and summarises nothing, and takes the steps that fit",
}


def _larger(
    policy: ContextPolicy, models: ModelsChosen, profiles: Selection
) -> Iterator[str]:
    told = policy.window_tokens
    used = {models.of_profile(profiles.lead.model, lead=True)}
    used |= {models.of_profile(each.model) for each in profiles.subagents.values()}
    for model in sorted(used):
        window = known_window(model)
        if told is not None and window is not None and told > window:
            yield (
                f"`context_policy.window_tokens: {told}` is more than `{model}` has: "
                f"its {window:,} hold"
            )


def _idle(policy: ContextPolicy) -> Iterator[str]:
    """Yield the numbers that are not the usual ones and that the policy does not heed.

    In a stored task all are given; what is usual there was nobody's wish.
    """
    names = () if policy.policy == "window" else _OF_THE_WINDOW
    if policy.policy != "ladder":
        names = (*_OF_THE_LADDER, *names)
    usual = ContextPolicy(preset=policy.preset)
    for name in names:
        if getattr(policy, name) != getattr(usual, name):
            yield f"`{name}`"
