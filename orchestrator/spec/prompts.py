"""Prompt files with `{{name}}` placeholders, filled strictly.

Looked up like profiles: `prompts/` beside the task, `./prompts`, then what ships; by
whole file. A value is put in as it is, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.resources import data_root
from orchestrator.spec.document import read_source

__all__ = ["PROMPTS", "PromptBook", "placeholders_of"]

MAX_BYTES = 200_000

PROMPTS: dict[str, frozenset[str]] = {
    name: frozenset(names.split())
    for name, names in {
        "lead_task": "workspace constraints context objective questions deliverable "
        "profiles limits",
        "brief": "constraints context title objective questions scope background "
        "deliverable",
        "workspace": "root_name facts",
        "nudge_finish": "tool",
        "nudge_empty": "",
        "last_call": "limit tool",
        "last_call_size": "tokens",
        "wrap_up_lead": "left tool",
        "wrap_up_subagent": "left tool",
        "continue": "",
        "question": "question tool",
        "go_on": "missing limits tool",
        "follow_up": "question max_tokens turns",
        "late_findings": "findings",
        "unfinished": "agents tool",
        "unheard": "tool",
        "steer": "text",
        "notes_edited": "section text",
        "delegate_reminder": "",
        "repeat_warning": "",
        "summarize": "form tokens",
        "summarize_again": "reason tokens",
        "summarize_text": "form record tokens",
        "compacted": "last state summary own_rules subagents memory files newest",
        "judge": "record summary",
        "reminder": "items",
        "remember": "record whose known",
        "sections/constraints": "items",
        "sections/context": "files",
        "sections/context_file": "mark path text",
        "sections/questions": "items",
        "sections/profiles": "items",
        "sections/no_subagents": "",
        "sections/subagents": "levels items",
        "sections/limits": "items",
        "sections/deliverable_markdown": "max_tokens",
        "sections/deliverable_json": "schema max_tokens",
        "sections/scope": "items",
        "sections/background": "text",
        "sections/state": "text",
        "sections/summary": "text",
        "sections/summary_form": "source",
        "sections/own_rules": "items",
        "sections/team": "table",
        "sections/memory": "text",
        "sections/memory_again": "text",
        "sections/files": "files",
        "sections/newest": "text",
        "sections/brief_deliverable": "form max_tokens",
        "sections/skills": "items",
    }.items()
}
"""Every prompt, and the placeholders that it must hold, no more and no fewer."""

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
# A placeholder alone on its line takes the blank lines after it along if its value
# is empty, so that a section that is not there leaves no gap.
_ALONE = re.compile(r"^\{\{(\w+)\}\}[ \t]*\n(?:[ \t]*\n)*", re.MULTILINE)


def placeholders_of(text: str) -> frozenset[str]:
    """Return the names of all placeholders in `text`."""
    return frozenset(_PLACEHOLDER.findall(text))


@dataclass(slots=True)
class PromptBook:
    """The prompts in force for one run; each file is read once.

    Attributes:
        folders: looked through in order; first hit wins.
        used: file of each prompt that was read, for the run's copies.
    """

    folders: tuple[Path, ...] = ()
    used: dict[str, Path] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, task_folder: Path, cwd: Path) -> PromptBook:
        """Return the prompts for a task in `task_folder`, run from `cwd`."""
        return cls((task_folder / "prompts", cwd / "prompts", data_root() / "prompts"))

    def fill(self, name: str, **values: str) -> str:
        """Return the prompt `name` with its placeholders replaced.

        Args:
            name: a key of `PROMPTS`.
            **values: one per placeholder; an empty one that stands alone on its
                line vanishes with the blank lines after it.

        Raises:
            SpecError: a user's own file is unreadable or has other placeholders.
            KeyError: no such prompt.
            TypeError: a value is missing or too many.
        """
        expected = PROMPTS[name]
        if expected != set(values):
            raise TypeError(
                f"prompt `{name}` wants {sorted(expected)}, was given {sorted(values)}"
            )
        text = self._text(name)
        text = _ALONE.sub(lambda found: found[0] if values[found[1]] else "", text)
        return _PLACEHOLDER.sub(lambda found: values[found[1]], text).strip()

    def check(self) -> None:
        """Read every prompt now, so that a wrong one is found before a run starts.

        Raises:
            SpecError: one is unreadable or has other placeholders.
        """
        for name in PROMPTS:
            self._text(name)

    def strangers(self) -> dict[Path, str]:
        """Return files of the user that look like a misspelt prompt, and which one."""
        shipped = data_root() / "prompts"
        found: dict[Path, str] = {}
        for folder in self.folders:
            if folder == shipped or not folder.is_dir():
                continue
            for path in sorted(folder.rglob("*.md")):
                name = path.relative_to(folder).with_suffix("").as_posix()
                close = get_close_matches(name, PROMPTS, n=1, cutoff=0.8)
                if name not in PROMPTS and close:
                    found[path] = close[0]
        return found

    def shadowing(self) -> dict[str, Path]:
        """Return the prompts that a file of the user replaces."""
        shipped = data_root() / "prompts"
        return {
            name: path
            for name in PROMPTS
            if not (path := self._path(name)).resolve().is_relative_to(shipped)
        }

    def _text(self, name: str) -> str:
        if name not in self._texts:
            path = self._path(name)
            text = read_source(path, what="prompt", max_bytes=MAX_BYTES)
            text = text.replace("\r\n", "\n").strip() + "\n"
            _check(text, name, path)
            self._texts[name] = text
            self.used[name] = path
        return self._texts[name]

    def _path(self, name: str) -> Path:
        paths = [folder / f"{name}.md" for folder in self.folders]
        shipped = data_root() / "prompts" / f"{name}.md"
        return next((path for path in paths if path.exists()), shipped)


def _check(text: str, name: str, path: Path) -> None:
    found, expected = placeholders_of(text), PROMPTS[name]
    for unknown in sorted(found - expected):
        at = text.index("{{" + unknown + "}}")
        raise SpecError(
            f"unknown placeholder `{{{{{unknown}}}}}`; allowed: {_listed(expected)}",
            str(path),
            text.count("\n", 0, at) + 1,
        )
    if missing := expected - found:
        raise SpecError(f"the placeholder {_listed(missing)} is missing", str(path))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names)) or "none"
