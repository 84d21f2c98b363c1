"""The first user message of a lead and of a subagent.

The objective and the constraints stand in them word for word, and nothing of a parent's
conversation does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.ids import sha256
from orchestrator.security.untrusted import defused
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.profile import Profile
from orchestrator.spec.prompts import PromptBook
from orchestrator.spec.skills import Skill
from orchestrator.spec.task import Deliverable, Task

__all__ = ["brief_message", "lead_first_message", "workspace_text"]

DEFAULT_FINDINGS_TOKENS = 1200


def lead_first_message(
    task: Task,
    profiles: Mapping[str, Profile],
    context_files: Sequence[ContextFile],
    *,
    book: PromptBook | None = None,
    usd: float | None = None,
) -> str:
    """Return the first user message of the lead.

    Args:
        task: as loaded.
        profiles: those of subagents, by name; none: the lead works alone.
        context_files: in order.
        book: prompts in force; default: those that ship.
        usd: dollars the run may use; None leaves them unsaid, as for a model of
            unknown price.
    """
    book = book or PromptBook()
    alone = not profiles or not task.limits.subagents or not task.limits.depth
    return book.fill(
        "lead_task",
        constraints=_section(book, "constraints", _bullets(task.constraints)),
        context=_context(book, context_files),
        objective=task.objective.strip("\n"),
        questions=_section(book, "questions", _bullets(task.questions)),
        workspace=task.workspace.name or str(task.workspace),
        profiles=(
            book.fill("sections/no_subagents")
            if alone
            else book.fill("sections/profiles", items=_profiles(profiles))
        ),
        limits=book.fill("sections/limits", items=_limits(task, usd, alone=alone)),
        deliverable=_deliverable(book, task.deliverable),
    )


def brief_message(
    brief: Mapping[str, Any],
    constraints: Sequence[str],
    context_files: Sequence[ContextFile],
    *,
    profiles: Mapping[str, Profile] | None = None,
    levels: int = 0,
    book: PromptBook | None = None,
) -> str:
    """Return the first user message of a subagent.

    Args:
        brief: the fields of an accepted brief, as plain data.
        constraints: the task's.
        context_files: in order.
        profiles: those it may send itself, by name; none where it works alone.
        levels: of subagents that are left below it; 0 where it works alone.
        book: prompts in force; default: those that ship.
    """
    book = book or PromptBook()
    scope = brief.get("scope") or {}
    deliverable = brief.get("deliverable") or {}
    background = str(brief.get("background") or "").strip("\n")
    asked_for = book.fill(
        "sections/brief_deliverable",
        form=str(deliverable.get("form") or "").strip("\n"),
        max_tokens=str(deliverable.get("max_tokens") or DEFAULT_FINDINGS_TOKENS),
    )
    if profiles and levels > 0:
        # In one place with it: a brief's own prompt file may be older than this.
        own = book.fill(
            "sections/subagents", levels=str(levels), items=_profiles(profiles)
        )
        asked_for = f"{own}\n\n{asked_for}"
    return book.fill(
        "brief",
        constraints=_section(book, "constraints", _bullets(constraints)),
        context=_context(book, context_files),
        title=" ".join(str(brief["title"]).split()),
        objective=str(brief["objective"]).strip("\n"),
        questions=_section(book, "questions", _bullets(brief.get("questions") or ())),
        scope=_section(book, "scope", _scope(scope)),
        background=(
            book.fill("sections/background", text=background) if background else ""
        ),
        deliverable=asked_for,
    )


def workspace_text(
    root_name: str,
    facts: Iterable[str] = (),
    skills: Iterable[Skill] = (),
    *,
    book: PromptBook | None = None,
) -> str:
    """Return the workspace facts that end every system prompt.

    Args:
        root_name: name of the workspace's folder.
        facts: a line each, the same for all agents of a run, so that the bytes are.
        skills: a line each, likewise.
        book: prompts in force; default: those that ship.
    """
    book = book or PromptBook()
    text = book.fill("workspace", root_name=root_name, facts=_bullets(facts))
    lines = _bullets(
        f"`skill:{each.name}`: {defused(each.description, beside_ours=True)}"
        for each in skills
    )
    parts = (text.rstrip("\n"), _section(book, "skills", lines).rstrip("\n"))
    return "\n\n".join(filter(None, parts)) if lines else text


def _section(book: PromptBook, name: str, items: str) -> str:
    return book.fill(f"sections/{name}", items=items) if items else ""


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _context(book: PromptBook, files: Sequence[ContextFile]) -> str:
    if not files:
        return ""
    shown = [
        book.fill(
            "sections/context_file",
            # A file cannot hold its own hash, so it cannot imitate its own end.
            mark=sha256(f"{file.path}\0{file.text}".encode())[:8],
            path=json.dumps(defused(file.path), ensure_ascii=False),
            text=defused(file.text.strip("\n"), beside_ours=True),
        )
        for file in files
    ]
    return book.fill("sections/context", files="\n\n".join(shown))


def _profiles(profiles: Mapping[str, Profile]) -> str:
    return "\n".join(
        f"- `{name}`: {profile.description}" for name, profile in profiles.items()
    )


def _limits(task: Task, usd: float | None, *, alone: bool) -> str:
    limits = task.limits
    parts = [f"{limits.minutes:g} minutes", f"{limits.turns} of your own turns"]
    if usd is not None:
        parts.insert(0, f"${usd:g}")
    if not alone:
        deep = f", {limits.depth} levels deep" if limits.depth > 1 else ""
        parts.append(
            f"{limits.subagents} subagents, {limits.concurrency} at the same time{deep}"
        )
    return ", ".join(parts)


def _deliverable(book: PromptBook, deliverable: Deliverable) -> str:
    most = str(deliverable.max_tokens)
    if deliverable.format == "markdown":
        return book.fill("sections/deliverable_markdown", max_tokens=most)
    schema = ""
    if deliverable.schema_ is not None:
        text = json.dumps(deliverable.schema_, ensure_ascii=False)
        schema = f" that follows this JSON Schema: `{text}`"
    return book.fill("sections/deliverable_json", schema=schema, max_tokens=most)


def _scope(scope: Mapping[str, Any]) -> str:
    lines = []
    if include := scope.get("include"):
        lines.append(f"- Look in: {_paths(include)}")
    if exclude := scope.get("exclude"):
        lines.append(f"- Leave out: {_paths(exclude)} (the tools refuse these)")
    return "\n".join(lines)


def _paths(paths: Iterable[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)
