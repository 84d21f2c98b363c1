"""Recall reports and findings of earlier runs on the same workspace."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from orchestrator.evidence import fold
from orchestrator.memory.entries import Place
from orchestrator.memory.quotes_now import QuotesNow
from orchestrator.memory.run_pieces import Piece, pieces_of, topic_of
from orchestrator.memory.run_records import Delivered, Head
from orchestrator.memory.seals import State
from orchestrator.memory.search.index import Index, Stamp

__all__ = ["Bounds", "EarlierRuns", "FromRun"]

INDEX_FOLDER: Final = ".memory"
"""In the folder of runs; a name that begins with a dot is no run."""
_STATES: Final = frozenset({"done", "partial"})
_WIDER: Final = (4, 32)
"""So many times more is searched than shown: claims come again in reports, and whole
reports where a task is run again; the second where the first leaves too few."""
# Left as it is, it would name an item of the run that asks.
_ITEM: Final = re.compile(r"(?<![\w#])a[1-9]\d{0,5}#\d", re.ASCII)
_OBJECTIVE_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many runs are looked at.

    Attributes:
        runs: of a workspace, the newest; older ones are not known any more.
        folders: the newest, where many workspaces share a folder of runs.
        new: read for one question, about 2 s; the rest of them for the next ones.
    """

    runs: int = 2_000
    folders: int = 20_000
    new: int = 200


@dataclass(frozen=True, slots=True)
class FromRun:
    """Something that an earlier run reported or found. True then, perhaps not now.

    Attributes:
        run: id of that run: the source.
        when: day it ended, `YYYY-MM-DD`; "" where that is not known.
        what: whether it is from its report or from what a subagent found.
        title: heading of the section; or agent, number and title of its brief.
        text: at most about 600 characters, cut at the end of a sentence. A claim of
            which the evidence was not found says so at its beginning; `[a1#2]` says
            that it is an item of that run.
        places: where it can be checked; with the lines of now where they have moved.
        state: of the worst place: `gone` (no such file), `changed` (the words are not
            in it any more), `unknown`, `moved`, `unchanged`.
        objective: what that run was to do, in short.
    """

    run: str
    when: str
    what: Literal["report", "finding"]
    title: str
    text: str
    places: tuple[Place, ...]
    state: State
    objective: str


_Hit = tuple[Head, Piece]


class EarlierRuns:
    """The runs of one folder that had the same workspace, done or partial.

    Runs that lie elsewhere, as with another `--runs-dir`, are not known. Nor is the
    run that asks. Folders of runs are only read; what is derived from them is in an
    index that may be deleted at any time. For any number of threads and processes.
    """

    def __init__(
        self,
        runs_dir: Path,
        *,
        workspace: Path,
        current: str,
        redact: Callable[[str], str],
        bounds: Bounds = Bounds(),
    ) -> None:
        """Open nothing yet.

        Args:
            runs_dir: where runs lie; it need not exist.
            workspace: of the run that asks; links are resolved.
            current: id of that run, or "".
            redact: applied to all that is handed out.
            bounds: of what is looked at.
        """
        self._runs_dir = Path(os.path.realpath(runs_dir))
        self._workspace = os.path.realpath(workspace)
        self._current = current
        self._redact, self._bounds = redact, bounds
        mark = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:16]
        # By words alone: thousands of pieces would wait long for their vectors.
        self._index = Index(self._runs_dir / INDEX_FOLDER / f"{mark}.sqlite")
        # Rows made for another workspace or folder are never taken for ours.
        both = os.fsencode(self._workspace) + b"\0" + os.fsencode(self._runs_dir)
        self._salt = int.from_bytes(hashlib.sha256(both).digest()[:6], "big")
        self._refreshing = threading.Lock()
        self._waiting = 0

    @property
    def notice(self) -> str:
        """Return which runs are not known yet, or ""."""
        waiting = self._waiting
        return f"{waiting} earlier runs are not read yet" if waiting else ""

    def recall(
        self, queries: Sequence[str], *, most: int = 5, is_subject: bool = False
    ) -> list[FromRun]:
        """Return what earlier runs have on a question, best first.

        What is said twice is shown once, from the newer run.

        Args:
            queries: phrasings of the question.
            most: how many are returned at most.
            is_subject: they are parts of what is said of a subject, and ask nothing.

        Raises:
            StoreError: the index cannot be used.
        """
        is_asked = most > 0 and any(query.strip() for query in queries)
        if not is_asked or not self._runs_dir.is_dir():
            return []
        self.refresh(self._bounds.new)
        found = self._find(queries, most, is_subject)
        quotes = QuotesNow(Path(self._workspace))
        return [self._shown(head, piece, quotes) for head, piece in found[:most]]

    def _find(self, queries: Sequence[str], most: int, is_subject: bool) -> list[_Hit]:
        reader = _Reader(self._runs_dir, self._workspace, self._current)
        found: list[_Hit] = []
        for wider in _WIDER:
            hits = self._index.find(queries, most=most * wider, is_subject=is_subject)
            read = (reader.piece(each.topic, each.key) for each in hits)
            found = _once(each for each in read if each is not None)
            if len(found) >= most or len(hits) < most * wider:
                break
        return found

    def _shown(self, head: Head, piece: Piece, quotes: QuotesNow) -> FromRun:
        now = quotes.look(piece.said)
        redact = self._redact
        return FromRun(
            run=head.run,
            when=head.when,
            what=piece.what,
            title=redact(piece.title),
            text=redact(_ITEM.sub(r"that run's \g<0>", piece.text)),
            places=tuple(replace(p, path=redact(p.path)) for p in now.places),
            state=now.state,
            objective=redact(" ".join(head.objective.split()))[:_OBJECTIVE_CHARS],
        )

    def refresh(self, most_new: int | None = None) -> None:
        """Take into the index what is new or changed, and out what is gone.

        `recall` does so by itself, for some runs at a time. Where many wait, this may
        be called before, in a thread: a run takes about 10 ms.

        Args:
            most_new: so many runs are read at most, the newest first; None: all.

        Raises:
            StoreError: the index cannot be used.
        """
        if not self._runs_dir.is_dir():
            return
        with self._refreshing:
            known = self._index.stamps()
            round_ = _Round(most_new)
            kept: set[str] = set()
            own = 0
            for run in _names(self._runs_dir, self._bounds.folders):
                stamp = self._brought(run, known.get(run, ()), round_)
                if not stamp:
                    continue
                kept.add(run)
                own += stamp[-1]
                if own == self._bounds.runs:
                    break
            if gone := known.keys() - kept:
                self._index.remove(sorted(gone))
            self._waiting = round_.waiting

    def _brought(self, run: str, known: Stamp, this: _Round) -> Stamp:
        """Bring a run into the index; return its stamp, () where nothing is to be kept.

        What is kept of one that is not ours is that it need not be read again. A run at
        work changes all the time: to know that is not worth a write.
        """
        marks = self._marks(run)
        if not marks:
            return ()
        if known[:-1] == marks or not this.has_room():
            return known
        head = Head.read(self._runs_dir, run)
        if head is None or head.state == "running":
            return ()
        pieces = []
        if is_ours := self._is_ours(head):
            this.read += 1
            pieces = pieces_of(head, Delivered.read(self._runs_dir, run))
        stamp = (*marks, int(is_ours))
        self._index.replace(topic_of(head, pieces), stamp)
        return stamp

    def _is_ours(self, head: Head) -> bool:
        return head.workspace == self._workspace and head.state in _STATES

    def _marks(self, run: str) -> Stamp:
        """Return what tells one state of a run from a later; () where it is none."""
        folder = f"{self._runs_dir}/{run}"
        try:
            record = os.lstat(f"{folder}/run.json")
        except OSError:
            return ()
        marks = (self._salt, record.st_mtime_ns, record.st_size, record.st_ino)
        try:
            report = os.lstat(f"{folder}/report.md")
        except OSError:
            return (*marks, 0, 0)
        return (*marks, report.st_mtime_ns, report.st_size)


@dataclass(slots=True)
class _Round:
    """How many runs may still be read, and how many have to wait."""

    most: int | None
    read: int = 0
    waiting: int = 0

    def has_room(self) -> bool:
        """Return whether one more may be read; where not, it waits."""
        if self.most is None or self.read < self.most:
            return True
        self.waiting += 1
        return False


@dataclass(slots=True)
class _Reader:
    """Reads the runs of some hits, each once: the index alone proves nothing."""

    runs_dir: Path
    workspace: str
    current: str
    _runs: dict[str, tuple[Head, dict[str, Piece]] | None] = field(
        init=False, default_factory=dict
    )

    def piece(self, run: str, key: str) -> tuple[Head, Piece] | None:
        """Return a piece of a run as it is on disk now; None where it is not ours."""
        if run not in self._runs:
            self._runs[run] = self._read(run)
        read = self._runs[run]
        if read is None or key not in read[1]:
            return None
        return read[0], read[1][key]

    def _read(self, run: str) -> tuple[Head, dict[str, Piece]] | None:
        if run == self.current:
            return None
        head = Head.read(self.runs_dir, run)
        if head is None or head.workspace != self.workspace:
            return None
        if head.state not in _STATES:
            return None
        pieces = pieces_of(head, Delivered.read(self.runs_dir, run))
        return head, {piece.key: piece for piece in pieces}


def _once(hits: Iterable[_Hit]) -> list[_Hit]:
    """Return the hits in order, without what is said in another of them.

    Of the same text from several runs the newest is taken, in the place of the first.
    Within a run a claim and a section that holds it are one: the first stays.
    """
    newest: dict[str, _Hit] = {}
    for head, piece in hits:
        text = fold(piece.text).casefold()
        known = newest.get(text)
        if known is None or known[0].run < head.run:
            newest[text] = (head, piece)
    found: list[tuple[str, _Hit]] = []
    for text, hit in newest.items():
        if not any(
            hit[0].run == other[0].run and (text in before or before in text)
            for before, other in found
        ):
            found.append((text, hit))
    return [hit for _, hit in found]


def _names(runs_dir: Path, most: int) -> Iterator[str]:
    """Yield the names of folders that may be runs, newest first; links are none."""
    try:
        with os.scandir(runs_dir) as found:
            names = [
                each.name
                for each in found
                if not each.name.startswith((".", "batch-"))
                and each.name.isprintable()
                and each.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    yield from sorted(names, reverse=True)[:most]
