"""Reads oh-my-pi's lines: pi's, preceded by a title slot, with additional types and roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.entries import json_codec, skeleton
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.common.native_upgrade import CURRENT_VERSION
from branchline.formats.json_values import text_of
from branchline.formats.log_index import LogIndex
from branchline.formats.oh_my_pi import rows
from branchline.formats.oh_my_pi.title_slot import SLOT_BYTES, TitleState, TitleTracker, read_slot

__all__ = ["OhMyPiLogIndex", "OhMyPiReader"]

NAME = "oh-my-pi"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, bytes, int, TitleState]).decode


class OhMyPiLogIndex(LogIndex):
    """Index that also records the title slot.

    ``slot_end`` is the offset at which the slot ends, 0 in a file without one.
    """

    def __init__(self, path: str) -> None:
        super().__init__(NAME)
        self.current_version = CURRENT_VERSION
        self.path = path
        self.titles = TitleTracker()
        self.slot_end = 0

    @property
    def title_in_agent(self) -> str | None:
        """The title in the slot, else in the header; oh-my-pi reads changes only if it has neither."""
        if (shown := self.titles.in_slot) is not None:
            return shown or None
        return text_of((json_codec.loads_object(self.header_line) or {}).get("title")) or self.title


class OhMyPiReader(NativeReader):
    """Reads lines that may begin with a title slot."""

    format_name = NAME
    reading: OhMyPiLogIndex

    def __init__(self, path: str = "") -> None:
        self._slot_line = b""
        super().__init__(OhMyPiLogIndex(path))

    def decode_rows(self, data: memoryview) -> Sequence[Any]:
        return rows.decode_lines(data)

    def row_from(self, fields: dict[str, Any]) -> skeleton.Skeleton:
        return rows.renamed(super().row_from(fields))

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        if not self._started and _may_be_slot(fields):
            self._take_slot(fields, line, offset)
        else:
            super().take(fields, line, offset)

    def _take_slot(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        slot = read_slot(fields)
        self.gap = False
        message = ""
        if slot is None:
            message = "not an entry: a title slot that is not valid"
        else:
            reading.titles.see_slot(slot)
            reading.title = reading.titles.current
            reading.slot_end = offset + len(line)
            if offset or len(line) != SLOT_BYTES - 1:
                message = f"the title slot has {offset + len(line) + 1} bytes instead of {SLOT_BYTES}"
            else:
                reading.mutable_prefix = SLOT_BYTES
                self._slot_line = line + b"\n"
        if message:
            self.report("not-an-entry", message, line, offset)

    def _take_header(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        before = self.reading.header
        super()._take_header(fields, line, offset)
        if self.reading.header is not before:
            self.reading.titles.see_header(fields)
            self.reading.title = self.reading.titles.current

    def on_finish(self) -> None:
        super().on_finish()
        reading = self.reading
        reading.prefix_recorded = bool(self._slot_line) and self._slot_line == reading.titles.expected_slot

    def saved_state(self) -> bytes | None:
        native, reading = super().saved_state(), self.reading
        if native is None:
            return None
        return _encode((native, self._slot_line, reading.slot_end, reading.titles.state))

    def restore_state(self, state: bytes) -> None:
        native, self._slot_line, self.reading.slot_end, self.reading.titles.state = _decode(state)
        super().restore_state(native)

    def _note_side_record(self, position: int, line: bytes) -> None:
        reading = self.reading
        if reading.tree.types[position] != "session_info":
            super()._note_side_record(position, line)
            return
        fields = json_codec.loads(line)
        if fields.get("type") == "title_change":  # pi's session_info names have no effect in oh-my-pi
            reading.titles.see_change(fields)
            reading.title = reading.titles.current


def _may_be_slot(fields: dict[str, Any]) -> bool:
    """Return whether an object before the header is a title slot, perhaps a damaged one.

    Entries of every version have a time.
    """
    return fields.get("type") == "title" or ("id" not in fields and "timestamp" not in fields)
