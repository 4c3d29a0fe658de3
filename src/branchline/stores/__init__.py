"""Keyed logs behind one small protocol: files and memory."""

from branchline.stores.base import Hidden, Read, Scan, Store, Stored, Trashed, check_key
from branchline.stores.files import FilesStore, snapshot_of
from branchline.stores.memory import MemoryStore
from branchline.stores.packed import Allowance, Listed, unpacked, unpacked_for_listing

__all__ = [
    "Allowance",
    "FilesStore",
    "Hidden",
    "Listed",
    "MemoryStore",
    "Read",
    "Scan",
    "Store",
    "Stored",
    "Trashed",
    "check_key",
    "snapshot_of",
    "unpacked",
    "unpacked_for_listing",
]
