"""The skeleton cache: large session files open without being read again.

A skeleton is the index of a session file as :mod:`branchline.formats.saved_index` writes it: ids, links,
types, times and offsets, no messages. It is stored in the cache directory, readable by its owner only, and
used only if

- device, inode, size and times of the file are those that were recorded, and the file had not changed for two
  seconds when it was read (a file may change twice within one tick of its clock); or
- the same file only grew: its first 64 KiB and the 4 KiB before its old end are the same. What was appended
  is read from there on.

Anything else, and any damage to the skeleton itself, which has a checksum, means a normal read. Skeletons
may be deleted at any time. ``BRANCHLINE_CACHE=0`` or the setting ``cache`` turns them off.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Callable

import msgspec

from branchline import places
from branchline.errors import BranchlineError
from branchline.formats import EntryLog, Format
from branchline.log import DecompressedLog, FileLog, IndexedLog, Log
from branchline.stores import DerivedLog
from branchline.stores.protocol import FileStamp

__all__ = ["open_entry_log"]

_SMALLEST = 4 << 20
_MAGIC = b"BLSKEL02"
_CAPACITY = 512 << 20
_RACE_NS = 2_000_000_000
_HEAD, _TAIL = 1 << 16, 1 << 12
_RENEWED = 1 << 20  # bytes that may be reread at each opening before a skeleton is rewritten
_LARGEST_HEADER = 1 << 16
_OFF = frozenset({"0", "false", "no", "off"})
_TOUCH_SECONDS = 86_400.0


class _Stamp(msgspec.Struct, kw_only=True, array_like=True, frozen=True):
    """The state of the file that a skeleton was made from."""

    path: str
    file: FileStamp
    checked_ns: int
    """When the file was read, by the clock of this machine."""
    consumed: int
    head: bytes
    tail: bytes
    body: int
    """The checksum of the index."""

    def is_current(self, status: os.stat_result) -> bool:
        """Return whether a file with this status is the one that was read."""
        return self.file == FileStamp.of(status) and self.file.changed_ns + _RACE_NS < self.checked_ns


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Stamp).decode


def open_entry_log(format_: Format, log: Log) -> EntryLog:
    """Open the index of a log, using the skeleton cache, and cache it if that pays off."""
    if isinstance(log, IndexedLog):
        return _open_indexed(format_, log)
    if isinstance(log, DerivedLog):
        return EntryLog(format_, log.read, log.reads_as)
    if not isinstance(log, FileLog) or isinstance(log, DecompressedLog) or log.size() < _SMALLEST:
        return EntryLog(format_, log.read, log.name)
    if os.environ.get("BRANCHLINE_CACHE", "").strip().lower() in _OFF:
        return EntryLog(format_, log.read, log.name)
    return _Skeleton(format_, log).open()


def _open_indexed(format_: Format, log: IndexedLog) -> EntryLog:
    """Open the index of a log in a database, which stores it. Such a log only grows."""
    saved = log.saved_index()
    opened, covered = None, 0
    if saved is not None and saved[0] <= log.size():
        with contextlib.suppress(ValueError, msgspec.MsgspecError, IndexError, TypeError, OverflowError):
            opened = EntryLog(format_, log.read, log.name, saved=saved[1])
            covered = saved[0] if opened.is_restored else 0
    if opened is None:
        opened = EntryLog(format_, log.read, log.name)
    if opened.reading.consumed - covered >= _RENEWED and (index := opened.save()) is not None:
        with contextlib.suppress(BranchlineError):  # a replica or a read-only role
            log.save_index(opened.reading.consumed, index)
    return opened


class _Skeleton:
    """The skeleton of one file."""

    def __init__(self, format_: Format, log: FileLog) -> None:
        self._format = format_
        self._log = log
        self._real = os.path.realpath(log.path)
        name = _hash(os.fsencode(self._real)).hex()
        self._root = places.skeleton_directory()
        self._path = os.path.join(self._root, name[:2], f"{name}.skel")

    def open(self) -> EntryLog:
        checked_ns = time.time_ns()
        status = self._log.status()
        found = self._restored(status)
        if found is not None:
            opened, stamp = found
            if self._log.size() - stamp.consumed < _RENEWED:
                return opened
        else:
            opened = EntryLog(self._format, self._log.read, self._log.name)
        with contextlib.suppress(OSError):
            self._save(opened, status, checked_ns)
        return opened

    # -- reading --------------------------------------------------------------------------------------

    def _restored(self, status: os.stat_result) -> tuple[EntryLog, _Stamp] | None:
        try:
            with open(self._path, "rb") as file:
                data = file.read()
                age = time.time() - os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        try:
            stamp, body = _unpacked(data)
            if not self._fits(stamp, status):
                return None
            opened = EntryLog(self._format, self._log.read, self._log.name, saved=body)
        except (ValueError, msgspec.MsgspecError, IndexError, TypeError, OverflowError):
            self._drop()  # damaged, whatever its checksum says
            return None
        if not opened.is_restored:
            return None
        opened.on_stale = self._drop
        if age > _TOUCH_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(self._path)  # the least recently used are deleted first
        return opened, stamp

    def _fits(self, stamp: _Stamp, status: os.stat_result) -> bool:
        if (stamp.path, stamp.file.device, stamp.file.inode) != (self._real, status.st_dev, status.st_ino):
            return False
        read = self._log.read
        if stamp.is_current(status):
            return _tail(read, stamp.consumed) == stamp.tail
        return (
            status.st_size > stamp.file.size
            and _tail(read, stamp.consumed) == stamp.tail
            and _head(read, stamp.consumed) == stamp.head
        )

    def _drop(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    # -- writing --------------------------------------------------------------------------------------

    def _save(self, opened: EntryLog, status: os.stat_result, checked_ns: int) -> None:
        """Save the index of a file that did not change during the read."""
        consumed, read = opened.reading.consumed, self._log.read
        if consumed != status.st_size or not _is_wanted(self._log.path):
            return
        body = opened.save()
        file = FileStamp.of(status)
        if body is None or file != FileStamp.of(self._log.status()):
            return
        stamp = _Stamp(
            path=self._real,
            file=file,
            checked_ns=checked_ns,
            consumed=consumed,
            head=_head(read, consumed),
            tail=_tail(read, consumed),
            body=zlib.crc32(body),
        )
        try:
            header = _encode(stamp)
        except UnicodeEncodeError:
            return  # a path that is not valid text
        lengths = len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little")
        padding = bytes(-(len(_MAGIC) + len(lengths) + len(header)) % 8)
        self._write((_MAGIC, lengths, header, padding, body))

    def _write(self, parts: tuple[bytes, ...]) -> None:
        folder = os.path.dirname(self._path)
        os.makedirs(os.path.dirname(self._root), 0o700, exist_ok=True)
        for directory in (self._root, folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        draft = f"{self._path}.{os.getpid()}.{time.monotonic_ns()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(draft, flags, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.writelines(parts)
            os.replace(draft, self._path)  # not synced: the checksum finds a torn one
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        _evict(self._root, keep=self._path)


def _unpacked(data: bytes) -> tuple[_Stamp, memoryview]:
    """Return the stamp and index in a skeleton. Raises ValueError if it is damaged."""
    start = len(_MAGIC) + 8
    size = int.from_bytes(data[len(_MAGIC) : start - 4], "little")
    header = data[start : start + size]
    if (
        not data.startswith(_MAGIC)
        or size > _LARGEST_HEADER
        or zlib.crc32(header) != int.from_bytes(data[start - 4 : start], "little")
    ):
        raise ValueError("not a skeleton")
    stamp = _decode(header)
    end = start + size
    body = memoryview(data)[end + -end % 8 :]
    if zlib.crc32(body) != stamp.body:
        raise ValueError("a damaged skeleton")
    return stamp, body


def _head(read: Callable[[int, int], bytes], end: int) -> bytes:
    return _hash(read(0, min(end, _HEAD)))


def _tail(read: Callable[[int, int], bytes], end: int) -> bytes:
    size = min(end, _TAIL)
    return _hash(read(end - size, size))


def _hash(data: bytes) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415  few sessions are large

    return blake2b(data, digest_size=20).digest()


def _is_wanted(path: str) -> bool:
    """Return whether the settings allow a skeleton of this file."""
    from fnmatch import fnmatchcase  # noqa: PLC0415  only needed before a write

    from branchline import settings  # noqa: PLC0415  as above

    wanted = settings.load().settings
    return wanted.cache and not any(fnmatchcase(path, pattern) for pattern in wanted.index_exclude)


def _evict(root: str, *, keep: str) -> None:
    """Delete the least recently used skeletons, and drafts of killed processes, above the capacity."""
    found = []
    for folder in os.scandir(root):
        if folder.is_dir(follow_symlinks=False):
            for item in os.scandir(folder.path):
                status = item.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, item.path))
    total = sum(size for _time, size, _path in found)
    for _time, size, path in sorted(found):
        if total <= _CAPACITY:
            break
        if path != keep:
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
