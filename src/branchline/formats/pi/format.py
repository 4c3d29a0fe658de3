"""pi's session format: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import ne
from typing import TYPE_CHECKING, Any

from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES, Entry, Header, codec, json_codec
from branchline.formats.common.blobs import Blobs, fields_with_blobs
from branchline.formats.common.native_decoder import BOM, NativeFormatReader
from branchline.formats.common.native_upgrade import FIRST_TYPES
from branchline.formats.pi.home import PiHome
from branchline.formats.protocol import Format, FormatTraits, FormatWriter

if TYPE_CHECKING:
    from branchline.formats.common.native_reader import NativeReader
    from branchline.formats.entry_log import EntryLog
    from branchline.formats.log_index import LogIndex

__all__ = ["PI", "is_damaged_session"]

_HEAD_LINES = 64  # lines at the start of a file that detection examines
_TYPES = SIDE_TYPES | CONVERSATION_TYPES
_HEADER_KEYS = frozenset({"type", "version", "id", "timestamp", "cwd", "parentSession"})
_HEADER_BEGINNING = rb'\{"type":"session","version":\d+,"id":"'
_ENTRY_BEGINNING = (
    rb'\{"type":"(?:(?:%b)","id":"[^"\\]{1,200}","parentId":(?:null|"[^"\\]{0,200}"),"timestamp":"'
    rb'|custom(?:_message)?","customType":)' % "|".join(sorted(_TYPES)).encode()
)


class PiFormatReader(NativeFormatReader["LogIndex"]):
    """Reads pi sessions, which are also branchline's own."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize an entry of pi, or its header alone; damaged lines are not conclusive.

        The first line with a type decides whether the file can be pi's: a type that pi does not have belongs
        to another agent. Other agents have a ``session`` line too: it needs an entry of one of pi's types
        below it, unless it is clearly pi's and no entry follows.
        """
        del path
        header = is_pi = foreign = False
        for line in head.removeprefix(BOM).split(b"\n", _HEAD_LINES)[:_HEAD_LINES]:
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:  # damaged, or truncated at the end of the head
                if re.match(_ENTRY_BEGINNING, line):
                    return True
                header = is_pi = header or re.match(_HEADER_BEGINNING, line) is not None
                continue
            if not isinstance(fields, dict):
                continue
            kind = fields.get("type")
            if fields.get("kind") == "header" and "v" in fields:
                return False  # a store abandoned by pi's library
            if not isinstance(kind, str) or kind in ("", "title") or is_damaged_session(kind):
                continue  # a blank line, or oh-my-pi's title slot, perhaps damaged
            if kind == "session":
                header = header or _is_header(fields)
                is_pi = is_pi or "timestamp" in fields or fields.keys() <= _HEADER_KEYS
            elif kind in _TYPES:
                if _is_entry(fields, timed=not header):
                    return True
            elif not header:
                return False
            else:
                foreign = True
        return header and is_pi and not foreign

    def log_reader(self, path: str = "") -> NativeReader:
        from branchline.formats.common.native_reader import NativeReader  # noqa: PLC0415  searches read no file

        reader = NativeReader()
        reader.reading.path = path
        return reader


class PiFormatWriter(FormatWriter["LogIndex"]):
    """Writes native entries; existing lines are copied byte for byte, unless pi would fail on them."""

    def encode(self, entries: Sequence[Entry], index: LogIndex) -> bytes:
        del index
        return b"".join(map(codec.encode_entry, entries))

    def encode_header(self, header: Header) -> bytes:
        return codec.encode_header(header)

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        from branchline.formats.common.native_copies import path_lines  # noqa: PLC0415

        return b"".join([codec.encode_header(header), *_whole(path_lines(transcript, leaf), transcript)])

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        from branchline.formats.common.native_copies import tree_lines  # noqa: PLC0415

        return b"".join([codec.encode_header(header), *_whole(tree_lines(transcript), transcript)])

    def upgrade(self, transcript: EntryLog) -> Iterable[bytes]:
        from branchline.formats.common.native_copies import upgrade_lines  # noqa: PLC0415

        return upgrade_lines(transcript)


def _whole(lines: Iterable[bytes], transcript: EntryLog) -> Iterator[bytes]:
    """Yield lines with all that pi needs, and with images that oh-my-pi stored in other files."""
    for line in lines:
        fields = fields_with_blobs(line, transcript.reading.path)
        yield codec.complete_line(line if fields is None else json_codec.dumps(fields) + b"\n")


def is_damaged_session(kind: str) -> bool:
    """Return whether a type is ``session`` but for one character, as after a bit flip."""
    return len(kind) == len("session") and sum(map(ne, kind, "session")) == 1


def _is_header(fields: dict[str, Any]) -> bool:
    """Return whether a ``session`` object is complete enough to be a header without entries."""
    return isinstance(fields.get("id"), str) and isinstance(fields.get("timestamp"), str | None)


def _is_entry(fields: dict[str, Any], *, timed: bool) -> bool:
    """Return whether an object of one of pi's types is an entry of pi, of version 1 or later.

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
    external_parts=Blobs(),
)
