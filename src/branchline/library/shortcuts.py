"""Methods of a library that call the use cases of :mod:`branchline.actions`.

The use cases are in a higher layer, so each method imports its own when it is called. Only this module of the
package may do so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from branchline.actions.check import FileReport
    from branchline.actions.import_ import ImportResult
    from branchline.library.library import SessionLibrary

__all__ = ["LibraryShortcuts"]


class LibraryShortcuts:
    """Check and import, as methods."""

    def check(self) -> tuple[FileReport, ...]:
        """Check every session for damage, and against its seal, newest first. Changes nothing."""
        from branchline.actions.check import check_library  # noqa: PLC0415

        return check_library(cast("SessionLibrary", self))

    def import_file(self, file: str | os.PathLike[str], *, new_id: bool = False) -> ImportResult:
        """Copy a session file into this library.

        See :func:`branchline.actions.import_.import_into`.
        """
        from branchline.actions.import_ import import_into  # noqa: PLC0415

        return import_into(cast("SessionLibrary", self), file, new_id=new_id)
