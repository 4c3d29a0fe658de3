"""Conversion of piglet lines to entries.

A piglet compaction holds whole messages, so it has a retained tail and no summary. A branch summary without
text only moves the leaf; one with text is a note for the user, which the context rules exclude.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import (
    Compaction,
    Custom,
    Damaged,
    Entry,
    Label,
    Leaf,
    Message,
    MessageEntry,
    Unknown,
    UserMessage,
    blocks_text,
    entry_from_fields,
    json_codec,
)
from branchline.formats.extra_fields import FIELD
from branchline.formats.json_values import dict_of, text_of
from branchline.formats.piglet.messages import custom_message_text, decode_message, plain
from branchline.formats.piglet.rows import readable_messages
from branchline.tree import Tree

__all__ = ["record_of"]

_EXTENSION = "extension"  # author of a custom message that names none

Fields = dict[str, Any]


def record_of(line: bytes, tree: Tree, position: int) -> Entry:
    """Return the entry at a position; id and parent come from the tree."""
    key, time, kind = tree.keys[position], tree.times[position], tree.types[position]
    parent = tree.parent(key)
    if position in tree.placeholders:
        return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
    fields = json_codec.loads(line)
    data = fields.get("data")
    payload = dict_of(data)
    rest = _rest(payload)
    common: Fields = {"id": key, "parent": parent, "timestamp": time}
    shared: Fields = {"type": kind, "id": key, "parentId": parent, "timestamp": time}
    match kind:
        case "message":
            message = _message(fields.get("type"), data, time)
            if message is None:
                return Unknown(type=str(fields.get("type")), fields=fields, **common)
            return MessageEntry(message=message, **common)
        case "compaction":
            return _compaction(fields, shared)
        case "branch_summary":
            own = {"fromId": payload.get("fromId"), "summary": payload.get("summary")}
            more = {name: rest.get(name) for name in ("details", "usage", "fromHook")}
            return entry_from_fields({**shared, **own, **more})
        case "leaf":
            return Leaf(target=parent, **common)
        case "label":
            return Label(
                target=text_of(payload.get("targetId")), label=text_of(payload.get("label")), **common
            )
        case "custom_message" if (role_and_text := custom_message_text(data)) is not None:
            own = {"customType": text_of(rest.get("customType")) or _EXTENSION}
            own["content"] = rest.get("content", role_and_text[1])
            more = {name: rest.get(name) for name in ("display", "details")}
            return entry_from_fields({**shared, **own, **more})
        case "thinking_level_change" | "usage":
            return entry_from_fields({**payload, **shared})
        case "custom":
            return Custom(custom_type=text_of(fields.get("type")), data=data, **common)
        case _:
            return Unknown(type=kind, fields=fields, **common)


def _message(kind: Any, data: Any, time: str) -> Message | None:
    if kind == "custom_message":
        role_and_text = custom_message_text(data)
        kind, data = ("", None) if role_and_text is None else plain(*role_and_text, None)
    return decode_message(text_of(kind), data, time)


def _compaction(fields: Fields, shared: Fields) -> Entry:
    """Return a compaction: whole messages, the first of which is the summary if branchline wrote it."""
    found = [
        message
        for one in readable_messages(fields.get("data"))
        if (message := decode_message(one["type"], one["data"], shared["timestamp"])) is not None
    ]
    rest = _rest(fields)
    summary = ""
    if rest.get("summary") is True and found and isinstance(first := found[0], UserMessage):
        summary = blocks_text(first.content)
        del found[0]
    more = {name: rest.get(name) for name in ("details", "usage", "fromHook", "systemMessage")}
    entry = entry_from_fields(
        {**shared, "summary": summary, "tokensBefore": fields.get("tokensBefore"), **more}
    )
    assert isinstance(entry, Compaction)
    return msgspec.structs.replace(entry, retained_tail=tuple(found))


def _rest(fields: Fields) -> Fields:
    return dict_of(fields.get(FIELD))
