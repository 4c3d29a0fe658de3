"""What a stored session says: opening, listing and checking a session all ask this module.

It joins a log with its beginning in other logs, unpacks it, and adds what its agent keeps in other files:
title, working directory, parent. All of it is the same wherever the session is stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache

import msgspec

from branchline import places
from branchline.entries import Header
from branchline.errors import LogError, NotASession, NotSupported, ReadOnly, SessionNotFound, TooLarge
from branchline.formats import PI, Content, EntryLog, Format, SessionFacts, SplitFiles
from branchline.log import DecompressedLog, FileLog, Log, Spool, Writer
from branchline.log.system import read_beginning
from branchline.plugins.formats import detect_in, format_named
from branchline.stores.files import FilesStore, snapshot_of_file
from branchline.stores.packed import Allowance, unpacked
from branchline.stores.protocol import Read, SizedContent, Store

__all__ = ["assembled_content", "completed", "earlier_files", "external_facts", "folder_cwd", "whole_log"]

_HEAD = 1 << 16
_START = 4096
_LARGEST_DESCRIPTION = 1 << 26
_Find = Callable[[str], Content | None]
"""Returns the content of the log whose key ends with a text; None if there is none."""


def whole_log(log: Log, store: Store) -> tuple[Log, Format]:
    """Return the complete log of the session that begins or continues in ``log``, and its format.

    ``log`` is closed if another one is returned. Raises NotASession if no format recognizes it, TooLarge if
    it unpacks to too much.
    """
    head = log.read(0, _HEAD)
    format_ = detect_in(log.read, log.name)
    content = assembled_content(format_, log, log.name, head, store)
    if content is None:
        return log, format_
    whole = DecompressedLog(log.name, content) if isinstance(log, FileLog) else _JoinedLog(log.name, content)
    log.close()
    return whole, format_


def completed(transcript: EntryLog, where: str) -> EntryLog:
    """Add to a session what its agent keeps in other files. Raises NotASession if the log holds no session.

    ``where`` is its path, or its key in a store without paths.
    """
    reading = transcript.reading
    if reading.header is None and not len(reading.tree):
        raise NotASession(f"{transcript.name} is not a session: {reading.read_only}")
    transcript.describe(external_facts(transcript.format, where, reading.header))
    return transcript


class _JoinedLog:
    """The lines of a session that a store keeps in several logs, for reading."""

    def __init__(self, name: str, content: Spool) -> None:
        self.name = name
        self.size = content.size
        self.read = content.read
        self.close = content.close

    def exclusive(self) -> AbstractContextManager[Writer]:
        raise ReadOnly(f"cannot append to {self.name}: it continues another log; fork or convert it instead")


# -- content ----------------------------------------------------------------------------------------------


def assembled_content(
    format_: Format, content: Content, name: str, head: bytes, store: Store | None = None
) -> Spool | None:
    """Return the content of a log that is compressed or continues others; None if the log is complete.

    The others are looked for in ``store``, or, if it is None or a directory, near the file ``name``. Raises
    TooLarge if this log and the compressed ones that it continues unpack to too much.
    """
    compression, splitting = format_.compression_of(head), format_.splitting
    if compression is None and (splitting is None or not splitting.has_external_prefix(head)):
        return None
    try:
        allowance = Allowance()
        plain = unpacked(compression, content.read, content.size(), allowance) if compression else None
        if splitting is None:
            return plain
        find = (
            _in_files(format_, splitting, name, allowance, [])
            if store is None or isinstance(store, FilesStore)
            else _in_store(format_, store, allowance)
        )
        joined = splitting.assemble(content if plain is None else plain, name, find)
        return plain if joined is None else Spool(joined)
    except (NotSupported, LogError) as problem:
        raise type(problem)(f"cannot open {name}: {problem}") from problem


class _Reopened:
    """The content of a log that is open only during reads; a session may continue many."""

    def __init__(self, snapshot: Callable[[], AbstractContextManager[Read]], size: Callable[[], int]) -> None:
        self._snapshot = snapshot
        self.size = size

    def read(self, offset: int, size: int) -> bytes:
        with self._snapshot() as read:
            return read(offset, size)


def earlier_files(path: str) -> list[str]:
    """Return the other files that hold the beginning of the session in a file; none if it is complete."""
    with snapshot_of_file(path) as read:
        head = read(0, _HEAD)
        format_ = detect_in(read, path)
        splitting, compression = format_.splitting, format_.compression_of(head)
        if splitting is None or (compression is None and not splitting.has_external_prefix(head)):
            return []
        allowance, found = Allowance(), list[str]()
        content: Content = SizedContent(read, os.stat(path).st_size)
        if compression is not None:
            content = unpacked(compression, read, content.size(), allowance)
        splitting.assemble(content, path, _in_files(format_, splitting, path, allowance, found))
    return found


def _in_files(
    format_: Format, splitting: SplitFiles, path: str, allowance: Allowance, used: list[str]
) -> _Find:
    """Return a function that finds files of the same agent by suffix, next to this one first.

    The files found are added to ``used``.
    """
    beside = _paths_by_key(format_, [os.path.dirname(path)], deep=False)
    anywhere: dict[str, str] = {}

    def find(ending: str) -> Content | None:
        if not ending:
            return None
        found = _ends_with(beside, ending)
        if found is None and not anywhere:
            anywhere.update(_paths_by_key(format_, _roots_near(format_, splitting, path), deep=True))
        found = found or _ends_with(anywhere, ending)
        if found is None:
            return None
        used.append(found)
        file = _Reopened(lambda: snapshot_of_file(found), lambda: os.stat(found).st_size)
        return _plain(format_, found, file, allowance)

    return find


def _roots_near(format_: Format, splitting: SplitFiles, path: str) -> list[str]:
    """Return where the beginning of a file can be; the agent's folders and their archive belong together."""
    roots = [*places.roots_of(format_), places.archive_root(format_.name)]
    known = any(path.startswith(root + os.sep) for root in roots)
    return list(dict.fromkeys([*splitting.roots_near(path), *(roots if known else ())]))


def _in_store(format_: Format, store: Store, allowance: Allowance) -> _Find:
    """Return a function that finds logs of a store by the end of their keys."""

    def find(ending: str) -> Content | None:
        known = {stored.key: stored for stored in store.scan().found} if ending else {}
        found = next((known[key] for key in sorted(known) if key.endswith(ending)), None)
        if found is None:
            return None
        log = _Reopened(lambda: store.snapshot(found.key), lambda: found.size)
        return _plain(format_, found.key, log, allowance)

    return find


def _paths_by_key(format_: Format, roots: list[str], *, deep: bool) -> dict[str, str]:
    """Return the files below these directories; a plain file wins over a compressed one of the same name."""
    known: dict[str, str] = {}
    for root in roots:
        for directory, folders, names in os.walk(root):
            if not deep:
                folders.clear()
            for name in sorted(names):
                known.setdefault(format_.traits.key_of(name), os.path.join(directory, name))
    return known


def _ends_with(known: dict[str, str], ending: str) -> str | None:
    return next((known[key] for key in sorted(known) if key.endswith(ending)), None)


def _plain(format_: Format, name: str, log: _Reopened, allowance: Allowance) -> Content | None:
    """Return the content of a log that another one continues; None if it cannot be read."""
    try:
        compression = format_.compression_of(log.read(0, _START))
        return log if compression is None else unpacked(compression, log.read, log.size(), allowance)
    except TooLarge as problem:
        raise TooLarge(f"it begins in {name}: {problem}") from problem
    except (OSError, NotSupported, NotASession, SessionNotFound):
        return None


# -- facts in other files ---------------------------------------------------------------------------------


def external_facts(format_: Format, where: str, header: Header | None) -> SessionFacts:
    """Return the facts about a session that its agent stores in other files, such as its title."""
    facts = SessionFacts()
    companion, titles = format_.companion, format_.titles
    if companion is not None and (data := _small_file(companion.companion(where))) is not None:
        facts = companion.facts(data)
    if titles is not None and header is not None and (path := titles.titles_near(where)) is not None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return facts
        state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if title := _titles_in(path, format_.name, state).get(header.id):
            facts = msgspec.structs.replace(facts, title=title)
    return facts


@lru_cache(16)
def _titles_in(path: str, format_name: str, state: tuple[int, ...]) -> Mapping[str, str]:
    """Return the titles in a file by session id; ``state`` is part of the cache key."""
    del state
    titles, data = format_named(format_name).titles, _small_file(path)
    return {} if titles is None or data is None else titles.titles(data)


def _small_file(path: str | None) -> bytes | None:
    """Return the content of a file with facts about sessions; None if it cannot be read."""
    if path is None:
        return None
    try:
        return read_beginning(path, _LARGEST_DESCRIPTION)
    except (OSError, ValueError):
        return None


def folder_cwd(format_: Format, header: Header | None, path: str) -> str | None:
    """Return the current directory for a session without a recorded one, if the file is in its folder.

    None if the file records its directory, or if it is unknown.
    """
    if header is None or header.cwd or format_ is PI:
        return None
    if format_.database is not None and "#" in os.path.basename(path):
        return None  # one database holds the sessions of all directories
    here = places.resolve_cwd()
    directory = places.directory_in(format_.home.directory, here)
    if directory is None or places.shares_directory(format_, here):
        return None
    return here if os.path.realpath(directory) == os.path.realpath(os.path.dirname(path)) else None
