"""Goose's session format: a database, or older files, whose messages are read as lines."""

from __future__ import annotations

from branchline.entries import Entry
from branchline.formats.common.derived_lines import begins
from branchline.formats.goose.database import GooseDatabase
from branchline.formats.goose.files import GooseFiles
from branchline.formats.goose.home import GooseHome
from branchline.formats.goose.log_index import NAME, GooseLogIndex
from branchline.formats.goose.reader import GooseReader
from branchline.formats.goose.records import record_of
from branchline.formats.protocol import Format, FormatReader, FormatTraits

__all__ = ["GOOSE"]


class GooseFormatReader(FormatReader[GooseLogIndex]):
    """Reads messages of Goose as entries."""

    def sniff(self, head: bytes, path: str) -> bool:
        del path
        return head.startswith(begins(NAME))

    def log_reader(self, path: str = "") -> GooseReader:
        del path
        return GooseReader()

    def decode(self, line: bytes, index: GooseLogIndex, position: int) -> Entry:
        return record_of(line, index, position)


GOOSE = Format(
    traits=FormatTraits(name=NAME, file_patterns=("*.db", "*.jsonl"), links=None),
    reader=GooseFormatReader(),
    home=GooseHome(),
    database=GooseDatabase(),
    documents=GooseFiles(),
)
