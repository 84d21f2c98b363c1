"""One live run: its open folder, and everything that its agents share."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio

from orchestrator.agent.budget import Budget
from orchestrator.agent.build import Services
from orchestrator.agent.files import AgentFiles
from orchestrator.agent.parking import Parking
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.events import Event, RunStarted
from orchestrator.messages import clean_text
from orchestrator.models.choose import known_window
from orchestrator.models.features import Lacks
from orchestrator.models.redacting import Redacting
from orchestrator.runtime.allowed import in_force
from orchestrator.runtime.costs import models_used, told_prices
from orchestrator.runtime.host import Host
from orchestrator.runtime.inbox import Inbox
from orchestrator.runtime.memory_place import run_memory
from orchestrator.runtime.notes_file import EditLog
from orchestrator.runtime.past import Past
from orchestrator.runtime.permissions import Permissions
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.progress import Progress
from orchestrator.runtime.run_memory import RunMemory
from orchestrator.runtime.servers import servers_of
from orchestrator.runtime.snapshots import Snapshots
from orchestrator.runtime.toolbox import toolbox, workspace_of
from orchestrator.security.own import own_secrets
from orchestrator.security.redaction import Redactor
from orchestrator.security.untrusted import defused
from orchestrator.security.workspace import Workspace
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import workspace_text
from orchestrator.spec.mcp_secrets import secret_values
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.base import Tool

__all__ = [
    "Session",
    "open_session",
    "opened",
    "prices",
    "redactor_of",
    "started",
    "versions",
]

MAX_TOP_LEVEL = 60


@dataclass(frozen=True, slots=True)
class Session:
    """What one run is made of while it is live."""

    prepared: Prepared
    host: Host
    folder: RunFolder
    files: AgentFiles
    log: EventLog
    progress: Progress
    sightings: Sightings
    services: Services
    workspace: Workspace
    snapshots: Snapshots
    inbox: Inbox
    top_level: tuple[str, ...]
    """What lies in the workspace, redacted; folders end in `/`."""
    facts: str
    context_files: tuple[ContextFile, ...]
    question: str = ""
    """A further question that the lead is at work on."""
    earlier_report: str = ""
    """The report of before, where the lead does what is missing."""
    earlier_result: object = None
    """The result of before, likewise."""
    lost: int = 0
    """Records of the log of earlier processes that are."""
    extra_tools: tuple[str, ...] = ()
    """Names of the user's own tools, which every agent has."""
    memory: RunMemory | None = None
    """What outlives the run; None: the task has none."""

    def crew(self) -> Crew:
        """Return what subagents are made from."""
        return Crew(
            services=self.services,
            task=self.prepared.task,
            workspace=self.workspace,
            profiles=self.prepared.profiles.subagents,
            context_files=self.context_files,
            models=self.prepared.models,
            facts=self.facts,
            book=self.prepared.book,
            folder=self.folder,
            files=self.files,
            sightings=self.sightings,
            notes_of=self.progress.notes_of,
            minutes_left=self.minutes_left,
            spent_by=self.progress.spent_by,
            room=anyio.CapacityLimiter(self.prepared.task.limits.concurrency),
            door=anyio.Lock(),
            extra_tools=self.extra_tools,
            lost=self.lost,
        )

    def minutes_left(self) -> float:
        """Return what is left of the run's time."""
        return self.prepared.task.limits.minutes - self.progress.seconds / 60


@asynccontextmanager
async def opened(
    prepared: Prepared,
    host: Host,
    folder: RunFolder,
    log: EventLog,
    *,
    salt: bytes,
    past: Past | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> AsyncIterator[Session]:
    """Open the session of a run whose folder is open and locked, and its MCP servers.

    When the block is left the servers are gone.

    Args:
        prepared: the task and all that it names.
        host: what the process offers.
        folder: the run's.
        log: open for writing.
        salt: keys the placeholders of redaction; the same on resume.
        past: what earlier processes did.
        on_event: told of each event, live, after the program itself.

    Raises:
        SpecError: a server of a new run cannot be started.
    """
    redactor = redactor_of(prepared, host.env, salt)
    async with servers_of(
        prepared,
        host.env,
        redactor.redact,
        folder=folder,
        callers=host.tools,
        goes_on=past is not None,
    ) as servers:
        session = open_session(
            prepared,
            host,
            folder,
            log,
            redactor=redactor,
            past=past,
            servers=servers.tools,
        )
        if on_event is not None:
            log.subscribe(on_event)
        yield session


def open_session(
    prepared: Prepared,
    host: Host,
    folder: RunFolder,
    log: EventLog,
    *,
    redactor: Redactor,
    past: Past | None = None,
    servers: Sequence[Tool[Any]] = (),
) -> Session:
    """Return the session of a run whose folder is open and locked.

    Args:
        prepared: the task and what it names, as read.
        host: what the process offers.
        folder: the run's.
        log: open for writing.
        redactor: of the run.
        past: what earlier processes did.
        servers: tools of MCP servers.
    """
    artifacts = Artifacts(folder.artifacts)
    edits = EditLog(log, artifacts, redactor.redact)
    progress, sightings = Progress(folder, host.clock, edits), Sightings()
    inbox = Inbox(prepared.book.fill)
    budget = Budget(prepared.usd, prepared.task.limits.tokens)
    lacks = Lacks(host.settings.endpoint_lacks)
    if past is not None:
        sightings = past.history.sightings.copy()
        budget.book(past.history.spent.total)
        progress.restore(past.events, past.history)
        inbox.restore(past.events)
        for adapted in past.adapted:
            lacks.learn(adapted.model, adapted.without)
        for agent, seq in past.history.newest.items():
            log.link(agent, seq)
    host.on_open(log)
    log.subscribe(sightings.apply)
    log.subscribe(progress.follow)
    log.subscribe(inbox.apply)
    task = prepared.task
    permissions = in_force(task.permissions, can_ask=host.asker is not None)
    workspace = replace(workspace_of(task, folder), restore=redactor.restore)
    memory = run_memory(prepared.task, host, log.run_id, redactor.redact)
    box = toolbox(prepared, host, workspace, permissions, servers, memory)
    log.subscribe(box.turn.follow)
    services = Services(
        log=log,
        artifacts=artifacts,
        clock=host.clock,
        open_model=partial(Redacting.opened, host.pool.open, redactor.redact),
        price_of=host.price,
        budget=budget,
        redact=redactor.redact,
        count=estimate,
        clip=partial(clip_text, count=estimate),
        words=prepared.book.fill,
        base_tools=box.tools,
        policy=task.context_policy,
        summaries=prepared.models.summaries,
        summaries_effort=task.effort.summaries,
        judge=prepared.models.judge,
        lacks=lacks,
        fallback=prepared.models.fallback,
        window_of=partial(known_window, told=task.context_policy.window_tokens),
        outage_s=task.limits.outage_s,
        parking=Parking(
            was_answered=past is not None and past.was_answered,
            hopeless=past.hopeless if past else (),
        ),
        seen_by=sightings.newest,
        permissions=permissions,
        restore=redactor.restore_for(allowed="secrets" in permissions),
        restore_file=redactor.restore,
        outside=host.outside,
        gate=Permissions(
            task.permissions,
            log,
            host.asker,
            redact=redactor.redact,
            past=past.events if past else (),
        ),
    )
    top_level = [redactor.redact(name) for name in _top_level(workspace)]
    return Session(
        prepared=redacted(prepared, redactor.redact),
        host=host,
        folder=folder,
        files=AgentFiles(folder, redactor.redact),
        log=log,
        progress=progress,
        sightings=sightings,
        services=services,
        workspace=workspace,
        snapshots=Snapshots(folder, past.history if past else None),
        inbox=inbox,
        top_level=tuple(top_level),
        facts=(past and past.facts)
        or redactor.redact(
            workspace_text(
                task.workspace.name,
                _facts(top_level),
                prepared.skills,
                book=prepared.book,
            )
        ),
        context_files=tuple(
            ContextFile(redactor.redact(each.path), redactor.redact(each.text))
            for each in prepared.context_files
        ),
        lost=past.history.lost if past else 0,
        extra_tools=box.extra,
        memory=memory,
    )


def redactor_of(prepared: Prepared, env: Mapping[str, str], salt: bytes) -> Redactor:
    """Return what replaces secrets in one run.

    Args:
        prepared: with the task.
        env: the environment.
        salt: keys the placeholders; the same on resume.
    """
    task = prepared.task
    own = (*own_secrets(env), *secret_values(task.mcp_servers, env))
    return Redactor(salt, own, personal="personal" in task.redact)


def redacted(prepared: Prepared, redact: Callable[[str], str]) -> Prepared:
    """Return `prepared` with the task's own texts as agents may see them."""
    task = prepared.task
    texts = {
        "objective": redact(task.objective),
        "questions": tuple(redact(text) for text in task.questions),
        "constraints": tuple(redact(text) for text in task.constraints),
    }
    return replace(prepared, task=task.model_copy(update=texts))


def started(session: Session, salt: bytes) -> RunStarted:
    """Return the event with which a run begins."""
    prepared = session.prepared
    task, models = prepared.task, prepared.models
    helpers = {
        "fallback": models.fallback,
        "summaries": models.summaries,
        "judge": models.judge,
    }
    return RunStarted(
        task=task.name,
        objective=task.objective,
        versions=versions(),
        salt=salt.hex(),
        models={
            "lead": models.lead,
            "subagents": models.subagents,
            **{role: name for role, name in helpers.items() if name},
        },
        limits={**task.limits.model_dump(), "usd": prepared.usd},
        model_reason=models.reason,
        facts=session.facts,
        context=[asdict(each) for each in session.context_files],
        prices=prices(session),
        tool_folders=[str(each) for each in prepared.tool_folders],
        redact=[each for each in task.redact if each != "secrets"],
        skills=[
            {
                "name": each.name,
                "description": session.services.redact(each.description),
                "folder": str(each.folder),
            }
            for each in prepared.skills
        ],
        root_name=session.services.redact(task.workspace.name),
        top_level=list(session.top_level),
    )


def prices(session: Session) -> dict[str, dict[str, Any]]:
    """Return what the models of a run cost and who says so; unknown ones left out."""
    prepared = session.prepared
    used = models_used(prepared.models, prepared.profiles)
    return told_prices(used, session.host.price)


def versions() -> dict[str, str]:
    """Return the versions that a run depends on."""
    return {
        "python": sys.version.split()[0],
        "orchestrator": version("orchestrator"),
        "anthropic": version("anthropic"),
    }


def _top_level(workspace: Workspace) -> list[str]:
    """Return what agents may see of the top of the workspace; folders end in `/`."""
    try:
        entries = sorted(workspace.root.iterdir())
    except OSError:
        return []
    return [
        clean_text(f"{entry.name}/" if entry.is_dir() else entry.name)
        for entry in entries
        if not entry.name.startswith(".") and workspace.allows(entry.name)
    ]


def _facts(top_level: Sequence[str]) -> list[str]:
    """Return what every agent should know of the workspace: its top level."""
    if not top_level:
        return ["It is empty."]
    shown = ", ".join(f"`{defused(name)}`" for name in top_level[:MAX_TOP_LEVEL])
    more = len(top_level) - MAX_TOP_LEVEL
    rest = f" and {more} more" if more > 0 else ""
    return [f"Top level: {shown}{rest}"]
