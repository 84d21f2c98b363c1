"""The lead: what it starts with, its notes, and the hint that it can delegate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from orchestrator.agent.reserving import hand_in_tokens
from orchestrator.agent.spec import AgentSpec
from orchestrator.context.tokens import estimate
from orchestrator.ids import LEAD
from orchestrator.messages import Message, text_block, tool_calls
from orchestrator.models.fields import request_fields
from orchestrator.runtime.prepare import Prepared
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import lead_first_message
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.profiles import DELEGATION, allowed_tools
from orchestrator.tools.calls import CallResult
from orchestrator.tools.registry import Registry

__all__ = ["OwnReads", "lead_limits", "lead_spec"]

READS = frozenset({"read_file", "grep", "glob", "list_dir", "fetch_url"})
READS_BEFORE_HINT = 5


def lead_spec(
    prepared: Prepared,
    *,
    registry: Registry,
    facts: str,
    context_files: Sequence[ContextFile],
    extra_tools: Collection[str] = (),
    memory: str = "",
) -> AgentSpec:
    """Return the fresh context of the lead.

    Args:
        prepared: the task and what it names.
        registry: all tools, with the lead's own ports.
        facts: about the workspace, appended to the prompt.
        context_files: in order.
        extra_tools: names of the user's own tools; the lead has them unless its
            profile disallows one.
        memory: what memory holds for the objective, behind all else.
    """
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
    names |= set(extra_tools) - set(profile.disallowed_tools)
    if not can_delegate(prepared):
        names -= set(DELEGATION)
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
        first=[text_block(text) for text in (first, memory) if text],
        memory_tokens=estimate(memory) if memory else 0,
        allowed=tuple(sorted(names)),
        limits=limits,
        max_output_tokens=min(output, limits.max_output_tokens or output),
        call_s=task.limits.call_s,
        silence_s=task.limits.silence_s,
        hand_in_tokens=hand_in_tokens(task.deliverable.max_tokens),
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
    """Reminds the lead, after several own reads in a row, that it can delegate.

    It counts in the conversation itself, so that a lead that goes on after a crash is
    told what it would have been told.
    """

    def __init__(
        self, hint: Callable[[], str], messages: Callable[[], Sequence[Message]]
    ) -> None:
        """Make it.

        Args:
            hint: the words.
            messages: of the conversation; the newest is the step that has just ended.
        """
        self._hint = hint
        self._messages = messages

    def after_turn(self, results: Sequence[CallResult]) -> list[str]:
        """Return the hint where it is due, once per streak."""
        names = {each.name for each in results}
        if not names or not names <= READS:
            return []
        before = _reads_before(self._messages())
        due = before < READS_BEFORE_HINT <= before + len(results)
        return [self._hint()] if due else []


def _reads_before(messages: Sequence[Message]) -> int:
    """Return how many own reads, and nothing else, came just before the newest step."""
    count = 0
    for message in reversed(messages[:-1]):
        if message["role"] == "assistant":
            calls = tool_calls(message["content"])
            if not calls or any(call["name"] not in READS for call in calls):
                break
            count += len(calls)
    return count
