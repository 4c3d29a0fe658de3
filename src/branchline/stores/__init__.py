"""Keyed logs behind one small protocol: files and memory."""

from branchline.stores.files import FilesStore, snapshot_of
from branchline.stores.memory import MemoryStore
from branchline.stores.protocol import Read, ScanResult, SkippedFile, Store, StoredLog, TrashItem, check_key

__all__ = [
    "FilesStore",
    "MemoryStore",
    "Read",
    "ScanResult",
    "SkippedFile",
    "Store",
    "StoredLog",
    "TrashItem",
    "check_key",
    "snapshot_of",
]
