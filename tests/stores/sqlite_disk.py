"""What a power cut may leave of a SQLite database: each write that SQLite makes is recorded, and cut.

`recorded` gives SQLite a file system layer that passes every call on to the usual one, but does not sync, and
writes down what each call means for the disk. `states` then cuts the power before each sync. What was not synced
may have reached the disk or not: any write may be missing, or end at any sector, or lack any one of them. A name
that was made or removed may be there or not, until the directory is synced; SQLite does that with the first sync
of a new file.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

SECTOR = 512


class Write(NamedTuple):
    node: int
    offset: int
    data: bytes


class Truncate(NamedTuple):
    node: int
    size: int


class Name(NamedTuple):
    path: str
    node: int | None
    """None if the name was removed."""


class Sync(NamedTuple):
    node: int
    names: bool
    """Whether the directory is synced too."""


class Promise(NamedTuple):
    """What was acknowledged by now."""

    number: int


Event = Write | Truncate | Name | Sync | Promise
Disk = dict[str, bytes]
"""The contents of all files by their names."""


# -- recording --------------------------------------------------------------------------------------------


class Recording:
    """What SQLite did to the files of this process, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._numbers = itertools.count(1)
        self._nodes: dict[str, int] = {}
        self._open: dict[int, int] = {}
        self._fresh: set[int] = set()

    def promise(self, number: int) -> None:
        self.events.append(Promise(number))

    def publish(self, source: str, target: str) -> None:
        """A file got its name for good, as `publish_file` does it."""
        node = self._nodes[target] = self._nodes.pop(source)
        self.events += [
            Sync(node, names=False),
            Name(target, node),
            Sync(node, names=True),
            Name(source, None),
        ]

    def opened(self, path: str, file: int, *, is_new: bool) -> None:
        if is_new or path not in self._nodes:
            node = self._nodes[path] = next(self._numbers)
            self._fresh.add(node)
            self.events.append(Name(path, node))
        self._open[file] = self._nodes[path]

    def deleted(self, path: str, *, names: bool) -> None:
        if self._nodes.pop(path, None) is not None:
            self.events.append(Name(path, None))
            if names:
                self.events.append(Sync(0, names=True))

    def written(self, file: int, offset: int, data: bytes) -> None:
        self.events.append(Write(self._open[file], offset, data))

    def truncated(self, file: int, size: int) -> None:
        self.events.append(Truncate(self._open[file], size))

    def synced(self, file: int) -> None:
        node = self._open[file]
        self.events.append(Sync(node, names=node in self._fresh))
        self._fresh.discard(node)


_Pointer = ctypes.c_void_p
_int = ctypes.c_int
_XOpen = ctypes.CFUNCTYPE(_int, _Pointer, _Pointer, _Pointer, _int, _Pointer)
_XDelete = ctypes.CFUNCTYPE(_int, _Pointer, _Pointer, _int)
_METHODS = {
    # Their places among the methods of a file, and their types.
    "write": (2, ctypes.CFUNCTYPE(_int, _Pointer, _Pointer, _int, ctypes.c_int64)),
    "truncate": (3, ctypes.CFUNCTYPE(_int, _Pointer, ctypes.c_int64)),
    "sync": (4, ctypes.CFUNCTYPE(_int, _Pointer, _int)),
}


class _Layer(ctypes.Structure):
    """``sqlite3_vfs``; what is not used here has no name."""

    _fields_ = (
        ("numbers", _int * 3),
        ("next", _Pointer),
        ("name", ctypes.c_char_p),
        ("data", _Pointer),
        ("open", _XOpen),
        ("delete", _XDelete),
        ("others", _Pointer * 14),
    )


class _Methods(ctypes.Structure):
    """``sqlite3_io_methods``."""

    _fields_ = (("version", _int), ("all", _Pointer * 18))


@contextlib.contextmanager
def recorded() -> Iterator[Recording]:
    """Record what SQLite writes in this process. Every connection must be closed within the block."""
    library = _library()
    usual = ctypes.cast(library.sqlite3_vfs_find(None), ctypes.POINTER(_Layer))
    recorder = _Recorder(usual)
    assert library.sqlite3_vfs_register(ctypes.byref(recorder.layer), 1) == 0
    try:
        yield recorder.recording
    finally:
        library.sqlite3_vfs_register(usual, 1)
        library.sqlite3_vfs_unregister(ctypes.byref(recorder.layer))


def _library() -> Any:
    """The SQLite that Python uses."""
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "sqlite3" in line}
    for path in paths:
        library = ctypes.CDLL(path)
        if hasattr(library, "sqlite3_vfs_find"):
            library.sqlite3_libversion.restype = ctypes.c_char_p
            assert library.sqlite3_libversion().decode() == sqlite3.sqlite_version
            library.sqlite3_vfs_find.restype = _Pointer
            return library
    pytest.skip("this Python has SQLite built in and does not show its functions")


class _Recorder:
    """The layer, and what must live as long as it does."""

    def __init__(self, usual: Any) -> None:
        self.recording = Recording()
        self.layer = _Layer.from_buffer_copy(usual.contents)
        self.layer.name = b"recorder"
        self.layer.next = None
        self.layer.open = _XOpen(self._open)
        self.layer.delete = _XDelete(self._delete)
        self._usual = usual
        self._methods: dict[int, _Methods] = {}
        self._passed_on: dict[str, Any] = {}
        self._own = {verb: kind(getattr(self, f"_{verb}")) for verb, (_place, kind) in _METHODS.items()}

    def _open(self, _layer: int, name: int | None, file: int, flags: int, out: int) -> int:
        path = None if name is None else os.fsdecode(ctypes.string_at(name))
        is_new = path is not None and not os.path.exists(path)
        result: int = self._usual.contents.open(self._usual, name, file, flags, out)
        if result == 0 and path is not None:
            methods = ctypes.cast(file, ctypes.POINTER(_Pointer))
            methods[0] = ctypes.addressof(self._recording_methods(methods[0]))
            self.recording.opened(path, file, is_new=is_new)
        return result

    def _recording_methods(self, usual: int) -> _Methods:
        if usual not in self._methods:
            table = self._methods[usual] = _Methods.from_buffer_copy(_Methods.from_address(usual))
            for verb, (place, kind) in _METHODS.items():
                self._passed_on.setdefault(verb, kind(table.all[place]))  # the same for all kinds of files
                table.all[place] = ctypes.cast(self._own[verb], _Pointer).value
        return self._methods[usual]

    def _delete(self, _layer: int, name: int, sync: int) -> int:
        result: int = self._usual.contents.delete(self._usual, name, 0)
        if result == 0:
            self.recording.deleted(os.fsdecode(ctypes.string_at(name)), names=bool(sync))
        return result

    def _write(self, file: int, data: int, size: int, offset: int) -> int:
        self.recording.written(file, offset, ctypes.string_at(data, size))
        return int(self._passed_on["write"](file, data, size, offset))

    def _truncate(self, file: int, size: int) -> int:
        self.recording.truncated(file, size)
        return int(self._passed_on["truncate"](file, size))

    def _sync(self, file: int, _flags: int) -> int:
        self.recording.synced(file)
        return 0


# -- cutting the power ------------------------------------------------------------------------------------


class State(NamedTuple):
    disk: Disk
    promised: int
    """The number of the last promise before the cut."""


def states(events: Sequence[Event]) -> Iterator[State]:
    """What may be on the disk after a power cut, at each sync and each promise."""
    contents: dict[int, bytes] = {}
    names: dict[str, int] = {}
    pending: list[Write | Truncate] = []
    renamed: list[Name] = []
    promised = 0
    for event in [*events, Promise(-1)]:
        if isinstance(event, Sync | Promise):
            yield from _cut(contents, names, pending, renamed, promised)
        match event:
            case Write() | Truncate():
                pending.append(event)
            case Name():
                renamed.append(event)
            case Sync(node, with_names):
                done = [change for change in pending if change.node == node]
                pending = [change for change in pending if change.node != node]
                contents[node] = _changed(contents.get(node, b""), done)
                if with_names:
                    _rename(names, renamed)
                    renamed = []
            case Promise(number):
                promised = number


def _cut(
    contents: dict[int, bytes],
    names: dict[str, int],
    pending: Sequence[Write | Truncate],
    renamed: Sequence[Name],
    promised: int,
) -> Iterator[State]:
    for count in range(len(renamed) + 1):
        found = dict(names)
        _rename(found, renamed[:count])
        for changes in _arrived(pending):
            disk = {}
            for path, node in found.items():
                own = [change for change in changes if change.node == node]
                disk[path] = _changed(contents.get(node, b""), own)
            yield State(disk, promised)


def _arrived(pending: Sequence[Write | Truncate]) -> Iterator[Sequence[Write | Truncate]]:
    """What may have reached the disk of some changes that were not synced."""
    for count in range(len(pending) + 1):
        yield pending[:count]
        if count < len(pending) - 1:
            yield [*pending[:count], *pending[count + 1 :]]  # one is missing
        if count < len(pending) and isinstance(pending[count], Write):
            before, rest = pending[:count], pending[count + 1 :]
            for part in _parts(pending[count]):  # type: ignore[arg-type]
                yield [*before, *part]
                yield [*before, *part, *rest]


def _parts(write: Write) -> Iterator[list[Write]]:
    """A write that ends at a sector, and one that lacks the last or the first one."""
    first = SECTOR - write.offset % SECTOR
    for size in {first, first + SECTOR * (len(write.data) // SECTOR // 2), len(write.data) - SECTOR}:
        if 0 < size < len(write.data):
            yield [write._replace(data=write.data[:size])]
            yield [write._replace(offset=write.offset + size, data=write.data[size:])]


def _changed(data: bytes, changes: Sequence[Write | Truncate]) -> bytes:
    made = bytearray(data)
    for change in changes:
        if isinstance(change, Truncate):
            del made[change.size :]
        else:
            made.extend(bytes(max(0, change.offset - len(made))))
            made[change.offset : change.offset + len(change.data)] = change.data
    return bytes(made)


def _rename(names: dict[str, int], changes: Sequence[Name]) -> None:
    for path, node in changes:
        if node is None:
            names.pop(path, None)
        else:
            names[path] = node
