"""The topic file that a new entry goes to, by the folder its evidence is in.

A topic that is there and fits wins, so that there are few topics rather than many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from orchestrator.memory.answer import topic_path
from orchestrator.memory.memory import Known
from orchestrator.memory.naming import is_wide, label_of
from orchestrator.memory.search.words import is_number, terms_of

__all__ = ["Filing"]

DEEP_FROM: Final = 5
"""New entries of one folder from which each folder within it has its own topic."""
FITS: Final = 0.5
"""Share of the terms of a claim from which a topic fits by its words."""
MOST_TOP_FILES: Final = 3
"""Files at the top of the workspace that have a topic each; more share one."""
TOP_TOPIC: Final = "workspace.md"
MAX_NAMED: Final = 5
"""Documents that the description of a topic names."""
_RESERVED: Final = "memory.md"
"""The index page has this name."""
_WRAPPERS: Final = frozenset(
    ("src", "lib", "libs", "packages", "pkg", "app", "apps", "source", "code")
)
"""Folders that say nothing of what they hold."""

Terms = frozenset[str]


class Filing:
    """Where the new entries of one run go."""

    def __init__(
        self, facts: Sequence[tuple[str, Terms]], known: Sequence[Known]
    ) -> None:
        """Sort facts into topics.

        Args:
            facts: path of the evidence and terms of the claim, of each.
            known: what memory has on the subject.
        """
        self._deep = _deep_folders([path for path, _ in facts], known)
        placed, words = _placed(known), _words(known)
        top = {path for path, _ in facts if not _folder(path)}
        self._topics: dict[str, str] = {}
        for path, terms in facts:
            own = TOP_TOPIC if path in top and len(top) > MOST_TOP_FILES else ""
            self._topics.setdefault(
                path,
                placed.get(path)
                or placed.get(f"{self._folder(path)}/")
                or _by_words(terms, words)
                or own
                or self._own_topic(path),
            )

    def topic_of(self, path: str) -> str:
        """Return the topic file for what is from a file."""
        return self._topics[path]

    def description_of(self, path: str) -> str:
        """Return what a new topic is about: the folder and some of its documents."""
        paths = [p for p, topic in self._topics.items() if topic == self._topics[path]]
        named = list(dict.fromkeys(map(label_of, paths)))
        wide = is_wide(" ".join(named))
        told = ("、" if wide else ", ").join(named[:MAX_NAMED])
        folders = {self._folder(each) for each in paths} - {""}
        if len(folders) != 1:
            return f"出自 {told}" if wide else f"From {told}"
        folder = folders.pop()
        return (
            f"出自 {folder}/，如 {told}" if wide else f"From {folder}/, such as {told}"
        )

    def _folder(self, path: str) -> str:
        return _folder(path, is_deep=_folder(path) in self._deep)

    def _own_topic(self, path: str) -> str:
        folder = self._folder(path)
        pure = PurePosixPath(folder or path)
        topic = topic_path(pure.name if folder else pure.stem)
        return f"about-{topic}" if topic == _RESERVED else topic


def _folder(path: str, *, is_deep: bool = False) -> str:
    """Return the folder that a file is told under; "": the top of the workspace."""
    parents = PurePosixPath(path).parts[:-1]
    kept = [part for part in parents if part.lower() not in _WRAPPERS] or list(parents)
    return "/".join(kept[: 2 if is_deep else 1])


def _deep_folders(paths: Sequence[str], known: Sequence[Known]) -> set[str]:
    """Return the folders that hold so much that their own folders are told apart."""
    sizes = Counter(folder for path in paths if (folder := _folder(path)))
    within: dict[str, set[str]] = {}
    for path in paths:
        within.setdefault(_folder(path), set()).add(_folder(path, is_deep=True))
    topics: dict[str, set[str]] = {}
    for path, topic in _evidence(known):
        topics.setdefault(_folder(path), set()).add(topic)
    return {
        folder
        for folder, size in sizes.items()
        if (size >= DEEP_FROM and len(within[folder]) > 1)
        # Told apart in an earlier run.
        or len(topics.get(folder, ())) > 1
    }


def _evidence(known: Sequence[Known]) -> Iterator[tuple[str, str]]:
    for each in known:
        for path in dict.fromkeys(place.path for place in each.entry.evidence):
            yield path, each.topic


def _placed(known: Sequence[Known]) -> dict[str, str]:
    """Return path, or folder with a slash → the topic of most entries from there."""
    counts: Counter[tuple[str, str]] = Counter()
    for path, topic in _evidence(known):
        both = {_folder(path), _folder(path, is_deep=True)} - {""}
        counts.update((where, topic) for where in (path, *(f"{f}/" for f in both)))
    placed: dict[str, str] = {}
    for (where, topic), _ in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        placed.setdefault(where, topic)
    return placed


def _words(known: Sequence[Known]) -> dict[str, set[str]]:
    """Return the words of each topic, by its path, numbers left out."""
    words: dict[str, set[str]] = {}
    for each in known:
        told = f"{each.topic.removesuffix('.md')} {each.entry.key} {each.entry.value}"
        words.setdefault(each.topic, set()).update(terms_of(told))
    return words


def _by_words(terms: Terms, words: dict[str, set[str]]) -> str:
    """Return the topic that holds most of the words of a claim, or ""."""
    own = {term for term in terms if not is_number(term)}
    shares = {topic: len(own & held) / len(own) for topic, held in words.items() if own}
    best = max(sorted(shares), key=lambda topic: shares[topic], default="")
    return best if best and shares[best] >= FITS else ""
