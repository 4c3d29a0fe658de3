"""The SQLite file of the catalog: its path, its schema, and errors.

Everything in it is derived from session files, so it is never repaired: a file that is damaged, or that
another program made, is deleted. Nothing is synced to disk: a crash of the machine loses only the catalog.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from branchline.errors import BranchlineError, NotSupported
from branchline.log.filesystems import filesystem_warning
from branchline.log.system import describe_oserror, require_file_locks

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "SCHEMA_VERSION",
    "CatalogMissing",
    "CatalogOff",
    "CatalogUnavailable",
    "connect",
    "database_path",
    "delete_database",
    "in_memory",
    "is_damage",
    "release",
]

SCHEMA_VERSION = 14
_APPLICATION = 0x42724C6E
_TIMEOUT = 5.0  # seconds that a writer waits for another one
_PAGE = 16 << 10
"""Bytes. With pages of 4 KiB, reading the rows of 50,000 files takes 40 % longer."""
_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This directory holds files that branchline can make again at any time. Backups may leave it out.
"""
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL, checked_ns INTEGER NOT NULL,
    settled BLOB,
    consumed INTEGER NOT NULL DEFAULT 0, tail BLOB NOT NULL DEFAULT x'',
    indexed INTEGER NOT NULL DEFAULT -1, entries INTEGER NOT NULL DEFAULT 0,
    shape BLOB NOT NULL DEFAULT x'',
    leaf TEXT,
    session TEXT, agent TEXT, format TEXT, parent TEXT, cwd TEXT, title TEXT, title_folded TEXT,
    first_prompt TEXT, model TEXT, git_branch TEXT, created_ms INTEGER, active_ms INTEGER, messages INTEGER,
    rolled INTEGER NOT NULL DEFAULT 0, precedence TEXT NOT NULL DEFAULT '',
    is_subagent INTEGER NOT NULL DEFAULT 0, traits TEXT NOT NULL DEFAULT '',
    record BLOB NOT NULL
);
CREATE INDEX file_inode ON file (inode, device);
CREATE INDEX file_active ON file (active_ms) WHERE active_ms IS NOT NULL;
CREATE INDEX file_settled ON file (path, settled, indexed, consumed) WHERE settled IS NOT NULL;
CREATE INDEX file_subagent ON file (id) WHERE is_subagent;
CREATE INDEX file_title ON file (title_folded, active_ms, leaf, title) WHERE title_folded IS NOT NULL;
CREATE TABLE doc (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL, entry TEXT NOT NULL, position INTEGER NOT NULL,
    offset INTEGER NOT NULL, length INTEGER NOT NULL,
    type TEXT NOT NULL, role TEXT NOT NULL, tool TEXT NOT NULL, model TEXT NOT NULL,
    ms INTEGER, on_path INTEGER NOT NULL, mark INTEGER NOT NULL, counted INTEGER NOT NULL,
    failed INTEGER NOT NULL, said INTEGER NOT NULL, tools INTEGER NOT NULL
);
CREATE TABLE run (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, file INTEGER NOT NULL);
CREATE INDEX run_file ON run (file);
CREATE INDEX doc_file ON doc (file, position);
CREATE INDEX doc_mark ON doc (mark);
CREATE INDEX doc_failed ON doc (file) WHERE failed;
CREATE TABLE usage (
    doc INTEGER PRIMARY KEY, file INTEGER NOT NULL, model TEXT NOT NULL,
    input REAL, output REAL, cache_read REAL, cache_write REAL, cache_write_1h REAL, total REAL, cost REAL,
    answer INTEGER, counted INTEGER NOT NULL
);
CREATE INDEX usage_answer ON usage (answer) WHERE answer IS NOT NULL;
CREATE INDEX usage_file ON usage (file);
CREATE INDEX doc_copies ON doc (file) WHERE counted = 0;
CREATE TABLE rollup (
    file INTEGER NOT NULL, quarter INTEGER, model TEXT, size INTEGER NOT NULL,
    messages REAL, prompts REAL, answers REAL, calls REAL,
    input REAL, output REAL, cache_read REAL, cache_write REAL, total REAL, cost REAL, metered REAL,
    open_total REAL, open_input REAL, open_output REAL, open_cache_read REAL, open_cache_write REAL,
    open_cache_write_1h REAL,
    beyond_input REAL, beyond_output REAL, beyond_cache_read REAL, beyond_cache_write REAL,
    beyond_cache_write_1h REAL
);
CREATE INDEX rollup_file ON rollup (file);
CREATE TABLE rollup_hour (
    file INTEGER NOT NULL, day TEXT, hour TEXT, model TEXT, size INTEGER NOT NULL,
    messages REAL, prompts REAL, answers REAL, calls REAL,
    input REAL, output REAL, cache_read REAL, cache_write REAL, total REAL, cost REAL, metered REAL,
    open_total REAL, open_input REAL, open_output REAL, open_cache_read REAL, open_cache_write REAL,
    open_cache_write_1h REAL,
    beyond_input REAL, beyond_output REAL, beyond_cache_read REAL, beyond_cache_write REAL,
    beyond_cache_write_1h REAL
);
CREATE INDEX rollup_hour_file ON rollup_hour (file);
CREATE TABLE rollup_tool (
    file INTEGER NOT NULL, quarter INTEGER, model TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL
);
CREATE INDEX rollup_tool_file ON rollup_tool (file);
CREATE TABLE reading (file INTEGER PRIMARY KEY, consumed INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE touched (file INTEGER NOT NULL, doc INTEGER NOT NULL, path TEXT NOT NULL);
CREATE INDEX touched_file ON touched (file);
CREATE TABLE label (file INTEGER NOT NULL, entry TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX label_file ON label (file);
CREATE VIEW sessions AS SELECT
    id AS number, session AS id, path, agent, format, title, first_prompt, cwd AS directory, git_branch,
    model, parent, datetime(created_ms / 1000, 'unixepoch') AS created,
    datetime(active_ms / 1000, 'unixepoch') AS active,
    messages, size AS bytes, is_subagent, instr(traits, 'branch') > 0 AS has_branches,
    instr(traits, 'compacted') > 0 AS is_compacted, parent IS NOT NULL AS is_fork
FROM file;
CREATE VIEW messages AS SELECT
    file AS session, entry, position, type, role, tool, model, datetime(ms / 1000, 'unixepoch') AS time,
    on_path, counted = 1 AS counted, failed
FROM doc;
CREATE VIEW spending AS SELECT
    doc.file AS session, doc.entry, datetime(doc.ms / 1000, 'unixepoch') AS time, usage.model, usage.input,
    usage.output, usage.cache_read, usage.cache_write, usage.total AS tokens,
    usage.cost AS recorded_cost, usage.counted
FROM usage JOIN doc ON doc.id = usage.doc;
CREATE VIEW tools AS SELECT
    file AS session, datetime(quarter * 900, 'unixepoch') AS time, tool, model, calls
FROM rollup_tool;
"""
_TEXT = """
CREATE VIRTUAL TABLE text USING fts5 (
    said, tools, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'
)
"""


_TEXT_OPTIONS = {"hashsize": 16 << 20, "automerge": 0}
"""More words are collected before they are written, and segments are merged 16 at a time: a quarter less
time to build, and a session that grows does not pay for the merging of large ones."""


class CatalogUnavailable(BranchlineError):
    """The catalog cannot be used; callers read the session files instead."""


class CatalogOff(CatalogUnavailable):
    """The settings turn the catalog off."""


class CatalogMissing(CatalogUnavailable):
    """There is no catalog yet."""


def database_path(directory: str) -> str:
    """Return the file of the catalog in a cache directory."""
    return os.path.join(directory, f"catalog-{SCHEMA_VERSION}.db")


class _Idle(msgspec.Struct, frozen=True):
    """An unused connection and the identity of its file."""

    process: int
    file: tuple[int, int]
    connection: sqlite3.Connection


_idle: dict[str, _Idle] = {}
"""The connection that was used last, by its path: opening and closing take longer than most questions."""
_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process, which are not to be closed here."""


def release(directory: str, connection: sqlite3.Connection) -> None:
    """Keep a connection for the next caller instead of closing it."""
    path = database_path(directory)
    file = _file_at(path)
    if file is None or connection.in_transaction:
        connection.close()
        return
    while _idle:
        _closed(_idle.popitem()[1])
    _idle[path] = _Idle(os.getpid(), file, connection)


def _kept(path: str) -> sqlite3.Connection | None:
    one = _idle.pop(path, None)
    if one is None:
        return None
    if one.process == os.getpid() and one.file == _file_at(path):
        with contextlib.suppress(OSError):
            _make_private(os.path.dirname(path), 0o700)
            _make_private(path, 0o600)
        return one.connection
    _closed(one)
    return None


def _closed(one: _Idle) -> None:
    if one.process == os.getpid():
        one.connection.close()
    else:
        _inherited.append(one.connection)


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def connect(directory: str, *, create: bool = True) -> sqlite3.Connection:
    """Return a connection in autocommit mode, for :func:`release`. Raises CatalogUnavailable.

    Directory and file are private. Without ``create``, a missing catalog is not created.
    """
    try:
        require_file_locks("use the index")
    except NotSupported as problem:
        raise CatalogUnavailable(str(problem)) from None
    try:
        import sqlite3  # noqa: PLC0415  only lists and searches need it
    except ImportError as problem:
        raise CatalogUnavailable(f"this Python has no SQLite: {problem}") from problem
    path = database_path(directory)
    if (kept := _kept(path)) is not None:
        return kept
    if not create and not os.path.exists(path):
        raise CatalogMissing("it has not been built yet")
    if (warning := filesystem_warning(directory)) is not None:
        raise CatalogUnavailable(warning.partition(":")[0] + ", where SQLite cannot share a database safely")
    try:
        _prepare(directory, path)
    except OSError as problem:
        raise CatalogUnavailable(f"cannot write {path}: {describe_oserror(problem)}") from problem
    for attempt in (1, 2):
        try:
            return _opened(path)
        except sqlite3.Error as problem:
            if attempt == 1 and is_damage(problem):
                delete_database(directory)
                with contextlib.suppress(OSError):
                    _prepare(directory, path)
                continue
            raise CatalogUnavailable(f"cannot open {path}: {problem}") from problem
    raise AssertionError("unreachable")


def _prepare(directory: str, path: str) -> None:
    os.makedirs(os.path.dirname(directory) or ".", exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    _make_private(directory, 0o700)
    tag = os.path.join(directory, "CACHEDIR.TAG")
    for name, content in ((tag, _TAG), (path, b"")):
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(name, flags, 0o600)
            try:
                os.write(descriptor, content)
            finally:
                os.close(descriptor)
    _make_private(path, 0o600)


def _make_private(path: str, mode: int) -> None:
    """Remove all rights of other users. Raises CatalogUnavailable for a link or another user's file."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        raise CatalogUnavailable(f"{path} is a link or belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, mode)


def _opened(path: str) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415  as above

    connection = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -16000")
        if version != SCHEMA_VERSION:
            _create(connection, path)
        elif connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise sqlite3.DatabaseError("file is not a database of branchline")  # noqa: TRY301  handled above
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, path: str) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if (
        connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION
    ):  # no other process was faster
        _make_tables(connection)
        connection.execute(_TEXT)
        for name, value in _TEXT_OPTIONS.items():
            connection.execute("INSERT INTO text (text, rank) VALUES (?, ?)", (name, value))
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")
    _delete_earlier(os.path.dirname(path))


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def in_memory() -> sqlite3.Connection:
    """Return a catalog without file and full-text index, for sums if there can be no other."""
    import sqlite3  # noqa: PLC0415  as above

    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _make_tables(connection)
    return connection


def delete_database(directory: str) -> None:
    """Delete the catalog, and those of earlier releases. Processes that have it open keep the deleted one."""
    delete_files(database_path(directory))
    _delete_earlier(directory)


def _delete_earlier(directory: str) -> None:
    """Delete the catalogs of earlier releases, which nothing reads any more."""
    for version in range(1, SCHEMA_VERSION):
        delete_files(os.path.join(directory, f"catalog-{version}.db"))


def delete_files(path: str) -> None:
    """Delete a database with the files that SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.unlink(path + ending)


def is_damage(problem: Exception) -> bool:
    """Return whether a SQLite error means a damaged file, not a busy one or a full disk."""
    words = str(problem).lower()
    return any(
        sign in words
        for sign in (
            "malformed",
            "not a database",
            "corrupt",
            "no such table",
            "no such column",
            "already exists",
            "missing from index",
            "has no column",
            "constraint failed",
        )
    )
