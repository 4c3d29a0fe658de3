"""pi's format: how its files are recognized, and what is written into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import ne
from typing import Any

from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES, Entry, Header, codec, json_codec
from branchline.formats.common.native_copies import path_lines, tree_lines, upgrade_lines
from branchline.formats.common.native_decoder import BOM, NativeFormatReader
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.common.native_upgrade import FIRST_TYPES
from branchline.formats.entry_log import EntryLog
from branchline.formats.log_index import LogIndex
from branchline.formats.pi.home import PiHome
from branchline.formats.protocol import Format, FormatTraits, FormatWriter

__all__ = ["PI", "is_damaged_session"]

_LOOKED_AT = 64  # lines at the beginning of a file that are asked whether it is one of ours
_TYPES = SIDE_TYPES | CONVERSATION_TYPES
_HEADER_KEYS = frozenset({"type", "version", "id", "timestamp", "cwd", "parentSession"})
_HEADER_BEGINNING = rb'\{"type":"session","version":\d+,"id":"'
_ENTRY_BEGINNING = (
    rb'\{"type":"(?:(?:%b)","id":"[^"\\]{1,200}","parentId":(?:null|"[^"\\]{0,200}"),"timestamp":"'
    rb'|custom(?:_message)?","customType":)' % "|".join(sorted(_TYPES)).encode()
)


class PiFormatReader(NativeFormatReader[LogIndex]):
    """Reads pi's own files, and ours."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Whether the file has an entry of pi, or only its header; lines that are damaged tell nothing.

        The first line that says a type decides whether the file may be one of pi's: a type that pi does not
        have belongs to another program, whatever follows. Other programs have a ``session`` line too: it
        needs an entry of one of pi's types below it, unless it is plainly pi's and no entry follows.
        """
        del path
        header = ours = foreign = False
        for line in head.removeprefix(BOM).split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:  # damaged, or cut off where the first bytes of the file end
                if re.match(_ENTRY_BEGINNING, line):
                    return True
                header = ours = header or re.match(_HEADER_BEGINNING, line) is not None
                continue
            if not isinstance(fields, dict):
                continue
            kind = fields.get("type")
            if fields.get("kind") == "header" and "v" in fields:
                return False  # a store that pi's library has given up
            if not isinstance(kind, str) or kind in ("", "title") or is_damaged_session(kind):
                continue  # nothing, the title that oh-my-pi has before the header, or what was one
            if kind == "session":
                header = header or _is_header(fields)
                ours = ours or "timestamp" in fields or fields.keys() <= _HEADER_KEYS
            elif kind in _TYPES:
                if _is_entry(fields, timed=not header):
                    return True
            elif not header:
                return False
            else:
                foreign = True
        return header and ours and not foreign

    def log_reader(self, path: str = "") -> NativeReader:
        del path
        return NativeReader()


class PiFormatWriter(FormatWriter[LogIndex]):
    """Writes native entries; lines that are there already are copied byte for byte."""

    def encode(self, entries: Sequence[Entry], index: LogIndex) -> bytes:
        del index
        return b"".join(map(codec.encode_entry, entries))

    def encode_header(self, header: Header) -> bytes:
        return codec.encode_header(header)

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *path_lines(transcript, leaf)])

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *tree_lines(transcript)])

    def upgrade(self, transcript: EntryLog) -> Iterable[bytes]:
        return upgrade_lines(transcript)


def is_damaged_session(kind: str) -> bool:
    """Whether a type is ``session`` but for one character: a changed bit hides no session."""
    return len(kind) == len("session") and sum(map(ne, kind, "session")) == 1


def _is_header(fields: dict[str, Any]) -> bool:
    """Whether an object of type ``session`` tells enough to be a header without entries below it."""
    return isinstance(fields.get("id"), str) and isinstance(fields.get("timestamp"), str | None)


def _is_entry(fields: dict[str, Any], *, timed: bool) -> bool:
    """Whether an object of one of pi's types is an entry of pi, of version 1 or later.

    Below a header it need not have a time (``timed``).
    """
    if isinstance(fields.get("id"), str) and "parentId" in fields and ("timestamp" in fields or not timed):
        return True
    is_old = fields["type"] in FIRST_TYPES and "id" not in fields and isinstance(fields.get("timestamp"), str)
    return is_old and isinstance(fields.get("message", {}), dict) and "uuid" not in fields


PI = Format(
    traits=FormatTraits(name="pi", native_entries=True, rounds_integers=True),
    reader=PiFormatReader(),
    writer=PiFormatWriter(),
    home=PiHome(),
)
