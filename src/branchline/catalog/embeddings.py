"""Vectors of messages for semantic search, in a SQLite file that may be deleted at any time.

Nothing else depends on it. Vectors belong to one embedder; those of another are deleted. A vector is kept for
each message, not for each copy of it in forks.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import NamedTuple, Self

from branchline.catalog.database import CatalogUnavailable, delete_files, is_damage

__all__ = ["Embeddings", "Similar"]

_NAME = "embeddings-1.db"
_TOGETHER = 400


class Similar(NamedTuple):
    """A message, by the mark that all its copies share, and how similar it is: 1 is the same."""

    mark: int
    score: float


class Embeddings:
    """The vectors of one embedder, for a ``with`` block."""

    def __init__(self, directory: str, embedder: str) -> None:
        """Raises CatalogUnavailable if the file cannot be used. ``directory`` exists and is private."""
        self._path = os.path.join(directory, _NAME)
        try:
            self._connection = self._opened(embedder)
        except (sqlite3.Error, OSError) as problem:
            raise CatalogUnavailable(f"cannot open {self._path}: {problem}") from problem

    def _opened(self, embedder: str) -> sqlite3.Connection:
        try:
            return _connected(self._path, embedder)
        except sqlite3.Error as problem:
            if not is_damage(problem):
                raise
            delete_files(self._path)
            return _connected(self._path, embedder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._connection.close()

    def missing(self, marks: Iterable[int]) -> set[int]:
        """Return those messages that have no vector yet."""
        wanted = list(marks)
        found: set[int] = set()
        with self._guarded():
            for start in range(0, len(wanted), _TOGETHER):
                some = wanted[start : start + _TOGETHER]
                query = f"SELECT mark FROM vector WHERE mark IN ({','.join('?' * len(some))})"
                found.update(mark for (mark,) in self._connection.execute(query, some))
        return set(wanted) - found

    def put(self, marks: Sequence[int], vectors: Sequence[array[float]]) -> None:
        """Store vectors."""
        with self._guarded():
            self._connection.executemany(
                "INSERT OR REPLACE INTO vector VALUES (?, ?)",
                [(mark, vector.tobytes()) for mark, vector in zip(marks, vectors, strict=True)],
            )

    def nearest(self, vector: array[float], limit: int) -> list[Similar]:
        """Return the most similar messages, best first."""
        with self._guarded():
            rows = self._connection.execute("SELECT mark, data FROM vector")
            scored = (
                Similar(mark, sum(map(mul, vector, other)))
                for mark, data in rows
                if len(other := array("f", data)) == len(vector)
            )
            return heapq.nlargest(limit, scored, key=lambda one: one.score)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            if is_damage(problem):
                self._connection.close()
                delete_files(self._path)
            raise CatalogUnavailable(str(problem)) from problem


def _connected(path: str, embedder: str) -> sqlite3.Connection:
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS vector (mark INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        connection.execute("CREATE TABLE IF NOT EXISTS embedder (name TEXT PRIMARY KEY)")
        names = [name for (name,) in connection.execute("SELECT name FROM embedder")]
        if names != [embedder]:
            connection.execute("DELETE FROM vector")
            connection.execute("DELETE FROM embedder")
            connection.execute("INSERT INTO embedder VALUES (?)", (embedder,))
    except BaseException:
        connection.close()
        raise
    return connection
