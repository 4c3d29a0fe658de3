"""Keyed logs behind one small protocol: files, memory, SQLite and PostgreSQL."""

from branchline.stores.address import is_address, open_store
from branchline.stores.files import FilesStore, snapshot_of
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

__all__ = [
    "Allowance",
    "ClosableStore",
    "DraftStore",
    "FileStamp",
    "FilesStore",
    "Listed",
    "LoadStore",
    "MemoryStore",
    "Read",
    "ScanResult",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "check_key",
    "close_store",
    "drafts_in",
    "is_address",
    "key_for",
    "open_store",
    "parts_of",
    "snapshot_of",
    "trash_of",
    "unpacked",
    "unpacked_for_listing",
]
