"""Open the files of the skills that a task names, for `read_ref`."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import ToolError
from orchestrator.ids import SKILL_PREFIX
from orchestrator.security.workspace import Workspace
from orchestrator.spec.skills import FILE, Skill
from orchestrator.tools.arguments import listed
from orchestrator.tools.extraction import plain
from orchestrator.tools.versions import MAX_KEPT_BYTES, read_bytes

__all__ = ["Skills"]


class Skills:
    """The skills of one run, by the references that its agents are told of."""

    def __init__(self, skills: Sequence[Skill] = (), *, runs_scripts: bool) -> None:
        """Take them.

        Args:
            skills: of the task.
            runs_scripts: whether there is a sandbox that they can be run in.
        """
        self._skills = {each.name: each for each in skills}
        self._runs_scripts = runs_scripts

    def text(self, ref: str) -> str:
        """Return the text of `skill:<name>`, or of its file `skill:<name>/<path>`.

        Raises:
            ToolError: there is no such skill or file, or it is no text.
        """
        name, _, path = ref.removeprefix(SKILL_PREFIX).partition("/")
        skill = self._skills.get(name)
        if skill is None:
            there = listed(SKILL_PREFIX + each for each in self._skills)
            raise ToolError(f"there is no skill `{ref[:80]}`; there are: {there}")
        folder = Workspace(skill.folder)
        found = folder.resolve_file(path or FILE)
        if found.stat().st_size > MAX_KEPT_BYTES:
            raise ToolError(f"`{ref[:80]}` is too big to be opened")
        text = plain(read_bytes(folder, folder.relative(found)))
        if text is None:
            raise ToolError(f"`{ref[:80]}` is no text; it cannot be shown")
        return text.text if path else f"{text.text.rstrip()}\n\n{self._foot(skill)}\n"

    def _foot(self, skill: Skill) -> str:
        """Return how the other files of a skill are reached."""
        files = sorted(
            path.relative_to(skill.folder).as_posix()
            for path in skill.folder.rglob("*")
            if path.is_file() and path.name != FILE
        )
        if not files:
            return "[This skill has no other files.]"
        run = f", and `bash` runs its scripts in {skill.folder}"
        return (
            f"[Other files of this skill: {listed(files)}. "
            f'read_ref("{SKILL_PREFIX}{skill.name}/{files[0]}") opens one'
            f"{run if self._runs_scripts else ''}.]"
        )
