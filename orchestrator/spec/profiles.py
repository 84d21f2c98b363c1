"""Find the profiles in force: which files there are, which one wins, which is broken.

Order, first hit wins, by whole file: `agents/` beside the task file, `./agents`,
`./.claude/agents`, then what ships.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.resources import data_root
from orchestrator.spec.foreign import OUR_TOOLS
from orchestrator.spec.profile import Profile
from orchestrator.spec.profile_file import (
    FOREIGN_FOLDER,
    ProfileFile,
    claimed_name,
    read_profile,
)

__all__ = [
    "DELEGATION",
    "LEAD",
    "Discovery",
    "Selection",
    "Shadowed",
    "allowed_tools",
    "asks_to_delegate",
    "discover",
    "select",
]

LEAD = "lead"
ALWAYS = {
    "lead": ("finish",),
    "subagent": ("submit_findings",),
}
"""Without these an agent could not hand in anything; nothing takes them away."""
USUAL = ("update_notes", "read_ref", "recall")
"""Part of every agent unless its profile disallows them: what is clipped or spilled
must stay within reach."""
BY_NAME = frozenset({"memory"})
"""A subagent has them only where its profile lists them: what it read is from outside,
and what it wrote down would reach later runs."""
DELEGATION = ("delegate", "wait_for", "follow_up", "cancel")
"""They come together: who can send subagents can also wait for them, ask them and end
them, unless the profile disallows one."""


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A file that is not used, since another one of the same name comes first."""

    name: str
    source: str
    winner: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """All profiles that were found."""

    profiles: dict[str, Profile]
    """By name; those in force, the lead's among them."""
    problems: list[SpecError]
    """One per broken file."""
    notices: list[str]
    """What was read over, in one line for all files."""
    shadowed: list[Shadowed]
    broken: dict[str, SpecError] = field(default_factory=dict)
    """Name → problem, where a broken file comes first: what it hides is not used in
    its place, for it may be a weaker one."""
    files: dict[str, Path] = field(default_factory=dict)
    """Name → file in force."""
    notes: dict[str, str] = field(default_factory=dict)
    """Name → what of its file was not taken over."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The profiles of one run."""

    lead: Profile
    subagents: dict[str, Profile]
    """In the order of the task."""
    notices: list[str]


def discover(task_folder: Path, cwd: Path) -> Discovery:
    """Return the profiles in force for a task in `task_folder`.

    One broken file leaves the others usable.

    Args:
        task_folder: folder of the task file.
        cwd: the working directory.
    """
    found = Discovery({}, [], [], [])
    taken: dict[str, str] = {}
    for folder in _folders(task_folder, cwd):
        for path in _files(folder):
            _take(found, taken, path, cwd)
    if found.notes:
        said = "; ".join(f"{name}: {text}" for name, text in found.notes.items())
        found.notices.append(f"not taken over from agent files: {said}")
    return found


def _folders(task_folder: Path, cwd: Path) -> Iterable[Path]:
    seen: set[Path] = set()
    for folder in (
        task_folder / "agents",
        cwd / "agents",
        cwd / FOREIGN_FOLDER / "agents",
        data_root() / "agents",
    ):
        if folder.resolve() not in seen:
            seen.add(folder.resolve())
            yield folder


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix == ".md"
            and not path.is_dir()
            and not path.name.startswith(".")
            and path.name.lower() != "readme.md"
        )
    except OSError:
        return []


def _take(found: Discovery, taken: dict[str, str], path: Path, cwd: Path) -> None:
    source = _shown(path, cwd)
    file: ProfileFile | None = None
    problem: SpecError | None = None
    try:
        file = read_profile(path, source=source)
        name = file.profile.name
    except SpecError as error:
        name = claimed_name(path)
        found.problems.append(error)
        problem = error
    if name == LEAD and path.parent.parent.name == FOREIGN_FOLDER:
        # Written for another program: it cannot know how to lead here.
        found.notes[f"{name} ({source})"] = "the whole file, a lead is ours alone"
        return
    if name in taken:
        found.shadowed.append(Shadowed(name, source, taken[name]))
        return
    taken[name] = source
    if problem is not None:
        found.broken[name] = problem
    if file is not None:
        found.profiles[name] = file.profile
        found.files[name] = path
        if note := _note(file):
            found.notes[name] = note


def _note(file: ProfileFile) -> str:
    parts = []
    if file.ignored_keys:
        parts.append(f"keys {', '.join(file.ignored_keys)}")
    if file.dropped_tools:
        parts.append(f"tools {', '.join(file.dropped_tools)}")
    return " and ".join(parts)


def _shown(path: Path, cwd: Path) -> str:
    try:
        return str(path.absolute().relative_to(cwd.absolute()))
    except ValueError:
        return str(path)


def select(agents: Iterable[str], found: Discovery) -> Selection:
    """Return the lead's profile and those that a task names.

    Args:
        agents: names, as in `Task.agents`.
        found: from `discover`.

    Raises:
        SpecError: one is broken or does not exist.
    """
    lead = _pick(LEAD, found)
    subagents = {name: _pick(name, found) for name in agents}
    notices = [
        f"not taken over from {found.profiles[name].source}: {found.notes[name]}"
        for name in (LEAD, *subagents)
        if name in found.notes
    ]
    return Selection(lead, subagents, notices)


def _pick(name: str, found: Discovery) -> Profile:
    if name in found.profiles:
        return found.profiles[name]
    if name in found.broken:
        raise found.broken[name]
    there = ", ".join(sorted(set(found.profiles) - {LEAD})) or "none"
    raise SpecError(f"no profile `{name}`; there are: {there}", field="agents")


def allowed_tools(
    profile: Profile,
    *,
    is_lead: bool,
    may_delegate: bool = False,
    available: Collection[str] = OUR_TOOLS,
) -> tuple[str, ...]:
    """Return the tools that an agent of `profile` may call, in a stable order.

    Args:
        profile: its `tools` and `disallowedTools` are obeyed.
        is_lead: the lead's role; else a subagent's, which cannot finish the run.
        may_delegate: whether a subagent has a level left below it; it then has
            subagents of its own where its profile asks for that. Nothing for the lead.
        available: tools that the run has.
    """
    role, other = ("lead", "subagent") if is_lead else ("subagent", "lead")
    everything = set(available) if is_lead else set(available) - BY_NAME
    wanted = everything if profile.tools is None else set(profile.tools)
    wanted |= set(USUAL)
    wanted -= set(DELEGATION)
    if asks_to_delegate(profile, is_lead=is_lead) and (is_lead or may_delegate):
        wanted |= set(DELEGATION)
    wanted -= set(profile.disallowed_tools) | set(ALWAYS[other])
    wanted |= set(ALWAYS[role])
    return tuple(sorted(wanted & set(available)))


def asks_to_delegate(profile: Profile, *, is_lead: bool = False) -> bool:
    """Return whether agents of `profile` may send subagents while depth remains.

    A subagent may only where its profile lists `delegate`: a profile without a list
    has what every subagent needs, and more agents are not among that.
    """
    if "delegate" in profile.disallowed_tools:
        return False
    return is_lead if profile.tools is None else "delegate" in profile.tools
