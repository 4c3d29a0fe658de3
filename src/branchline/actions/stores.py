"""Prepare a database for sessions, and report what a store holds."""

from __future__ import annotations

import os

import msgspec

from branchline.errors import NotSupported
from branchline.stores import (
    TrashStore,
    close_store,
    drafts_in,
    is_server_address,
    open_store,
)

__all__ = ["StoreStatus", "prepare_store", "store_status"]


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a store holds."""

    name: str
    """Its directory, file or address, without a password."""
    kind: str
    """The class of the store, such as ``FilesStore``."""
    sessions: int = 0
    drafts: int = 0
    trash: int = 0
    bytes: int = 0
    """The total size of the listed sessions."""
    version: int | None = None
    """The version of its tables, 0 without tables; None for a store without upgrades."""
    needed: int | None = None
    """The version that this branchline needs."""
    server: str | None = None
    """The version of the database server."""
    stored_bytes: int | None = None
    """The size of tables and indexes."""
    warnings: list[str] = []
    """What lets a database role reach the sessions of other tenants."""

    @property
    def is_ready(self) -> bool:
        """Whether the store can hold sessions."""
        return self.version == self.needed


def store_status(where: str | os.PathLike[str]) -> StoreStatus:
    """Return the status of a store. Changes nothing. Raises LogError if it cannot be reached."""
    text = os.fspath(where)
    if is_server_address(text):
        from branchline.stores.postgres import status  # noqa: PLC0415  few have one

        found = status(text)
        return StoreStatus(
            name=found.name,
            kind="PostgresStore",
            sessions=found.sessions,
            drafts=found.drafts,
            trash=found.trash,
            bytes=found.bytes,
            version=found.version,
            needed=found.newest,
            server=found.server,
            stored_bytes=found.stored_bytes,
            warnings=found.warnings,
        )
    store = open_store(text)
    try:
        logs = store.scan().found
        return StoreStatus(
            name=store.name,
            kind=type(store).__name__,
            sessions=len(logs),
            drafts=len(drafts_in(store)),
            trash=len(store.trashed()) if isinstance(store, TrashStore) else 0,
            bytes=sum(log.size for log in logs),
        )
    finally:
        close_store(store)


def prepare_store(where: str | os.PathLike[str]) -> StoreStatus:
    """Create or upgrade the tables of a database server. Repeating it changes nothing.

    Raises NotSupported if there is nothing to prepare, or if the tables are newer than this branchline.
    """
    text = os.fspath(where)
    if not is_server_address(text):
        raise NotSupported(
            f"{text} needs no preparation: directories and SQLite files are created when needed"
        )
    from branchline.stores.postgres import upgrade  # noqa: PLC0415  few have one

    upgrade(text)
    return store_status(text)
