"""zot sessions: linear files of rows without ids; a fork is a new file that names its parent."""

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
