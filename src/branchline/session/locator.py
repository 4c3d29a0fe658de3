"""Where sessions are stored: in branchline's layout, or in that of the agent that owns them.

A branchline session has pi's format and is stored in branchline's layout; any other name means the agent of
that name, its format and its folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from branchline import places
from branchline._arguments import require_path
from branchline.entries import Header
from branchline.errors import BranchlineError, InvalidId, NotSaved, NotSupported, UnsupportedFormat
from branchline.formats import PI, CompanionFile, Format, agent_name
from branchline.plugins.formats import format_named, peek
from branchline.stores import (
    FilesStore,
    MemoryStore,
    Store,
    StoredLog,
    check_key,
    is_address,
    shared_store,
)
from branchline.stores.activity import by_activity, latest_possible, recent_use
from branchline.stores.address import refuse_options

__all__ = [
    "NATIVE",
    "SessionRef",
    "is_own_folder",
    "new_file_name",
    "newest_first",
    "record_title",
    "sibling_store",
    "store_in",
    "store_of",
    "writable_format",
    "written_format",
]

NATIVE = "branchline"
"""The name of branchline's own sessions: pi's format, in branchline's layout."""


def written_format(name: str | None) -> Format:
    """Return the format of an agent whose sessions branchline can create."""
    if name is None or agent_name(name) == NATIVE:
        return PI
    format_ = format_named(name)
    if format_.imports is not None:
        command = " ".join(format_.imports.command)
        raise UnsupportedFormat(
            f"{format_.name} takes a new session through `{command}`: use convert --install"
        )
    if format_.writer is None:
        raise UnsupportedFormat(f"sessions of {format_.name} are read-only; choose another agent")
    return format_


def writable_format(name: str | None) -> Format:
    """Return the format of an agent whose sessions can also be appended to."""
    format_ = written_format(name)
    if not format_.is_appendable:
        raise UnsupportedFormat(
            f"sessions of {format_.name} are written only as a whole; fork or convert one for {format_.name}"
        )
    return format_


def store_of(name: str | None, header: Header) -> FilesStore:
    """Return the store of a new session of an agent.

    Raises InvalidId, before anything is created, if the id in the header is not one plain file name or its
    working directory cannot be a path.
    """
    if header.id:
        check_key(header.id)
    if "\0" in header.cwd:
        raise InvalidId(f"{header.cwd!r} cannot be a working directory: it has a null character")
    if name is None or agent_name(name) == NATIVE:
        return FilesStore(places.session_directory(header.cwd))
    format_ = format_named(name)
    directory = places.profile_directory(format_)
    directory = directory or places.new_directory(format_, header)
    if directory is None:
        raise NotSupported(
            f"where {format_.name} keeps its sessions for {header.cwd or 'no directory'} is unknown; "
            f"start {format_.name} there once, or name another directory"
        )
    return FilesStore(directory, suffix=format_.traits.suffix)


def new_file_name(format_: Format, header: Header) -> str:
    """Return the name of the file of a new session. Raises InvalidId as :func:`store_of` does."""
    check_key(header.id)
    return check_key(format_.home.file_key(header)) + format_.traits.suffix


def is_own_folder(format_: Format, store: Store) -> bool:
    """Return whether the agent of a format finds sessions in the directory of this store."""
    roots = places.roots_of(format_)
    return isinstance(store, FilesStore) and any(
        os.path.commonpath((root, store.directory)) == root for root in map(os.path.abspath, roots)
    )


def store_in(directory: str | os.PathLike[str] | None, name: str | None, cwd: str) -> Store:
    """Return the store of an agent in this directory or database; default: of this working directory."""
    if directory is None:
        return store_of(name, Header(id="", cwd=cwd))
    if is_address(text := require_path("a directory", directory)):
        return shared_store(text)
    refuse_options(text)
    return FilesStore(directory, suffix=written_format(name).traits.suffix)


def record_title(format_: Format, path: str, header: Header, title: str) -> None:
    """Record the title of a new session, for agents that keep titles outside of session files."""
    if format_.companion is not None:
        _write_companion(format_.companion, path, header, title)
    titles = format_.titles
    if titles is None or (beside := titles.titles_near(path)) is None:
        return
    line = titles.title_line(header.id, title, header.timestamp)
    if line is None:
        return
    try:
        with open(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "ab+", buffering=0) as file:
            if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                line = b"\n" + line  # after a torn line
            file.write(line)
    except OSError as problem:
        raise _title_not_saved(path, beside, problem) from problem


def _write_companion(companion: CompanionFile, path: str, header: Header, title: str) -> None:
    """Write the file beside a new session that holds its title; an existing file is left alone."""
    beside, content = companion.companion(path), companion.content_for(header, title)
    if beside is None or content is None:
        return
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    except FileExistsError:
        return
    except OSError as problem:
        raise _title_not_saved(path, beside, problem) from problem


def _title_not_saved(path: str, beside: str, problem: OSError) -> NotSaved:
    return NotSaved(
        f"{path} was saved, but its title could not be added to {beside}: {problem.strerror or problem}"
    )


class SessionRef(NamedTuple):
    """A session that can be continued; ``cwd`` is set if its file does not name the working directory."""

    key: str
    cwd: str | None


def newest_first(
    store: Store, cwd: str, name: str | None, *, mixed: bool, by_file: bool = False
) -> Iterator[SessionRef]:
    """Yield the sessions of a working directory, last used first, optionally of one agent.

    ``mixed`` means that the store may hold sessions of other directories, which are skipped. A session
    without a recorded directory belongs to that of its folder. ``by_file`` orders them by the times of their
    files, as some agents do.
    """
    wanted = writable_format(name)
    mixed = mixed or (name not in (None, NATIVE) and places.shares_directory(wanted, cwd))
    found: dict[str, SessionRef] = {}

    def find(stored: StoredLog) -> int | None:
        modified_ms = round(stored.modified * 1000)
        try:
            with store.snapshot(stored.key) as read:
                seen = peek(read, stored.path or stored.key)
                active_ms = None if by_file else recent_use(read, stored, seen.format)
        except (OSError, BranchlineError):
            return None  # deleted or unreadable meanwhile
        if seen.header is None or (name is not None and seen.format is not wanted):
            return None
        told = seen.header.cwd
        if mixed and told and places.resolve_cwd(told) != cwd:
            return None
        found[stored.key] = SessionRef(stored.key, None if told else cwd)
        return modified_ms if active_ms is None else active_ms

    def limit(stored: StoredLog) -> int:
        return round(stored.modified * 1000) if by_file else latest_possible(stored)

    for stored in by_activity(store.scan().found, limit=limit, find=find, key=lambda one: one.key):
        if stored.key in found:
            yield found[stored.key]


def sibling_store(store: Store | None, format_: Format, *, own_cwd: str, cwd: str) -> Store | None:
    """Return the store of a copy for ``cwd`` next to its parent; None if it belongs elsewhere."""
    if store is None or cwd == own_cwd or isinstance(store, MemoryStore):
        return store
    return store if format_ is not PI and places.shares_directory(format_, cwd) else None
