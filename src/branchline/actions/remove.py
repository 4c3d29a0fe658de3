"""Move sessions to the trash and restore them. Nothing here deletes a session.

Without a ``directory``, :func:`prune` covers our own libraries; :func:`restore` and :func:`trash` cover the
trash in the folders of every agent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from branchline.errors import Ambiguous, NotSupported, SessionNotFound
from branchline.formats.suffixes import SUFFIXES, has_suffix, without_suffix
from branchline.library import PruneResult, SessionLibrary
from branchline.places import NATIVE_AGENT
from branchline.stores import (
    FilesStore,
    TrashItem,
    address_in,
    addressed_store,
    is_address,
    shared_store,
    trash_of,
)
from branchline.stores.files import SIDE_FOLDER, draft_at, store_at
from branchline.stores.sources import file_of

__all__ = [
    "RemovedSession",
    "RestoredSession",
    "TrashedSession",
    "prune",
    "remove",
    "restore",
    "trash",
    "undo",
]

_Path = str | os.PathLike[str]


class RemovedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session file in the trash; ``token`` restores it."""

    path: str
    """Where the file was."""
    key: str
    token: str


class TrashedSession(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the trash, and the library it was removed from."""

    library: str
    item: TrashItem


class RestoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """A restored session."""

    key: str
    path: str | None


def remove(paths: Iterable[_Path]) -> tuple[RemovedSession, ...]:
    """Move session files to the trash.

    All paths are checked before the first file moves. Raises SessionNotFound if one of them is not a session
    file.
    """
    checked = dict.fromkeys(_removable(os.fspath(path)) for path in paths)
    return tuple(_remove(path) for path in checked)


def undo(removed: RemovedSession) -> None:
    """Restore a session that :func:`remove` moved to the trash.

    Raises FileExistsError if its path is taken.
    """
    address = address_in(removed.path)
    store = store_at(removed.path) if address is None else trash_of(addressed_store(address))
    store.restore(removed.token)


def _removable(path: str) -> str:
    if (address := address_in(path)) is not None and is_address(address.file):
        return path
    path = os.path.abspath(path)
    if (file := file_of(path)) != path:
        return file
    if address_in(path) is not None:
        raise NotSupported(
            f"cannot remove {path}: it is part of a database of another agent; delete it in that agent"
        )
    if not os.path.lexists(path):
        raise SessionNotFound(f"cannot remove {path}: no such file")
    if not has_suffix(path) or not os.path.isfile(path):
        endings = " or ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise SessionNotFound(f"cannot remove {path}: it is not a session file ({endings})")
    return path


def _remove(path: str) -> RemovedSession:
    if (address := address_in(path)) is not None:
        store = trash_of(addressed_store(address))
        trashed = store.remove(address.session) or store.remove(address.session, draft=True)
    else:
        key = without_suffix(os.path.basename(path))
        trashed = store_at(path).remove(key, draft=draft_at(path) is not None)
    if trashed is None:
        raise SessionNotFound(f"cannot remove {path}: it no longer exists")
    return RemovedSession(path=path, key=trashed.key, token=trashed.token)


def restore(name: str | None = None, *, directory: _Path | None = None) -> RestoredSession:
    """Restore a session from the trash by token, key or id, or the beginning of an id that no other has.

    Without a name, restores the one removed last, of any agent, in ``directory`` or this working directory.

    Raises SessionNotFound if it is not in the trash, Ambiguous if several begin so, FileExistsError if its
    name is taken.
    """
    library, token = _holder(name, directory)
    key = library.restore(token)
    path = library.path_of(key)
    # A file that was replaced comes back under its whole name, which may not be that of a session.
    if path is None and os.path.isfile(named := os.path.join(library.name, key)):
        path = named
    return RestoredSession(key=key, path=path)


def trash(*, directory: _Path | None = None) -> tuple[TrashedSession, ...]:
    """Return the trash, last removed first."""
    found = [
        TrashedSession(library=library.name, item=item)
        for library in _libraries_with_trash(directory)
        for item in library.trash()
    ]
    return tuple(sorted(found, key=lambda trashed: -trashed.item.removed))


def prune(
    *, directory: _Path | None = None, everywhere: bool = False, dry_run: bool = True
) -> tuple[PruneResult, ...]:
    """Find sessions without messages; without ``dry_run``, move them to the trash.

    ``everywhere`` includes all working directories. Damaged sessions and sessions in use are skipped.
    """
    libraries = _libraries(directory) if everywhere else [_nearest(directory)]
    return tuple(pruned for library in libraries for pruned in library.prune(dry_run=dry_run))


def _nearest(directory: _Path | None) -> SessionLibrary:
    if directory is None:
        return SessionLibrary.for_cwd()
    if is_address(os.fspath(directory)):
        return SessionLibrary(shared_store(os.fspath(directory)))
    if not os.path.isdir(directory):
        raise SessionNotFound(f"no such directory: {os.fspath(directory)}")
    return SessionLibrary(directory)


def _libraries(directory: _Path | None) -> list[SessionLibrary]:
    nearest = _nearest(directory)
    if directory is not None:
        return [nearest]
    others = [store for store in SessionLibrary.everywhere().stores if store.name != nearest.name]
    return [nearest, *map(SessionLibrary, others)]


def _libraries_with_trash(directory: _Path | None, cwd: str | None = None) -> list[SessionLibrary]:
    """Include the folders of other agents, in which :func:`remove` creates a trash when it needs one.

    With a ``cwd``, only the folders of this working directory.
    """
    if directory is not None:
        return _libraries(directory)
    libraries = _libraries(None) if cwd is None else [_nearest(None)]
    places = [place for place in SessionLibrary.everywhere(cwd).places if place.agent != NATIVE_AGENT]
    roots = [root for place in places for root in (place.folders if cwd is not None else [place.root])]
    folders = dict.fromkeys(folder for root in roots for folder in _folders_with_trash(root))
    return [*libraries, *(SessionLibrary(FilesStore(folder)) for folder in folders)]


def _folders_with_trash(root: str) -> Iterator[str]:
    for folder, inside, _files in os.walk(root):
        if SIDE_FOLDER in inside and os.path.isdir(os.path.join(folder, SIDE_FOLDER, "trash")):
            yield folder
        inside[:] = [name for name in inside if not name.startswith(".")]


def _holder(name: str | None, directory: _Path | None) -> tuple[SessionLibrary, str | None]:
    """Return the library whose trash has a session, and what that is called there."""
    if name is None:
        libraries = _libraries_with_trash(directory, os.getcwd())
        latest = [library for library in libraries if library.trash()]
        return max(latest, key=lambda library: library.trash()[0].removed, default=libraries[0]), None
    items = [(library, item) for library in _libraries_with_trash(directory) for item in library.trash()]
    for library, item in items:
        if name in (item.token, item.key) or item.key.endswith("_" + name):
            return library, name
    begun = [
        (library, item)
        for library, item in items
        if name and (item.key.startswith(name) or item.key.rpartition("_")[2].startswith(name))
    ]
    if len(keys := {item.key for _, item in begun}) > 1:
        raise Ambiguous(f"{name!r} matches {len(keys)} sessions in the trash; give more of the id")
    for library, item in sorted(begun, key=lambda pair: -pair[1].removed):
        return library, item.token
    raise SessionNotFound(
        f"no session named {name!r} in the trash; `branchline restore --list` shows its contents"
    )
