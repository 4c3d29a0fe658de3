"""Where sessions lie: in our own layout, or where the program that they belong to keeps its own.

A session *of branchline* has pi's format and lies in our layout; any other name means the program of that
name, its format and its folders.
"""

from __future__ import annotations

import os

from branchline import places
from branchline.entries import Header
from branchline.errors import NotSupported
from branchline.formats import PI, Format, format_named
from branchline.stores import FilesStore, MemoryStore, Store

__all__ = ["NATIVE", "is_shared", "known_cwd", "native_store", "near", "program", "store_of"]

NATIVE = "branchline"
"""Whose sessions are ours: pi's format, kept in our own layout."""


def program(name: str | None) -> Format:
    """The format of the sessions of this program, which must be one that is written here."""
    if name in (None, NATIVE):
        return PI
    format_ = format_named(str(name))
    if not format_.writable:
        raise NotSupported(
            f"sessions of {format_.name} are read here, not written; fork one to go on with it"
        )
    return format_


def native_store(cwd: str) -> FilesStore:
    """Our own sessions of a working directory."""
    return FilesStore(places.session_directory(cwd))


def store_of(name: str | None, cwd: str) -> FilesStore:
    """Where the sessions of a program for this working directory lie."""
    if name in (None, NATIVE):
        return native_store(cwd)
    format_ = format_named(str(name))
    directory = places.directory_in(format_.directory, cwd)
    if directory is None:
        raise NotSupported(f"where {format_.name} keeps its sessions is not known; name a directory")
    return FilesStore(directory, suffix=format_.suffix)


def is_shared(format_: Format, cwd: str) -> bool:
    """Whether a program keeps the sessions of this working directory among those of others."""
    here, below = (places.directory_in(format_.directory, place) for place in (cwd, os.path.join(cwd, "x")))
    return here == below


def near(store: Store | None, format_: Format, *, own_cwd: str, cwd: str) -> Store | None:
    """The store in which a copy for ``cwd`` lies beside its parent; None when it belongs elsewhere."""
    if store is None or cwd == own_cwd or isinstance(store, MemoryStore):
        return store
    return store if format_ is not PI and is_shared(format_, cwd) else None


def known_cwd(format_: Format, header: Header | None, path: str) -> str | None:
    """The working directory of a session that does not tell it: this one, if the file lies in its folder.

    None where the file tells it, or where nobody can know.
    """
    if header is None or header.cwd or format_ is PI:
        return None
    here = places.resolve_cwd()
    directory = places.directory_in(format_.directory, here)
    if directory is None or is_shared(format_, here):
        return None
    return here if os.path.realpath(directory) == os.path.realpath(os.path.dirname(path)) else None
