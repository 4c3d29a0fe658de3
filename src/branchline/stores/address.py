"""Addresses of branchline databases: the file of a database, or the URL of a server.

========================  =======================================================
``sessions.db``           a SQLite database of branchline, existing or to be
                          created; also ``.sqlite`` and ``.sqlite3``
``postgresql://host/db``  a PostgreSQL database
========================  =======================================================

:func:`branchline.stores.open_store` takes these, directories, and databases of other agents.
"""

from __future__ import annotations

import atexit
import os
import re
import threading

from branchline._arguments import require_path
from branchline.errors import InvalidId, NotSupported
from branchline.log.system import read_beginning
from branchline.stores.protocol import ClosableStore

__all__ = [
    "DATABASE_SUFFIXES",
    "absolute_path",
    "is_address",
    "is_server_address",
    "own_store",
    "refuse_options",
    "shared_store",
]

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""File suffixes of SQLite databases."""
_SERVERS = ("postgres://", "postgresql://")
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+://"
_MAGIC = b"SQLite format 3\0"
_APPLICATION_OFFSET = 68

_shared: dict[str, ClosableStore] = {}
_addresses: dict[str, str] = {}
"""Server addresses by display name, which omits the password and is part of session paths."""
_guard = threading.Lock()


def is_server_address(where: str) -> bool:
    """Return whether a text is the address of a database server."""
    return where[:16].lower().startswith(_SERVERS)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path of a session; an address on a server is returned unchanged."""
    text = require_path("a session", path)
    return text if is_server_address(text) else os.path.abspath(text)


def is_address(where: str) -> bool:
    """Return whether a text names a branchline database: on a server, in a file, or in a file to be created.

    Raises NotSupported for the address of another kind of server.
    """
    from branchline.stores.rows import APPLICATION  # noqa: PLC0415  most paths are files

    if is_server_address(where):
        return True
    if where.partition("?")[0].endswith(DATABASE_SUFFIXES) or where.endswith(DATABASE_SUFFIXES):
        refuse_options(where)
    if (scheme := re.match(_SCHEME, where)) is not None and not os.path.exists(where):
        # Not the address itself, which may hold a password.
        raise NotSupported(
            f"{scheme[0]}… is not a store: a store is a directory, a SQLite file such as sessions.db, or "
            "postgresql://…"
        )
    try:
        head = read_beginning(os.path.expanduser(where), _APPLICATION_OFFSET + 4)
    except FileNotFoundError:
        return where.endswith(DATABASE_SUFFIXES)
    except OSError:
        return False
    if not head:
        return where.endswith(DATABASE_SUFFIXES)
    found = int.from_bytes(head[_APPLICATION_OFFSET:], "big")
    return head.startswith(_MAGIC) and found == APPLICATION


def refuse_options(where: str) -> None:
    """Raise InvalidId for an address with options that is not a server's, unless a file has this name."""
    path = os.path.expanduser(where)
    folder, name = os.path.split(path)
    if "?" in where and not os.path.lexists(path) and ("?" in name or not os.path.isdir(folder)):
        raise InvalidId(
            f"{where!r} is not an address: only the address of a PostgreSQL server has options after a ?"
        )


def own_store(where: str) -> ClosableStore:
    """Open the database that an address names. Raises NotSupported if its driver is not installed."""
    if is_server_address(where):
        from branchline.stores.postgres import PostgresStore  # noqa: PLC0415  needs psycopg

        store = PostgresStore(where)
        _addresses[store.name] = where
        return store
    from branchline.stores.sqlite import SqliteStore  # noqa: PLC0415  loads sqlite3

    return SqliteStore(os.path.expanduser(where))


def shared_store(where: str) -> ClosableStore:
    """Return a store shared by all callers that open sessions by path. It is closed at exit."""
    if not is_server_address(where):
        where = os.path.abspath(os.path.expanduser(where))
    with _guard:
        found = _shared.get(where)
        if found is None:
            if not _shared:
                atexit.register(_close_shared)
            found = _shared[where] = own_store(_addresses.get(where, where))
    return found


def _close_shared() -> None:
    with _guard:
        stores = list(_shared.values())
        _shared.clear()
    for store in stores:
        store.close()
