"""New piglet files made from an existing one: forks and copies.

A fork holds the messages that the model would see, as a chain. Payloads are copied byte for byte and entries
keep their ids, so a message has the same id in both files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import Header, json_codec, splice
from branchline.formats.entry_log import EntryLog
from branchline.formats.go_json import dumps, go_timestamp
from branchline.formats.piglet.log_index import PigletLogIndex
from branchline.formats.piglet.messages import custom_message_text, decode_message, plain
from branchline.formats.piglet.rows import MESSAGES, readable_messages
from branchline.formats.piglet.writer import meta_fields, meta_row

__all__ = ["copied_lines", "forked_lines"]


class _Message(NamedTuple):
    """A message of the conversation; field values are JSON text."""

    kind: str
    id: str
    written: bytes
    data: bytes


def forked_lines(transcript: EntryLog[PigletLogIndex], leaf: int, header: Header) -> Iterator[bytes]:
    """Yield a fork: two meta rows, then the conversation up to an entry as plain messages.

    If ``header`` has the id of the source, the result is a part of that session and names no parent.
    """
    reading = transcript.reading
    messages = _conversation(transcript, leaf)
    fields = meta_fields(header)
    written = go_timestamp(header.timestamp)
    yield meta_row(fields, written)
    fields |= {"model": reading.model}
    parent_id = header.parent_session if reading.header is None else reading.header.id
    if parent_id != header.id:
        fields |= {"parentId": parent_id, "forkPoint": len(messages)}
    yield meta_row(fields, written)
    parent = None
    for message in messages:
        yield _line(message, parent)
        parent = message.id


def copied_lines(transcript: EntryLog[PigletLogIndex], header: Header) -> Iterator[bytes]:
    """Yield every entry of the tree under new meta rows; lines without an id get the one assigned here."""
    reading, tree = transcript.reading, transcript.tree
    fields = meta_fields(header)
    written = go_timestamp(header.timestamp)
    yield meta_row(fields, written)
    fields |= {"model": reading.model, "title": reading.title}
    if header.parent_session is not None and reading.header is not None:
        fields |= {"parentId": reading.header.id, "forkPoint": tree.types.count("message")}
    yield meta_row(fields, written)
    for position, key in enumerate(tree.keys):
        line = transcript.raw(position).strip()
        parsed = json_codec.loads_object(line)
        if position in tree.placeholders:
            if parsed is not None:
                continue  # a part of a damaged line that would be read as an entry on a line of its own
        elif parsed is not None and not parsed.get("id"):
            line = _with_links(line, key, tree.parent(key))
        yield line + b"\n"


def _conversation(transcript: EntryLog[PigletLogIndex], leaf: int) -> list[_Message]:
    """Return the messages that the model would see at an entry; a compaction replaces all before it."""
    messages: list[_Message] = []
    tree = transcript.tree
    for position in tree.path_positions(leaf):
        key = tree.keys[position]
        if position in tree.placeholders:
            continue
        line = transcript.raw(position)
        fields = json_codec.loads(line)
        kind, data = fields.get("type"), fields.get("data")
        if kind == "compact" and (held := readable_messages(data)):
            written = dumps(fields.get("ts") or "")
            messages = [
                _Message(one["type"], f"{key}.{number}", written, dumps(one["data"]))
                for number, one in enumerate(held, 1)
            ]
        elif kind == "custom_message" and (role_and_text := custom_message_text(data)) is not None:
            made, payload = plain(*role_and_text, milliseconds(tree.times[position]))
            messages.append(_Message(made, key, dumps(fields.get("ts") or ""), dumps(payload)))
        elif kind in MESSAGES and decode_message(kind, data) is not None:
            spots = splice.field_ranges(line)
            written = line[slice(*spots["ts"])] if "ts" in spots else b'""'
            messages.append(_Message(kind, key, written, line[slice(*spots["data"])]))
    return messages


def _line(message: _Message, parent: str | None) -> bytes:
    links = b',"parentId":' + dumps(parent) if parent else b""
    head = b'{"type":' + dumps(message.kind) + b',"id":' + dumps(message.id) + links
    return head + b',"ts":' + message.written + b',"data":' + message.data + b"}\n"


def _with_links(line: bytes, key: str, parent: str | None) -> bytes:
    """Add the id that this tree assigned to a line without one."""
    fields: dict[str, Any] = {"id": key}
    if parent is not None:
        fields["parentId"] = parent
    return splice.set_fields(line, fields)
