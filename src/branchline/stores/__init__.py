"""Keyed logs behind one small protocol: files and memory."""

from branchline.stores.files import FilesStore, snapshot_of
from branchline.stores.memory import MemoryStore
from branchline.stores.packed import Allowance, Listed, unpacked, unpacked_for_listing
from branchline.stores.protocol import (
    FileStamp,
    Read,
    ScanResult,
    SkippedFile,
    Store,
    StoredLog,
    TrashItem,
    check_key,
)

__all__ = [
    "Allowance",
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
    "check_key",
    "snapshot_of",
    "unpacked",
    "unpacked_for_listing",
]
