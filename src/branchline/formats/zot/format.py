"""zot's session format: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from branchline.context import ModelRef
from branchline.entries import CompactionSummaryMessage, Entry, Header, MessageEntry, json_codec
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Format, FormatReader, FormatTraits, ReadingLimits
from branchline.formats.uuid_writer import UuidWriter
from branchline.formats.zot.copies import (
    compacted_lines,
    copied_lines,
    forked_lines,
    imported_lines,
    portable_lines,
)
from branchline.formats.zot.home import ZotHome
from branchline.formats.zot.log_index import ZotLogIndex
from branchline.formats.zot.reader import ZotReader
from branchline.formats.zot.records import CurrentModel, record_of, unread
from branchline.formats.zot.writer import CANNOT, ZotWriter, header_fields, meta_row
from branchline.tree import ROOT

__all__ = ["ZOT", "export_portable", "import_portable"]

_ROW = re.compile(
    rb'\s*\{\s*(?:"type"\s*:\s*"(?:meta"\s*,\s*"meta"\s*:\s*\{|message"\s*,\s*"message"\s*:\s*\{\s*"role"'
    rb'|usage"\s*,\s*"usage"\s*:\s*\{\s*"input_tokens")|"title"\s*:.*"type"\s*:\s*"rename")'
)
_NAME = re.compile(r"(?:^|[/\\])\d{8}-\d{6}-[0-9a-fA-F]{8}\.(?:jsonl|zotsession)$")


TRAITS = FormatTraits(
    name="zot",
    file_patterns=("*/*.jsonl",),
    links=None,
    metadata_types=frozenset({"model_change"}),
    unsupported=CANNOT,
    compacts_by_fork=True,
    keeps_lone_surrogates=False,
    removes_empty_sessions=True,
    overwrites_appends=True,  # a zot process that created its session did not open it in append mode
)


class ZotFormatReader(FormatReader[ZotLogIndex]):
    """Reads zot sessions, as version 0.1.62 writes them."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a line that starts like a zot row or, if none is conclusive, a file name like zot's."""
        for line in head_lines(head):
            if _ROW.match(line):
                return True
            if line.strip() and (fields := json_codec.loads_object(line)) is not None:
                # pi puts a timestamp beside the payload; its version 1 entries have no id either.
                kind = fields.get("type")
                if not isinstance(kind, str) or {"id", "timestamp"} & fields.keys():
                    return False
                return isinstance(fields.get(kind), dict)
        return b'{"type":"' not in head and _NAME.search(path) is not None

    def log_reader(self, path: str = "") -> ZotReader:
        return ZotReader(path)

    def decode(self, line: bytes, index: ZotLogIndex, position: int) -> Entry:
        return record_of(line, index, position)

    def answer_model(self, transcript: EntryLog[ZotLogIndex], position: int) -> ModelRef | None:
        """Return the model named by the preceding meta row."""
        current = CurrentModel(transcript.reading.meta_at(position))
        return None if current.model is None else ModelRef(provider=current.provider or "", id=current.model)


class ZotFormatWriter(UuidWriter[ZotLogIndex]):
    """Writes zot sessions."""

    def encode_header(self, header: Header) -> bytes:
        return meta_row(header_fields(header))

    def encode(self, entries: Sequence[Entry], index: ZotLogIndex) -> bytes:
        return ZotWriter(index, TRAITS.unsupported_error).write(entries)

    def fork(self, transcript: EntryLog[ZotLogIndex], leaf: int, header: Header) -> bytes:
        return b"".join(forked_lines(transcript, leaf, header))

    def copy(self, transcript: EntryLog[ZotLogIndex], header: Header) -> bytes:
        return b"".join(copied_lines(transcript, header))

    def fork_compacted(
        self,
        transcript: EntryLog[ZotLogIndex],
        leaf: int,
        header: Header,
        *,
        summary: CompactionSummaryMessage,
        first_kept: int = ROOT,
    ) -> bytes:
        """Return a fork in which a summary replaces everything before an entry (-1: all of it).

        This is how zot compacts a session: the original file keeps every message.
        """
        return b"".join(compacted_lines(transcript, leaf, first_kept, summary, header))


class ZotLimits(ReadingLimits):
    """zot skips other providers' thinking, images that are not base64, and messages of nothing else."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        return unread(entry.message) if isinstance(entry, MessageEntry) else ()


ZOT = Format(
    traits=TRAITS,
    reader=ZotFormatReader(),
    writer=ZotFormatWriter(),
    home=ZotHome(),
    limits=ZotLimits(),
)


def export_portable(transcript: EntryLog[ZotLogIndex]) -> bytes:
    """Return the session as a file for another machine, without working directory and model changes."""
    return b"".join(portable_lines(transcript))


def import_portable(data: bytes, header: Header) -> bytes:
    """Return a new session with this header from the content of a portable file.

    Raises NotASession if the content does not begin with a row that names a session.
    """
    transcript = EntryLog(ZOT, lambda offset, size: data[offset : offset + size], "the portable file")
    return b"".join(imported_lines(transcript, header))
