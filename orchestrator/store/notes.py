"""The notes of a run: what the program knows, and what agents and people wrote down.

`progress.md` is read by people who know nothing of the program. Its header and its
tables are rendered from the program's records; the sections are the lead's, and any
person's who changes them in the file. A subagent's `notes.md` has sections of its own
choice and no program-owned parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from orchestrator.errors import ToolError
from orchestrator.events import Event, NotesEdited, NotesUpdated, TextAdded, parse
from orchestrator.security.untrusted import defused
from orchestrator.store.notes_page import EMPTY, PERSON, AgentRow, RunHeader, page_of
from orchestrator.store.notes_text import as_checklist, flat, tidy, version_of

__all__ = ["SECTIONS", "AgentRow", "Notes", "RunHeader", "Section", "Write", "Written"]

Section = Literal[
    "Goal", "Plan", "Decisions", "Facts", "Failed attempts", "Open questions", "Next"
]
SECTIONS: tuple[str, ...] = get_args(Section)
"""Those of the lead, in order."""
MAX_SECTION_CHARS = 8000
MAX_FREE_SECTIONS = 20
MAX_TITLE_CHARS = 60
MAX_VERSIONS = 200
"""Of one section, that a file may be a change of; older ones are as if unknown."""
_CHECKLIST = "Plan"
_NOT_READ = (
    "_Written from the log of the run; what is changed here is not read. Words for the "
    "agents belong into `progress.md`._"
)


class Write(NamedTuple):
    """What a section would be after a write."""

    section: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """Who wrote to a section last.

    Attributes:
        by_person: whether that was a person.
        seq: of the event.
        at: RFC 3339, UTC.
    """

    by_person: bool
    seq: int
    at: str


class Notes:
    """An agent's sections. `Notes()` is the lead's, `Notes(free=True)` a subagent's."""

    def __init__(self, *, free: bool = False) -> None:
        self._free = free
        names = () if free else SECTIONS
        self._texts: dict[str, str] = dict.fromkeys(names, "")
        self._pinned: set[str] = set()
        self._versions: dict[str, dict[str, str]] = {
            name: {version_of(""): ""} for name in (*names, PERSON)
        }
        self._theirs: set[str] = set()
        """Sections in which words of a person stand."""
        self._set_at: dict[tuple[str, str], int] = {}
        """Section and version → `seq` of the event that made it so, the newest."""
        self._origins: dict[tuple[str, str], int] = {}
        """Section and origin of a person's change → `seq` of that."""
        self._written: dict[str, Written] = {}
        self._untold: dict[int, str] = {}
        """`seq` of a person's change → its section, until the agent is told."""

    @property
    def sections(self) -> dict[str, str]:
        """Return the texts by section, in order; "" where there is none."""
        return dict(self._texts)

    @property
    def shown(self) -> dict[str, str]:
        """Return the sections as an agent may see them beside words of the program.

        What people wrote passes for nothing else there.
        """
        return {
            name: defused(text, beside_ours=True) if name in self._theirs else text
            for name, text in self._texts.items()
        }

    @property
    def pinned(self) -> dict[str, str]:
        """Return the sections that must stay in the agent's context."""
        return {
            name: text for name, text in self._texts.items() if name in self._pinned
        }

    @property
    def written(self) -> Mapping[str, Written]:
        """Return who wrote last to each section that anybody wrote to."""
        return self._written

    @property
    def waiting(self) -> Mapping[int, str]:
        """Return `seq` of a person's change → section, of those not told yet."""
        return self._untold

    @property
    def untold(self) -> set[str]:
        """Return the sections that a person changed and the agent was not told of."""
        return set(self._untold.values())

    def text_of(self, section: str) -> str:
        """Return the text of a section by its proper name; "" where there is none."""
        return self._texts.get(section, "")

    def version(self, section: str, version: str) -> str | None:
        """Return an earlier text of a section by the name of the version, if known."""
        return self._versions.get(section, {}).get(version)

    def has_taken(self, section: str, origin: str) -> bool:
        """Return whether a change by a person is in the log already.

        Args:
            section: by its proper name.
            origin: the version that it was a change of, `:`, and that of the text. If
                the section has become that version once more since, it is another one.
        """
        version, _, _ = origin.partition(":")
        taken = self._origins.get((section, origin), 0)
        return bool(version) and taken > self._set_at.get((section, version), 0)

    def apply(self, event: Event) -> None:
        """Take over what the log says of notes; what cannot be is passed over."""
        with suppress(TypeError, ToolError):
            if event.kind == NotesUpdated.KIND:
                made = parse(event, NotesUpdated)
                name = self.update(made.section, made.mode, made.text, made.pin)
                self._note(name, event)
            elif event.kind == NotesEdited.KIND:
                edited = parse(event, NotesEdited)
                self._set(edited.section, edited.text)
                self._origins[edited.section, edited.origin] = event.seq
                self._theirs.add(edited.section)
                self._note(edited.section, event, by_person=True)
                # The newest holds what earlier ones did: only that is told.
                self._untold = {
                    seq: name
                    for seq, name in self._untold.items()
                    if name != edited.section
                }
                self._untold[event.seq] = edited.section
            elif event.kind == TextAdded.KIND and event.data["reason"] == "steer":
                self._untold.pop(event.cause, None)

    def update(self, section: str, mode: str, text: str, pin: bool = False) -> str:
        """Write to a section and return its proper name.

        Args:
            section: one of the known ones, in any case; any short title for a
                subagent.
            mode: `replace` (an empty text clears the section) or `append`.
            text: Markdown. In the plan each line is an item; appending one that is
                there already changes its tick.
            pin: the section must stay in the agent's context; `replace` without it
                lets it go.

        Raises:
            ToolError: no such section or mode, nothing to append, or too long; the
                notes are as before.
        """
        name, new = self.would_be(section, mode, text)
        self._set(name, new)
        if pin:
            self._pinned.add(name)
        elif mode == "replace":
            self._pinned.discard(name)
        if mode == "replace":
            self._theirs.discard(name)
        return name

    def would_be(self, section: str, mode: str, text: str) -> Write:
        """Return what `update` would make of a section; arguments and errors as there.

        The notes are as before in any case.
        """
        if mode not in ("replace", "append"):
            raise ToolError(
                f"`mode` must be `replace` or `append`, found `{mode[:40]}`"
            )
        name = self._name(section)
        new = tidy(text)
        if mode == "append" and not new:
            raise ToolError(f"nothing to append to `{name}`: `text` is empty")
        if name == _CHECKLIST:
            before = self._texts.get(name, "") if mode == "append" else ""
            new = as_checklist(before, new)
        elif mode == "append" and self._texts.get(name):
            new = f"{self._texts[name]}\n{new}"
        if len(new) > MAX_SECTION_CHARS:
            raise ToolError(
                f"`{name}` would have {len(new):,} characters, at most "
                f"{MAX_SECTION_CHARS:,} are allowed; replace it by a shorter text"
            )
        return Write(name, new)

    def render(
        self, header: RunHeader, agents: Sequence[AgentRow], effects: Sequence[str]
    ) -> str:
        """Return `progress.md`; arguments as for `page_of`."""
        return page_of(self._texts, header, agents, effects)

    def render_free(self, title: str) -> str:
        """Return a subagent's `notes.md`: its sections under one title."""
        parts = [f"# {flat(title)}"]
        parts += [f"## {name}\n\n{text or EMPTY}" for name, text in self._texts.items()]
        parts += [] if self._texts else [EMPTY]
        return "\n\n".join([*parts, _NOT_READ]) + "\n"

    def _note(self, name: str, event: Event, *, by_person: bool = False) -> None:
        self._written[name] = Written(by_person, event.seq, event.at)
        self._set_at[name, version_of(self._texts[name])] = event.seq

    def _set(self, name: str, text: str) -> None:
        self._texts[name] = text
        if self._free:  # nobody changes them but the agent
            return
        versions, version = self._versions.setdefault(name, {}), version_of(text)
        versions.pop(version, None)  # the order is that of use
        versions[version] = text
        if len(versions) > MAX_VERSIONS:
            del versions[next(iter(versions))]

    def _name(self, section: str) -> str:
        wanted = " ".join(section.split()).strip("# ").casefold()
        for name in self._texts if self._free else SECTIONS:
            if name.casefold() == wanted:
                return name
        if not self._free:
            raise ToolError(
                f"no section `{section[:MAX_TITLE_CHARS]}`; there are: "
                f"{', '.join(SECTIONS)}"
            )
        name = flat(section).strip("# ")
        if not name or len(name) > MAX_TITLE_CHARS:
            raise ToolError(f"`section` must have 1 to {MAX_TITLE_CHARS} characters")
        if len(self._texts) >= MAX_FREE_SECTIONS:
            raise ToolError(
                f"at most {MAX_FREE_SECTIONS} sections are allowed; there are: "
                f"{', '.join(self._texts)}"
            )
        return name
