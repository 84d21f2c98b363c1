"""Check that a brief stands alone, before anything is spent on it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from orchestrator.brief.model import Brief
from orchestrator.brief.paths import Tree, missing_paths
from orchestrator.brief.unseen import unseen
from orchestrator.brief.vague import is_vague, is_vague_form
from orchestrator.errors import ToolError
from orchestrator.messages import one_line, shortened
from orchestrator.security.workspace import Workspace

__all__ = ["MAX_BRIEF_CHARS", "lint", "normalised"]

MAX_BRIEF_CHARS = 16_000
"""All text of a brief; more is a document, and belongs into a file."""
MAX_QUESTIONS = 20
MAX_PATHS_NAMED = 5
SHOWN_CHARS = 80


def lint(
    brief: Brief,
    *,
    workspace: Workspace,
    profiles: Collection[str],
    others: Sequence[Brief],
) -> list[str]:
    """Return what keeps `brief` from standing alone, each as a thing to mend.

    It reads the names in the workspace; call it in a thread where that is large.

    Args:
        brief: what the lead wants done.
        workspace: what the subagent may see, before the brief's own scope.
        profiles: names that `agent` may have.
        others: the other briefs of the same call, and those of live subagents.

    Returns:
        Messages for the lead; empty if the brief is good.
    """
    if not brief.objective.strip():
        return ["`objective` is empty: say what to find out, and why"]
    if sum(len(text) for _, text in _texts(brief)) > MAX_BRIEF_CHARS:
        return list(_form_problems(brief, profiles))
    tree = Tree(workspace.real_root)
    return [
        *_form_problems(brief, profiles),
        *_scope_problems(brief, workspace, tree),
        *_path_problems(brief, tree),
        *_unseen_problems(brief),
        *_vague_problems(brief),
        *_twin_problems(brief, others),
    ]


def _texts(brief: Brief) -> Iterator[tuple[str, str]]:
    """Yield name and text of the fields, in the order in which they are read."""
    yield "title", brief.title
    yield "background", brief.background
    yield "objective", brief.objective
    for number, question in enumerate(brief.questions, 1):
        yield f"questions[{number}]", question
    yield "deliverable.form", brief.deliverable.form


def _form_problems(brief: Brief, profiles: Collection[str]) -> Iterator[str]:
    if not any(char.isalnum() for char in brief.title):
        yield "`title` is empty: give a few words that tell this brief from the others"
    if brief.agent not in profiles:
        known = ", ".join(f"`{name}`" for name in sorted(profiles)) or "none"
        yield f"no profile `{_shown(brief.agent)}`; `agent` may be: {known}"
    size = sum(len(text) for _, text in _texts(brief))
    if size > MAX_BRIEF_CHARS:
        yield (
            f"the brief has {size:,} characters, at most {MAX_BRIEF_CHARS:,} are "
            "allowed: name files and lines instead of copying them, or split the work"
        )
    if len(brief.questions) > MAX_QUESTIONS:
        yield (
            f"{len(brief.questions)} questions are too many for one subagent, at most "
            f"{MAX_QUESTIONS}: split them over several briefs"
        )
    for number, question in enumerate(brief.questions, 1):
        if not any(char.isalnum() for char in question):
            yield f"`questions[{number}]` is empty: ask something or leave it out"


def _scope_problems(brief: Brief, workspace: Workspace, tree: Tree) -> Iterator[str]:
    excluded = {entry.strip().strip("/") for entry in brief.scope.exclude}
    for entry in brief.scope.include:
        problem = _entry_problem(entry, workspace, tree)
        if not problem and entry.strip().strip("/") in excluded:
            problem = "is in `scope.exclude` too, so that nothing of it is left"
        if problem:
            yield f"`scope.include`: `{_shown(entry)}` {problem}"


def _entry_problem(entry: str, workspace: Workspace, tree: Tree) -> str:
    if not entry.strip():
        return "is empty: name a file, a folder or a glob"
    try:
        if workspace.resolve(entry).exists():
            return ""
    except ToolError as error:
        if not _is_glob(entry):
            return f"cannot be used: {error}"
    if _is_glob(entry):
        part = workspace.narrowed(include=(entry,))
        fits = any(part.allows(each) for each in tree.entries if tree.is_file(each))
        return "" if fits or not tree.is_whole else "fits no file in the workspace"
    return f"is not in the workspace{_hint(tree.closest(entry))}"


def _is_glob(entry: str) -> bool:
    return any(mark in entry for mark in "*?[{")


def _path_problems(brief: Brief, tree: Tree) -> Iterator[str]:
    told: set[str] = set()
    for name, text in _texts(brief):
        if name == "deliverable.form":
            continue
        for path, closest in missing_paths(text, tree):
            if path in told or len(told) >= MAX_PATHS_NAMED:
                continue
            told.add(path)
            yield (
                f"`{name}` names `{_shown(path)}`, which is not in the workspace"
                f"{_hint(closest)}; correct it or leave it out"
            )


def _unseen_problems(brief: Brief) -> Iterator[str]:
    before = "\n".join(brief.scope.include)
    for name, text in _texts(brief):
        words = unseen(text, before)
        if words:
            yield (
                f"`{name}` says “{_shown(words)}”: the subagent sees nothing but this "
                "brief; name the thing itself, or put what is known into `background`"
            )
        before = f"{before}\n{text}"


def _vague_problems(brief: Brief) -> Iterator[str]:
    if is_vague(brief.objective, brief.questions):
        yield (
            f"`objective` is vague (“{_shown(brief.objective)}”): say what is to be "
            "found out and what for, or add `questions` with an answer each"
        )
    if is_vague_form(brief.deliverable.form):
        yield (
            f"`deliverable.form` is vague (“{_shown(brief.deliverable.form)}”): say "
            "what you want back, such as `one item per route, with its check`"
        )


def _twin_problems(brief: Brief, others: Sequence[Brief]) -> Iterator[str]:
    mark = _mark(brief)
    if any(other is not brief and _mark(other) == mark for other in others):
        yield (
            f"another brief, here or at work, has this title (“{_shown(brief.title)}”) "
            "and asks the same: wait for that one, or ask something else"
        )


def _mark(brief: Brief) -> tuple[str, ...]:
    asked = brief.questions or (brief.objective,)
    return (normalised(brief.title), *sorted(normalised(each) for each in asked))


@lru_cache(maxsize=4096)
def normalised(text: str) -> str:
    """Return `text` for comparison: case, width, blanks and marks do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def _hint(closest: str) -> str:
    return f" (is `{_shown(closest)}` meant?)" if closest else ""


def _shown(text: str) -> str:
    return shortened(one_line(text), SHOWN_CHARS)
