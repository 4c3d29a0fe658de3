"""Keyed logs behind one small protocol: files and memory."""

from branchline.stores.files import FilesStore, snapshot_of
from branchline.stores.memory import MemoryStore
from branchline.stores.protocol import Hidden, Read, Scan, Store, Stored, Trashed, check_key

__all__ = [
    "FilesStore",
    "Hidden",
    "MemoryStore",
    "Read",
    "Scan",
    "Store",
    "Stored",
    "Trashed",
    "check_key",
    "snapshot_of",
]
