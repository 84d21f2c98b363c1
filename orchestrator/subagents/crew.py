"""What every subagent of a run is made from: profile, workspace, tools │ brief."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import anyio

from orchestrator.agent.budget import Amount
from orchestrator.agent.build import Services
from orchestrator.agent.files import AgentFiles
from orchestrator.agent.reserving import hand_in_tokens
from orchestrator.agent.spec import AgentSpec
from orchestrator.brief import Brief
from orchestrator.messages import text_block
from orchestrator.models.choose import window_tokens
from orchestrator.models.fields import request_fields
from orchestrator.security.workspace import Workspace
from orchestrator.settings import ModelsChosen
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import brief_message
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.profile import Profile
from orchestrator.spec.profiles import DELEGATION, allowed_tools
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.task import Task
from orchestrator.store.layout import RunFolder
from orchestrator.store.notes import Notes
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.registry import Registry

__all__ = ["FOLLOW_UP_TURNS", "Crew"]

# Share of the run's remaining time that a subagent may use, so that the lead can
# still write its report.
TIME_SHARE = 0.9
FOLLOW_UP_TURNS = 5
"""Model calls for a further question."""
HAND_IN = "submit_findings"
NOTES = "update_notes"


@dataclass(frozen=True, slots=True)
class Crew:
    """Task, profiles and services: all that a brief is completed with.

    Attributes:
        models: which model each role uses.
        facts: about the workspace, appended to each profile's prompt.
        files: of the agents, for people.
        notes_of: agent id → its notes.
        minutes_left: of the run.
        spent_by: agent id → what its own calls have used.
        room: places to work in at the same time, of the whole run.
        door: held while briefs are accepted: ids and numbers hang together.
        extra_tools: names of the user's own tools; every subagent may use them, unless
            its profile disallows one.
        lost: records of the log of earlier processes that are.
    """

    services: Services
    task: Task
    workspace: Workspace
    profiles: Mapping[str, Profile]
    context_files: Sequence[ContextFile]
    models: ModelsChosen
    facts: str
    book: PromptBook
    folder: RunFolder
    files: AgentFiles
    sightings: Sightings
    notes_of: Callable[[str], Notes]
    minutes_left: Callable[[], float]
    spent_by: Callable[[str], Amount]
    room: anyio.CapacityLimiter
    door: anyio.Lock
    extra_tools: tuple[str, ...] = ()
    lost: int = 0

    def spec_for(
        self,
        agent: str,
        brief: Brief,
        *,
        parent: str,
        registry: Registry,
        minutes_left: float,
        levels: int,
    ) -> AgentSpec:
        """Return the fresh context of the subagent that `brief` asks for.

        All subagents of a profile share system prompt and tools, byte for byte; what
        a brief narrows is enforced by the executor, so that the cache holds.

        Args:
            agent: its id.
            brief: what it is asked.
            parent: who sends it.
            registry: all tools that there are for it.
            minutes_left: of its parent's time.
            levels: of subagents that may be below it.
        """
        profile = self.profiles[brief.agent]
        model = self.models.of_profile(profile.model)
        names = self.tool_names(profile, registry.names, levels=levels)
        narrowed = names if brief.tools is None else {*brief.tools, HAND_IN}
        may_delegate = "delegate" in names and "delegate" in narrowed
        first = brief_message(
            brief.model_dump(mode="json"),
            self.task.constraints,
            self.context_files,
            profiles=self.profiles if may_delegate else None,
            levels=levels,
            book=self.book,
        )
        limits = self.limits_of(brief, minutes_left=minutes_left)
        output = self.task.limits.max_output_tokens
        return AgentSpec(
            id=agent,
            role="subagent",
            profile=profile.name,
            title=brief.title,
            model=model,
            parent=parent,
            system=[text_block(_system_prompt(profile.prompt, self.facts))],
            tools=registry.definitions(names),
            first=[text_block(first)],
            allowed=tuple(name for name in names if name in narrowed),
            limits=limits,
            max_output_tokens=min(output, limits.max_output_tokens or output),
            call_s=self.task.limits.call_s,
            silence_s=self.task.limits.silence_s,
            stall_s=self.task.limits.stall_s,
            hand_in_tokens=hand_in_tokens(brief.deliverable.max_tokens),
            request=request_fields(model, profile.effort or self.task.effort.subagents),
        )

    def window_tokens(self, model: str) -> int:
        """Return the context window of a model, in tokens."""
        return window_tokens(model, self.task.context_policy.window_tokens)

    def tool_problems(self, brief: Brief, *, levels: int) -> list[str]:
        """Return what is wrong with the tools that `brief` names, for its parent.

        Args:
            brief: what a subagent is asked.
            levels: of subagents that may be below it.
        """
        profile = self.profiles.get(brief.agent)
        if profile is None or brief.tools is None:
            return []
        own = {tool.name for tool in self.services.base_tools}
        available = {*own, *DELEGATION, NOTES, HAND_IN}
        names = self.tool_names(profile, available, levels=levels)
        unknown = [name for name in brief.tools if name not in names]
        if not unknown:
            return []
        listed = ", ".join(f"`{name[:60]}`" for name in unknown[:5])
        known = ", ".join(f"`{name}`" for name in names)
        return [f"`tools` names {listed}; `{profile.name}` has {known}"]

    def tool_names(
        self, profile: Profile, available: Collection[str], *, levels: int
    ) -> list[str]:
        """Return what a subagent of `profile` is told of, sorted.

        Args:
            profile: whose tools.
            available: tools that there are.
            levels: of subagents that may be below it.
        """
        known = allowed_tools(
            profile, is_lead=False, may_delegate=levels > 0, available=available
        )
        return sorted(
            {*known, *(set(self.extra_tools) - set(profile.disallowed_tools))}
        )

    def limits_of(
        self,
        brief: Brief,
        *,
        minutes_left: float,
        worked_s: float = 0.0,
        asked_at: int | None = None,
    ) -> AgentLimits:
        """Return what a subagent may use: the minimum of task, profile and brief.

        Args:
            brief: what it is asked.
            minutes_left: of its parent's time.
            worked_s: seconds that it was at work already.
            asked_at: turns it had made when it was asked a further question; it has
                a few of its own for that. None: it is at work on its brief.
        """
        profile = self.profiles[brief.agent]
        left = max(min(minutes_left, self.minutes_left()) * TIME_SHARE, 0.01)
        own = AgentLimits(turns=self.task.limits.turns, minutes=worked_s / 60 + left)
        limits = own.narrowed(profile.limits)
        if brief.limits:
            limits = limits.narrowed(brief.limits)
        if asked_at is None:
            return limits
        more = {"turns": asked_at + FOLLOW_UP_TURNS, "minutes": own.minutes}
        return limits.model_copy(update=more)


@lru_cache(maxsize=64)
def _system_prompt(prompt: str, facts: str) -> str:
    """Return what the subagents of a profile are told first, one text for them all."""
    return f"{prompt.rstrip()}\n\n{facts}"
