"""One text names a store: a directory, the file of a database, or the address of a server.

========================  ==========================================================
``~/sessions``            files in that directory
``sessions.db``           a SQLite database; also ``.sqlite``, ``.sqlite3``; or that of another program
``postgresql://host/db``  a PostgreSQL database
========================  ==========================================================
"""

from __future__ import annotations

import os
import re

from branchline.errors import NotSupported
from branchline.stores.files import FilesStore
from branchline.stores.foreign_database import SQLITE_STORE, has_application_id, is_database
from branchline.stores.protocol import Store

__all__ = ["DATABASE_SUFFIXES", "is_address", "is_server_address", "open_store"]

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""How the names of SQLite databases end."""
_SERVER = re.compile(r"postgres(?:ql)?://", re.IGNORECASE).match


def open_store(where: str | os.PathLike[str]) -> Store:
    """The store that a text or a path names. Nothing is created or connected before it is used.

    NotSupported if the package for this kind of store is not installed.
    """
    text = os.fspath(where)
    if is_server_address(text):
        raise NotSupported(f"cannot open {text.split('@')[-1]}: there is no store for servers yet")
    path = os.path.expanduser(text)
    if is_database(path) and not has_application_id(path, SQLITE_STORE):
        from branchline.stores.sources import DatabaseStore  # noqa: PLC0415  few look there

        return DatabaseStore(path)
    if is_address(text):
        from branchline.stores.sqlite import SqliteStore  # noqa: PLC0415  loads sqlite3

        return SqliteStore(path)
    return FilesStore(path)


def is_server_address(where: str) -> bool:
    """Whether a text is the address of a database server."""
    return _SERVER(where) is not None


def is_address(where: str) -> bool:
    """Whether a text names a database rather than a directory."""
    return is_server_address(where) or (
        where.endswith(DATABASE_SUFFIXES) and not os.path.isdir(os.path.expanduser(where))
    )
