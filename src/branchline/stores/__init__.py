"""Keyed logs behind one small protocol: files, memory, and the databases and documents of other programs."""

from branchline.stores.files import FilesStore
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
    "DatabaseStore",
    "DerivedLog",
    "DraftStore",
    "FileStamp",
    "FilesStore",
    "Listed",
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
    "database_at",
    "drafts_in",
    "gone",
    "open_log",
    "snapshot_of",
    "stored_at",
    "trash_of",
    "unpacked",
    "unpacked_for_listing",
]
