"""What a run will probably take, in tokens and dollars, and on which assumptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.models.base import Usage
from orchestrator.runtime.prepare import Prepared
from orchestrator.settings import OFFLINE
from orchestrator.spec.first_messages import lead_first_message, workspace_text
from orchestrator.spec.profiles import asks_to_delegate

__all__ = ["Estimate", "estimate_run"]

SUBAGENTS_WITHOUT_QUESTIONS = 4
SUBAGENT_CALLS = 12
TOKENS_PER_CALL = 2000
"""What a tool result adds to a context, on average."""
OUTPUT_PER_CALL = 250
BRIEF_TOKENS = 500
FINDINGS_TOKENS = 1200
LEAD_CALLS = 6


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expectation, not a bound; the limits are the bound."""

    subagents: int
    calls: int
    tokens: int
    """What `limits.tokens` counts: uncached input, cache writes, output."""
    cache_read_tokens: int
    usd: float | None
    """None: the price of a model is not known."""
    assumptions: tuple[str, ...]


def estimate_run(
    prepared: Prepared,
    *,
    count: Callable[[str], int],
    tool_tokens: Callable[[str], int],
    usd_of: Callable[[str, Usage], float | None],
) -> Estimate:
    """Return what a run of `prepared` will probably take.

    Args:
        prepared: the task with all that it uses.
        count: tokens of a text.
        tool_tokens: tokens of the tool definitions of a profile, by its name.
        usd_of: dollars of a usage of a model; None where the price is not known.
    """
    task, selection = prepared.task, prepared.profiles
    agents = list(selection.subagents.values())
    wanted = len(task.questions) or SUBAGENTS_WITHOUT_QUESTIONS
    can_send = bool(agents and task.limits.depth)
    subagents = min(wanted, task.limits.subagents) if can_send else 0
    facts = count(workspace_text(task.workspace.name, book=prepared.book))
    first = count(
        lead_first_message(
            task, selection.subagents, prepared.context_files, book=prepared.book
        )
    )
    lead = _conversation(
        count(selection.lead.prompt) + facts + tool_tokens(selection.lead.name) + first,
        calls=LEAD_CALLS,
        per_call=subagents * FINDINGS_TOKENS // 2,
        output=subagents * BRIEF_TOKENS + task.deliverable.max_tokens // 2,
    )
    usages = [(prepared.models.of_profile(selection.lead.model, lead=True), lead)]
    shared = sum(count(file.text) for file in prepared.context_files)
    for i in range(subagents):
        profile = agents[i % len(agents)]
        own = count(profile.prompt) + facts + tool_tokens(profile.name)
        usage = _conversation(
            own + shared + BRIEF_TOKENS,
            calls=SUBAGENT_CALLS,
            per_call=TOKENS_PER_CALL,
            output=FINDINGS_TOKENS,
        )
        usages.append((prepared.models.of_profile(profile.model), usage))
    billed = [(model, usage) for model, usage in usages if model != OFFLINE]
    parts = [usd_of(model, usage) for model, usage in billed]
    known = [part for part in parts if part is not None]
    return Estimate(
        subagents=subagents,
        calls=LEAD_CALLS + subagents * SUBAGENT_CALLS,
        tokens=sum(usage.limited_tokens for _model, usage in usages),
        cache_read_tokens=sum(usage.cache_read_tokens for _model, usage in usages),
        usd=sum(known) if len(known) == len(parts) else None,
        assumptions=_assumptions(
            subagents,
            has_questions=bool(task.questions),
            nests=task.limits.depth > 1 and any(map(asks_to_delegate, agents)),
        ),
    )


def _conversation(prefix: int, *, calls: int, per_call: int, output: int) -> Usage:
    """Return the usage of one agent whose context only grows, and is cached."""
    step = per_call + OUTPUT_PER_CALL
    return Usage(
        cache_write_5m_tokens=prefix + (calls - 1) * step,
        cache_read_tokens=(calls - 1) * prefix + step * (calls - 1) * (calls - 2) // 2,
        output_tokens=calls * OUTPUT_PER_CALL + output,
    )


def _assumptions(
    subagents: int, *, has_questions: bool, nests: bool
) -> tuple[str, ...]:
    why = "one a question" if has_questions else "no questions are given"
    deeper = "subagents of subagents are not counted: how many there are shows later"
    return (
        f"{subagents} subagents ({why}), {SUBAGENT_CALLS} model calls each; "
        f"{LEAD_CALLS} calls of the lead",
        f"a call adds {TOKENS_PER_CALL:,} tokens of results and "
        f"{OUTPUT_PER_CALL} of output; findings are {FINDINGS_TOKENS:,} tokens",
        "everything sent before is read from the cache; nothing fails",
        *([deeper] if nests else []),
    )
