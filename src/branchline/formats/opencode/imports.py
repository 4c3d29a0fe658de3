"""Sessions reach opencode through its own import, which also finds the project of the directory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from branchline.formats.opencode.log_index import OpencodeLogIndex
from branchline.formats.opencode.unsupported import CANNOT
from branchline.formats.protocol import ImportedFiles

if TYPE_CHECKING:
    from branchline.formats.opencode.writer import OpencodeWriter

__all__ = ["OpencodeImport"]


class OpencodeImport(ImportedFiles[OpencodeLogIndex]):
    """Makes documents for ``opencode import``."""

    unsupported = CANNOT
    command = ("opencode", "import")

    @cached_property
    def writer(self) -> OpencodeWriter:  # type: ignore[override]
        from branchline.formats.opencode.writer import OpencodeWriter  # noqa: PLC0415  most sessions are read

        return OpencodeWriter()

    def document(self, lines: bytes) -> bytes:
        from branchline.formats.opencode.documents import document_of  # noqa: PLC0415  as above

        return document_of(lines)
