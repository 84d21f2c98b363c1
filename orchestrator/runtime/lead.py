"""The lead: what it starts with, its notes, and the hint that it can delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.agent.spec import AgentSpec
from orchestrator.messages import text_block
from orchestrator.models.fields import request_fields
from orchestrator.runtime.prepare import Prepared
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import lead_first_message
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.profiles import allowed_tools
from orchestrator.tools.executor import CallResult
from orchestrator.tools.registry import Registry

__all__ = ["LEAD", "OwnReads", "lead_limits", "lead_spec"]

LEAD = "lead"
READS = frozenset({"read_file", "grep", "glob", "list_dir"})
READS_BEFORE_HINT = 5


def lead_spec(
    prepared: Prepared,
    *,
    registry: Registry,
    facts: str,
    context_files: Sequence[ContextFile],
) -> AgentSpec:
    """Return the fresh context of the lead."""
    task, profile = prepared.task, prepared.profiles.lead
    model = prepared.models.of_profile(profile.model, lead=True)
    first = lead_first_message(
        task,
        prepared.profiles.subagents,
        context_files,
        book=prepared.book,
        usd=prepared.usd,
    )
    limits = lead_limits(prepared)
    names = set(allowed_tools(profile, is_lead=True, available=registry.names))
    if not can_delegate(prepared):
        names.discard("delegate")
    output = task.limits.max_output_tokens
    return AgentSpec(
        id=LEAD,
        role="lead",
        profile=profile.name,
        title=task.name,
        model=model,
        parent="",
        system=[text_block(f"{profile.prompt.rstrip()}\n\n{facts}")],
        tools=registry.definitions(names),
        first=[text_block(first)],
        allowed=tuple(sorted(names)),
        limits=limits,
        max_output_tokens=min(output, limits.max_output_tokens or output),
        call_s=task.limits.call_s,
        silence_s=task.limits.silence_s,
        request=request_fields(model, profile.effort or task.effort.lead),
    )


def lead_limits(prepared: Prepared) -> AgentLimits:
    """Return the lead's own limits: the minimum of task and profile."""
    limits = prepared.task.limits
    own = AgentLimits(turns=limits.turns, minutes=limits.minutes)
    return own.narrowed(prepared.profiles.lead.limits)


def can_delegate(prepared: Prepared) -> bool:
    """Return whether the task gives the lead any subagents."""
    limits = prepared.task.limits
    return bool(prepared.profiles.subagents and limits.subagents and limits.depth)


class OwnReads:
    """Reminds the lead, after several own reads in a row, that it can delegate."""

    def __init__(self, hint: Callable[[], str], *, in_a_row: int = 0) -> None:
        self._hint = hint
        self._in_a_row = in_a_row

    def after_turn(self, results: Sequence[CallResult]) -> list[str]:
        """Return the hint where it is due, once per streak."""
        names = {each.name for each in results}
        if not names or not names <= READS:
            self._in_a_row = 0
            return []
        before = self._in_a_row
        self._in_a_row += len(results)
        due = before < READS_BEFORE_HINT <= self._in_a_row
        return [self._hint()] if due else []
