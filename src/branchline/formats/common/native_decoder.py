"""Decodes files whose entries are native ones: pi's own, and oh-my-pi's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from branchline.entries import Damaged, Entry, Header, codec, decode_entry, entry_from_fields, json_codec
from branchline.formats.common.blobs import BLOB_MARK, fields_with_blobs
from branchline.formats.common.native_upgrade import CURRENT_VERSION, upgraded
from branchline.formats.protocol import FormatReader, IndexT

if TYPE_CHECKING:
    from branchline.formats.log_index import LineChunk

__all__ = ["BOM", "NativeFormatReader"]

BOM = b"\xef\xbb\xbf"


class NativeFormatReader(FormatReader[IndexT]):
    """Decodes native entries."""

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Return the first object of the file if it is a header; a title slot may precede it."""
        del path
        lines = head.removeprefix(BOM).split(b"\n")
        for line in lines if whole else lines[:-1]:
            fields = json_codec.loads_object(line)  # None if it is blank or damaged
            if fields is not None and fields.get("type") != "title":
                return codec.header_from_fields(fields)
        return None

    def decode_block(self, data: bytes, index: IndexT, block: LineChunk) -> Sequence[Entry] | None:
        """Decode all entries of a block at once; None if the tree changed one of them."""
        if index.version != CURRENT_VERSION or not index.linker.is_regular or BLOB_MARK in data:
            return None
        try:
            found = codec.decode_known_lines(memoryview(data))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        keys = index.tree.keys[block.first : block.first + len(block.ends)]
        return found if [entry.id for entry in found] == keys else None

    def decode(self, line: bytes, index: IndexT, position: int) -> Entry:
        """Return an entry; id and parent come from the tree."""
        tree = index.tree
        key = tree.keys[position]
        parent = tree.parent(key)
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        fields = fields_with_blobs(line, index.path)
        if index.version != CURRENT_VERSION:
            entry = upgraded(json_codec.loads(line) if fields is None else fields, index, position)
        else:
            entry = decode_entry(line) if fields is None else entry_from_fields(fields)
        if entry.id != key or entry.parent != parent:
            entry = msgspec.structs.replace(entry, id=key, parent=parent)
        return entry
