"""Every state that a power cut may leave: a model of a disk that keeps only what was synced.

`Recorder` is a `System` that does everything for real (but the syncs) and writes down what each call means for
the disk. `states` then cuts the power at every point of the recording. What was not synced may have reached the
disk or not, in any order:

- a write: not at all, up to any byte, or with any of its sectors missing (read as zeros);
- a name (made, linked, removed, renamed): there or not, each for itself.

The model is harsher than real file systems: syncing a file does not sync its name, and sectors are small.
Lock files are left out, because nobody relies on them after a crash.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from branchline.log import SYSTEM, System

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike, ReadableBuffer, StrOrBytesPath

SECTOR = 64
"""Smaller than any real one, so that records of ordinary length have several."""


class Promise(NamedTuple):
    """What must be there whenever the power fails from now on."""

    paths: tuple[str, ...] = ()
    """The log lies at one of these, with all the lines …"""
    lines: tuple[bytes, ...] = ()
    kept: tuple[tuple[str, bytes], ...] = ()
    """… and in each of these directories lies a file with these bytes."""


class Name(NamedTuple):
    directory: int
    changes: tuple[tuple[str, int | None], ...]


class Data(NamedTuple):
    node: int
    offset: int
    data: bytes


class Cut(NamedTuple):
    node: int
    size: int


class Sync(NamedTuple):
    node: int


Event = Name | Data | Cut | Sync | Promise
Tree = tuple[tuple[str, bytes | None], ...]
"""Path and content of everything on a disk; None stands for a directory."""

ROOT = 0
"""Number of the root directory; other directories have lower numbers, files higher ones."""


class Recorder(System):
    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.events: list[Event] = []
        self.full = False
        """While set, writes stop half-way and then fail, as on a full disk."""
        self._entries: dict[int, dict[str, int]] = {ROOT: {}}
        self._sizes: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._next_file = itertools.count(ROOT + 1)
        self._next_directory = itertools.count(ROOT - 1, -1)

    def promise(self, promise: Promise) -> None:
        self.events.append(promise)

    def open(self, path: StrOrBytesPath, flags: int, mode: int = 0o777, **more: Any) -> int:
        descriptor = SYSTEM.open(path, flags, mode, **more)
        place = self._place(path)
        if place is None:
            return descriptor
        directory, name = place
        node = self._entries[directory].get(name) if name else ROOT
        if node is None:
            assert flags & os.O_EXCL, "only new files are made"
            node = next(self._next_file)
            self._sizes[node] = 0
            self._change(directory, (name, node))
        self._open[descriptor] = node
        return descriptor

    def close(self, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        SYSTEM.close(descriptor)

    def write(self, descriptor: int, data: ReadableBuffer) -> int:
        data = bytes(data)
        if self.full:
            if len(data) < 20:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            data = data[: len(data) // 2]
        written = SYSTEM.write(descriptor, data)
        node = self._open[descriptor]
        self.events.append(Data(node, self._sizes[node], data[:written]))
        self._sizes[node] += written
        return written

    def pwrite(self, descriptor: int, data: ReadableBuffer, offset: int) -> int:
        assert descriptor not in self._open, "only lock files are written to at an offset"
        return SYSTEM.pwrite(descriptor, data, offset)

    def ftruncate(self, descriptor: int, size: int) -> None:
        SYSTEM.ftruncate(descriptor, size)
        self.events.append(Cut(self._open[descriptor], size))
        self._sizes[self._open[descriptor]] = size

    def fsync(self, descriptor: FileDescriptorLike) -> None:
        assert isinstance(descriptor, int)
        if descriptor in self._open:
            self.events.append(Sync(self._open[descriptor]))

    def fdatasync(self, descriptor: FileDescriptorLike) -> None:
        self.fsync(descriptor)

    def mkdir(self, path: StrOrBytesPath, mode: int = 0o777, **more: Any) -> None:
        SYSTEM.mkdir(path, mode, **more)
        place = self._place(path)
        if place is not None:
            node = next(self._next_directory)
            self._entries[node] = {}
            self._change(place[0], (place[1], node))

    def link(self, src: StrOrBytesPath, dst: StrOrBytesPath, **more: Any) -> None:
        SYSTEM.link(src, dst, **more)
        node = self._node(src)
        directory, name = self._known_place(dst)
        self._change(directory, (name, node))

    def unlink(self, path: StrOrBytesPath, **more: Any) -> None:
        SYSTEM.unlink(path, **more)
        directory, name = self._known_place(path)
        self._change(directory, (name, None))

    def rename(self, src: StrOrBytesPath, dst: StrOrBytesPath, **more: Any) -> None:
        SYSTEM.rename(src, dst, **more)
        node = self._node(src)
        directory, old = self._known_place(src)
        other, new = self._known_place(dst)
        assert other == directory, "one step only within a directory"
        self._change(directory, (old, None), (new, node))

    def _change(self, directory: int, *changes: tuple[str, int | None]) -> None:
        self.events.append(Name(directory, changes))
        _apply(self._entries[directory], changes)

    def _node(self, path: StrOrBytesPath) -> int:
        directory, name = self._known_place(path)
        return self._entries[directory][name]

    def _known_place(self, path: StrOrBytesPath) -> tuple[int, str]:
        place = self._place(path)
        assert place is not None, "lock files are neither linked, renamed nor removed"
        return place

    def _place(self, path: StrOrBytesPath) -> tuple[int, str] | None:
        """The directory and the name that a path means; None for what the model leaves out."""
        parts = os.path.relpath(os.fsdecode(path), self.root).split(os.sep)
        if parts[0] == ".." or "locks" in parts:
            return None
        if parts == ["."]:
            return ROOT, ""
        directory = ROOT
        for part in parts[:-1]:
            directory = self._entries[directory][part]
        return directory, parts[-1]


def _apply(entries: dict[str, int], changes: tuple[tuple[str, int | None], ...]) -> None:
    for name, node in changes:
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


@dataclass
class _Pending:
    """A file or directory: what is on the disk for certain, and what may be."""

    data: bytes = b""
    names: dict[str, int] = field(default_factory=dict)
    events: list[Name | Data | Cut] = field(default_factory=list)


def states(events: list[Event]) -> Iterator[tuple[Tree, Promise]]:
    """Every disk that a power cut during the recording may leave, with what was promised by then.

    It is enough to look before each sync and each promise, and at the end: what is possible earlier is possible
    there too, because any event that is not synced may be absent.
    """
    nodes: dict[int, _Pending] = {ROOT: _Pending()}
    promise = Promise()
    seen: set[Tree] = set()
    for event in [*events, Promise()]:
        if isinstance(event, Promise | Sync):
            for tree in _trees(nodes):
                if tree not in seen:
                    seen.add(tree)
                    yield tree, promise
        match event:
            case Promise():
                promise = event
                seen.clear()
            case Sync(node):
                pending = nodes[node]
                pending.data = _written(pending.data, pending.events)
                for each in pending.events:
                    if isinstance(each, Name):
                        _apply(pending.names, each.changes)
                pending.events = []
            case Name(directory, changes):
                nodes[directory].events.append(event)
                for _, made in changes:
                    if made is not None:
                        nodes.setdefault(made, _Pending())
            case Data(node) | Cut(node):
                nodes[node].events.append(event)


def _written(data: bytes, events: Sequence[Name | Data | Cut]) -> bytes:
    for event in events:
        match event:
            case Data(_, offset, piece):
                data = data[:offset].ljust(offset, b"\0") + piece + data[offset + len(piece) :]
            case Cut(_, size):
                data = data[:size]
    return data


def _trees(nodes: dict[int, _Pending]) -> Iterator[Tree]:
    unsure = [node for node in nodes if node <= ROOT and nodes[node].events]
    for chosen in itertools.product(*(_subsets(nodes[node].events) for node in unsure)):
        entries = {node: dict(pending.names) for node, pending in nodes.items() if node <= ROOT}
        for node, subset in zip(unsure, chosen, strict=True):
            for event in subset:
                _apply(entries[node], event.changes)
        reached = list(_walk(entries, ROOT, ""))
        contents = {node: _contents(nodes[node]) for _, node in reached if node > ROOT}
        for content in _combinations(contents, nodes):
            yield tuple((path, content.get(node)) for path, node in reached)


def _combinations(contents: dict[int, set[bytes]], nodes: dict[int, _Pending]) -> Iterator[dict[int, bytes]]:
    """Contents for all files together: one of them in every state, beside the others with all or nothing."""
    extremes = {node: {nodes[node].data, _written(nodes[node].data, nodes[node].events)} for node in contents}
    unsure = [node for node in contents if len(contents[node]) > 1]
    for one in unsure or [0]:
        choices = [contents[node] if node == one else extremes[node] for node in contents]
        for each in itertools.product(*choices):
            yield dict(zip(contents, each, strict=True))


def _subsets(events: Sequence[Name | Data | Cut]) -> list[tuple[Name, ...]]:
    names = [event for event in events if isinstance(event, Name)]
    assert len(names) == len(events) <= 6, "too many names without a sync, or data in a directory"
    return [each for count in range(len(names) + 1) for each in itertools.combinations(names, count)]


def _walk(entries: dict[int, dict[str, int]], directory: int, prefix: str) -> Iterator[tuple[str, int]]:
    for name, node in sorted(entries[directory].items()):
        yield prefix + name, node
        if node <= ROOT:
            yield from _walk(entries, node, f"{prefix}{name}/")


def _contents(pending: _Pending) -> set[bytes]:
    """Everything that a file may hold when some of its events have not reached the disk."""
    found = {pending.data}
    whole = pending.data
    for number, event in enumerate(pending.events):
        before, whole = whole, _written(whole, [event])
        found.add(whole)
        if isinstance(event, Data):
            found.update(before + event.data[:size] for size in range(len(event.data)))
            found.update(_without_sectors(whole, event))
            for earlier in pending.events[:number]:
                if isinstance(earlier, Data):
                    zeros = Data(earlier.node, earlier.offset, bytes(len(earlier.data)))
                    found.add(_written(whole, [zeros]))
    return found


def _without_sectors(whole: bytes, event: Data) -> Iterator[bytes]:
    end = event.offset + len(event.data)
    starts = range(event.offset - event.offset % SECTOR, end, SECTOR)
    spans = [(max(start, event.offset), min(start + SECTOR, end)) for start in starts]
    if len(spans) <= 4:
        losses = [each for count in range(1, len(spans) + 1) for each in itertools.combinations(spans, count)]
    else:
        losses = [(span,) for span in spans] + [tuple(spans[:number]) for number in range(len(spans))]
    for lost in losses:
        data = bytearray(whole)
        for start, stop in lost:
            data[start:stop] = bytes(stop - start)
        yield bytes(data)


def materialise(tree: Tree, root: str) -> None:
    """Write a state down as real files."""
    os.mkdir(root)
    for path, content in tree:
        if content is None:
            os.mkdir(os.path.join(root, path))
        else:
            with open(os.path.join(root, path), "wb") as file:
                file.write(content)
