"""Whether the write-ahead log beside a SQLite file belongs to it.

SQLite applies any ``-wal`` that it finds beside a file, and writes it into the file later: a backup that was
copied over a database whose ``-wal`` was left shows, and becomes, that one. The schema cookie on the first
page tells them apart. A database of branchline begins with a random one, and each connection that writes
counts it up by one, in its first transaction. So the log continues the file if the first cookie in the log is
that of the file or the next one, or if some of the log was written into the file already.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import time
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from branchline.errors import LogError

__all__ = ["require_own_wal"]

_COOKIE = slice(40, 44)
_LARGEST = 0x7FFFFFFF
_HEADER, _FRAME = 32, 24
_SALTS = slice(16, 24)
_FRAME_SALTS = slice(8, 16)
_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_TRIES = 5  # while another program writes, the two files are read at different moments


def require_own_wal(path: str) -> None:
    """Raise LogError if a file ``-wal`` beside a database belongs to another one, or to another state of it.

    To be called before SQLite opens the database. Reads a few bytes of each page in the log.
    """
    for left in reversed(range(_TRIES)):
        try:
            if _continues(path):
                return
        except (OSError, sqlite3.Error):
            return  # there is no log, or opening the database says what is wrong
        if left:
            time.sleep(0.01)
    raise LogError(
        f"cannot open {path}: {path}-wal belongs to another database or to another state of this one, as "
        f"after a restored backup. Nothing was changed. To use {path} as it is, move {path}-wal and "
        f"{path}-shm elsewhere; entries that are only in that -wal are then missing"
    )


def _continues(path: str) -> bool:
    # By SQLite: closing a descriptor of our own would release the locks that it has on the file.
    address = f"file:{quote(path)}?mode=ro&immutable=1"
    with open(f"{path}-wal", "rb", buffering=_FRAME + _COOKIE.stop) as log:
        if not (cookies := list(_cookies(log, checked=False))):
            return True
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            (own,) = database.execute("PRAGMA schema_version").fetchone()
        # A crash leaves frames that SQLite does not apply; to tell them takes a hundred times longer.
        return _is_among(own, cookies) or _is_among(own, list(_cookies(log, checked=True)))


def _is_among(own: int, cookies: list[int]) -> bool:
    if not cookies:
        return True
    first, last = cookies[0] - 1, cookies[-1]
    return bool((own - first) & _LARGEST <= (last - first) & _LARGEST)  # counted round


def _cookies(log: BinaryIO, *, checked: bool) -> Iterator[int]:
    """Yield the cookie of each copy of the first page in a log, in order.

    ``checked`` leaves out what SQLite does: frames whose checksum is wrong, and those after the last commit.
    """
    log.seek(0)
    header = log.read(_HEADER)
    if header[:4] not in _MAGIC:
        return
    size, at = int.from_bytes(header[8:12]), _HEADER
    order = "<" if header[:4] == _MAGIC[0] else ">"
    sums, waiting = _sums((0, 0), header[:24], order), list[int]()
    if checked and sums != struct.unpack(">II", header[24:]):
        return
    length = _FRAME + (size if checked else _COOKIE.stop)
    while log.seek(at) and len(frame := log.read(length)) == length:
        if frame[_FRAME_SALTS] != header[_SALTS]:
            return  # left from before the log was started again
        if checked:
            sums = _sums(_sums(sums, frame[:8], order), frame[_FRAME:], order)
            if sums != struct.unpack(">II", frame[16:_FRAME]):
                return
        if int.from_bytes(frame[:4]) == 1:
            waiting.append(int.from_bytes(frame[_FRAME:][_COOKIE]) & _LARGEST)
        if not checked or any(frame[4:8]):  # the last frame of a transaction has the size of the database
            yield from waiting
            waiting.clear()
        at += _FRAME + size


def _sums(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """Continue the checksum of a write-ahead log."""
    one, two = sums
    for left, right in struct.iter_unpack(f"{order}II", data):
        one = (one + left + two) & 0xFFFFFFFF
        two = (two + right + one) & 0xFFFFFFFF
    return one, two
