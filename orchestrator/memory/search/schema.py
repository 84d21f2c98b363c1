"""The file of an index: open to many threads and processes, made anew where it is bad.

All that is in it can be made again from the topic files, so that nothing is waited for
until it is on the disk, and a file that is damaged or of another form is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["Damaged", "File", "Gone"]

FORM: Final = 1
"""Of the tables; a file of another form is made anew."""
BUSY_S: Final = 10.0
_IDLE: Final = 4
"""Connections kept for the next call."""
_TABLES: Final = """
CREATE TABLE topics (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL, key TEXT NOT NULL, folded TEXT NOT NULL,
    newest TEXT NOT NULL, digest BLOB NOT NULL
);
CREATE INDEX entries_topic ON entries (topic);
CREATE INDEX entries_folded ON entries (folded);
CREATE TABLE pieces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL, heading TEXT NOT NULL, body TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX pieces_entry ON pieces (entry);
CREATE VIRTUAL TABLE words USING fts5 (
    heading, body, content='pieces', content_rowid='id', tokenize='ascii'
);
CREATE VIRTUAL TABLE spread USING fts5vocab ('words', 'row');
CREATE TABLE vectors (piece INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE pending (piece INTEGER PRIMARY KEY);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('version', '0'), ('pieces', '0');
"""


class Damaged(Exception):
    """The file is no index of ours, or was replaced while it was used."""


class Gone(Damaged):
    """The file was deleted while it was used; what is there now may be another's."""


class File:
    """One SQLite file, made when it is first used.

    Safe to use from any number of threads and processes, after a fork too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._opened: tuple[int, int] = (0, 0)
        """Process and inode that the idle connections belong to."""
        self._closing = weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the file.

        Raises:
            Damaged: the file cannot be read; `renew` makes it anew.
            sqlite3.OperationalError: it is locked for too long, or the disk is full.
        """
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection of which all changes are made, or none.

        Raises:
            Damaged: the file cannot be read; `renew` makes it anew.
            sqlite3.OperationalError: it is locked for too long, or the disk is full.
        """
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute(
                    "UPDATE facts SET value = value + 1 WHERE name = 'version'"
                )
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def compact(self) -> None:
        """Leave no byte of what was removed in the file or beside it."""
        with self._connection() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def renew(self) -> None:
        """Throw the file away; the next use makes an empty one."""
        self.close()
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{self._path}{ending}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close what is open; the next use opens it again."""
        with self._lock:
            _close_all(self._idle)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection, opened = self._taken()
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            if opened != (os.getpid(), _inode(self._path)):
                raise Gone(str(error)) from error
            if _is_damage(error):
                raise Damaged(str(error)) from error
            raise
        finally:
            self._give_back(connection, opened)

    def _taken(self) -> tuple[sqlite3.Connection, tuple[int, int]]:
        with self._lock:
            opened = (os.getpid(), _inode(self._path))
            if opened != self._opened:
                if self._opened[0] == opened[0]:
                    _close_all(self._idle)
                # Of another process: closing them here would drop its locks.
                self._idle.clear()
                self._opened = opened
            if self._idle:
                return self._idle.pop(), opened
        try:
            connection = _open(self._path)
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                raise Damaged(str(error)) from error
            raise
        opened = (os.getpid(), _inode(self._path))
        with self._lock:
            if not self._idle:
                self._opened = opened
        return connection, opened

    def _give_back(
        self, connection: sqlite3.Connection, opened: tuple[int, int]
    ) -> None:
        with self._lock:
            if opened == self._opened and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        with contextlib.suppress(sqlite3.Error):
            connections.pop().close()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        # A table or column that is not there; the rest (locked, full) passes by.
        return "no such" in str(error) or "has no column" in str(error)
    return not isinstance(
        error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError
    )


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA secure_delete = ON")
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -16000")
        _make(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; where others do so at this moment, SQLite itself does not wait."""
    give_up = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.005)
        else:
            return


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file.

    Raises:
        sqlite3.DatabaseError: the file is of another form.
    """
    if _form(connection) == FORM:
        return
    connection.execute("BEGIN EXCLUSIVE")
    form = _form(connection)  # another process may have been faster
    if form == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in filter(str.strip, _TABLES.split(";\n")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORM}")
        form = FORM
    connection.execute("COMMIT")
    if form != FORM:
        raise sqlite3.DatabaseError(f"the index is of form {form}, not {FORM}")


def _form(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
