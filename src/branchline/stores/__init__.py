"""Keyed logs behind one small protocol: files, memory, SQLite, PostgreSQL, and other agents' databases."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.stores.address import absolute_path, is_address, is_server_address, shared_store
from branchline.stores.files import FilesStore
from branchline.stores.packed import Allowance, Listed, unpacked, unpacked_for_listing
from branchline.stores.protocol import (
    AddressedStore,
    ClosableStore,
    DraftStore,
    FileStamp,
    FileState,
    LoadStore,
    Read,
    ReadableTrash,
    ScanResult,
    SkippedFile,
    Store,
    StoredLog,
    TrashItem,
    TrashStore,
    check_key,
    close_store,
    drafts_in,
    trash_of,
)
from branchline.stores.sources import (
    DatabaseStore,
    DerivedLog,
    SessionAddress,
    address_in,
    addressed_store,
    database_at,
    gone,
    open_log,
    open_store,
    snapshot_of,
    stored_at,
)

if TYPE_CHECKING:
    from branchline.stores.keys import key_for, parts_of
    from branchline.stores.memory import MemoryStore

__all__ = [
    "AddressedStore",
    "Allowance",
    "ClosableStore",
    "DatabaseStore",
    "DerivedLog",
    "DraftStore",
    "FileStamp",
    "FileState",
    "FilesStore",
    "Listed",
    "LoadStore",
    "MemoryStore",
    "Read",
    "ReadableTrash",
    "ScanResult",
    "SessionAddress",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "absolute_path",
    "address_in",
    "addressed_store",
    "check_key",
    "close_store",
    "database_at",
    "drafts_in",
    "gone",
    "is_address",
    "is_server_address",
    "key_for",
    "open_log",
    "open_store",
    "parts_of",
    "shared_store",
    "snapshot_of",
    "stored_at",
    "trash_of",
    "unpacked",
    "unpacked_for_listing",
]

_LATER = {"keys": ("key_for", "parts_of"), "memory": ("MemoryStore",)}


def __getattr__(name: str) -> Any:
    """Load a name on first access: neither lists nor searches need these."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
