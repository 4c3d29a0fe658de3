"""opencode's sessions as a format: a database, whose messages become native entries."""

from __future__ import annotations

from branchline.formats.opencode.database import OpencodeDatabase
from branchline.formats.opencode.exports import OpencodeExports
from branchline.formats.opencode.home import OpencodeHome
from branchline.formats.opencode.imports import OpencodeImport
from branchline.formats.opencode.log_index import NAME
from branchline.formats.opencode.records import OpencodeFormatReader
from branchline.formats.protocol import Format, FormatTraits

__all__ = ["OPENCODE"]

OPENCODE = Format(
    traits=FormatTraits(name=NAME, suffix=".json", file_patterns=("*.db",)),
    reader=OpencodeFormatReader(),
    home=OpencodeHome(),
    documents=OpencodeExports(),
    database=OpencodeDatabase(),
    imports=OpencodeImport(),
)
