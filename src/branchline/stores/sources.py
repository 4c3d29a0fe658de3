"""Sessions that are not line files: rows of a database, documents, or sessions embedded in a page.

Sessions of other agents are presented as read-only logs of JSON lines, which their format generates on
reading. The session ``ID`` of the database ``FILE`` has the path ``FILE#ID``, including branchline's own
databases; on a server it is ``postgresql://host/db#ID``. A document or page has the path of its file. All
functions that open sessions by path (:func:`open_log`, :func:`snapshot_of`, :func:`stored_at`) accept these
paths.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from branchline import log as logs
from branchline._arguments import require_path
from branchline.errors import (
    Ambiguous,
    BranchlineError,
    LogReplaced,
    NotASession,
    NotSupported,
    ReadOnly,
    SessionNotFound,
    TooLarge,
)
from branchline.formats import BUILTIN_FORMATS, DatabaseSessions, DocumentFiles, Format, SessionVersion
from branchline.formats.detect import builtin_format
from branchline.formats.suffixes import JSONL, has_suffix
from branchline.log import Durability, Log, Writer
from branchline.log.system import opening
from branchline.plugins.formats import format_named, installed_formats
from branchline.stores.address import is_address, is_server_address, own_store, refuse_options, shared_store
from branchline.stores.files import FilesStore, draft_at, snapshot_of_file
from branchline.stores.foreign_database import (
    is_database,
    read_database,
    reading_database,
    state_of,
    tables_of,
)
from branchline.stores.packed import Allowance
from branchline.stores.protocol import (
    FileStamp,
    Read,
    ScanResult,
    SizedContent,
    SkippedFile,
    Store,
    StoredLog,
    hashed,
    is_key,
    no_session,
    page_of,
)

if TYPE_CHECKING:
    from branchline.log import FileLog, Spool

__all__ = [
    "DatabaseStore",
    "DerivedLog",
    "SessionAddress",
    "address_in",
    "addressed_store",
    "companion_reader",
    "database_at",
    "file_of",
    "gone",
    "is_page",
    "open_log",
    "open_store",
    "page_files",
    "page_is_checked",
    "same_session",
    "snapshot_of",
    "stored_at",
]

_HEAD = 1 << 16
_IN_MEMORY = 1 << 26
"""Bytes of a session kept in memory: generating lines is faster than writing them to disk."""
_LARGEST_COMPANION = 1 << 28
_BOM = b"\xef\xbb\xbf"
_KEY_BYTES = 64
_DOCUMENTS = tuple((*pattern, program.name) for program in BUILTIN_FORMATS for pattern in program.documents)
"""How the paths of documents look: a part of them, their end, and the name of the format."""
_FIRST_KEY = rb'(?:%b)?\s*\{\s*"(\w+)"\s*:' % _BOM


class SessionAddress(msgspec.Struct, frozen=True):
    """A session in a database."""

    file: str
    session: str


def address_in(path: str) -> SessionAddress | None:
    """Split ``FILE#ID`` into database and session; None for the path of a file."""
    end = path.find("#")
    if end >= 0 and is_server_address(path):
        return SessionAddress(path[:end], path[end + 1 :])
    if end < 0 or os.path.lexists(path):
        return None
    while end >= 0:
        if os.path.isfile(path[:end]):
            return SessionAddress(path[:end], path[end + 1 :])
        end = path.find("#", end + 1)
    return None


def open_store(where: str | os.PathLike[str]) -> Store:
    """Open the store that a text names: a directory, a database of branchline or another agent, or a server.

    Nothing is created or connected before first use. Raises NotSupported if the driver for this kind of store
    is not installed, InvalidId for a path with a ``?``, which is a mistyped address, unless it exists.
    """
    text = require_path("a store", where)
    if is_address(text):
        return own_store(text)
    refuse_options(text)
    path = os.path.expanduser(text)
    if (found := database_at(path)) is not None:
        return found
    if os.path.isfile(path):
        raise NotASession(
            f"{path} is not a store: it is neither a directory nor a database of branchline or an agent"
        )
    return FilesStore(path)


def addressed_store(address: SessionAddress) -> Store:
    """Return the store of an address."""
    return shared_store(address.file) if is_address(address.file) else DatabaseStore(address.file)


# -- databases --------------------------------------------------------------------------------------------


def database_at(path: str) -> DatabaseStore | None:
    """Return the store of the database at this path, or None.

    Raises NotASession if no known agent has such a database.
    """
    return DatabaseStore(path) if is_database(path) else None


class DatabaseStore:
    """The sessions of another agent's SQLite database, read-only. Keys are session ids.

    ``format`` defaults to the format that recognizes the tables of the database.
    """

    def __init__(self, path: str | os.PathLike[str], format: Format | None = None) -> None:  # noqa: A002
        self.path = os.path.abspath(os.fspath(path))
        self._format = format

    @property
    def name(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"DatabaseStore({self.path!r})"

    @property
    def format(self) -> Format:
        """The format of its sessions. Raises NotASession if no format recognizes the tables."""
        if self._format is None:
            status = os.stat(self.path)
            self._format = _format_of(self.path, (status.st_dev, status.st_ino, status.st_mtime_ns))
        return self._format

    def is_recognized(self) -> bool:
        """Return whether the format recognizes the tables; True for a database without tables."""
        tables = read_database(self.path, tables_of)
        return not tables or self._database.recognizes(tables)

    def path_of(self, key: str) -> str:
        """Return the path of a session."""
        return f"{self.path}#{key}"

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        database = self._database
        found: list[StoredLog] = []
        hidden: list[SkippedFile] = []
        status = os.stat(self.path)
        for one in read_database(self.path, lambda query: list(database.sessions(query))):
            if is_key(one.id):
                found.append(self._stored(one, status))
            else:
                hidden.append(SkippedFile(self.path_of(one.id), "its name is not a valid id"))
        return ScanResult(page_of(found, limit, after, prefix), hidden if after is None else [])

    def keys(self) -> list[str]:
        """The ids of its sessions that are valid keys."""
        database = self._database
        return list(filter(is_key, read_database(self.path, lambda query: list(database.ids(query)))))

    def origins(self) -> Mapping[str, str]:
        """The sessions that copies were made of, by the key of the copy, if no header names them."""
        return read_database(self.path, self._database.origins)

    def stat(self, key: str) -> StoredLog | None:
        database = self._database
        found = read_database(self.path, lambda query: database.session(query, key))
        return None if found is None else self._stored(found, os.stat(self.path))

    @contextlib.contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        database = self._database
        with (
            reading_database(self.path) as query,
            contextlib.closing(_LazyContent(database.lines(query, key))) as content,
        ):
            if not content.read(0, 1):
                raise no_session(key, self.path)
            yield content.read

    def open(self, key: str, *, durability: Durability = "fsync") -> DerivedLog:
        del durability
        return DerivedLog(self.path_of(key), key, lambda: self._content(key), _SessionState(self, key))

    def create(self, key: str, data: bytes, *, durability: Durability = "fsync") -> Log:
        del data, durability
        raise self._read_only(f"create {key!r}")

    def rename(self, key: str, new_key: str) -> StoredLog:
        del new_key
        raise self._read_only(f"rename {key!r}")

    def in_use(self, keys: Iterable[str]) -> set[str]:
        del keys
        return set()

    @property
    def _database(self) -> DatabaseSessions:
        database = self.format.database
        assert database is not None
        return database

    def _content(self, key: str) -> Spool:
        database = self._database
        content = read_database(self.path, lambda query: logs.Spool(database.lines(query, key), _IN_MEMORY))
        if not content.size():
            raise no_session(key, self.path)
        return content

    def _stored(self, one: SessionVersion, status: os.stat_result) -> StoredLog:
        stamp = FileStamp(
            status.st_dev,
            hashed((status.st_ino, one.id)),
            one.size,
            one.modified_ms * 1_000_000,
            hashed(one.version),
        )
        return StoredLog(
            one.id,
            one.size,
            one.modified_ms / 1000,
            self.path_of(one.id),
            stamp,
            header=one.header,
            derived=True,
        )

    def _read_only(self, doing: str) -> NotSupported:
        return NotSupported(
            f"cannot {doing} in {self.path}: databases of {self.format.name} are only read; "
            "fork or convert the session instead"
        )


class _SessionState:
    """Counts the changes of a session; queries it only if the database files changed."""

    def __init__(self, store: DatabaseStore, key: str) -> None:
        self._store = store
        self._key = key
        self._files: object = None
        self._stamp: FileStamp | None = None
        self._changes = 0

    def __call__(self) -> int:
        """Return the number of changes seen so far."""
        before, self._files = self._files, state_of(self._store.path)
        if before is not None and self._files != before:
            found = self._store.stat(self._key)
            stamp = None if found is None else found.stamp
            self._changes += stamp is None or stamp != self._stamp
            self._stamp = stamp
        return self._changes


@lru_cache(64)
def _format_of(path: str, state: tuple[int, ...]) -> Format:
    """Return the format of a database; ``state`` is part of the cache key."""
    del state
    tables = read_database(path, tables_of)
    for format_ in _formats_with_databases(tables):
        if format_.database is not None and format_.database.recognizes(tables):
            return format_
    if not tables:
        raise NotASession(
            f"cannot read {path}: the database has no tables; if it was copied, its -wal file may be missing"
        )
    raise NotASession(f"{path} is a database of no known agent")


def _formats_with_databases(tables: Collection[str]) -> Iterator[Format]:
    """Yield the formats whose databases may have these tables; loading all of them would take longer."""
    for program in BUILTIN_FORMATS:
        if program.database_table in tables and (found := builtin_format(program.name)) is not None:
            yield found
    yield from (one for one in installed_formats().formats if one.database is not None)


# -- any path ---------------------------------------------------------------------------------------------


def file_of(path: str) -> str:
    """Return the path of the file that holds the session at a path: its draft, if it is one until now."""
    draft = None if address_in(path) is not None else draft_at(path)
    return path if draft is None else draft[0].draft_path(draft[1])


def snapshot_of(path: str) -> AbstractContextManager[Read]:
    """Open the session at a path cheaply, for reading only, wherever it is stored."""
    if (address := address_in(path)) is not None:
        return addressed_store(address).snapshot(address.session)
    if (documents := _documents_at(path)) is not None:
        return _spooled(lambda: _document_content(path, documents))
    if is_page(path):
        return _spooled(lambda: _page_content(path))
    if not has_suffix(path) and (database := database_at(path)) is not None:
        return database.snapshot(_only_key(database))
    return snapshot_of_file(path)


@contextlib.contextmanager
def _spooled(make: Callable[[], Spool]) -> Iterator[Read]:
    with contextlib.closing(make()) as content:
        yield content.read


def stored_at(path: str, key: str = "") -> StoredLog | None:
    """Return the status of the session at a path without reading it; None if there is none."""
    if (address := address_in(path)) is not None:
        return addressed_store(address).stat(address.session)
    try:
        status = os.stat(path)
    except OSError:
        return None
    stamp = FileStamp.of(status)
    if (documents := _documents_at(path)) is not None:
        stamp = document_stamp(path, documents, stamp)
    return StoredLog(key or os.path.basename(path), stamp.size, stamp.modified_ns / 1e9, path, stamp)


def open_log(path: str, *, durability: Durability = "fsync") -> Log:
    """Open the log of the session at a path, wherever it is stored. Derived logs are read-only."""
    if (address := address_in(path)) is not None:
        return addressed_store(address).open(address.session, durability=durability)
    if (documents := _documents_at(path)) is not None:
        return _document_log(path, documents)
    if is_page(path):
        key, file = _page_names(path)
        return DerivedLog(
            path, key, lambda: _page_content(path), lambda: FileStamp.of(os.stat(path)), reads_as=file
        )
    if not has_suffix(path) and (database := database_at(path)) is not None:
        return database.open(_only_key(database))
    log = logs.FileLog(path, durability=durability)
    try:
        with opening(path):
            documents = _document_in(log)
    except BaseException:
        log.close()
        raise
    if documents is None:
        return log
    log.close()
    return _document_log(path, documents)


def _only_key(database: DatabaseStore) -> str:
    found = database.keys()
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionNotFound(f"the database {database.path} holds no sessions")
    some = ", ".join(found[:3]) + (" …" if len(found) > 3 else "")
    raise Ambiguous(
        f"{database.path} holds {len(found)} sessions ({some}); name one of them: {database.path}#ID"
    )


def gone(paths: Iterable[str]) -> set[str]:
    """Return the paths whose session no longer exists; unreadable ones count as existing."""
    missing = set()
    keys: dict[str, frozenset[str] | None] = {}
    for path in paths:
        address = address_in(path)
        if address is None:
            if not os.path.exists(path):
                missing.add(path)
            continue
        if address.file not in keys:
            try:
                store = addressed_store(address)
                found = (
                    store.keys()
                    if isinstance(store, DatabaseStore)
                    else [stored.key for stored in store.scan().found]
                )
                keys[address.file] = frozenset(found)
            except (BranchlineError, OSError):
                keys[address.file] = None
        known = keys[address.file]
        if known is not None and address.session not in known:
            missing.add(path)
    return missing


class DerivedLog:
    """A read-only log whose lines are generated from a source that may change.

    ``size`` checks for changes. Added lines become readable; if other lines changed, it raises LogReplaced
    and the log keeps its previous content.
    """

    def __init__(
        self,
        path: str,
        key: str,
        make: Callable[[], Spool],
        version: Callable[[], object],
        *,
        reads_as: str | None = None,
    ) -> None:
        self.path = path
        self.key = key
        self.reads_as = path if reads_as is None else reads_as
        """The name for readers, which may tell the id, or that this is a session of a sub-agent."""
        self._make = make
        self._version_now = version
        self._version = version()
        self._content = make()

    @property
    def name(self) -> str:
        return self.path

    def size(self) -> int:
        version = self._version_now()
        if version != self._version:
            fresh = self._make()
            if not _extends(fresh, self._content):
                fresh.close()
                raise LogReplaced(f"{self.path} changed while it was open; open it again")
            old, self._content, self._version = self._content, fresh, version
            old.close()
        return self._content.size()

    def read(self, offset: int, size: int) -> bytes:
        return self._content.read(offset, size)

    def exclusive(self) -> AbstractContextManager[Writer]:
        raise ReadOnly(f"cannot append to {self.path}: it is only read; fork or convert the session instead")

    def close(self) -> None:
        self._content.close()

    def __repr__(self) -> str:
        return f"DerivedLog({self.path!r})"


def _extends(fresh: Spool, old: Spool) -> bool:
    """Return whether the new content starts with the old content."""
    if fresh.size() < old.size():
        return False
    for offset in range(0, old.size(), 1 << 20):
        size = min(1 << 20, old.size() - offset)
        if fresh.read(offset, size) != old.read(offset, size):
            return False
    return True


class _LazyContent:
    """Content generated on demand: most callers need only the start."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._pieces = chunks
        self._head = b""
        self._rest: Spool | None = None

    def read(self, offset: int, size: int) -> bytes:
        if self._rest is None and len(self._head) < offset + size:
            self._make(offset + size)
        return self._head[offset : offset + size] if self._rest is None else self._rest.read(offset, size)

    def _make(self, end: int) -> None:
        made = [self._head]
        known = len(self._head)
        while known < min(end, _HEAD) and (chunk := next(self._pieces, None)) is not None:
            made.append(chunk)
            known += len(chunk)
        if known < end:
            self._rest = logs.Spool(chain(made, self._pieces))
        else:
            self._head = b"".join(made)

    def close(self) -> None:
        if self._rest is not None:
            self._rest.close()


# -- documents --------------------------------------------------------------------------------------------


def _documents_at(path: str) -> Format | None:
    """Return the format that stores sessions as documents with such a path."""
    for part, ending, name in _DOCUMENTS:
        if path.endswith(ending) and part in path:
            found = builtin_format(name)
            if found is not None and found.documents is not None and found.documents.recognizes(path):
                return found
    if has_suffix(path):
        return None
    installed = installed_formats().formats
    return next((one for one in installed if one.documents and one.documents.recognizes(path)), None)


def _document_in(log: FileLog) -> Format | None:
    """Return the format whose document a file is, although its path does not tell."""
    first_key = re.match(_FIRST_KEY, log.read(0, _KEY_BYTES))
    key = b"" if first_key is None else first_key[1]
    formats = [builtin_format(program.name) for program in BUILTIN_FORMATS if key in program.document_keys]
    formats += [one for one in installed_formats().formats if one.documents]
    if not formats:
        return None
    head = log.read(0, _HEAD).removeprefix(_BOM)
    return next((one for one in formats if one and one.documents and one.documents.begins(head)), None)


def _document_log(path: str, format_: Format) -> DerivedLog:
    return DerivedLog(
        path,
        format_.traits.key_of(path),
        lambda: _document_content(path, format_),
        lambda: _document_version(path, format_),
    )


def same_session(path: str) -> list[str]:
    """The other files by which the session in a document can be opened."""
    format_ = _documents_at(path)
    if format_ is None or format_.documents is None:
        return []
    key_of, recognizes = format_.traits.key_of, format_.documents.recognizes
    others = format_.documents.companions(path)
    return [other for other in others if recognizes(other) and key_of(other) == key_of(path)]


def document_stamp(path: str, format_: Format, stamp: FileStamp) -> FileStamp:
    """Return the stamp of a document including its companion files."""
    assert format_.documents is not None
    size, modified, changed = stamp.size, stamp.modified_ns, stamp.changed_ns
    for companion in format_.documents.companions(path):
        with contextlib.suppress(OSError):
            status = os.stat(companion)
            size += status.st_size
            modified, changed = max(modified, status.st_mtime_ns), max(changed, status.st_ctime_ns)
    return FileStamp(stamp.device, stamp.inode, size, modified, changed)


def _document_version(path: str, format_: Format) -> object:
    try:
        return document_stamp(path, format_, FileStamp.of(os.stat(path)))
    except OSError:
        return None


def _document_content(path: str, format_: Format) -> Spool:
    documents = format_.documents
    assert documents is not None
    with snapshot_of_file(path) as read:
        content = SizedContent(read, os.stat(path).st_size)
        return logs.Spool(documents.lines(content, path, companion_reader(path, documents)), _IN_MEMORY)


def companion_reader(path: str, documents: DocumentFiles) -> Callable[[str], bytes | None]:
    """Return a function that reads the companion files of a document, and no other files."""
    shared = documents.shared_file(path)
    allowed = {*documents.companions(path), *([] if shared is None else [shared])}
    own = os.path.dirname(path) + "/"

    def companion(wanted: str) -> bytes | None:
        if wanted not in allowed and (not wanted.startswith(own) or ".." in wanted.split("/")):
            return None
        try:
            with snapshot_of_file(wanted) as read:
                # A buffer for the largest file takes longer to allocate than most files take to read.
                size = os.stat(wanted).st_size
                data = read(0, min(size, _LARGEST_COMPANION) + 1)
                if len(data) > size:
                    data = read(0, _LARGEST_COMPANION + 1)
        except (OSError, NotASession, SessionNotFound):
            return None
        if len(data) > _LARGEST_COMPANION:
            return None
        return documents.own_part(data, path) if wanted == shared else data

    return companion


# -- pages ------------------------------------------------------------------------------------------------

_PAGES = (".html", ".htm")


def is_page(path: str) -> bool:
    """Return whether a path is an HTML page, which may hold an exported session."""
    return path.lower().endswith(_PAGES) and os.path.isfile(path)


def _page_content(path: str) -> Spool:
    """Return the lines of the session in a page. Raises NotASession if anything in the page was changed."""
    with _page_reader(path) as (pages, read):
        size = os.path.getsize(path)
        return logs.Spool(Allowance().check(pages.packed_lines(read), size))


def page_files(path: str) -> dict[str, bytes]:
    """Return the original files in a page by name. Raises NotASession if anything in it was changed."""
    with _page_reader(path) as (pages, read):
        files: dict[str, bytes] = pages.packed_files(read, Allowance().limit)
        return files


def page_is_checked(path: str) -> bool:
    """Return whether a page that can be opened is proved unchanged; those of earlier releases cannot be."""
    with _page_reader(path) as (pages, read):
        return bool(pages.page_provenance(read).digest)


def _page_names(path: str) -> tuple[str, str]:
    """Return the key of the session, or else the name of the page, and the path that its file would have."""
    with _page_reader(path) as (pages, read):
        known = pages.page_provenance(read)
    name = os.path.splitext(os.path.basename(path))[0]
    key = known.key if is_key(known.key) else name if is_key(name) else "page"
    try:
        suffix = format_named(known.format).traits.suffix
    except ValueError:
        suffix = JSONL  # the package that knows the format is gone
    return key, os.path.join(os.path.dirname(path), f"{key}{suffix}")


@contextlib.contextmanager
def _page_reader(path: str) -> Iterator[tuple[ModuleType, Read]]:
    from branchline.views.html import single_page  # noqa: PLC0415  only pages need it

    with logs.FileLog(path, writable=False) as log:
        try:
            single_page.require_single_page(log.read(0, 4096))
            yield single_page, log.read
        except (NotASession, TooLarge) as problem:
            raise type(problem)(f"cannot open {path}: {problem}") from None
