"""One line of a session of opencode as the native format would hold it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from branchline.formats.common.derived_format import DerivedFormatReader, end_fields
from branchline.formats.json_values import iso_time
from branchline.formats.log_index import LineChunk
from branchline.formats.opencode.entries import PlannedEntry, fields_of_entry, planned_entries
from branchline.formats.opencode.log_index import NAME, OpencodeLogIndex
from branchline.formats.opencode.reader import OpencodeReader
from branchline.formats.opencode.rows import EndRow, StoredMessage, message_in, messages_in_lines

__all__ = ["OpencodeFormatReader"]


class OpencodeFormatReader(DerivedFormatReader[OpencodeLogIndex]):
    """Reads messages with their parts as entries."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def log_reader(self, path: str = "") -> OpencodeReader:
        del path
        return OpencodeReader()

    def fields(self, line: bytes, index: OpencodeLogIndex, position: int) -> dict[str, Any]:
        found = message_in(line)
        if not isinstance(found, StoredMessage):
            return end_fields(found.title, index.tree, position)
        planned = _planned_as(found, index.tree.keys[position])
        fields = fields_of_entry(found, planned, _first_kept(index, position))
        return {"timestamp": iso_time(found.row.time.created), **fields}

    def block_fields(
        self, data: bytes, index: OpencodeLogIndex, block: LineChunk
    ) -> Iterator[dict[str, Any]]:
        keys = index.tree.keys
        position, end = block.first, block.first + len(block.ends)
        for found in messages_in_lines(data):
            if isinstance(found, EndRow):
                for place in range(position, end):
                    yield end_fields(found.title, index.tree, place)
                return
            for planned in planned_entries(found.id, found.row, found.ids, found.parts):
                if position < end and planned[0] == keys[position]:
                    yield fields_of_entry(found, planned, _first_kept(index, position))
                    position += 1


def _planned_as(message: StoredMessage, key: str) -> PlannedEntry:
    """The entry of a message that has this key, perhaps with a number because its id is taken."""
    planned = planned_entries(message.id, message.row, message.ids, message.parts)
    return next(
        (one for name in (key, key.rpartition("#")[0]) for one in planned if one[0] == name), planned[0]
    )


def _first_kept(index: OpencodeLogIndex, position: int) -> str | None:
    name = index.kept_from.get(position)
    return None if name is None else index.entry_named(name)
