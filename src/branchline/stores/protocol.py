"""The store protocol: keyed logs. Drafts and a trash are separate, optional protocols.

A key is a bare name, never a path. Any implementation can hold sessions; the test suite in
:mod:`branchline.stores.conformance` checks its behaviour.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from branchline._arguments import require_text
from branchline.entries import Header
from branchline.errors import InvalidArgument, InvalidId, KeyTaken, NotSupported, SessionNotFound
from branchline.log import Durability, Log
from branchline.views.session_row import SkippedFile

__all__ = [
    "PACKED_IDENTITY",
    "AddressedStore",
    "ClosableStore",
    "DraftStore",
    "FileStamp",
    "FileState",
    "LoadStore",
    "Read",
    "ReadableTrash",
    "ScanResult",
    "SizedContent",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "by_newest",
    "check_key",
    "close_store",
    "drafts_in",
    "hashed",
    "id_in_key",
    "pack_stamp",
    "page_of",
    "trash_of",
]

Read = Callable[[int, int], bytes]
"""``read(offset, size)``: bytes of a log, fewer than ``size`` only at its end."""


class FileStamp(msgspec.Struct, frozen=True, gc=False):
    """The status fields of a file that change when its content changes."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    """The ctime of the inode, which programs cannot set."""

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """Return the stamp of a file status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @property
    def packed(self) -> bytes:
        """The stamp as bytes that sort by modification time; empty if a number is too large."""
        try:
            return pack_stamp(self.modified_ns, self.device, self.inode, self.size, self.changed_ns)
        except struct.error:
            return b""

    @classmethod
    def unpacked(cls, packed: bytes) -> FileStamp:
        """Return the stamp from its packed form."""
        modified_ns, device, inode, size, changed_ns = _STAMP.unpack(packed)
        return cls(device, inode, size, modified_ns, changed_ns)


_STAMP = struct.Struct(">qQQQq")
pack_stamp = _STAMP.pack
"""``pack_stamp(modified_ns, device, inode, size, changed_ns)``: the bytes of a :class:`FileStamp`."""
PACKED_IDENTITY = slice(8, 24)
"""The slice of a packed stamp with device and inode, which identify a file under any name."""


class SizedContent(msgspec.Struct, frozen=True):
    """The bytes behind ``read``, whose number is known."""

    read: Read
    length: int

    def size(self) -> int:
        return self.length


class FileState(msgspec.Struct, frozen=True, gc=False):
    """A file and its state at one time."""

    path: str
    stamp: bytes
    """The packed :class:`FileStamp`."""
    number: int = 0
    """Its number in the catalog; 0 if it is not in the catalog or has changed since."""


class StoredLog(msgspec.Struct, frozen=True, gc=False):
    """A log in a store, as listed without opening it."""

    key: str
    size: int
    modified: float
    """Unix seconds."""
    path: str | None = None
    """The path of the file; None in stores without files."""
    stamp: FileStamp | None = None
    """None in stores without files."""
    header: Header | None = None
    """The header, if the store knows it without opening the log."""
    derived: bool = False
    """Whether the stamp stands for rows of a database, so that its ``changed_ns`` is not a time."""

    @property
    def changed_ms(self) -> int:
        """When the log changed last, in Unix milliseconds; for a file by a time that programs cannot set."""
        if self.stamp is None or self.derived:
            return round(self.modified * 1000)
        return self.stamp.changed_ns // 1_000_000


class ScanResult(NamedTuple):
    """The contents of a store: the logs, newest first, and the files that are not listed."""

    found: list[StoredLog]
    hidden: list[SkippedFile]


class TrashItem(msgspec.Struct, frozen=True):
    """A log in the trash; ``token`` restores it."""

    token: str
    key: str
    size: int
    removed: float
    """Unix seconds."""
    draft: bool = False


class Store(Protocol):
    """Keyed logs."""

    @property
    def name(self) -> str:
        """The display name for messages."""
        ...

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        """List the logs, newest first, without opening them. An empty or missing store is not an error.

        ``limit`` is the page size, and ``after``, the ``modified`` and ``key`` of its last log, starts the
        next page. Hidden files are part of the first page. ``prefix`` selects keys.
        """
        ...

    def stat(self, key: str) -> StoredLog | None:
        """Return one log; None if there is none."""
        ...

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        """Open a log cheaply, for reading only. Raises SessionNotFound if there is none."""
        ...

    def open(self, key: str, *, durability: Durability = "fsync") -> Log:
        """Open a log. Raises SessionNotFound if there is none."""
        ...

    def create(self, key: str, data: bytes, *, durability: Durability = "fsync") -> Log:
        """Create a log with these lines. Raises FileExistsError if the key is taken."""
        ...

    def rename(self, key: str, new_key: str) -> StoredLog:
        """Rename a log. Raises SessionNotFound if it is missing, FileExistsError if the new key is taken.

        Open handles of the log keep working.
        """
        ...

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys whose logs are known to be open or being written."""
        ...


@runtime_checkable
class DraftStore(Store, Protocol):
    """A store with drafts: unlisted sessions that have no reply yet.

    In other stores a session is a log from its first entry on. A draft is opened and read like a log.
    """

    def create(self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync") -> Log:
        """Create a log or draft with these lines. Raises FileExistsError if either has this key."""
        ...

    def publish(self, key: str, *, durability: Durability = "fsync") -> Log:
        """Turn a draft into a listed log. Raises FileExistsError if the key is taken."""
        ...

    def drafts(self) -> list[StoredLog]:
        """Return the drafts, newest first."""
        ...

    def drop_draft(self, key: str) -> bool:
        """Delete a draft permanently; False if there is none."""
        ...


@runtime_checkable
class TrashStore(Store, Protocol):
    """A store whose logs can be removed and restored."""

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        """Move a log (or a draft) to the trash; None if there is none."""
        ...

    def trashed(self) -> list[TrashItem]:
        """Return the items in the trash, last removed first."""
        ...

    def restore(self, token: str) -> StoredLog:
        """Restore a log. Raises SessionNotFound for an unknown token, FileExistsError for a taken key."""
        ...


@runtime_checkable
class ReadableTrash(TrashStore, Protocol):
    """A store whose removed logs can be read without restoring them."""

    def read_trashed(self, token: str) -> AbstractContextManager[Read]:
        """Open a log in the trash. Raises SessionNotFound for an unknown token."""
        ...


@runtime_checkable
class LoadStore(Store, Protocol):
    """A store that can load a complete log at once, with any content."""

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        """Create a log of exactly these bytes, which need not be whole lines, atomically.

        Raises FileExistsError if the key is taken.
        """
        ...


@runtime_checkable
class AddressedStore(Store, Protocol):
    """A store whose logs have paths: files, and databases as ``FILE#KEY``."""

    def path_of(self, key: str) -> str:
        """Return the path that opens a log, whether or not it exists."""
        ...


@runtime_checkable
class ClosableStore(Store, Protocol):
    """A store that holds connections or files between calls."""

    def close(self) -> None:
        """Close them: whatever is asked of the store or its logs later raises StoreClosed.

        What other threads are doing is finished first. Closing twice is harmless.
        """
        ...


def close_store(store: Store) -> None:
    """Close a store that needs it."""
    if isinstance(store, ClosableStore):
        store.close()


def hashed(values: tuple[object, ...]) -> int:
    """Return a hash for a stamp that is stable across processes.

    As a time it is in the past, so that nothing appears to have just changed.
    """
    from hashlib import blake2b  # noqa: PLC0415  not needed for files

    return int.from_bytes(
        blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big"
    )


def no_session(key: str, where: str) -> SessionNotFound:
    """Return the error for a key that the store of this name does not have."""
    return SessionNotFound(f"no session named {key!r} in {where}")


def key_taken(doing: str, key: str, where: str) -> KeyTaken:
    """Return the error for a key that the store of this name has already."""
    return KeyTaken(f"cannot {doing} in {where}: a session {key!r} already exists; rename or remove it first")


def drafts_in(store: Store) -> list[StoredLog]:
    """Return the drafts of a store, newest first; empty if the store does not support drafts."""
    return store.drafts() if isinstance(store, DraftStore) else []


def trash_of(store: Store) -> TrashStore:
    """Return the store as a TrashStore. Raises NotSupported if it has no trash."""
    if isinstance(store, TrashStore):
        return store
    raise NotSupported(f"{store.name} has no trash: nothing can be removed from it")


_MAX_KEY_BYTES = 249
"""Maximum bytes of a key: a file name can have 255, and ``.jsonl`` takes six of them."""
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}"
_NAME = r"\d{4}-\d\d-\d\dT[\d-]{6,}Z?_(.+)"
_FORBIDDEN = r"[/\\\x00-\x1f\x7f]"


def id_in_key(key: str) -> str:
    """Return the session id in a key: what follows the time, in file names that begin with one."""
    named = re.fullmatch(_NAME, key)
    return key if named is None else named[1]


def check_key(key: str) -> str:
    """Return the key if it is a valid, bare, visible file name; raises InvalidId otherwise."""
    require_text("a key", key, empty=True)
    if not is_key(key):
        raise InvalidId(f"{key!r} cannot name a session: an id is a bare name, never a path")
    return key


def is_key(key: str) -> bool:
    """Return whether a text is a valid key."""
    if re.fullmatch(_PLAIN, key) is not None:
        return True
    if not key or key[0] == "." or re.search(_FORBIDDEN, key) is not None or key != key.strip():
        return False
    try:
        return len(key.encode("utf-8", "surrogateescape")) <= _MAX_KEY_BYTES
    except UnicodeEncodeError:
        return False


def page_of(
    found: list[StoredLog], limit: int | None, after: tuple[float, str] | None, prefix: str
) -> list[StoredLog]:
    """Return one page of logs that are all in memory, in any order."""
    if limit is not None and limit < 0:
        raise InvalidArgument(f"a limit cannot be negative: {limit}")
    if prefix:
        found = [stored for stored in found if stored.key.startswith(prefix)]
    found = sorted(found, key=by_newest)
    if after is not None:
        last = (-round(after[0] * 1000), after[1])
        found = [stored for stored in found if by_newest(stored) > last]
    return found if limit is None else found[:limit]


def by_newest(item: Any) -> tuple[float, str]:
    """Sort key: latest change first, in milliseconds like rows, ties by key."""
    return (-round(item.modified * 1000), item.key)
