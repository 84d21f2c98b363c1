"""What every subagent of a run is made from: profile, workspace, tools │ brief."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.agent.build import Services
from orchestrator.agent.files import AgentFiles
from orchestrator.agent.spec import AgentSpec
from orchestrator.brief import Brief
from orchestrator.messages import text_block
from orchestrator.models.fields import request_fields
from orchestrator.security.workspace import Workspace
from orchestrator.settings import ModelsChosen
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import brief_message
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.profile import Profile
from orchestrator.spec.profiles import allowed_tools
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.task import Task
from orchestrator.store.layout import RunFolder
from orchestrator.store.notes import Notes
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.registry import Registry

__all__ = ["Crew"]

# Share of the run's remaining time that a subagent may use, so that the lead can
# still write its report.
TIME_SHARE = 0.9
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
        extra_tools: names of the caller's own tools; every subagent may use them.
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
    extra_tools: tuple[str, ...] = ()

    def spec_for(
        self, agent: str, brief: Brief, *, parent: str, registry: Registry
    ) -> AgentSpec:
        """Return the fresh context of the subagent that `brief` asks for.

        All subagents of a profile share system prompt and tools, byte for byte; what
        a brief narrows is enforced by the executor, so that the cache holds.
        """
        profile = self.profiles[brief.agent]
        model = self.models.of_profile(profile.model)
        names = self._tool_names(profile, registry.names)
        narrowed = names if brief.tools is None else {*brief.tools, HAND_IN}
        first = brief_message(
            brief.model_dump(mode="json"),
            self.task.constraints,
            self.context_files,
            book=self.book,
        )
        limits = self.limits_of(brief)
        output = self.task.limits.max_output_tokens
        return AgentSpec(
            id=agent,
            role="subagent",
            profile=profile.name,
            title=brief.title,
            model=model,
            parent=parent,
            system=[text_block(f"{profile.prompt.rstrip()}\n\n{self.facts}")],
            tools=registry.definitions(names),
            first=[text_block(first)],
            allowed=tuple(name for name in names if name in narrowed),
            limits=limits,
            max_output_tokens=min(output, limits.max_output_tokens or output),
            call_s=self.task.limits.call_s,
            silence_s=self.task.limits.silence_s,
            stall_s=self.task.limits.stall_s,
            request=request_fields(model, profile.effort or self.task.effort.subagents),
        )

    def tool_problems(self, brief: Brief) -> list[str]:
        """Return what is wrong with the tools that `brief` names, for the lead."""
        profile = self.profiles.get(brief.agent)
        if profile is None or brief.tools is None:
            return []
        own = {tool.name for tool in self.services.base_tools}
        names = self._tool_names(profile, {*own, NOTES, HAND_IN})
        unknown = [name for name in brief.tools if name not in names]
        if not unknown:
            return []
        listed = ", ".join(f"`{name[:60]}`" for name in unknown[:5])
        known = ", ".join(f"`{name}`" for name in names)
        return [f"`tools` names {listed}; `{profile.name}` has {known}"]

    def _tool_names(self, profile: Profile, available: Collection[str]) -> list[str]:
        known = allowed_tools(profile, is_lead=False, available=available)
        return sorted({*known, *self.extra_tools})

    def limits_of(self, brief: Brief, *, worked_s: float = 0.0) -> AgentLimits:
        """Return what a subagent may use: the minimum of task, profile and brief.

        Args:
            brief: what it is asked.
            worked_s: seconds that it was at work already.
        """
        profile = self.profiles[brief.agent]
        left = max(self.minutes_left() * TIME_SHARE, 0.01)
        own = AgentLimits(turns=self.task.limits.turns, minutes=worked_s / 60 + left)
        limits = own.narrowed(profile.limits)
        return limits.narrowed(brief.limits) if brief.limits else limits
