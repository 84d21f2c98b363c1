"""Everything a run starts from, settled before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.settings import OFFLINE, ModelsChosen, Settings, choose_models
from orchestrator.spec.context_files import ContextFile, read_context
from orchestrator.spec.profiles import Discovery, Selection, discover, select
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.task import Task

__all__ = ["Prepared", "UsdLimit", "prepare", "usd_limit"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task with the profiles, prompts, context files and models it will use."""

    task: Task
    selection: Selection
    discovery: Discovery
    book: PromptBook
    context_files: tuple[ContextFile, ...]
    models: ModelsChosen

    def models_by_agent(self) -> dict[str, str]:
        """Return the model of the lead and of each profile, by name."""
        lead = self.selection.lead
        chosen = {lead.name: self.models.of_profile(lead.model, lead=True)}
        for name, profile in self.selection.subagents.items():
            chosen[name] = self.models.of_profile(profile.model)
        return chosen


@dataclass(frozen=True, slots=True)
class UsdLimit:
    """Dollars that a run may use; None where no price is known."""

    usd: float | None
    notice: str = ""


def prepare(
    task: Task,
    *,
    task_folder: Path,
    cwd: Path,
    settings: Settings,
    has_credentials: bool,
) -> Prepared:
    """Return what `task` will run with.

    Args:
        task: as loaded.
        task_folder: folder of the task file; the working directory without one.
        cwd: the working directory.
        settings: the user's.
        has_credentials: whether the SDK would find credentials.

    Raises:
        SpecError: a profile or a prompt is broken or missing, a context file cannot be
            read, or a model wants credentials that are not there.
    """
    discovery = discover(task_folder, cwd)
    selection = select(task.agents, discovery)
    book = PromptBook.of(task_folder, cwd)
    book.check()
    prepared = Prepared(
        task,
        selection,
        discovery,
        book,
        read_context(task.workspace, task.context or ()),
        choose_models(task, settings, has_credentials),
    )
    for name, model in prepared.models_by_agent().items():
        if model != OFFLINE and not has_credentials:
            raise SpecError(
                f"profile `{name}` asks for `{model}`, and no credentials were found; "
                "set ANTHROPIC_API_KEY, or use `model: offline`",
                field="agents",
            )
    return prepared


def usd_limit(prepared: Prepared, is_priced: Callable[[str], bool]) -> UsdLimit:
    """Return the limit in dollars, or none where a model has no known price.

    Args:
        prepared: the task with its models.
        is_priced: whether the price of a model is known; not asked for `offline`.

    Raises:
        SpecError: the task sets `limits.usd` and it could not be kept.
    """
    limits = prepared.task.limits
    unknown = sorted(
        {
            model
            for model in prepared.models_by_agent().values()
            if model != OFFLINE and not is_priced(model)
        }
    )
    if not unknown:
        return UsdLimit(limits.usd)
    names = ", ".join(f"`{model}`" for model in unknown)
    if "usd" in limits.model_fields_set:
        raise SpecError(
            f"is {limits.usd:g}, and the price of {names} is not known, so this limit "
            "could not be kept; leave it out and use `limits.tokens`",
            field="limits.usd",
        )
    return UsdLimit(
        None, f"no limit in dollars: the price of {names} is not known; tokens count"
    )
