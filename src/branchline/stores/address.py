"""One text names a store of ours: the file of a database, or the address of a server.

========================  =======================================================
``sessions.db``           a SQLite database of branchline, or one that is to be
                          created; also ``.sqlite`` and ``.sqlite3``
``postgresql://host/db``  a PostgreSQL database
========================  =======================================================

A directory, and the database of another program, are for :func:`branchline.stores.open_store` to recognize,
which takes all of them.
"""

from __future__ import annotations

import atexit
import os
import re
import threading

from branchline.errors import NotSupported
from branchline.log.system import read_beginning
from branchline.stores.protocol import ClosableStore
from branchline.stores.rows import APPLICATION

__all__ = [
    "DATABASE_SUFFIXES",
    "absolute_path",
    "is_address",
    "is_server_address",
    "own_store",
    "shared_store",
]

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""How the names of SQLite databases end."""
_SERVER = re.compile(r"postgres(?:ql)?://", re.IGNORECASE).match
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://").match
_MAGIC = b"SQLite format 3\0"
_APPLICATION_AT = 68

_shared: dict[str, ClosableStore] = {}
_addresses: dict[str, str] = {}
"""Of servers by their names, which have no password and are part of the paths of sessions."""
_guard = threading.Lock()


def is_server_address(where: str) -> bool:
    """Whether a text is the address of a database server."""
    return _SERVER(where) is not None


def absolute_path(path: str | os.PathLike[str]) -> str:
    """The path of a session as it is found from anywhere; an address on a server is one already."""
    text = os.fspath(path)
    return text if is_server_address(text) else os.path.abspath(text)


def is_address(where: str) -> bool:
    """Whether a text names a database of branchline: on a server, in a file, or in a file to be created.

    NotSupported for the address of another kind of server.
    """
    if is_server_address(where):
        return True
    if (scheme := _SCHEME(where)) is not None and not os.path.exists(where):
        # Not the address itself, which may hold a password.
        raise NotSupported(
            f"{scheme[0]}… is no store: a store is a directory, a SQLite file such as sessions.db, or "
            "postgresql://…"
        )
    try:
        head = read_beginning(os.path.expanduser(where), _APPLICATION_AT + 4)
    except FileNotFoundError:
        return where.endswith(DATABASE_SUFFIXES)
    except OSError:
        return False
    if not head:
        return where.endswith(DATABASE_SUFFIXES)
    found = int.from_bytes(head[_APPLICATION_AT:], "big")
    return head.startswith(_MAGIC) and found == APPLICATION


def own_store(where: str) -> ClosableStore:
    """The database that such a text names. NotSupported if the package for it is not installed."""
    if is_server_address(where):
        from branchline.stores.postgres import PostgresStore  # noqa: PLC0415  needs psycopg

        store = PostgresStore(where)
        _addresses[store.name] = where
        return store
    from branchline.stores.sqlite import SqliteStore  # noqa: PLC0415  loads sqlite3

    return SqliteStore(os.path.expanduser(where))


def shared_store(where: str) -> ClosableStore:
    """The same, one for all who open sessions by path. It is closed when the program ends."""
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
