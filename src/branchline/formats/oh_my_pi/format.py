"""oh-my-pi's session format: detection, reading and appending.

branchline only appends. The title slot keeps its 256 bytes, a rename is an entry newer than the slot, and a
move is the same leaf entry as in native files: a reader that takes the last line as the leaf finds its
target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from branchline.entries import (
    Compaction,
    ContextEdit,
    Damaged,
    Entry,
    Header,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    UnknownMessage,
    codec,
    entry_fields,
    json_codec,
)
from branchline.formats.common.blobs import BLOB_MARK, Blobs, blob_directories, with_blobs
from branchline.formats.common.native_copies import tree_lines, upgrade_lines
from branchline.formats.common.native_decoder import BOM, NativeFormatReader
from branchline.formats.common.native_upgrade import CURRENT_VERSION
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.log_index import LineChunk
from branchline.formats.oh_my_pi.context_rules import RULES
from branchline.formats.oh_my_pi.copies import forked_lines
from branchline.formats.oh_my_pi.home import OhMyPiHome, is_own_path
from branchline.formats.oh_my_pi.reader import NAME, OhMyPiLogIndex, OhMyPiReader
from branchline.formats.oh_my_pi.records import RECOVERED, native_entry, to_fields, with_task_usage
from branchline.formats.oh_my_pi.rows import OWN_TYPES
from branchline.formats.oh_my_pi.title_slot import SLOT_BYTES, TitleSlot, clean_title, slot_line
from branchline.formats.protocol import Format, FormatTraits, FormatWriter, ReadingLimits

__all__ = ["OH_MY_PI"]

_HEADER_KEYS = frozenset(
    {"title", "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey"}
)
_SLOT_KEYS = frozenset({"v", "title"})
_OTHERS = (b'{"type":"meta"', b'{"parentUuid"')  # how files of agents begin that are checked later
_OWN_ENTRIES = tuple(b'{"type":"%s",' % kind.encode() for kind in OWN_TYPES)
_RECOVERED_MARK = RECOVERED.encode()
_PLAIN = frozenset({"message", "custom", "custom_message", "label", "leaf"})  # same as in pi


TRAITS = FormatTraits(
    name=NAME,
    file_patterns=("*/*.jsonl",),
    subagent_patterns=("*/*/**/*.jsonl",),
    native_entries=True,
    copies_companion_folder=True,
    title_in_header=True,
    own_blocks=frozenset({"anthropicServerTool", "fallback", "redactedThinking"}),
    rounds_integers=True,
    unsupported={
        "context_edit": "oh-my-pi has no context edits and would keep sending the original",
        "system": "oh-my-pi keeps the system prompt outside the session and would not send this one",
        "retained_tail": "a compaction of oh-my-pi names its first kept entry and holds no messages itself",
    },
)


class OhMyPiFormatReader(NativeFormatReader[OhMyPiLogIndex]):
    """Reads pi's entries and oh-my-pi's own."""

    log_reader = OhMyPiReader
    context_rules = RULES

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a title slot, keys or types that only oh-my-pi writes, or its sessions directory."""
        lines = head_lines(head.removeprefix(BOM).lstrip())
        first, second = next(lines), next(lines, b"")
        if _begins_with_slot(first, second):
            return True
        if _tells_nothing(first):
            first, second = second, next(lines, b"")
            if _begins_with_slot(first, second):
                return True
        if not first.startswith(b"{") or first.startswith(_OTHERS) or b'"type"' not in first[:2000]:
            return False
        header = json_codec.loads_object(first) if first.startswith(b'{"type":"session"') else None
        if not _HEADER_KEYS.isdisjoint(header or ()):
            return True
        return is_own_path(path) or any(map(_is_own_line, (first, second))) or any(map(_is_own_line, lines))

    def decode_block(self, data: bytes, index: OhMyPiLogIndex, block: LineChunk) -> Sequence[Entry] | None:
        types = index.tree.types[block.first : block.first + len(block.ends)]
        if not _PLAIN.issuperset(types) or _needs_care(data):
            return None
        return super().decode_block(data, index, block)

    def decode(self, line: bytes, index: OhMyPiLogIndex, position: int) -> Entry:
        """Return the native record of an entry, with images from blobs put back."""
        tree = index.tree
        if position in tree.placeholders or (tree.types[position] in _PLAIN and not _needs_care(line)):
            return super().decode(line, index, position)
        if index.version != CURRENT_VERSION:
            entry = super().decode(line, index, position)
            fields = entry_fields(entry) if isinstance(entry, ModelChange | ContextEdit) else None
        else:
            fields = json_codec.loads_object(line)
        if fields is None:
            return super().decode(line, index, position)
        if BLOB_MARK in line:
            with_blobs(fields, blob_directories(index.path))
        key = tree.keys[position]
        entry = with_task_usage(native_entry(fields, tree, position))
        return msgspec.structs.replace(entry, id=key, parent=tree.parent(key))


class OhMyPiFormatWriter(FormatWriter[OhMyPiLogIndex]):
    """Appends to oh-my-pi files and forks them."""

    def encode(self, entries: Sequence[Entry], index: OhMyPiLogIndex) -> bytes:
        for entry in entries:
            _require_place(entry)
        lines = []
        title = index.title
        for entry in entries:
            fields = to_fields(entry, title)
            if fields["type"] == "title_change":
                title = fields["title"]
            lines.append(json_codec.dumps(fields) + b"\n")
        return b"".join(lines)

    def encode_header(self, header: Header) -> bytes:
        title = (header.metadata or {}).get("title")
        known = clean_title(title) if isinstance(title, str) else ""
        return _head(header, TitleSlot(known, "user" if known else None, header.timestamp), {})

    def published_head(self, index: OhMyPiLogIndex) -> bytes | None:
        """Put the title of a draft where oh-my-pi looks for it."""
        if index.header is None or index.title is None or index.title == index.titles.in_slot:
            return None
        slot = TitleSlot(index.title, index.titles.source, index.titles.changed or index.header.timestamp)
        return _head(index.header, slot, _inherited(index))

    def fork(self, transcript: EntryLog[OhMyPiLogIndex], leaf: int, header: Header) -> bytes:
        """Return a new file with one path, relinked around omitted labels.

        The caller sets the labels again, as in native sessions.
        """
        head = _head(header, _slot_for(transcript.reading, header), _inherited(transcript.reading))
        return b"".join([head, *map(codec.complete_line, forked_lines(transcript, leaf))])

    def copy(self, transcript: EntryLog[OhMyPiLogIndex], header: Header) -> bytes:
        """Return a new file with everything, which also continues the prompt cache of its source.

        It names its parent by id; a fork of one path names it by file.
        """
        source = transcript.reading
        if header.parent_session is not None and source.header is not None:
            header = msgspec.structs.replace(header, parent_session=source.header.id)
        fields, kept = _header_fields(source), _inherited(source)
        cache = fields.get("providerPromptCacheKey", fields.get("id"))
        if isinstance(cache, str):
            kept["providerPromptCacheKey"] = cache
        head = _head(header, _slot_for(source, header), kept)
        return b"".join([head, *map(codec.complete_line, tree_lines(transcript))])

    def upgrade(self, transcript: EntryLog[OhMyPiLogIndex]) -> Iterable[bytes]:
        """Yield the file as version 3; a slot stays the first line."""
        lines = list(upgrade_lines(transcript))
        if transcript.reading.slot_end:
            lines[:2] = lines[1::-1]
        return lines


def _require_place(entry: Entry) -> None:
    match entry:
        case ContextEdit():
            raise TRAITS.unsupported_error("context_edit")
        case MessageEntry(message=SystemMessage() | UnknownMessage(role="system")):
            raise TRAITS.unsupported_error("system")
        case Compaction(retained_tail=tuple()):
            raise TRAITS.unsupported_error("retained_tail")
        case Damaged():
            raise ValueError(f"{entry.id} is damaged; only its bytes can be copied")
        case _:
            pass


def _is_cut(entry: Entry) -> bool:
    """Return whether a title is too long for the slot."""
    if not isinstance(entry, SessionInfo):
        return False
    title = clean_title(entry.name)
    slot = json_codec.loads(slot_line(TitleSlot(title, "user", entry.timestamp)))
    return bool(slot["title"] != title)


def _is_own_line(line: bytes) -> bool:
    if line.startswith(_OWN_ENTRIES):
        return True
    return line.startswith(b'{"type":"model_change",') and b'"model":"' in line and b'"modelId"' not in line


def _begins_with_slot(first: bytes, second: bytes) -> bool:
    """Return whether the first of two lines is a title slot, perhaps a damaged one."""
    if first.startswith(b'{"type":"title","v":'):
        return True
    if len(first) == SLOT_BYTES - 1 and second.startswith(b'{"type":"session"'):
        return True  # the slot is damaged, but what follows is at its offset
    fields = json_codec.loads_object(first) if b'"title"' in first else None
    return fields is not None and fields.keys() >= _SLOT_KEYS and "id" not in fields


def _tells_nothing(line: bytes) -> bool:
    """Return whether a line is not an object with a type: damaged, so not conclusive."""
    fields = json_codec.loads_object(line)
    return fields is None or not isinstance(fields.get("type"), str)


def _needs_care(data: bytes) -> bool:
    """Return whether these lines may contain something that pi's records cannot hold."""
    return BLOB_MARK in data or _RECOVERED_MARK in data or b'"hookMessage"' in data or b'"task"' in data


def _header_fields(reading: OhMyPiLogIndex) -> dict[str, Any]:
    return json_codec.loads_object(reading.header_line) or {}


def _inherited(reading: OhMyPiLogIndex) -> dict[str, Any]:
    name = "additionalDirectories"
    return {name: fields[name]} if name in (fields := _header_fields(reading)) else {}


def _slot_for(source: OhMyPiLogIndex, header: Header) -> TitleSlot:
    """Return the slot of a copy: the same title, with the time of the copy."""
    given = source.titles.source if source.title else None
    return TitleSlot(source.title or "", given if given in ("auto", "user") else None, header.timestamp)


def _head(header: Header, slot: TitleSlot, kept: Mapping[str, Any]) -> bytes:
    """Return the first two lines of a file."""
    fields: dict[str, Any] = {
        "type": "session",
        "version": CURRENT_VERSION,
        "id": header.id,
        "timestamp": header.timestamp,
        "cwd": header.cwd,
        "title": slot.title or None,
        "titleSource": slot.source,
        "parentSession": header.parent_session,
        **kept,
    }
    present = {name: value for name, value in fields.items() if value is not None}
    return slot_line(slot) + json_codec.dumps(present) + b"\n"


class OhMyPiLimits(ReadingLimits):
    """oh-my-pi lists the title of the slot, which may be truncated."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        return ("with only the start of the title in its list",) if _is_cut(entry) else ()


OH_MY_PI = Format(
    traits=TRAITS,
    reader=OhMyPiFormatReader(),
    writer=OhMyPiFormatWriter(),
    home=OhMyPiHome(),
    external_parts=Blobs(),
    limits=OhMyPiLimits(),
)
