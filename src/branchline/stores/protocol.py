"""What a store is: logs by key. Drafts and a trash are separate protocols, which a store may lack.

A key is a bare name, never a path. Anything that keeps these promises can hold sessions; the suite in
:mod:`branchline.stores.conformance` checks them.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from branchline.entries import Header
from branchline.errors import InvalidId, NotSupported
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
    "ScanResult",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "by_newest",
    "check_key",
    "chunks",
    "close_store",
    "drafts_in",
    "hashed",
    "pack_stamp",
    "page_of",
    "trash_of",
]

Read = Callable[[int, int], bytes]
"""``read(offset, size)``: bytes of a log, fewer than ``size`` only at its end."""


class FileStamp(msgspec.Struct, frozen=True, gc=False):
    """What tells one state of a file from another without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    """The time of the last change of the inode, which no program can set back."""

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """The stamp in the status of a file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @property
    def packed(self) -> bytes:
        """The stamp as bytes that sort by the time of the last change; empty where a number is too large."""
        try:
            return pack_stamp(self.modified_ns, self.device, self.inode, self.size, self.changed_ns)
        except struct.error:
            return b""

    @classmethod
    def unpacked(cls, packed: bytes) -> FileStamp:
        """The stamp in these bytes."""
        modified_ns, device, inode, size, changed_ns = _STAMP.unpack(packed)
        return cls(device, inode, size, modified_ns, changed_ns)


_STAMP = struct.Struct(">qQQQq")
pack_stamp = _STAMP.pack
"""``pack_stamp(modified_ns, device, inode, size, changed_ns)``: the bytes of a :class:`FileStamp`."""
PACKED_IDENTITY = slice(8, 24)
"""Where a packed stamp holds device and inode, by which one file under two names is known."""


class FileState(msgspec.Struct, frozen=True, gc=False):
    """A file as it was when somebody looked at it."""

    path: str
    stamp: bytes
    """The packed :class:`FileStamp`."""
    number: int = 0
    """The number that the catalog knows it by; 0 where it does not, or where the file changed since."""


class StoredLog(msgspec.Struct, frozen=True, gc=False):
    """One log as the store sees it, without opening it."""

    key: str
    size: int
    modified: float
    """Unix seconds."""
    path: str | None = None
    """Where the file lies; None where there are no files."""
    stamp: FileStamp | None = None
    """None where there are no files."""
    header: Header | None = None
    """The header, where the store knows it without opening the log."""


class ScanResult(NamedTuple):
    """What lies in a store: the logs newest first, and what was seen but is not a log."""

    found: list[StoredLog]
    hidden: list[SkippedFile]


class TrashItem(msgspec.Struct, frozen=True):
    """A log in the trash; ``token`` brings it back."""

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
        """What messages call it."""
        ...

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        """The logs, newest first, without opening any. Nothing there is an empty scan, not an error.

        ``limit`` ends a page, and ``after``, the ``modified`` and ``key`` of its last log, begins the next
        one; what is hidden comes with the first page. With a ``prefix`` only keys that begin so are found.
        """
        ...

    def stat(self, key: str) -> StoredLog | None:
        """One log; None when there is none."""
        ...

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        """A cheap look at a log, for those who only read. SessionNotFound when there is none."""
        ...

    def open(self, key: str, *, durability: Durability = "fsync") -> Log:
        """The log of this key. SessionNotFound when there is none."""
        ...

    def create(self, key: str, data: bytes, *, durability: Durability = "fsync") -> Log:
        """A new log that holds these lines. FileExistsError when the key is taken."""
        ...

    def rename(self, key: str, new_key: str) -> StoredLog:
        """Give a log another key. SessionNotFound without a source, FileExistsError for a taken target.

        Whoever has the log open goes on appending to it.
        """
        ...

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Those of these logs that somebody is known to have open, or to be writing, now."""
        ...


@runtime_checkable
class DraftStore(Store, Protocol):
    """A store with drafts, which no listing shows: sessions whose first reply has not come.

    Without them a session is a log from its first entry on. A draft is opened and read as a log is.
    """

    def create(self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync") -> Log:
        """A new log that holds these lines. FileExistsError when a log or a draft has this key."""
        ...

    def publish(self, key: str, *, durability: Durability = "fsync") -> Log:
        """Turn a draft into a log that is listed. FileExistsError when the key is taken."""
        ...

    def drafts(self) -> list[StoredLog]:
        """Drafts, newest first: sessions whose first reply never came."""
        ...

    def drop_draft(self, key: str) -> bool:
        """Forget a draft that holds nothing worth keeping; False when there is none."""
        ...


@runtime_checkable
class TrashStore(Store, Protocol):
    """A store whose logs can be removed and brought back."""

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        """Move a log (or a draft) to the trash; None when there is none."""
        ...

    def trashed(self) -> list[TrashItem]:
        """What lies in the trash, last removed first."""
        ...

    def restore(self, token: str) -> StoredLog:
        """Bring a log back. SessionNotFound for an unknown token, FileExistsError when its key is taken."""
        ...


@runtime_checkable
class LoadStore(Store, Protocol):
    """A store that takes a whole log at once, whatever is in it."""

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        """A new log of exactly these bytes, which need not be whole lines; none of it is seen before all is.

        FileExistsError when the key is taken.
        """
        ...


@runtime_checkable
class AddressedStore(Store, Protocol):
    """A store whose logs can be named from outside: files, and databases by ``FILE#KEY``."""

    def path_of(self, key: str) -> str:
        """The path by which a log is opened, whether or not there is one yet."""
        ...


@runtime_checkable
class ClosableStore(Store, Protocol):
    """A store that holds connections or files between calls."""

    def close(self) -> None:
        """Let go of them. Closing twice is harmless; a log that is open must be closed before."""
        ...


def close_store(store: Store) -> None:
    """Close a store that needs it."""
    if isinstance(store, ClosableStore):
        store.close()


def chunks(read: Read) -> Iterator[bytes]:
    """The bytes of a log from its beginning to its end."""
    offset = 0
    while data := read(offset, _CHUNK):
        yield data
        offset += len(data)


def hashed(values: tuple[object, ...]) -> int:
    """A number for a stamp that is the same in every process.

    As a time it is in the past, so that nothing seems to have changed just now.
    """
    from hashlib import blake2b  # noqa: PLC0415  files need none

    return int.from_bytes(
        blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big"
    )


def drafts_in(store: Store) -> list[StoredLog]:
    """The drafts of a store, newest first; none in a store that has no drafts."""
    return store.drafts() if isinstance(store, DraftStore) else []


def trash_of(store: Store) -> TrashStore:
    """The store as one that can remove logs. NotSupported if it has no trash."""
    if isinstance(store, TrashStore):
        return store
    raise NotSupported(f"{store.name} has no trash: nothing can be removed from it")


_CHUNK = 1 << 20
_LONGEST = 249
"""Bytes of a key: a file name can have 255, and ``.jsonl`` takes six of them."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}").fullmatch
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f]").search


def check_key(key: str) -> str:
    """The key itself, if it may be a file name: bare, visible, no path. InvalidId otherwise."""
    if not is_key(key):
        raise InvalidId(f"{key!r} cannot name a session: an id is a bare name, never a path")
    return key


def is_key(key: str) -> bool:
    """Whether this may be the key of a log."""
    if _PLAIN(key) is not None:
        return True
    if not key or key[0] == "." or _FORBIDDEN(key) is not None or key != key.strip():
        return False
    try:
        return len(key.encode("utf-8", "surrogateescape")) <= _LONGEST
    except UnicodeEncodeError:
        return False


def page_of(
    found: list[StoredLog], limit: int | None, after: tuple[float, str] | None, prefix: str
) -> list[StoredLog]:
    """One page of logs, for a store that has them all in memory, in any order."""
    if limit is not None and limit < 0:
        raise ValueError(f"a limit cannot be negative: {limit}")
    if prefix:
        found = [stored for stored in found if stored.key.startswith(prefix)]
    found = sorted(found, key=by_newest)
    if after is not None:
        last = (-round(after[0] * 1000), after[1])
        found = [stored for stored in found if by_newest(stored) > last]
    return found if limit is None else found[:limit]


def by_newest(item: Any) -> tuple[float, str]:
    """Sort key: latest change first, in milliseconds as rows tell it, ties by key."""
    return (-round(item.modified * 1000), item.key)
