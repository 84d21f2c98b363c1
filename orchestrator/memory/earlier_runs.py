"""Recall reports and findings of earlier runs on the same workspace."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from orchestrator.evidence import fold
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import Place
from orchestrator.memory.quotes_now import QuotesNow, State
from orchestrator.memory.run_pieces import Piece, pieces_of, topic_of
from orchestrator.memory.run_records import Delivered, Head, state_in
from orchestrator.memory.search.index import Index, Stamp

__all__ = ["MAX_RUNS", "EarlierRuns", "FromRun"]

MAX_RUNS: Final = 2_000
"""The newest of a workspace; older ones are not known any more."""
MAX_FOLDERS: Final = 20_000
"""Looked at, newest first, where many workspaces share a folder of runs."""
INDEX_FOLDER: Final = ".memory"
"""In the folder of runs; a name that begins with a dot is no run."""
_STATES: Final = frozenset({"done", "partial"})
_WIDER: Final = 4
"""So many times more is searched than shown, since claims come again in reports."""
_OWN, _FOREIGN = 1, 0
_DATED = re.compile(r"\d{8}-\d{6}-", re.ASCII)
_OBJECTIVE_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class FromRun:
    """Something that an earlier run reported or found. True then, perhaps not now.

    Attributes:
        run: id of that run: the source.
        when: day it ended, `YYYY-MM-DD`; "" where that is not known.
        what: whether it is from its report or from what a subagent found.
        title: heading of the section; or agent, number and title of its brief.
        text: at most about 600 characters, cut at the end of a sentence. A claim of
            which the evidence was not found says so at its beginning.
        places: where it can be checked; with the lines of now where they have moved.
        state: of the worst place: `gone` (no such file), `changed` (the words are not
            in it any more), `moved`, `unchanged`, else `unknown`.
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
        index_path: Path | None = None,
        redact: Callable[[str], str],
        embedder: Embedder | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            runs_dir: where runs lie; it need not exist.
            workspace: of the run that asks; links are resolved.
            current: id of that run, or "".
            index_path: a file for this folder of runs and this workspace alone; None:
                `.memory/<16 hex of the workspace>.sqlite` in `runs_dir`.
            redact: applied to all that is handed out.
            embedder: for vectors; None: words alone.
        """
        self._runs_dir = Path(os.path.realpath(runs_dir))
        self._workspace = os.path.realpath(workspace)
        self._current = current
        self._redact = redact
        mark = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:16]
        self._index = Index(
            index_path or self._runs_dir / INDEX_FOLDER / f"{mark}.sqlite", embedder
        )
        # Rows made for another workspace or folder are never taken for ours.
        both = os.fsencode(self._workspace) + b"\0" + os.fsencode(self._runs_dir)
        self._salt = int.from_bytes(hashlib.sha256(both).digest()[:6], "big")
        self._refreshing = threading.Lock()

    @property
    def notice(self) -> str:
        """Return why vectors are not used at the moment, or ""."""
        return self._index.notice

    def recall(self, queries: Sequence[str], *, most: int = 5) -> list[FromRun]:
        """Return what earlier runs have on a question, best first.

        What is said twice is shown once, from the newer run.

        Args:
            queries: phrasings of the question.
            most: how many are returned at most.

        Raises:
            StoreError: the index cannot be written.
        """
        if most < 1 or not any(query.strip() for query in queries):
            return []
        self._refresh()
        reader = _Reader(self._runs_dir, self._workspace, self._current)
        hits = self._index.find(queries, most=most * _WIDER)
        read = (reader.piece(each.topic, each.key) for each in hits)
        found = _once([each for each in read if each is not None])
        quotes = QuotesNow(Path(self._workspace))
        return [self._shown(head, piece, quotes) for head, piece in found[:most]]

    def _shown(self, head: Head, piece: Piece, quotes: QuotesNow) -> FromRun:
        now = quotes.look(piece.said)
        redact = self._redact
        return FromRun(
            run=head.run,
            when=head.when,
            what=piece.what,
            title=redact(piece.title),
            text=redact(piece.text),
            places=tuple(replace(p, path=redact(p.path)) for p in now.places),
            state=now.state,
            objective=redact(" ".join(head.objective.split()))[:_OBJECTIVE_CHARS],
        )

    def _refresh(self) -> None:
        """Take into the index what is new or changed, and out what is gone."""
        with self._refreshing:
            known = self._index.stamps()
            if not known and not self._runs_dir.is_dir():
                return
            kept: set[str] = set()
            own = 0
            for run in _names(self._runs_dir):
                stamp = self._stamp(run)
                if stamp is None:
                    continue
                found = known.get(run)
                if found is None or found[:-1] != stamp:
                    found = self._take(run, stamp)
                if found is None:
                    continue
                kept.add(run)
                own += found[-1]
                if own == MAX_RUNS:
                    break
            self._index.remove(sorted(known.keys() - kept))

    def _take(self, run: str, stamp: Stamp) -> Stamp | None:
        """Bring a run into the index; return its stamp, None where it goes on."""
        head = Head.read(self._runs_dir, run)
        if head is None or not self._is_ours(head):
            # One at work changes all the time: it is not worth a write to know that.
            if head is None or state_in(self._runs_dir, run) == "running":
                return None
            found = (*stamp, _FOREIGN)
            self._index.replace(topic_of(head, ()), found)
            return found
        pieces = pieces_of(head, Delivered.read(self._runs_dir, run))
        found = (*stamp, _OWN)
        self._index.replace(topic_of(head, pieces), found)
        return found

    def _is_ours(self, head: Head) -> bool:
        return head.workspace == self._workspace and head.state in _STATES

    def _stamp(self, run: str) -> Stamp | None:
        """Return what tells a later state of a run; None where the folder is none."""
        try:
            record = (self._runs_dir / run / "run.json").lstat()
        except (OSError, ValueError):
            return None
        marks = (self._salt, record.st_mtime_ns, record.st_size, record.st_ino)
        try:
            report = (self._runs_dir / run / "report.md").lstat()
        except OSError:
            return (*marks, 0, 0)
        return (*marks, report.st_mtime_ns, report.st_size)


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


def _once(found: Sequence[tuple[Head, Piece]]) -> list[tuple[Head, Piece]]:
    """Return what is said in no other piece, in order; of the same, the newest."""
    texts = [fold(piece.text).casefold() for _, piece in found]
    left: list[tuple[Head, Piece]] = []
    for index, (head, piece) in enumerate(found):
        if not any(
            _is_better(found[other], (head, piece), other < index)
            for other, text in enumerate(texts)
            if other != index and texts[index] in text
        ):
            left.append((head, piece))
    return left


def _names(runs_dir: Path) -> Iterator[str]:
    ...
