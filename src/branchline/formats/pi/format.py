"""What pi writes and where it keeps it: the format as the rest of the house sees it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import ne
from typing import Any

import msgspec

from branchline.entries import (
    CONVERSATION_TYPES,
    SIDE_TYPES,
    Damaged,
    Entry,
    Header,
    codec,
    decode_entry,
    json_codec,
)
from branchline.formats.copying import path_lines, tree_lines, upgrade_lines
from branchline.formats.entry_log import EntryLog
from branchline.formats.pi.reader import PiReader
from branchline.formats.pi.upgrade import CURRENT_VERSION, FIRST_TYPES, upgraded
from branchline.formats.protocol import Format, LineChunk, LogIndex
from branchline.tree import ROOT

__all__ = ["PI", "PiFormat", "is_damaged_session"]

_BOM = b"\xef\xbb\xbf"
_LOOKED_AT = 64  # lines at the beginning of a file that are asked whether it is one of ours
_TYPES = SIDE_TYPES | CONVERSATION_TYPES
_HEADER_BEGINNING = re.compile(rb'\{"type":"session","version":\d+,"id":"')
_ENTRY_BEGINNING = re.compile(
    rb'\{"type":"(?:(?:%b)","id":"[^"\\]{1,200}","parentId":(?:null|"[^"\\]{0,200}"),"timestamp":"'
    rb'|custom(?:_message)?","customType":)' % "|".join(sorted(_TYPES)).encode()
)


class PiFormat(Format):
    """pi's own files, and ours."""

    name = "pi"
    writable = True

    def sniff(self, head: bytes, path: str) -> bool:
        """Whether the file has an entry of pi, or only its header; lines that are damaged tell nothing.

        The first line that says a type decides whether the file may be one of pi's: a type that pi does not
        have belongs to another program, whatever follows. Other programs have a ``session`` line too: it
        needs an entry of one of pi's types below it, unless no entry follows.
        """
        del path
        header = foreign = False
        for line in head.removeprefix(_BOM).split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:  # damaged, or cut off where the first bytes of the file end
                if _ENTRY_BEGINNING.match(line):
                    return True
                header = header or _HEADER_BEGINNING.match(line) is not None
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
            elif kind in _TYPES:
                if _is_entry(fields):
                    return True
            elif not header:
                return False
            else:
                foreign = True
        return header and not foreign

    def reader(self, path: str = "") -> PiReader:
        del path
        return PiReader()

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """The first object of the file, if it is a header; a title slot may stand before it."""
        del path
        lines = head.removeprefix(_BOM).split(b"\n")
        for line in lines if whole else lines[:-1]:
            try:
                fields = json_codec.loads(line)
            except ValueError:
                continue  # blank or damaged
            if isinstance(fields, dict) and fields.get("type") != "title":
                return codec.header_from_fields(fields)
        return None

    def decode_block(self, data: bytes, reading: LogIndex, block: LineChunk) -> Sequence[Entry] | None:
        """All entries of a block at once, where each is as its line says; None where one is not."""
        if reading.version != CURRENT_VERSION or not reading.linker.is_regular:
            return None
        try:
            found = codec.decode_known_lines(memoryview(data))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        keys = reading.tree.keys[block.first : block.first + len(block.ends)]
        return found if [entry.id for entry in found] == keys else None

    def decode(self, line: bytes, reading: LogIndex, position: int) -> Entry:
        """The record of an entry; its id and parent are those of the tree."""
        tree = reading.tree
        key = tree.keys[position]
        above = tree.parent_position(position)
        parent = None if above == ROOT else tree.keys[above]
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        entry = (
            decode_entry(line) if reading.version == CURRENT_VERSION else upgraded(line, reading, position)
        )
        if entry.id != key or entry.parent != parent:
            entry = msgspec.structs.replace(entry, id=key, parent=parent)
        return entry

    def encode(self, entries: Sequence[Entry], reading: LogIndex) -> bytes:
        del reading
        return b"".join([codec.encode_entry(entry) for entry in entries])

    def encode_header(self, header: Header) -> bytes:
        return codec.encode_header(header)

    def fork(self, transcript: EntryLog, leaf: int, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *path_lines(transcript, leaf)])

    def copy(self, transcript: EntryLog, header: Header) -> bytes:
        return b"".join([codec.encode_header(header), *tree_lines(transcript)])

    def upgrade(self, transcript: EntryLog) -> Iterable[bytes]:
        return upgrade_lines(transcript)

    def file_key(self, header: Header) -> str:
        return re.sub(r"[:.]", "-", header.timestamp) + "_" + header.id

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        if custom := environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return [_expanded(custom, home)]
        return [os.path.join(_agent_directory(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        root = self.roots(environment, home)[0]
        if environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return root
        return os.path.join(root, "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--")


PI = PiFormat()


def _agent_directory(environment: Mapping[str, str], home: str) -> str:
    return _expanded(environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent", home)


def _expanded(path: str, home: str) -> str:
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def is_damaged_session(kind: str) -> bool:
    """Whether a type is ``session`` but for one character: a changed bit hides no session."""
    return len(kind) == len("session") and sum(map(ne, kind, "session")) == 1


def _is_header(fields: dict[str, Any]) -> bool:
    """Whether an object of type ``session`` tells enough to be a header without entries below it."""
    return isinstance(fields.get("id"), str) and isinstance(fields.get("timestamp"), str | None)


def _is_entry(fields: dict[str, Any]) -> bool:
    """Whether an object of one of pi's types is an entry of pi, of version 1 or later."""
    if isinstance(fields.get("id"), str) and "parentId" in fields and "timestamp" in fields:
        return True
    is_old = fields["type"] in FIRST_TYPES and "id" not in fields and isinstance(fields.get("timestamp"), str)
    return is_old and isinstance(fields.get("message", {}), dict) and "uuid" not in fields
