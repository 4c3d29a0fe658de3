"""Files that look like sessions, as a scan of the agents' directories finds them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

import msgspec

from branchline import places
from branchline.catalog.record import FileRecord
from branchline.formats import Format
from branchline.library.scanner import catalog_number
from branchline.stores import FileStamp, FileState, SkippedFile, StoredLog

__all__ = [
    "FoundFile",
    "expected_format",
    "found_log",
    "is_only_ours",
    "originals_first",
    "owner_of",
    "unpacked_first",
]


class FoundFile(msgspec.Struct, frozen=True, gc=False):
    """A file that looks like a session, and where it was found."""

    state: FileState
    place: places.Place
    others: tuple[places.Place, ...] = ()
    """Session directories of other agents with the same file."""
    log: StoredLog | None = None
    """The stored log, if it is more than a file: a session in a database, or a document."""

    @property
    def path(self) -> str:
        return self.state.path

    @property
    def stored(self) -> StoredLog:
        """The file as a stored log."""
        if self.log is not None:
            return self.log
        path, stamp = self.state.path, FileStamp.unpacked(self.state.stamp)
        key = self.place.format.traits.key_of(path)
        return StoredLog(key, stamp.size, stamp.modified_ns / 1e9, path, stamp)


def found_log(log: StoredLog, place: places.Place, known: Mapping[str, FileState]) -> FoundFile:
    """Return the file of a stored log in a database or document."""
    stamp = b"" if log.stamp is None else log.stamp.packed
    return FoundFile(FileState(log.path or "", stamp, catalog_number(log, known)), place, log=log)


def owner_of(file: FoundFile, record: FileRecord) -> places.Place:
    """The place of the agent that owns a file, if several agents share a directory."""
    if not file.others:
        return file.place
    return next((one for one in file.others if one.agent == record.format), file.place)


def expected_format(file: FoundFile) -> Format | None:
    """The likely format of a file; other agents may store sessions in pi's folders."""
    return None if file.others or file.place.format.name == "pi" else file.place.format


def is_only_ours(file: FoundFile) -> bool:
    """Whether the folder identifies the project: our own folders are never shared."""
    return file.place.agent == places.NATIVE_AGENT and not file.place.is_shared


def originals_first(files: Collection[FoundFile], hidden: dict[str, SkippedFile]) -> Iterator[FoundFile]:
    """Yield the files without the latest archived copies of existing ones, unless a copy is longer."""
    originals: dict[tuple[str, str], int] = {}
    agents = {file.place.agent for file in files if file.place.is_archive}
    for file in files:
        agent = file.place.agent
        if agent in agents and not file.place.is_archive:
            size = file.stored.size
            for name in (_name_in(file), places.archive_name(file.path, file.place, agent)):
                originals[agent, name] = max(size, originals.get((agent, name), 0))
    latest: dict[tuple[str, str], int] = {}
    for file in files:
        if file.place.is_archive:
            name, number = places.archive_number(_name_in(file))
            latest[file.place.agent, name] = max(number, latest.get((file.place.agent, name), 0))
    for file in files:
        name, number = places.archive_number(_name_in(file)) if file.place.is_archive else ("", 0)
        copied = (file.place.agent, name)
        if latest.get(copied) == number and file.stored.size <= originals.get(copied, -1):
            hidden[file.path] = SkippedFile(file.path, "an archived copy of a session that still exists")
        else:
            yield file


def _name_in(file: FoundFile) -> str:
    return os.path.relpath(file.path, file.place.root)


def unpacked_first(files: list[FoundFile], hidden: dict[str, SkippedFile]) -> list[FoundFile]:
    """The files without compressed copies of files in the same directory."""
    paths = {file.path for file in files}
    copies = {path for path in paths if path.endswith(".zst") and path.removesuffix(".zst") in paths}
    hidden.update({path: SkippedFile(path, "an uncompressed copy of this session exists") for path in copies})
    return [file for file in files if file.path not in copies]
