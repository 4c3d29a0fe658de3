"""The sessions shown by pages: found by an opaque id, opened once, used by one thread at a time."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import subprocess
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from branchline.catalog.documents import text_of
from branchline.entries import Damaged, Entry, Label, SessionInfo
from branchline.errors import BranchlineError, LogReplaced, LogShrank, SessionNotFound
from branchline.library import SessionLibrary, SessionRow
from branchline.library.search_text import may_hold
from branchline.session import Session
from branchline.stores import stored_at
from branchline.views.call_results import CallPairs
from branchline.views.html.markup import Html
from branchline.views.html.outline_columns import SkeletonColumns, skeleton_columns
from branchline.views.html.pieces import PieceOptions, PieceRenderer
from branchline.views.session_details import SessionDetails
from branchline.views.session_row import row_name
from branchline.views.text import safe, without_escapes

__all__ = ["StartIndex", "ViewedLibrary", "ViewedSession", "watched_file"]

_log = logging.getLogger(__name__)
_OPEN, _OPEN_BYTES = 8, 256 << 20
_LIST_SECONDS, _DETAIL_SECONDS = 0.7, 0.3
_FRESH_SECONDS = 2.0
_PAUSE_SECONDS = 30.0
"""Between two attempts to read and index everything: what cannot be read stays unread."""
_CLOSE_SECONDS = 1.0
_MOST_PIECES = 400
_MOST_FOUND = 2000
_KEPT_BYTES = 32 << 20
_BEFORE = 40
_AFTER = 120
_DIRECTORIES = re.compile(r"(?<![\w:/.])~?/(?:[^\s/'\"]+/)*(?=[^\s/])")
"""The directories of an absolute path, but not what looks like them in a web address."""
StartIndex = Callable[[], subprocess.Popen[bytes] | None]
_CHANGED = (LogReplaced, LogShrank)


class ViewedSession:
    """An open session, its renderer and its texts. Hold ``lock`` around each call."""

    def __init__(self, row: SessionRow, path: str) -> None:
        self.lock = threading.RLock()
        self.users = 0
        """How many threads use it, or wait for it."""
        self.row = row
        self.path = path
        self.session = Session.open(path)
        self._home = os.path.expanduser("~")
        self._pairs = CallPairs(self.session.transcript)
        self._renderer = self._make_renderer()
        self._texts: list[str] = []
        """What the first entries say, to find words in; only of a session that is not large."""
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
            self._texts = []
            count = len(replaced.index)
        if count:
            self._renderer = self._make_renderer()
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
        wanted = words.lower().split()
        if not wanted:
            return []
        pieces: list[tuple[int, str, str]] = []
        for position, text, label in self._texts_with(wanted):
            lower = text.lower()
            if all(word in lower or word in label for word in wanted):
                at = max(0, lower.find(wanted[0]))
                parts = text[max(0, at - _BEFORE) : at], text[at : at + _AFTER]
                pieces.append((position, safe(parts[0]), safe(parts[1])))
                if len(pieces) == _MOST_FOUND:
                    break
        return pieces

    def _texts_with(self, words: Sequence[str]) -> Iterator[tuple[int, str, str]]:
        """Yield position, text and label of the entries that may have these words.

        The text of a large session is not kept; what has none of the words is not decoded.
        """
        transcript = self.session.transcript
        reading, count = transcript.reading, len(self.session.index)
        labels = {
            self.session.index.position(key): label.text.lower()
            for key, label in reading.labels.items()
            if key in self.session.index
        }
        kept = self._texts if self.offset <= _KEPT_BYTES else None
        at = 0
        if kept is not None:
            yield from ((at, text, labels.get(at, "")) for at, text in enumerate(kept))
            at = len(kept)
        while at < count:
            block = reading.block_of(at)
            places = range(at, min(block.first + len(block.ends), count))
            at = places.stop
            if kept is None and not any(place in labels for place in places):
                data = transcript.bytes_between(block.offset, block.offset + block.ends[-1])
                if not may_hold(words, data):
                    continue
            for place, entry in zip(places, transcript.iter_entries(places), strict=True):
                text = _said(entry)
                if kept is not None:
                    kept.append(text)
                yield place, text, labels.get(place, "")

    def close(self) -> None:
        with self.lock:
            self.session.close()


def _said(entry: Entry) -> str:
    """Return what an entry says: no names of roles, and no settings."""
    match entry:
        case SessionInfo():
            text = entry.name or ""
        case Label():
            text = entry.label or ""
        case Damaged():
            text = entry.text
        case _:
            found = text_of(entry)
            text = "" if found is None else f"{found.said}\n{found.tools}".strip("\n")
    return without_escapes(text)


class ViewedLibrary:
    """The sessions listed by the viewer, and the open ones.

    A list is answered at once with what is known. One thread at a time reads the rest, then updates the
    index in a process of its own; ``is_working`` and ``indexed`` tell of it.
    """

    def __init__(self, library: SessionLibrary, index: StartIndex | None = None) -> None:
        """``index`` starts a process that updates the index of this library."""
        self.library = library
        self.indexed = ""
        """How much of the library is in the index, while that is updated."""
        self._start_index = index
        self._is_unindexed = index is not None
        self._key = secrets.token_bytes(16)
        self._lock = threading.Lock()
        self._listing = threading.Lock()
        self._detailing = threading.Lock()
        self._rows: tuple[SessionRow, ...] = ()
        self._is_partial = False
        self._listed_until = float("-inf")
        self._whole: dict[str, SessionRow] = {}
        """The rows that were read in the background, by name: without an index nothing else keeps them."""
        self._details: dict[str, tuple[tuple[int, int], SessionDetails]] = {}
        """The details of rows, each with size and time of the file."""
        self._worker: threading.Thread | None = None
        self._work_after = float("-inf")
        self._closing = threading.Event()
        self._by_id: dict[str, SessionRow] = {}
        self._directories: set[str] = set()
        self._open: OrderedDict[str, ViewedSession] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}

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
        """Return all sessions, newest first, from a cache of at most two seconds.

        Those that cannot be read in a moment have the row that their beginning tells until they are read.
        """
        with self._listing:
            if fresh or time.monotonic() > self._listed_until:
                listing = self.library.iter_rows(deep=True, seconds=_LIST_SECONDS).finish()
                rows, self._is_partial = listing.rows, False
                if listing.shallow:
                    rows = tuple(self._as_read(row) if _is_shallow(row) else row for row in rows)
                self.remember(rows)
                self._rows, self._listed_until = rows, time.monotonic() + _FRESH_SECONDS
                if self._is_unindexed or self._is_partial:
                    self.work()
            return self._rows

    def details(self, rows: Sequence[SessionRow]) -> dict[str, SessionDetails]:
        """Return the details of rows that are known, or quickly found out by one thread.

        Those of a large session take long to sum up, so they are kept; tools and files are left out.
        """
        states = {row_name(row): (row.size, row.modified_ms) for row in rows}
        wanted = [row for row in rows if self._known_details(row) is None]
        alone = not self.indexed and self._detailing.acquire(blocking=False)
        try:
            found = self.library.details(wanted, seconds=_DETAIL_SECONDS if alone else 0)
        finally:
            if alone:
                self._detailing.release()
        for name, details in found.items():
            self._details[name] = states[name], msgspec.structs.replace(details, tools={}, files=())
        return {row_name(row): known for row in rows if (known := self._known_details(row)) is not None}

    def _known_details(self, row: SessionRow) -> SessionDetails | None:
        state, known = self._details.get(row_name(row), (None, None))
        return known if state == (row.size, row.modified_ms) else None

    # -- in the background ----------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        """Whether rows and details become more complete by themselves."""
        return self._is_partial or self._worker is not None

    def work(self) -> bool:
        """Read and index in the background what is not known yet, unless that was tried a moment ago.

        Returns whether the index is being updated.
        """
        with self._lock:
            if self._worker is None and time.monotonic() > self._work_after and not self._closing.is_set():
                self._worker = threading.Thread(target=self._work, name="branchline-viewer", daemon=True)
                self._worker.start()
            return self._worker is not None and self._start_index is not None

    def _work(self) -> None:
        try:
            if self._is_partial:
                rows = self.library.list(deep=True).rows
                self._whole = {row_name(row): row for row in rows}
                self._listed_until = float("-inf")
            self._update_index()
        except (BranchlineError, OSError):
            _log.debug("reading in the background failed", exc_info=True)
        finally:
            with self._lock:
                self.indexed, self._is_unindexed = "", False
                self._listed_until = float("-inf")
                self._work_after = time.monotonic() + _PAUSE_SECONDS
                self._worker = None

    def _update_index(self) -> None:
        if self._start_index is None or not self._is_behind():
            return
        process = self._start_index()
        if process is None:
            return
        try:
            while process.poll() is None and not self._closing.wait(2.0):
                self._is_behind()
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait()

    def _is_behind(self) -> bool:
        """Return whether the index lacks sessions, and keep how many it has."""
        status = self.library.index_status()
        is_behind = status.enabled and (status.problem is not None or status.waiting > 0)
        total = status.indexed + status.waiting
        self.indexed = (f"{status.indexed:,} of {total:,} sessions" if total else "starting") * is_behind
        return is_behind

    def _as_read(self, row: SessionRow) -> SessionRow:
        """Return the row that was read of a file of which this one tells only the beginning."""
        known = self._whole.get(row_name(row))
        if known is None:
            self._is_partial = True
            return row
        if (known.size, known.modified_ms) == (row.size, row.modified_ms):
            return known
        self._is_partial = True  # the file has changed since
        return msgspec.structs.replace(known, size=row.size, modified_ms=row.modified_ms)

    # -- single sessions ------------------------------------------------------------------------------

    def remember(self, rows: Iterable[SessionRow]) -> None:
        """Register rows, such as those of a search, so that their ids can be found."""
        with self._lock:
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
        viewed = self._opened(id)
        try:
            with viewed.lock:
                yield viewed
        finally:
            with self._lock:
                viewed.users -= 1
                closing = list(self._too_many())
            for old in closing:
                old.close()

    def _opened(self, id: str) -> ViewedSession:  # noqa: A002
        """Return a session with one more user."""
        row = self.row(id)
        with self._lock:
            opening = self._opening.setdefault(id, threading.Lock())
        with opening:  # one thread opens a session, and others wait for it
            with self._lock:
                viewed = self._open.get(id)
                if viewed is not None:
                    self._open.move_to_end(id)
                    viewed.users += 1
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
                self._open[id] = viewed
                viewed.users += 1
                return viewed

    def _too_many(self) -> Iterator[ViewedSession]:
        """Yield the sessions to close, used longest ago: many small or few large ones are kept open."""
        for id, viewed in list(self._open.items()):  # noqa: A001
            size = sum(one.offset for one in self._open.values())
            if len(self._open) <= (_OPEN if size <= _OPEN_BYTES else 1):
                return
            if not viewed.users:
                del self._open[id]
                yield viewed

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            waiting, self._open, worker = list(self._open.values()), OrderedDict(), self._worker
        for viewed in waiting:
            viewed.close()
        if worker is not None:
            worker.join(_CLOSE_SECONDS)


def _is_shallow(row: SessionRow) -> bool:
    """Whether a row tells only what the beginning of its file tells."""
    return row.messages is None and row.problem is None and row.version is not None


def watched_file(path: str) -> str | None:
    """Return the file that changes with a session: for a session in a database, the database."""
    for file in (path, path.rpartition("#")[0]):
        if file and os.path.exists(file):
            return os.path.realpath(file)
    return None
