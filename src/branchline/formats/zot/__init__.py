"""zot: one line of rows per file, without ids; forks are files that name their parent."""

from branchline.formats.zot.format import (
    PORTABLE_SUFFIX,
    ZOT,
    export_portable,
    import_portable,
    portable_name,
)
from branchline.formats.zot.reader import ZotReader

__all__ = [
    "PORTABLE_SUFFIX",
    "ZOT",
    "ZotReader",
    "export_portable",
    "import_portable",
    "portable_name",
]
