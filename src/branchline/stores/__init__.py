"""Keyed logs behind one small protocol: files and memory."""

from branchline.stores.files import FilesStore, snapshot_of
from branchline.stores.memory import MemoryStore
from branchline.stores.packed import Allowance, Listed, unpacked, unpacked_for_listing
from branchline.stores.protocol import (
    DraftStore,
    FileStamp,
    Read,
    ScanResult,
    SkippedFile,
    Store,
    StoredLog,
    TrashItem,
    TrashStore,
    check_key,
    drafts_in,
    trash_of,
)

__all__ = [
    "Allowance",
    "DraftStore",
    "FileStamp",
    "FilesStore",
    "Listed",
    "MemoryStore",
    "Read",
    "ScanResult",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "TrashStore",
    "check_key",
    "drafts_in",
    "snapshot_of",
    "trash_of",
    "unpacked",
    "unpacked_for_listing",
]
