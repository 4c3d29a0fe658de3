"""One append-only log: read from an offset, append whole lines, lose none.

The package knows bytes, offsets and newlines; it does not know what a line means. It guarantees:

- an append is one atomic write: after `NotSaved` the log is unchanged;
- with durability "fsync" an acknowledged line survives a power cut, with "os" the death of the process;
- one writer at a time, with a time limit, and an error that names the process holding the lock;
- a torn tail never swallows the next line, and reading never writes.
"""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.log.protocol import (
    CompareAndAppendLog,
    Durability,
    FollowableLog,
    IndexedLog,
    LinesLog,
    Log,
    RemovableLog,
    TornTail,
    Writer,
    follow,
)
from branchline.log.system import SYSTEM, System

if TYPE_CHECKING:
    from branchline.log.decompressed import DecompressedLog
    from branchline.log.directories import create_directory, sync_directory
    from branchline.log.file import FileLog
    from branchline.log.filesystems import filesystem_warning
    from branchline.log.locks import is_locked
    from branchline.log.memory import MemoryLog
    from branchline.log.replace import publish_file, replace_file, write_file
    from branchline.log.spool import Spool

__all__ = [
    "SYSTEM",
    "CompareAndAppendLog",
    "DecompressedLog",
    "Durability",
    "FileLog",
    "FollowableLog",
    "IndexedLog",
    "LinesLog",
    "Log",
    "MemoryLog",
    "RemovableLog",
    "Spool",
    "System",
    "TornTail",
    "Writer",
    "create_directory",
    "filesystem_warning",
    "follow",
    "is_locked",
    "publish_file",
    "replace_file",
    "sync_directory",
    "write_file",
]

_OPENED = {
    "decompressed": ("DecompressedLog",),
    "directories": ("create_directory", "sync_directory"),
    "file": ("FileLog",),
    "filesystems": ("filesystem_warning",),
    "locks": ("is_locked",),
    "memory": ("MemoryLog",),
    "replace": ("publish_file", "replace_file", "write_file"),
    "spool": ("Spool",),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: a search opens no log."""
    return _lazy.lazy_attribute(__name__, _OPENED, name)
