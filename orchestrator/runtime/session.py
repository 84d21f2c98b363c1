"""One live run: its open folder, and everything that its agents share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from orchestrator.agent.budget import Budget
from orchestrator.agent.build import Services
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.events import Event, SubagentAccepted
from orchestrator.ids import safe_name, sha256
from orchestrator.messages import clean_text, encode
from orchestrator.runtime.host import Host
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.progress import Progress
from orchestrator.security.redaction import Redactor
from orchestrator.security.workspace import Workspace
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.first_messages import workspace_text
from orchestrator.spec.loader import dump_task
from orchestrator.spec.profiles import LEAD
from orchestrator.spec.prompts import PROMPTS
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.disk import store_error, write_atomic
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.search import Glob, Grep

__all__ = ["Session", "open_session", "versions", "write_inputs"]

MAX_TOP_LEVEL = 60


@dataclass(frozen=True, slots=True)
class Session:
    """What one run is made of while it is live."""

    prepared: Prepared
    host: Host
    folder: RunFolder
    log: EventLog
    progress: Progress
    sightings: Sightings
    services: Services
    workspace: Workspace
    facts: str
    context_files: tuple[ContextFile, ...]

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
            sightings=self.sightings,
            notes_of=self.progress.notes_of,
            minutes_left=self.minutes_left,
            extra_tools=tuple(tool.name for tool in self.host.tools),
        )

    def minutes_left(self) -> float:
        """Return what is left of the run's time."""
        return self.prepared.task.limits.minutes - self.progress.seconds / 60


def open_session(
    prepared: Prepared,
    host: Host,
    folder: RunFolder,
    log: EventLog,
    *,
    salt: bytes,
    past: Sequence[Event] = (),
    on_event: Callable[[Event], None] | None = None,
) -> Session:
    """Return the session of a run whose folder is open and locked.

    Args:
        prepared: the task and what it names, as read.
        host: what the process offers.
        folder: the run's.
        log: open for writing.
        salt: keys the placeholders of redaction; the same on resume.
        past: events of earlier processes.
        on_event: told of each event, live.
    """
    progress, sightings = Progress(folder, host.clock), Sightings()
    for event in past:
        log.link(event.agent, event.seq)
        if event.kind == SubagentAccepted.KIND:
            log.link(event.data["id"], event.seq)
        progress.apply(event)
        sightings.apply(event)
    log.subscribe(sightings.apply)
    log.subscribe(progress.follow)
    if on_event is not None:
        log.subscribe(on_event)
    redactor = Redactor(salt)
    task = prepared.task
    services = Services(
        log=log,
        artifacts=Artifacts(folder.artifacts),
        clock=host.clock,
        open_model=partial(host.pool.open, outage_s=task.limits.outage_s),
        price_of=host.price,
        budget=Budget(prepared.usd, task.limits.tokens),
        redact=redactor.redact,
        count=estimate,
        clip=partial(clip_text, count=estimate),
        words=prepared.book.fill,
        base_tools=(ReadFile(), ListDir(), Grep(), Glob(), ReadRef(), *host.tools),
        read_tokens=task.context_policy.read_tokens,
        clip_tokens=task.context_policy.clip_tokens,
    )
    workspace = Workspace(task.workspace, exclude=_own_folder(task.workspace, folder))
    return Session(
        prepared=redacted(prepared, redactor.redact),
        host=host,
        folder=folder,
        log=log,
        progress=progress,
        sightings=sightings,
        services=services,
        workspace=workspace,
        facts=workspace_text(
            task.workspace.name, _facts(workspace), book=prepared.book
        ),
        context_files=tuple(
            ContextFile(each.path, redactor.redact(each.text))
            for each in prepared.context_files
        ),
    )


def redacted(prepared: Prepared, redact: Callable[[str], str]) -> Prepared:
    """Return `prepared` with the task's own texts as agents may see them."""
    task = prepared.task
    texts = {
        "objective": redact(task.objective),
        "questions": tuple(redact(text) for text in task.questions),
        "constraints": tuple(redact(text) for text in task.constraints),
    }
    return replace(prepared, task=task.model_copy(update=texts))


def write_inputs(session: Session) -> None:
    """Write `task.yaml` and copies of the profiles and prompts in use.

    Raises:
        StoreError: the disk refuses.
    """
    prepared, folder = session.prepared, session.folder
    task = dump_task(prepared.task, redact=session.services.redact)
    write_atomic(folder.task, task.encode())
    used = {LEAD, *prepared.profiles.subagents}
    files = {
        f"agents/{safe_name(name)}.md": path
        for name, path in prepared.found.files.items()
        if name in used
    }
    files |= {f"prompts/{name}.md": prepared.book.used[name] for name in PROMPTS}
    hashes: dict[str, str] = {}
    try:
        for name, path in sorted(files.items()):
            data = path.read_bytes()
            target = folder.inputs / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            hashes[name] = sha256(data)
    except OSError as error:
        raise store_error("copy the inputs to", folder.inputs, error) from error
    write_atomic(folder.inputs / "hashes.json", encode(hashes) + b"\n")


def versions() -> dict[str, str]:
    """Return the versions that a run depends on."""
    return {
        "python": sys.version.split()[0],
        "orchestrator": version("orchestrator"),
        "anthropic": version("anthropic"),
    }


def _own_folder(workspace: Path, folder: RunFolder) -> tuple[str, ...]:
    """Return the folder of runs, if agents could see it: what others read lies there.

    Where runs lie directly in the workspace, only this run is left out.
    """
    run, root = folder.path.resolve(), workspace.resolve()
    if not run.is_relative_to(root):
        return ()
    hidden = run if run.parent == root else run.parent
    return (f"{hidden.relative_to(root).as_posix()}/",)


def _facts(workspace: Workspace) -> list[str]:
    """Return what every agent should know of the workspace: its top level."""
    try:
        entries = sorted(workspace.root.iterdir())
    except OSError:
        return []
    names = [
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in entries
        if not entry.name.startswith(".") and workspace.allows(entry.name)
    ]
    shown = ", ".join(f"`{clean_text(name)}`" for name in names[:MAX_TOP_LEVEL])
    more = len(names) - MAX_TOP_LEVEL
    rest = f" and {more} more" if more > 0 else ""
    return [f"Top level: {shown}{rest}"] if names else ["It is empty."]
