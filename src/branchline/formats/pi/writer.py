"""Writes native entries; lines that are there already are copied byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from branchline.entries import Entry, Header, codec
from branchline.formats.common.native_copies import path_lines, tree_lines, upgrade_lines
from branchline.formats.entry_log import EntryLog
from branchline.formats.log_index import LogIndex
from branchline.formats.protocol import FormatWriter

__all__ = ["PiFormatWriter"]


class PiFormatWriter(FormatWriter[LogIndex]):
    """Writes pi's files, and ours."""

    def encode(self, entries: Sequence[Entry], index: LogIndex) -> bytes:
        del index
        return b"".join([codec.encode_entry(entry) for entry in entries])

    def encode_header(self, header: Header) -> bytes:
        return codec.encode_header(header)

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *path_lines(transcript, leaf)])

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *tree_lines(transcript)])

    def upgrade(self, transcript: EntryLog) -> Iterable[bytes]:
        return upgrade_lines(transcript)
