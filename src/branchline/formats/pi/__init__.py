"""pi's session format, versions 1 to 3; version 3 is also the native format of branchline.

One JSON object per line: a header, then entries that name their parent. Reading never changes the file:
versions 1 and 2 are upgraded in memory, with ids that are the same on every load.
"""

from branchline.formats.pi.format import PI

__all__ = ["PI"]
