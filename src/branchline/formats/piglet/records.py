"""The records of a piglet session: what its lines are in our own words.

A compaction there holds whole messages, so it has a tail and no summary. A branch summary without text only
moves the leaf; one with a text is a note for people, which the rules of the format keep from the model.
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
from branchline.formats.piglet.messages import custom_message_text, decode_message, plain
from branchline.formats.piglet.rows import readable_messages
from branchline.tree import ROOT, Tree

__all__ = ["record_of"]

_EXTENSION = "extension"  # who wrote a custom message that does not say it

Fields = dict[str, Any]


def record_of(line: bytes, tree: Tree, position: int) -> Entry:
    """The record of an entry; its id and parent are those of the tree."""
    key, time, kind = tree.keys[position], tree.times[position], tree.types[position]
    parent = None if tree.parents[position] == ROOT else tree.keys[tree.parents[position]]
    if position in tree.placeholders:
        return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
    fields = json_codec.loads(line)
    data = fields.get("data")
    payload = data if isinstance(data, dict) else {}
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
            return Label(target=_text(payload.get("targetId")), label=_text(payload.get("label")), **common)
        case "custom_message" if (words := custom_message_text(data)) is not None:
            own = {"customType": _text(rest.get("customType")) or _EXTENSION}
            own["content"] = rest.get("content", words[1])
            more = {name: rest.get(name) for name in ("display", "details")}
            return entry_from_fields({**shared, **own, **more})
        case "thinking_level_change" | "usage":
            return entry_from_fields({**payload, **shared})
        case "custom":
            return Custom(custom_type=_text(fields.get("type")), data=data, **common)
        case _:
            return Unknown(type=kind, fields=fields, **common)


def _message(kind: Any, data: Any, time: str) -> Message | None:
    if kind == "custom_message":
        words = custom_message_text(data)
        kind, data = ("", None) if words is None else plain(*words, None)
    return decode_message(_text(kind), data, time)


def _compaction(fields: Fields, shared: Fields) -> Entry:
    """What stands for everything before it: whole messages, the first of them a summary if we wrote it."""
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
    rest = fields.get(FIELD)
    return rest if isinstance(rest, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
