"""What every request of an agent carries, and the context numbers that follow from it.

Known before a run, so that an agent whose fixed part leaves it no room is refused
before anything is spent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.context.numbers import Numbers, Shrunk, resolve, shrunk
from orchestrator.context.tokens import estimate
from orchestrator.errors import SpecError
from orchestrator.models.choose import known_window
from orchestrator.settings import ModelsChosen
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import lead_first_message, workspace_text
from orchestrator.spec.foreign import OUR_TOOLS
from orchestrator.spec.profile import Profile
from orchestrator.spec.profiles import DELEGATION, LEAD, Selection, allowed_tools
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.task import Task
from orchestrator.tools.base import Described
from orchestrator.tools.delegate import Delegate
from orchestrator.tools.directing import Cancel, FollowUp, WaitFor
from orchestrator.tools.fetch import FetchUrl
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.handin import Finish, SubmitFindings
from orchestrator.tools.memory import MemoryTool
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.recall import Recall
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.registry import tokens_of
from orchestrator.tools.search import Glob, Grep
from orchestrator.tools.shell import Bash
from orchestrator.tools.writing import EditFile, WriteFile

__all__ = [
    "BRIEF_TOKENS",
    "TOOLS",
    "AgentNumbers",
    "agent_numbers",
    "definition_tokens",
]

BRIEF_TOKENS = 500
"""What a brief adds to the first message of a subagent; only a run knows more."""

TOOLS: tuple[Described, ...] = (
    Delegate, WaitFor, FollowUp, Cancel, Finish, SubmitFindings, UpdateNotes, ReadRef,
    Recall, ReadFile, Grep, Glob, ListDir, WriteFile, EditFile,
    Bash, FetchUrl, MemoryTool,
)  # fmt: skip
"""All tools, in the order of the manual."""


@dataclass(frozen=True, slots=True)
class AgentNumbers:
    """What holds for the agents of one profile.

    Attributes:
        name: of the profile.
        model: bare id.
        fixed_tokens: system prompt, tools and first message, estimated.
        numbers: of their context.
        shrunk: which of them are smaller than the task says.
    """

    name: str
    model: str
    fixed_tokens: int
    numbers: Numbers
    shrunk: tuple[Shrunk, ...]


def agent_numbers(
    task: Task,
    models: ModelsChosen,
    profiles: Selection,
    *,
    book: PromptBook,
    context_files: Sequence[ContextFile],
    available: Collection[str] = OUR_TOOLS,
    own_tools: Sequence[Described] = (),
) -> tuple[AgentNumbers, ...]:
    """Return the numbers of the lead, then of each profile that it may send.

    Args:
        task: as loaded.
        models: which model each role uses.
        profiles: the lead's and those of subagents.
        book: the prompts in force.
        context_files: as agents are shown them.
        available: tools of ours that the run has.
        own_tools: the user's own; every agent has them.

    Raises:
        SpecError: what an agent always carries does not fit into its model's window.
    """
    own = sum(map(tokens_of, own_tools))
    fixed = {
        name: tokens + own
        for name, tokens in _fixed_tokens(
            task, profiles, book, context_files, available
        )
    }
    every = (profiles.lead, *profiles.subagents.values())
    return tuple(_numbers_of(each, fixed[each.name], task, models) for each in every)


def definition_tokens(names: Collection[str]) -> int:
    """Return the estimated tokens of the definitions of the tools in `names`."""
    return sum(tokens_of(tool) for tool in TOOLS if tool.name in names)


def _fixed_tokens(
    task: Task,
    profiles: Selection,
    book: PromptBook,
    context_files: Sequence[ContextFile],
    available: Collection[str],
) -> Iterator[tuple[str, int]]:
    """Yield name and fixed part of each profile, estimated."""
    facts = estimate(workspace_text(task.workspace.name, book=book))
    first = lead_first_message(task, profiles.subagents, context_files, book=book)
    shared = BRIEF_TOKENS + sum(
        estimate(text)
        for text in (*(each.text for each in context_files), *task.constraints)
    )
    for profile in (profiles.lead, *profiles.subagents.values()):
        is_lead = profile.name == LEAD
        tools = definition_tokens(_tools(profile, task, profiles, available))
        told = estimate(first) if is_lead else shared
        yield profile.name, estimate(profile.prompt) + facts + tools + told


def _tools(
    profile: Profile, task: Task, profiles: Selection, available: Collection[str]
) -> set[str]:
    """Return the tools of ours that agents of `profile` are told of."""
    limits, is_lead = task.limits, profile.name == LEAD
    may_delegate = limits.depth > 1
    tools = set(
        allowed_tools(
            profile,
            is_lead=is_lead,
            may_delegate=may_delegate,
            available=available,
        )
    )
    if not (profiles.subagents and limits.subagents and limits.depth):
        tools -= set(DELEGATION)
    return tools


def _numbers_of(
    profile: Profile, fixed: int, task: Task, models: ModelsChosen
) -> AgentNumbers:
    policy, limits = task.context_policy, task.limits
    model = models.of_profile(profile.model, lead=profile.name == LEAD)
    output = min(
        limits.max_output_tokens,
        profile.limits.max_output_tokens or limits.max_output_tokens,
    )
    try:
        numbers = resolve(
            policy,
            window_tokens=known_window(model, policy.window_tokens),
            fixed_tokens=fixed,
            max_output_tokens=output,
            has_memory=task.memory.is_on,
        )
    except SpecError as error:
        raise SpecError(
            f"profile `{profile.name}` on `{model}`: {error.message}", field=error.field
        ) from error
    less = shrunk(policy, numbers, max_output_tokens=output)
    return AgentNumbers(profile.name, model, fixed, numbers, less)
