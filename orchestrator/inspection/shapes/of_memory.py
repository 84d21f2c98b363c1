"""Shapes of what outlives runs, as the `memory` commands print it."""

from __future__ import annotations

from typing import Literal

from orchestrator.inspection.shapes.figures import Shape, Version

__all__ = [
    "MemoryEntries",
    "MemoryEntryShown",
    "MemoryForgotten",
    "MemoryFound",
    "MemoryImported",
    "MemoryTopicShown",
    "MemoryTopics",
]

State = Literal["unchanged", "moved", "changed", "gone", "unknown"]


class ScopeShape(Shape):
    """One scope of memory."""

    v: Version
    scope: Literal["project", "user"]
    folder: str
    """With the topic files; it may not be there yet."""


class TopicShape(Shape):
    """One topic file."""

    topic: str
    """Path of the file below the folder, such as `auth.md`."""
    title: str
    description: str
    entries: int
    newest: str
    """Date of the newest entry, `YYYY-MM-DD`, or ""."""


class PlaceShape(Shape):
    """Where an entry can be checked."""

    path: str
    """Relative to the workspace."""
    first: int
    """Line, from 1; 0: the whole file."""
    last: int
    state: State
    """What has become of the lines since the entry was written. `moved`: they stand
    elsewhere in the file; `gone`: there is no such file; `unknown`: nothing to compare
    them with."""


class EarlierShape(Shape):
    """A value that an entry had before."""

    value: str
    when: str
    """Date of that value, `YYYY-MM-DD`, or ""."""


class EntryShape(Shape):
    """One entry."""

    topic: str
    key: str
    value: str
    when: str
    """Date it was written, `YYYY-MM-DD`, or ""."""
    confidence: float | None
    """The writer's own estimate, 0 to 1."""
    source: str
    """Who wrote it, `<run id>/<agent id>`, or ""."""
    by_a_person: bool
    """A person wrote or changed it: no run changes, merges or drops it."""
    evidence: list[PlaceShape]
    state: State
    """The worst of its places."""
    used: str
    """Date it was last of use, `YYYY-MM-DD`, or ""."""
    was: list[EarlierShape]
    """Newest first."""


class MemoryTopics(ScopeShape):
    """`memory list --json`: the topics of a scope."""

    topics: list[TopicShape]
    notice: str
    """Why memory cannot be written or read in full, or ""."""


class MemoryEntries(ScopeShape):
    """`memory list TOPIC --json`: the entries of a topic."""

    topic: str
    entries: list[EntryShape]


class MemoryEntryShown(ScopeShape):
    """`memory show KEY --json`: one entry."""

    path: str
    """Of its topic file."""
    entry: EntryShape


class MemoryTopicShown(ScopeShape):
    """`memory show TOPIC --json`: a topic file as it is."""

    path: str
    topic: str
    text: str


class MemoryFound(ScopeShape):
    """`memory search QUERY --json`: what fits, best first."""

    queries: list[str]
    found: list[EntryShape]
    notice: str
    """Why the search is not what it could be, or ""."""


class MemoryForgotten(ScopeShape):
    """`memory forget KEY --json`: what is gone."""

    forgotten: list[str]
    """Keys."""


class OutcomeShape(Shape):
    """What became of one entry that was to come in."""

    key: str
    topic: str
    what: Literal["new", "updated", "kept", "refused"]
    """`kept`: what memory had stays."""
    why: str


class MemoryImported(ScopeShape):
    """`memory import FILE --json`: what came in."""

    outcomes: list[OutcomeShape]
