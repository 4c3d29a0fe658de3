"""Formats whose lines are derived from rows: messages as a database has them, or native entries.

Both are below a header that names the agent. A line of rows may hold several entries, which become native
ones when they are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from branchline.entries import Entry, codec, decode_entry, json_codec
from branchline.formats.common.derived_lines import EntryLines, begins
from branchline.formats.common.native_decoder import NativeFormatReader
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.log_index import LineChunk, LogIndex
from branchline.formats.typed_rows import row_from
from branchline.tree import ROOT, Tree

__all__ = [
    "DerivedFormatReader",
    "DerivedLogIndex",
    "DerivedReader",
    "RowDecoder",
    "end_fields",
    "is_nothing",
    "is_object",
    "is_string",
]

_QUOTE, _BRACE = b'"{'


class DerivedLogIndex(LogIndex):
    """Index that also records which kind of lines a session has."""

    def __init__(self, format_name: str) -> None:
        super().__init__(format_name)
        self.is_native = True
        """Whether each line is a native entry."""


DerivedT = TypeVar("DerivedT", bound=DerivedLogIndex)


class DerivedReader(NativeReader):
    """Reads derived lines of one agent."""

    reading: DerivedLogIndex

    def __init__(self, index: DerivedLogIndex) -> None:
        super().__init__(index)

    def finish(self, tail: bytes) -> None:
        super().finish(tail)
        reading = self.reading
        if reading.read_only is None:
            reading.read_only = f"sessions of {reading.format} are read-only; fork one to continue it"

    def saved_state(self) -> bytes | None:
        return super().saved_state() if self.reading.is_native else None


class DerivedFormatReader(NativeFormatReader[DerivedT]):
    """Decodes derived lines; a format implements :meth:`fields` and :meth:`block_fields`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begins = begins(name)

    def sniff(self, head: bytes, path: str) -> bool:
        del path
        return head.startswith(self._begins)

    def fields(self, line: bytes, index: DerivedT, position: int) -> dict[str, Any]:
        """Return the native fields of an entry on a line of rows, beyond those that every entry has.

        Include ``timestamp`` if the line tells it: the tree converts the times of all entries when it is
        asked for one.
        """
        raise NotImplementedError

    def block_fields(self, data: bytes, index: DerivedT, block: LineChunk) -> Iterator[dict[str, Any]]:
        """Yield the same for all entries of a block, which may begin or end in the middle of a line."""
        raise NotImplementedError

    def decode(self, line: bytes, index: DerivedT, position: int) -> Entry:
        if index.is_native:
            return super().decode(line, index, position)
        key = index.tree.keys[position]
        entry = decode_entry(self._native_line(index.tree, position, self.fields(line, index, position)))
        return entry if entry.id == key else msgspec.structs.replace(entry, id=key)

    def decode_block(self, data: bytes, index: DerivedT, block: LineChunk) -> Sequence[Entry] | None:
        if index.is_native:
            return super().decode_block(data, index, block)
        if not index.linker.is_regular:
            return None
        entries = enumerate(self.block_fields(data, index, block), block.first)
        native = b"".join([self._native_line(index.tree, position, fields) for position, fields in entries])
        try:
            found = codec.decode_known_lines(native)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        keys = index.tree.keys[block.first : block.first + len(block.ends)]
        return found if [entry.id for entry in found] == keys else None

    def _native_line(self, tree: Tree, position: int, fields: dict[str, Any]) -> bytes:
        above = tree.parent_position(position)
        parent = None if above == ROOT else tree.keys[above]
        time = fields.get("timestamp")
        return EntryLines(self._name).entry(
            tree.types[position],
            tree.keys[position],
            tree.times[position] if time is None else time,
            fields,
            parent=parent,
        )


def end_fields(title: str, tree: Tree, position: int) -> dict[str, Any]:
    """Return the fields of an entry at the end of a session: its title, or the leaf."""
    if tree.types[position] == "session_info":
        return {"name": title}
    above = tree.parent_position(position)
    return {"targetId": None if above == ROOT else tree.keys[above]}


# -- values of a database, which may be anything ----------------------------------------------------------


def is_string(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is a string."""
    view = memoryview(value)
    return view.nbytes > 0 and view[0] == _QUOTE


def is_object(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is an object."""
    view = memoryview(value)
    return view.nbytes > 0 and view[0] == _BRACE


def is_nothing(value: msgspec.Raw) -> bool:
    """Return whether raw JSON is null or an empty string."""
    view = memoryview(value)
    return view.nbytes <= len(b"null") and bytes(view) in (b"null", b'""', b"")


class RowDecoder:
    """Decodes JSON objects into structs whose fields all have defaults, whatever the objects contain.

    A field of an unexpected type gets its default; only a value that is not a JSON object becomes None.
    """

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def __call__(self, data: bytes) -> Any:
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        fields = json_codec.loads_object(json_codec.bounded(data))
        return None if fields is None else row_from(fields, self._kind)
