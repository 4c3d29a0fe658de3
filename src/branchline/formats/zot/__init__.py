"""zot sessions: linear files of rows without ids; a fork is a new file that names its parent."""

from branchline.formats.zot.format import ZOT, export_portable, import_portable

__all__ = ["ZOT", "export_portable", "import_portable"]
