"""One line of a session of opencode as the native format would hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from branchline.entries import Entry, codec, decode_entry
from branchline.formats.common.derived_format import EntryLines, begins
from branchline.formats.common.native_decoder import NativeFormatReader
from branchline.formats.log_index import LineChunk
from branchline.formats.opencode.entries import PlannedEntry, fields_of_entry, planned_entries
from branchline.formats.opencode.log_index import NAME, OpencodeLogIndex
from branchline.formats.opencode.reader import OpencodeReader
from branchline.formats.opencode.rows import EndRow, StoredMessage, message_in, messages_in_lines
from branchline.tree import ROOT

__all__ = ["OpencodeFormatReader"]


class OpencodeFormatReader(NativeFormatReader[OpencodeLogIndex]):
    """Reads messages with their parts as entries."""

    def sniff(self, head: bytes, path: str) -> bool:
        del path
        return head.startswith(begins(NAME))

    def log_reader(self, path: str = "") -> OpencodeReader:
        del path
        return OpencodeReader()

    def decode(self, line: bytes, index: OpencodeLogIndex, position: int) -> Entry:
        if index.is_native:
            return super().decode(line, index, position)
        found = message_in(line)
        key = index.tree.keys[position]
        if isinstance(found, StoredMessage):
            planned = _planned_as(found, key)
            fields = fields_of_entry(found, planned, _first_kept(index, position))
        else:
            fields = _end_fields(found, index, position)
        entry = decode_entry(_native_line(index, position, fields))
        return entry if entry.id == key else msgspec.structs.replace(entry, id=key)

    def decode_block(self, data: bytes, index: OpencodeLogIndex, block: LineChunk) -> Sequence[Entry] | None:
        if index.is_native:
            return super().decode_block(data, index, block)
        if not index.linker.is_regular:
            return None
        native = b"".join(_native_lines(data, index, block))
        try:
            found = codec.decode_known_lines(native)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        keys = index.tree.keys[block.first : block.first + len(block.ends)]
        return found if [entry.id for entry in found] == keys else None


def _native_lines(data: bytes, index: OpencodeLogIndex, block: LineChunk) -> Iterator[bytes]:
    """The entries of a block, which may begin or end in the middle of a line."""
    keys = index.tree.keys
    position, end = block.first, block.first + len(block.ends)
    for found in messages_in_lines(data):
        if isinstance(found, EndRow):
            while position < end:
                yield _native_line(index, position, _end_fields(found, index, position))
                position += 1
            return
        for planned in planned_entries(found.id, found.row, found.ids, found.parts):
            if position < end and planned.id == keys[position]:
                fields = fields_of_entry(found, planned, _first_kept(index, position))
                yield _native_line(index, position, fields)
                position += 1


def _native_line(index: OpencodeLogIndex, position: int, fields: dict[str, Any]) -> bytes:
    tree = index.tree
    above = tree.parent_position(position)
    parent = None if above == ROOT else tree.keys[above]
    return EntryLines(NAME).entry(
        tree.types[position], tree.keys[position], tree.times[position], fields, parent=parent
    )


def _planned_as(message: StoredMessage, key: str) -> PlannedEntry:
    """The entry of a message that has this key, perhaps with a number because its id is taken."""
    planned = planned_entries(message.id, message.row, message.ids, message.parts)
    return next(
        (one for name in (key, key.rpartition("#")[0]) for one in planned if one.id == name), planned[0]
    )


def _first_kept(index: OpencodeLogIndex, position: int) -> str | None:
    name = index.kept_from.get(position)
    return None if name is None else index.entry_named(name)


def _end_fields(end: EndRow, index: OpencodeLogIndex, position: int) -> dict[str, Any]:
    if index.tree.types[position] == "session_info":
        return {"name": end.title}
    above = index.tree.parent_position(position)
    return {"targetId": None if above == ROOT else index.tree.keys[above]}
