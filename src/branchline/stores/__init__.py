"""Keyed logs behind one small protocol: files, memory, databases, and the sources of other programs."""

from branchline.stores.address import is_address, open_store
from branchline.stores.files import FilesStore
from branchline.stores.keys import key_for, parts_of
from branchline.stores.memory import MemoryStore
from branchline.stores.packed import Allowance, Listed, unpacked, unpacked_for_listing
from branchline.stores.protocol import (
    ClosableStore,
    DraftStore,
    FileStamp,
    LoadStore,
    Read,
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
    database_at,
    gone,
    open_log,
    snapshot_of,
    stored_at,
)

__all__ = [
    "Allowance",
    "ClosableStore",
    "DatabaseStore",
    "DerivedLog",
    "DraftStore",
    "FileStamp",
    "FilesStore",
    "Listed",
    "LoadStore",
    "MemoryStore",
    "Read",
    "ScanResult",
    "SessionAddress",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "address_in",
    "check_key",
    "close_store",
    "database_at",
    "drafts_in",
    "gone",
    "is_address",
    "key_for",
    "open_log",
    "open_store",
    "parts_of",
    "snapshot_of",
    "stored_at",
    "trash_of",
    "unpacked",
    "unpacked_for_listing",
]
