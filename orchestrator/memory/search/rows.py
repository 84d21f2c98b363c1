"""The rows of an index: what is written for a topic file, and what is taken out."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence

from orchestrator.memory.entries import Entry, Topic, folded_key
from orchestrator.memory.search.pieces import Piece, pieces_of
from orchestrator.memory.search.words import terms_of
from orchestrator.messages import whole_chars

__all__ = ["Stamp", "fact", "remove", "replace", "set_fact", "stamps"]

Stamp = tuple[int, ...]
"""What tells one state of a file from another: time in ns, size, inode."""


def stamps(connection: sqlite3.Connection) -> dict[str, Stamp]:
    """Return what the rows of each topic file were made from."""
    rows = connection.execute("SELECT path, stamp FROM topics").fetchall()
    return {path: tuple(json.loads(stamp)) for path, stamp in rows}


def replace(connection: sqlite3.Connection, topic: Topic, stamp: Stamp) -> None:
    """Make the rows of a topic file anew; an entry that is as it was is left alone."""
    rows = connection.execute(
        "SELECT id, key, newest, digest FROM entries WHERE topic = ?", (topic.path,)
    )
    before: dict[tuple[str, bytes], list[tuple[int, str]]] = {}
    for row, key, newest, digest in rows:
        before.setdefault((key, bytes(digest)), []).append((row, newest))
    for entry in topic.entries:
        digest = _digest(topic, entry)
        same = before.get((whole_chars(entry.key), digest))
        if not same:
            _add(connection, topic, entry, digest)
            continue
        row, newest = same.pop()
        if newest != entry.when:
            sql = "UPDATE entries SET newest = ? WHERE id = ?"
            connection.execute(sql, (entry.when, row))
    _drop(connection, [row for same in before.values() for row, _ in same])
    connection.execute(
        "INSERT OR REPLACE INTO topics VALUES (?, ?)",
        (topic.path, json.dumps(list(stamp))),
    )


def remove(connection: sqlite3.Connection, topics: Iterable[str]) -> None:
    """Take out all rows of topic files."""
    for path in topics:
        rows = connection.execute("SELECT id FROM entries WHERE topic = ?", (path,))
        _drop(connection, [row for (row,) in rows.fetchall()])
        connection.execute("DELETE FROM topics WHERE path = ?", (path,))


def fact(connection: sqlite3.Connection, name: str) -> str:
    """Return what is known of the index by a name, or ""."""
    sql = "SELECT value FROM facts WHERE name = ?"
    row = connection.execute(sql, (name,)).fetchone()
    return str(row[0]) if row else ""


def set_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Keep something of the index by a name."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def _digest(topic: Topic, entry: Entry) -> bytes:
    text = "\0".join((topic.title, entry.key, entry.value))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _add(
    connection: sqlite3.Connection, topic: Topic, entry: Entry, digest: bytes
) -> None:
    key = whole_chars(entry.key)
    row = connection.execute(
        "INSERT INTO entries (topic, key, folded, newest, digest)"
        " VALUES (?, ?, ?, ?, ?)",
        (topic.path, key, folded_key(key), entry.when, digest),
    ).lastrowid
    for piece in pieces_of(entry.key, entry.value):
        heading, body = _terms(piece)
        at = connection.execute(
            "INSERT INTO pieces (entry, heading, body, text) VALUES (?, ?, ?, ?)",
            (row, heading, body, whole_chars(f"{piece.heading}: {piece.text}")),
        ).lastrowid
        connection.execute("INSERT INTO pending VALUES (?)", (at,))
        _count(connection, 1)
        connection.execute(
            "INSERT INTO words (rowid, heading, body) VALUES (?, ?, ?)",
            (at, heading, body),
        )


def _terms(piece: Piece) -> tuple[str, str]:
    return " ".join(terms_of(piece.heading)), " ".join(terms_of(piece.text))


def _drop(connection: sqlite3.Connection, entries: Sequence[int]) -> None:
    for entry in entries:
        pieces = connection.execute(
            "SELECT id, heading, body FROM pieces WHERE entry = ?", (entry,)
        ).fetchall()
        for piece, heading, body in pieces:
            connection.execute(
                "INSERT INTO words (words, rowid, heading, body)"
                " VALUES ('delete', ?, ?, ?)",
                (piece, heading, body),
            )
            connection.execute("DELETE FROM vectors WHERE piece = ?", (piece,))
            connection.execute("DELETE FROM pending WHERE piece = ?", (piece,))
        connection.execute("DELETE FROM pieces WHERE entry = ?", (entry,))
        _count(connection, -len(pieces))
        connection.execute("DELETE FROM entries WHERE id = ?", (entry,))


def _count(connection: sqlite3.Connection, more: int) -> None:
    sql = "UPDATE facts SET value = value + ? WHERE name = 'pieces'"
    connection.execute(sql, (more,))
