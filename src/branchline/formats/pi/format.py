"""pi's format: how its files are recognized, and what is written into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from branchline.entries import Entry, Header, codec, json_codec
from branchline.formats.common.native_copies import path_lines, tree_lines, upgrade_lines
from branchline.formats.common.native_decoder import BOM, NativeFormatReader
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.common.native_upgrade import FIRST_TYPES
from branchline.formats.entry_log import EntryLog
from branchline.formats.log_index import LogIndex
from branchline.formats.pi.home import PiHome
from branchline.formats.protocol import Format, FormatTraits, FormatWriter

__all__ = ["PI"]

_LOOKED_AT = 64  # lines at the beginning of a file that are asked whether it is one of ours
_BEGINNING = re.compile(  # of a header, of an entry, of custom data
    rb'\{"type":"(?:session","version":\d+,"id":"'
    rb'|[a-z_]{1,40}","id":"[^"\\]{1,200}","parentId":(?:null|"[^"\\]{0,200}"),"timestamp":"'
    rb'|custom(?:_message)?","customType":)'
)


class PiFormatReader(NativeFormatReader[LogIndex]):
    """Reads pi's own files, and ours."""

    def sniff(self, head: bytes, path: str) -> bool:
        """A header or an entry of pi, also behind lines that are damaged, blank or something else."""
        del path
        for line in head.removeprefix(BOM).split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:
                if _BEGINNING.match(line):  # damaged, or cut off where the first bytes of the file end
                    return True
                continue
            if isinstance(fields, dict) and (told := _is_own(fields)) is not None:
                return told
        return False

    def log_reader(self, path: str = "") -> NativeReader:
        del path
        return NativeReader()


class PiFormatWriter(FormatWriter[LogIndex]):
    """Writes native entries; lines that are there already are copied byte for byte."""

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


def _is_own(fields: dict[str, Any]) -> bool | None:
    """Whether an object is a header or an entry of pi, or surely neither; None if it does not tell."""
    kind, time = fields.get("type"), fields.get("timestamp")
    if fields.get("kind") == "header" and "v" in fields:
        return False  # a store that pi's library has given up
    if not isinstance(kind, str):
        return None
    if kind == "session" and isinstance(fields.get("id"), str):
        return time is None or isinstance(time, str)
    if isinstance(fields.get("id"), str) and "parentId" in fields and "timestamp" in fields:
        return True
    is_old = kind in FIRST_TYPES and "id" not in fields and isinstance(time, str)
    return True if is_old and isinstance(fields.get("message", {}), dict) and "uuid" not in fields else None


PI = Format(
    traits=FormatTraits(name="pi", native_entries=True),
    reader=PiFormatReader(),
    writer=PiFormatWriter(),
    home=PiHome(),
)
