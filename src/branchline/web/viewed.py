"""The sessions shown by pages: found by an opaque id, opened once, used by one thread at a time."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager

from branchline.errors import BranchlineError, LogReplaced, LogShrank, SessionNotFound
from branchline.library import SessionLibrary, SessionRow
from branchline.session import Session
from branchline.stores import stored_at
from branchline.views.call_results import CallPairs
from branchline.views.entry_rows import search_text
from branchline.views.html.markup import Html
from branchline.views.html.outline_columns import SkeletonColumns, skeleton_columns
from branchline.views.html.pieces import PieceOptions, PieceRenderer
from branchline.views.session_row import row_name
from branchline.views.text import safe, without_escapes
from branchline.views.tree_search import Search

__all__ = ["ViewedLibrary", "ViewedSession", "watched_file"]

_OPEN = 8
_FRESH_SECONDS = 2.0
_MOST_PIECES = 400
_MOST_FOUND = 2000
_BEFORE = 40
_AFTER = 120
_DIRECTORIES = re.compile(r"(?<![\w:/.])~?/(?:[^\s/'\"]+/)*(?=[^\s/])")
"""The directories of an absolute path, but not what looks like them in a web address."""
_CHANGED = (LogReplaced, LogShrank)


class ViewedSession:
    """An open session, its renderer and its search index. Hold ``lock`` around each call."""

    def __init__(self, row: SessionRow, path: str) -> None:
        self.lock = threading.RLock()
        self.row = row
        self.path = path
        self.closed = False
        self.session = Session.open(path)
        self._home = os.path.expanduser("~")
        self._pairs = CallPairs(self.session.transcript)
        self._renderer = self._make_renderer()
        self._search: Search | None = None
        self.generation = secrets.token_hex(4)
        """Changes when the file is replaced, so that pages discard their positions."""

    def _make_renderer(self) -> PieceRenderer:
        transcript = self.session.transcript
        if self._pairs.source is not transcript:
            self._pairs = CallPairs(transcript)
        options = PieceOptions(home=self._home)
        return PieceRenderer(transcript, labels=transcript.reading.labels, options=options, pairs=self._pairs)

    @property
    def offset(self) -> int:
        """The number of bytes of the log that were read."""
        return self.session.transcript.reading.consumed

    def refresh(self) -> int:
        """Read appended entries and return how many there are. A replaced file is reopened.

        Raises SessionNotFound if the session is gone; what was read of it stays.
        """
        if stored_at(self.path) is None:
            raise SessionNotFound(f"{self.path} was deleted or moved")
        try:
            count = self.session.refresh()
        except _CHANGED:
            replaced = Session.open(self.path)
            self.session.close()
            self.session = replaced
            self.generation = secrets.token_hex(4)
            count = len(replaced.index)
        if count:
            self._renderer = self._make_renderer()
            if self._search is not None and self._search.source is not self.session.transcript:
                self._search = None
        return count

    def skeleton(self, start: int = 0) -> SkeletonColumns:
        transcript = self.session.transcript
        start = max(0, min(start, len(self.session.index)))
        return skeleton_columns(
            transcript, self.session.leaf, labels=transcript.reading.labels, home=self._home, start=start
        )

    def pieces(self, positions: Sequence[int], path: Container[int] | None = None) -> list[Html]:
        """Return the HTML of these entries, with the results of one path or of all branches.

        Raises IndexError for an unknown position.
        """
        count = len(self.session.index)
        if len(positions) > _MOST_PIECES:
            raise ValueError(f"at most {_MOST_PIECES} pieces at a time")
        if not all(0 <= position < count for position in positions):
            raise IndexError("no such entry")
        return self._renderer.pieces(positions, path)

    def rows_changed_since(self, position: int) -> list[int]:
        """Return rows before ``position`` that later entries change, such as a call that got its result."""
        count = len(self.session.index)
        rows = {row for at in range(position, count) for row in self._renderer.answered_rows(at)}
        return sorted(row for row in rows if row < position)

    def position_after(self, offset: int) -> int:
        """Return the first entry at or after this offset of the log."""
        reading = self.session.transcript.reading
        return bisect_left(range(len(self.session.index)), offset, key=lambda at: reading.span(at).offset)

    def find(self, words: str) -> list[tuple[int, str, str]]:
        """Return the entries with all these words, each with the text before and from the first word on."""
        transcript = self.session.transcript
        if self._search is None:
            self._search = Search(transcript, transcript.reading.labels)
        found = sorted(self._search.find(words) or ())[:_MOST_FOUND]
        word = words.lower().split()[0] if found else ""
        pieces: list[tuple[int, str, str]] = []
        for position, entry in zip(found, transcript.entries(found), strict=True):
            text = search_text(entry)
            at = max(0, text.lower().find(word))
            parts = text[max(0, at - _BEFORE) : at], text[at : at + _AFTER]
            before, after = (safe(without_escapes(part)) for part in parts)
            pieces.append((position, before, after))
        return pieces

    def close(self) -> None:
        with self.lock:
            self.closed = True
            self.session.close()


class ViewedLibrary:
    """The sessions listed by the viewer, and the open ones."""

    def __init__(self, library: SessionLibrary) -> None:
        self.library = library
        self._key = secrets.token_bytes(16)
        self._lock = threading.Lock()
        self._rows: tuple[SessionRow, ...] = ()
        self._listed = float("-inf")
        self._by_id: dict[str, SessionRow] = {}
        self._directories: set[str] = set()
        self._open: OrderedDict[str, ViewedSession] = OrderedDict()

    def id_of(self, row: SessionRow) -> str:
        """Return the id of a row in URLs of this run; it reveals nothing about the file."""
        name = row_name(row).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(name, key=self._key, digest_size=9).hexdigest()

    def sentence(self, text: str) -> str:
        """Return what is said about a problem, with the names of files instead of their paths."""
        for directory in sorted(self._directories, key=len, reverse=True):
            text = text.replace(directory + os.sep, "")
        return _DIRECTORIES.sub("", text)

    def rows(self, *, fresh: bool = False) -> tuple[SessionRow, ...]:
        """Return all sessions, newest first, from a cache of at most two seconds."""
        with self._lock:
            if fresh or time.monotonic() - self._listed > _FRESH_SECONDS:
                self._rows = tuple(self.library.list(deep=True))
                self._remember(self._rows)
                self._listed = time.monotonic()
            return self._rows

    def remember(self, rows: Iterable[SessionRow]) -> None:
        """Register rows, such as those of a search, so that their ids can be found."""
        with self._lock:
            self._remember(rows)

    def _remember(self, rows: Iterable[SessionRow]) -> None:
        for row in rows:
            self._by_id[self.id_of(row)] = row
            if row.path:
                self._directories.add(os.path.dirname(row.path))

    def row(self, id: str) -> SessionRow:  # noqa: A002
        """Return the row with this id. Raises SessionNotFound for an unknown id."""
        found = self._by_id.get(id)
        if found is None:
            self.rows(fresh=True)
            found = self._by_id.get(id)
        if found is None:
            raise SessionNotFound("no such session; it may have been moved or deleted")
        return found

    @contextmanager
    def using(self, id: str) -> Iterator[ViewedSession]:  # noqa: A002
        """Hold the session with this id for one thread. Raises BranchlineError if it cannot be opened."""
        while True:
            viewed = self._opened(id)
            with viewed.lock:
                if not viewed.closed:  # otherwise it was evicted meanwhile
                    yield viewed
                    return

    def _opened(self, id: str) -> ViewedSession:  # noqa: A002
        row = self.row(id)
        with self._lock:
            viewed = self._open.get(id)
            if viewed is not None:
                self._open.move_to_end(id)
                return viewed
        if row.path is None:
            raise SessionNotFound("this session has no file yet")
        try:
            viewed = ViewedSession(row, row.path)
        except FileNotFoundError as problem:
            raise SessionNotFound(f"{row.path} no longer exists") from problem
        except OSError as problem:
            raise BranchlineError(f"cannot open {row.path}: {problem.strerror or problem}") from problem
        with self._lock:
            kept = self._open.setdefault(id, viewed)
            closing = [viewed] if kept is not viewed else []
            while len(self._open) > _OPEN:
                closing.append(self._open.popitem(last=False)[1])
        for old in closing:
            old.close()
        return kept

    def close(self) -> None:
        with self._lock:
            waiting, self._open = list(self._open.values()), OrderedDict()
        for viewed in waiting:
            viewed.close()


def watched_file(path: str) -> str | None:
    """Return the file that changes with a session: for a session in a database, the database."""
    for file in (path, path.rpartition("#")[0]):
        if file and os.path.exists(file):
            return os.path.realpath(file)
    return None
