"""Sessions as files in one directory: ``<key>.jsonl``, and one hidden folder for drafts and trash.

``.branchline/drafts`` holds sessions without a first reply, ``.branchline/trash`` removed ones. The directory
is created by the first write. Files with the suffix of any agent are found; the store has one suffix for new
files. The folder ``<key>`` that some agents keep next to a file is moved with it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from branchline import log
from branchline._arguments import require_path
from branchline.errors import KeyTaken, LogError, NotASession, SessionNotFound
from branchline.formats.suffixes import JSONL, SUFFIXES, suffix_of, without_suffix
from branchline.log import SYSTEM, Durability, System
from branchline.log.directories import require_own_sidecars
from branchline.log.system import OPEN_FLAGS, describe_oserror, require_file_locks
from branchline.stores.protocol import (
    FileStamp,
    Read,
    ScanResult,
    SkippedFile,
    StoredLog,
    TrashItem,
    check_key,
    is_key,
    key_taken,
    no_session,
    page_of,
)
from branchline.stores.sync_conflicts import cloud_placeholder, conflict_copy

if TYPE_CHECKING:
    from branchline.log import FileLog
    from branchline.stores.trash import ReplacedFile, Trash

__all__ = ["SIDE_FOLDER", "FilesStore", "draft_at", "snapshot_of_file", "store_at", "why_hidden"]

SIDE_FOLDER = ".branchline"
"""The hidden folder next to session files."""
_FOLDER = "a folder; sessions are looked for in this directory alone, not in the folders below it"
_PACKED = ".zst"
_COMPRESSED = "it is compressed; unpack it, or name the file to read it"
_DATABASE = "a database; name it in place of the directory to list its sessions"
_OTHER = f"its name ends neither in {' nor in '.join(SUFFIXES)}"
_READ = os.O_RDONLY | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NONBLOCK | OPEN_FLAGS.NOCTTY
_DATALESS = 0x40000000  # macOS: the file is in iCloud, not on this disk


class FilesStore:
    """The sessions of one directory. The constructor does not access the disk."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        suffix: str = JSONL,
        lock_timeout: float = 10.0,
        system: System = SYSTEM,
    ) -> None:
        self.directory = os.path.abspath(require_path("a directory", directory))
        require_file_locks(f"use the session files in {self.directory}")
        self.suffix = suffix
        self._lock_timeout = lock_timeout
        self._system = system

    @property
    def name(self) -> str:
        return self.directory

    def __repr__(self) -> str:
        suffix = "" if self.suffix == JSONL else f", suffix={self.suffix!r}"
        return f"FilesStore({self.directory!r}{suffix})"

    # -- reading --------------------------------------------------------------------------------------

    def with_suffix(self, suffix: str) -> FilesStore:
        """Return a store for the same directory with another suffix for new files."""
        return FilesStore(self.directory, suffix=suffix, lock_timeout=self._lock_timeout, system=self._system)

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        """List the directory. Raises LogError if it exists but cannot be read.

        Unrelated files are ignored; if there are no sessions, they are reported with the reason why they
        are not listed.
        """
        found: list[StoredLog] = []
        hidden: list[SkippedFile] = []
        others: list[SkippedFile] = []
        try:
            with os.scandir(self.directory) as listing:
                for item in listing:
                    _classify(item, found, hidden, others)
        except FileNotFoundError:
            return ScanResult([], [])
        except OSError as problem:
            raise LogError(
                f"cannot list the sessions in {self.directory}: {describe_oserror(problem)}"
            ) from problem
        found = self._without_duplicates(found, hidden)
        hidden += () if found else others
        hidden.sort()
        return ScanResult(page_of(found, limit, after, prefix), hidden if after is None else [])

    def _without_duplicates(self, found: list[StoredLog], hidden: list[SkippedFile]) -> list[StoredLog]:
        """Drop files whose key belongs to a file with the store's own suffix."""
        if len({stored.key for stored in found}) == len(found):
            return found
        kept = []
        for stored in found:
            assert stored.path is not None
            if stored.path == self.path_of(stored.key):
                kept.append(stored)
            else:
                hidden.append(SkippedFile(os.path.basename(stored.path), "another file has the same key"))
        return kept

    def stat(self, key: str) -> StoredLog | None:
        return _stored(key, self.path_of(key))

    def path_of(self, key: str) -> str:
        """Return the path of the file of this key, whether or not it exists."""
        return self._path_in(self.directory, key)

    def drafts(self) -> list[StoredLog]:
        found = FilesStore(self._draft_directory, suffix=self.suffix).scan().found
        # A crash during publication leaves a draft under both names; it counts as a session then.
        return [
            draft for draft in found if not _same_file(self.draft_path(draft.key), self.path_of(draft.key))
        ]

    def snapshot(self, key: str) -> _Snapshot:
        own = f"{self.directory}/{check_key(key)}{self.suffix}"
        return _Snapshot(own, lambda: (self.path_of(key), self.draft_path(key)))

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of files that a writer has locked or, on Linux, that any process has open."""
        from branchline.log.open_files import open_files  # noqa: PLC0415  not needed for listing

        used = set()
        keys = tuple(keys)
        opened = {found.identity for found in open_files(SUFFIXES)} if keys else set()
        for key in keys:
            for path in (self.path_of(key), self.draft_path(key)):
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                identity = (status.st_dev, status.st_ino)
                if identity in opened or log.is_locked(os.path.realpath(path), identity):
                    used.add(key)
        return used

    # -- opening and making ---------------------------------------------------------------------------

    def open(self, key: str, *, durability: Durability = "fsync") -> FileLog:
        for path in (self.path_of(key), self.draft_path(key)):
            try:
                return self._log(path, durability)
            except FileNotFoundError:
                continue
        raise no_session(key, self.directory)

    def create(
        self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync"
    ) -> FileLog:
        path, other = self.path_of(key), self.draft_path(key)
        if draft:
            path, other = other, path
            self._require_own_folder("drafts")
        if os.path.lexists(other):
            raise key_taken("create", key, self.directory)
        try:
            return log.FileLog.create(
                path, data, durability=durability, lock_timeout=self._lock_timeout, system=self._system
            )
        except FileExistsError:
            raise key_taken("create", key, self.directory) from None

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        path = self.path_of(key)
        # Checked before the bytes are written; publishing checks again.
        if os.path.lexists(path) or os.path.lexists(self.draft_path(key)):
            raise key_taken("create", key, self.directory)
        try:
            log.write_file(path, pieces, system=self._system)
        except FileExistsError:
            raise key_taken("create", key, self.directory) from None
        found = self.stat(key)
        if found is None:
            raise no_session(key, self.directory)
        return found

    def publish(self, key: str, *, durability: Durability = "fsync") -> FileLog:
        path = self.path_of(key)
        self._require_own_folder("drafts")
        try:
            log.publish_file(self.draft_path(key), path, system=self._system)
        except FileNotFoundError:
            raise SessionNotFound(f"no draft named {key!r} in {self.directory}") from None
        except FileExistsError:
            raise key_taken("publish the draft", key, self.directory) from None
        return self._log(path, durability)

    def drop_draft(self, key: str) -> bool:
        self._require_own_folder("drafts")
        try:
            self._system.unlink(self.draft_path(key))
        except FileNotFoundError:
            return False
        log.sync_directory(self._draft_directory, self._system)
        return True

    def drop_empty_folders(self) -> None:
        """Remove the drafts folder if it is empty, to leave no trace in another agent's directory."""
        with contextlib.suppress(OSError):
            os.rmdir(self._draft_directory)
            os.rmdir(os.path.dirname(self._draft_directory))

    # -- moving ---------------------------------------------------------------------------------------

    def rename(self, key: str, new_key: str) -> StoredLog:
        source = self.path_of(key)
        target = self.with_suffix(suffix_of(source)).path_of(new_key)
        if self.stat(key) is None:
            raise no_session(key, self.directory)
        # Checked here as well: publishing treats two names of one file as its own interrupted work, and a
        # case-insensitive file system shows one file under both names.
        if os.path.lexists(target) or os.path.lexists(self.draft_path(new_key)):
            raise key_taken(f"rename {key!r}", new_key, self.directory)
        self._require_free_folder(f"rename {key!r}", source, target)
        try:
            log.publish_file(source, target, system=self._system)
        except FileNotFoundError:
            raise no_session(key, self.directory) from None
        except FileExistsError:
            raise key_taken(f"rename {key!r}", new_key, self.directory) from None
        from branchline.log.seals import move_seal  # noqa: PLC0415  as above
        from branchline.stores.companion_folders import move_folder  # noqa: PLC0415  as above

        move_folder(source, target, self._system)
        move_seal(source, target, self._system)
        found = self.stat(new_key)
        if found is None:
            raise no_session(new_key, self.directory)
        return found

    def keep_replaced(self, path: str) -> ReplacedFile:
        """Put a file of this directory, whatever its name, into the trash before another replaces it.

        The file stays until then. Raises LogError or OSError if it cannot be kept.
        """
        self._require_own_folder("trash")
        return self._trash.keep(path)

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        path = self.draft_path(key) if draft else self.path_of(key)
        if _stored(key, path) is None:
            return None
        self._require_own_folder("trash")
        return self._trash.put(key, path, draft=draft)

    def trashed(self) -> list[TrashItem]:
        try:
            self._require_own_folder("trash")
        except LogError:
            return []  # a symlink in its place leads to what was not removed from here
        return self._trash.items()

    def read_trashed(self, token: str) -> AbstractContextManager[Read]:
        self._require_own_folder("trash")
        item = self._trash.item(check_key(token))
        if item is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.directory}")
        return snapshot_of_file(self._trash.path_of(item), follow=False)

    def restore(self, token: str) -> StoredLog:
        self._require_own_folder("trash")
        item = self._trash.item(check_key(token))
        if item is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.directory}")
        key = item.key
        kept = self._trash.path_of(item)
        ending = self.with_suffix(os.path.basename(kept).removeprefix(key))
        path, other = ending.path_of(key), ending.draft_path(key)
        if item.draft:
            path, other = other, path
        doing = f"restore {token!r} from the trash"
        if os.path.lexists(other):
            raise key_taken(doing, key, self.directory)
        self._require_free_folder(doing, kept, path)
        try:
            self._trash.take(item, path)
        except FileNotFoundError:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.directory}") from None
        except FileExistsError:
            raise key_taken(doing, key, self.directory) from None
        return _stored(key, path) or StoredLog(key, item.size, item.removed, path)

    # -- inside ---------------------------------------------------------------------------------------

    def _log(self, path: str, durability: Durability) -> FileLog:
        return log.FileLog(path, durability=durability, lock_timeout=self._lock_timeout, system=self._system)

    def _require_free_folder(self, doing: str, source: str, target: str) -> None:
        """Raise FileExistsError if the companion folder of a file cannot be moved with it."""
        from branchline.stores.companion_folders import companion_folder  # noqa: PLC0415  as above

        taken = without_suffix(target)
        if companion_folder(source) is not None and os.path.lexists(taken):
            raise KeyTaken(f"cannot {doing}: its folder belongs to it, and {taken} already exists")

    def _require_own_folder(self, kind: Literal["drafts", "trash"]) -> None:
        """Raise LogError if the hidden folder is a symlink: it could redirect writes elsewhere."""
        try:
            require_own_sidecars(os.path.join(self.directory, "file"), kind, self._system)
        except NotADirectoryError as problem:
            raise LogError(f"cannot use {problem.filename}: it is a link or not a directory") from None
        except OSError:
            return  # the write reports the error

    @property
    def _trash(self) -> Trash:
        from branchline.stores.trash import Trash  # noqa: PLC0415  as above

        return Trash(os.path.join(self.directory, SIDE_FOLDER, "trash"), self._system)

    @property
    def _draft_directory(self) -> str:
        return f"{self.directory}/{SIDE_FOLDER}/drafts"

    def draft_path(self, key: str) -> str:
        """Return the path of the draft of this key, whether or not it exists."""
        return self._path_in(self._draft_directory, key)

    def _path_in(self, directory: str, key: str) -> str:
        """Return the path of the file of a key in a directory, or the path that a new file gets."""
        own = f"{directory}/{check_key(key)}{self.suffix}"
        for suffix in SUFFIXES:
            if suffix != self.suffix and os.path.lexists(other := f"{directory}/{key}{suffix}"):
                return own if os.path.lexists(own) else other
        return own


def draft_at(path: str) -> tuple[FilesStore, str] | None:
    """Return the store and key of the draft at a path, or of the draft that will be published to it.

    None if a file exists at the path, or if there is no draft for it.
    """
    path = os.path.abspath(path)
    store, key = store_at(path), without_suffix(os.path.basename(path))
    if store.directory == os.path.dirname(path) and os.path.lexists(path):
        return None
    return (store, key) if is_key(key) and os.path.isfile(store.draft_path(key)) else None


def store_at(path: str) -> FilesStore:
    """Return the store of the session or draft at a path."""
    folder, name = os.path.split(os.path.abspath(path))
    if folder.endswith(f"{os.sep}{SIDE_FOLDER}{os.sep}drafts"):
        folder = os.path.dirname(os.path.dirname(folder))
    return FilesStore(folder, suffix=suffix_of(name))


def snapshot_of_file(path: str, *, follow: bool = True) -> AbstractContextManager[Read]:
    """Open the file at a path for reading, in any directory; without ``follow`` not through a symlink."""
    return _Snapshot(path, tuple, flags=_READ if follow else _READ | os.O_NOFOLLOW)


class _Snapshot:
    """A file open for reading during a ``with`` block. Takes no lock and keeps no state."""

    __slots__ = ("_descriptor", "_flags", "_others", "_path")

    def __init__(self, path: str, others: Callable[[], Iterable[str]], *, flags: int = _READ) -> None:
        """``others`` are tried in order if there is no file at ``path``."""
        self._path = path
        self._others = others
        self._flags = flags
        self._descriptor = -1

    def __enter__(self) -> Read:
        descriptor = self._descriptor = self._open()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotASession(f"cannot read {self._path}: it is not a regular file")
        pread = os.pread
        return lambda offset, size: pread(descriptor, size, offset)

    def _open(self) -> int:
        try:
            return os.open(self._path, self._flags)
        except FileNotFoundError:
            for path in self._others():
                with contextlib.suppress(FileNotFoundError):
                    return os.open(path, self._flags)
        raise SessionNotFound(f"no session at {self._path}")

    def __exit__(self, *_exception: object) -> None:
        os.close(self._descriptor)


def _classify(
    item: os.DirEntry[str],
    found: list[StoredLog],
    hidden: list[SkippedFile],
    others: list[SkippedFile],
) -> None:
    """Classify a directory entry: a session, a hidden one, or something else."""
    name = item.name
    if not name.endswith(SUFFIXES):
        if (reason := cloud_placeholder(name)) is not None:
            hidden.append(SkippedFile(name, reason))
        elif name.removesuffix(_PACKED).endswith(SUFFIXES):
            hidden.append(SkippedFile(name, _COMPRESSED))
        elif not name.startswith("."):
            reason = _FOLDER if item.is_dir() else _DATABASE if name.endswith(".db") else _OTHER
            others.append(SkippedFile(name, reason))
        return
    try:
        status = item.stat()
    except OSError as problem:
        hidden.append(SkippedFile(name, f"cannot be read: {describe_oserror(problem)}"))
        return
    key = without_suffix(name)
    if (reason := why_hidden(key, status)) is None:
        found.append(StoredLog(key, status.st_size, status.st_mtime, item.path, FileStamp.of(status)))
    else:
        hidden.append(SkippedFile(name, reason))


def why_hidden(key: str, status: os.stat_result) -> str | None:
    """Return why a file with a session suffix is not listed; None if it is listed."""
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    if not is_key(key):
        return "its name is not a valid id"
    if sys.platform == "darwin" and status.st_flags & _DATALESS:
        return "an iCloud placeholder, not the session itself"
    return conflict_copy(key)


def _stored(key: str, path: str) -> StoredLog | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return StoredLog(key, status.st_size, status.st_mtime, path, FileStamp.of(status))


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
