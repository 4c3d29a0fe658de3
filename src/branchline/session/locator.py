"""Where sessions are stored: in branchline's layout, or in that of the agent that owns them.

A branchline session has pi's format and is stored in branchline's layout; any other name means the agent of
that name, its format and its folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from branchline import places
from branchline.entries import Header
from branchline.errors import (
    BranchlineError,
    LogError,
    NotASession,
    NotSaved,
    NotSupported,
    TooLarge,
    UnsupportedFormat,
)
from branchline.formats import PI, CompanionFile, Content, Format, SessionFacts, SplitFiles, agent_name
from branchline.log import Spool
from branchline.log.system import read_beginning
from branchline.plugins.formats import format_named, peek
from branchline.stores import (
    Allowance,
    FilesStore,
    MemoryStore,
    Store,
    is_address,
    shared_store,
    unpacked,
)
from branchline.stores.files import snapshot_of_file

__all__ = [
    "NATIVE",
    "SessionRef",
    "assembled_content",
    "external_facts",
    "is_own_folder",
    "known_cwd",
    "newest_first",
    "record_title",
    "sibling_store",
    "store_in",
    "store_of",
    "writable_format",
    "written_format",
]

_HEAD = 4096
_LARGEST_DESCRIPTION = 1 << 24

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
    """Return the store of a new session of an agent."""
    if name is None or agent_name(name) == NATIVE:
        return FilesStore(places.session_directory(header.cwd))
    format_ = format_named(name)
    directory = places.existing_directory(format_.home.profile_patterns)
    directory = directory or places.new_directory(format_, header)
    if directory is None:
        raise NotSupported(
            f"where {format_.name} keeps its sessions for {header.cwd or 'no directory'} is unknown; "
            f"start {format_.name} there once, or name another directory"
        )
    return FilesStore(directory, suffix=format_.traits.suffix)


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
    if is_address(text := os.fspath(directory)):
        return shared_store(text)
    return FilesStore(directory, suffix=written_format(name).traits.suffix)


def assembled_content(format_: Format, content: Content, path: str, head: bytes) -> Spool | None:
    """Return the content of a file that is compressed or continues others; None if the file is complete.

    Raises TooLarge if this file and the compressed ones that it continues unpack to too much.
    """
    compression, splitting = format_.compression_of(head), format_.splitting
    if compression is None and (splitting is None or not splitting.has_external_prefix(head)):
        return None
    try:
        allowance = Allowance()
        plain = unpacked(compression, content.read, content.size(), allowance) if compression else None
        if splitting is None:
            return plain
        joined = splitting.assemble(
            content if plain is None else plain, path, _finder(format_, splitting, path, allowance)
        )
        return plain if joined is None else Spool(joined)
    except (NotSupported, LogError) as problem:
        raise type(problem)(f"cannot open {path}: {problem}") from problem


class _File:
    """The content of a file that is open only during reads; a session may continue many files."""

    def __init__(self, path: str) -> None:
        self._path = path

    def size(self) -> int:
        return os.stat(self._path).st_size

    def read(self, offset: int, size: int) -> bytes:
        with snapshot_of_file(self._path) as read:
            return read(offset, size)


def _finder(
    format_: Format, splitting: SplitFiles, path: str, allowance: Allowance
) -> Callable[[str], Content | None]:
    """Return a function that finds files of the same agent by suffix, next to this one first."""
    beside = _paths_by_key(format_, [os.path.dirname(path)], deep=False)
    anywhere: dict[str, str] = {}

    def find(ending: str) -> Content | None:
        if not ending:
            return None
        found = _ends_with(beside, ending)
        if found is None and not anywhere:
            anywhere.update(_paths_by_key(format_, splitting.roots_near(path), deep=True))
        found = found or _ends_with(anywhere, ending)
        return None if found is None else _found(format_, found, allowance)

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


def _found(format_: Format, path: str, allowance: Allowance) -> Content | None:
    """Return the content of a file that another one continues; None if it cannot be read."""
    file = _File(path)
    try:
        compression = format_.compression_of(file.read(0, _HEAD))
        return file if compression is None else unpacked(compression, file.read, file.size(), allowance)
    except TooLarge as problem:
        raise TooLarge(f"it begins in {path}: {problem}") from problem
    except (OSError, NotSupported, NotASession):
        return None


def external_facts(format_: Format, path: str, header: Header | None) -> SessionFacts:
    """Return the facts about a session that its agent stores in other files, such as its title."""
    facts = SessionFacts()
    companion, titles = format_.companion, format_.titles
    if companion is not None and (data := _small_file(companion.companion(path))) is not None:
        facts = companion.facts(data)
    if titles is not None and header is not None:
        data = _small_file(titles.titles_near(path))
        if data is not None and (title := titles.titles(data).get(header.id)):
            facts = msgspec.structs.replace(facts, title=title)
    return facts


def _small_file(path: str | None) -> bytes | None:
    """Return the content of a file with facts about sessions; None if it cannot be read."""
    if path is None:
        return None
    try:
        return read_beginning(path, _LARGEST_DESCRIPTION)
    except (OSError, ValueError):
        return None


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


def newest_first(store: Store, cwd: str, name: str | None, *, mixed: bool) -> Iterator[SessionRef]:
    """Yield the sessions of a working directory, newest first, optionally of one agent.

    ``mixed`` means that the store may hold sessions of other directories, which are skipped. A session
    without a recorded directory belongs to that of its folder.
    """
    wanted = writable_format(name)
    mixed = mixed or (name not in (None, NATIVE) and _is_shared(wanted, cwd))
    for stored in store.scan().found:
        try:
            with store.snapshot(stored.key) as read:
                found = peek(read, stored.path or stored.key)
        except (OSError, BranchlineError):
            continue  # deleted or unreadable meanwhile
        if found.header is None or (name is not None and found.format is not wanted):
            continue
        told = found.header.cwd
        if not mixed or not told or places.resolve_cwd(told) == cwd:
            yield SessionRef(stored.key, None if told else cwd)


def _is_shared(format_: Format, cwd: str) -> bool:
    """Return whether an agent stores the sessions of this working directory together with others."""
    here, below = (
        places.directory_in(format_.home.directory, place) for place in (cwd, os.path.join(cwd, "x"))
    )
    return here == below


def sibling_store(store: Store | None, format_: Format, *, own_cwd: str, cwd: str) -> Store | None:
    """Return the store of a copy for ``cwd`` next to its parent; None if it belongs elsewhere."""
    if store is None or cwd == own_cwd or isinstance(store, MemoryStore):
        return store
    return store if format_ is not PI and _is_shared(format_, cwd) else None


def known_cwd(format_: Format, header: Header | None, path: str) -> str | None:
    """Return the current directory for a session without a recorded one, if the file is in its folder.

    None if the file records its directory, or if it is unknown.
    """
    if header is None or header.cwd or format_ is PI:
        return None
    if format_.database is not None and "#" in os.path.basename(path):
        return None  # one database holds the sessions of all directories
    here = places.resolve_cwd()
    directory = places.directory_in(format_.home.directory, here)
    if directory is None or _is_shared(format_, here):
        return None
    return here if os.path.realpath(directory) == os.path.realpath(os.path.dirname(path)) else None
