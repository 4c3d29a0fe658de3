"""Encodes entries as piglet lines, for appending.

piglet's leaf is the last line, even if that is a label or a move, and the next entry becomes its child.
:class:`PigletWriter` tracks the end of the file: an entry that continues the conversation becomes a child of
the last line; any other entry names its parent and starts a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from branchline.context import milliseconds, model_messages
from branchline.entries import (
    SIDE_TYPES,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Entry,
    Header,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    ThinkingLevelChange,
    UsageEntry,
    blocks_text,
    entry_fields,
)
from branchline.errors import NotSupported
from branchline.formats.entry_refs import reference_id
from branchline.formats.extra_fields import FIELD
from branchline.formats.go_json import NO_TIME, dumps, go_timestamp
from branchline.formats.piglet.log_index import PigletLogIndex
from branchline.formats.piglet.messages import envelope, plain, sorted_keys
from branchline.formats.piglet.rows import EXTENSION_PREFIX, KINDS
from branchline.tree import ROOT, Tree

__all__ = ["CANNOT", "PigletWriter", "line", "meta_fields", "meta_row"]

CANNOT = {
    "context_edit": "piglet has no context edits",
    "message": "piglet supports only user, assistant and tool messages",
    "block": "piglet supports only text, images, thinking and tool calls",
    "custom": "piglet knows entries of this name and would read the data as one",
    "kept": "a compaction of piglet holds the kept messages themselves, and they were not given",
    "duplicate": "another entry has the same id, and piglet would take that one for the parent",
    "line": "it takes a line of more than 10 MiB, and piglet does not open a session with such a line; "
    "shorten it, or keep fewer messages in a compaction",
    "unknown": "only its bytes can be copied",
    "damaged": "only its bytes can be copied",
}

Fields = dict[str, Any]

_OPTIONAL = ("title", "parentId", "forkPoint")


def line(kind: str, entry_id: str, parent_id: str | None, written: str, data: Any, **more: Any) -> bytes:
    """Return one entry, keys in piglet's order; empty fields are omitted."""
    fields: Fields = {"type": kind}
    if entry_id:
        fields["id"] = entry_id
    if parent_id:
        fields["parentId"] = parent_id
    fields |= {"ts": written, "data": data}
    return dumps(fields | {name: value for name, value in more.items() if value}) + b"\n"


def meta_row(fields: Fields, written: str) -> bytes:
    """Return a complete meta row."""
    meta: Fields = {"id": fields.get("id") or "", "cwd": fields.get("cwd") or ""}
    if fields.get("model"):
        meta["model"] = fields["model"]
    meta["createdAt"] = fields.get("createdAt") or NO_TIME
    meta |= {name: fields[name] for name in _OPTIONAL if fields.get(name)}
    return dumps({"type": "meta", "ts": written, "data": meta}) + b"\n"


def meta_fields(header: Header) -> Fields:
    """Return the fields of a new session's first meta row."""
    fields: Fields = {"id": header.id, "cwd": header.cwd, "createdAt": go_timestamp(header.timestamp)}
    if header.parent_session is not None:
        fields |= {
            "parentId": header.parent_session,
            "forkPoint": (header.metadata or {}).get("fork_point"),
        }
    return fields


class PigletWriter:
    """Encodes lines for appending. ``refuse`` makes the exception for anything that piglet cannot store."""

    def __init__(self, reading: PigletLogIndex, refuse: Callable[[str], NotSupported]) -> None:
        self._refuse = refuse
        self._reading = reading
        self._meta = dict(reading.meta or {})
        tree = reading.tree
        here = tree.nearest_conversation_entry(reading.leaf)
        self._written: set[str] = set()
        self._tip = None if reading.leaf == ROOT else self._named(tree.keys[reading.leaf])
        """The entry that piglet takes for the leaf."""
        self._end_ids: set[str | None] = _end_ids_of(tree, reading.leaf, here)
        """Ids of the end of the conversation: children of these become children of the tip."""
        self._lines: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """Return the lines for these entries; raises an error unless all of them can be written."""
        for entry in entries:
            self._write(entry)
        return b"".join(self._lines)

    def _write(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._add(entry, *self._message(entry.message))
            case Compaction():
                self._write_compaction(entry)
            case CustomMessage():
                self._write_custom_message(entry)
            case BranchSummary():
                data: Fields = {"summary": entry.summary, "fromId": self._tip or ""}
                self._add(entry, "branch_summary", data | _rest(entry, "details", "usage", "from_hook"))
            case Leaf():
                self._write_move(entry)
            case Label():
                self._add(entry, "label", {"targetId": self._named(entry.target), "label": entry.label or ""})
            case Custom():
                if entry.custom_type in KINDS or not entry.custom_type:
                    raise self._refuse("custom")
                self._add(entry, entry.custom_type, sorted_keys(entry.data))
            case ThinkingLevelChange() | UsageEntry():
                fields = entry_fields(entry)
                own = {k: v for k, v in fields.items() if k not in ("type", "id", "parentId", "timestamp")}
                self._add(entry, EXTENSION_PREFIX + entry.type, own)
            case SessionInfo():
                self._meta["title"] = entry.name
                self._lines.append(meta_row(self._meta, go_timestamp(entry.timestamp)))
            case ModelChange():
                self._meta["model"] = entry.model_id
                self._lines.append(meta_row(self._meta, go_timestamp(entry.timestamp)))
            case _:
                raise self._refuse(entry.type)

    def _add(self, entry: Entry, kind: str, data: Any, **more: Any) -> None:
        """Write an entry below its parent and make it the end of the file."""
        side = entry.type in SIDE_TYPES
        parent = entry.parent
        if side or parent in self._end_ids:
            parent = self._tip
        elif parent is not None:
            parent = self._named(parent)
        self._lines.append(line(kind, entry.id, parent, go_timestamp(entry.timestamp), data, **more))
        self._tip = entry.id
        self._written.add(entry.id)
        if not side:
            self._end_ids.clear()
        self._end_ids.add(entry.id)

    def _write_move(self, entry: Leaf) -> None:
        data = {"summary": "", "fromId": self._tip or ""}
        parent = None if entry.target is None else self._named(entry.target)
        self._lines.append(line("branch_summary", entry.id, parent, go_timestamp(entry.timestamp), data))
        self._tip = entry.id
        self._written.add(entry.id)
        self._end_ids = {entry.target, entry.id}

    def _message(self, message: Message) -> tuple[str, Fields]:
        found = envelope(message)
        if found is None:
            raise self._refuse("block" if message.role in ("user", "assistant", "toolResult") else "message")
        return found

    def _kept(self, message: Message) -> tuple[str, Fields]:
        """Return a message inside a compaction; roles that piglet lacks become the model's view of them."""
        if envelope(message) is None and (converted := model_messages([message])):
            message = converted[0]
        return self._message(message)

    def _write_compaction(self, entry: Compaction) -> None:
        if entry.retained_tail is None and entry.first_kept not in (None, entry.id):
            raise self._refuse("kept")
        messages = [self._kept(message) for message in entry.retained_tail or ()]
        rest = _rest(entry, "details", "usage", "from_hook", "system_message").get(FIELD, {})
        if entry.summary or not messages:
            # An empty list would hide nothing after a reload, so an empty tail is written as an empty
            # message.
            messages.insert(0, plain("user", entry.summary, milliseconds(entry.timestamp)))
            rest["summary"] = True
        data = [{"type": kind, "ts": NO_TIME, "data": fields} for kind, fields in messages]
        self._add(entry, "compact", data, tokensBefore=entry.tokens_before, **{FIELD: rest})

    def _write_custom_message(self, entry: CustomMessage) -> None:
        content = entry.content
        if not isinstance(content, str) and not all(isinstance(block, Text) for block in content):
            raise self._refuse("block")
        rest = _rest(entry, "custom_type", "display", "details")
        if not isinstance(content, str) and len(content) != 1:
            rest.setdefault(FIELD, {})["content"] = [msgspec.to_builtins(block) for block in content]
        self._add(entry, "custom_message", {"role": entry.role, "content": blocks_text(content, "\n")} | rest)

    def _named(self, key: str) -> str:
        """Return the id by which piglet knows an entry."""
        name = key if key in self._written else reference_id(self._reading, key)
        if name is None:
            raise self._refuse("duplicate")
        return name


def _end_ids_of(tree: Tree, leaf: int, here: int) -> set[str | None]:
    """Return the ids from a position up to the conversation entry that it belongs to."""
    found: set[str | None] = {None if here == ROOT else tree.keys[here]}
    while leaf != here:
        found.add(tree.keys[leaf])
        leaf = tree.parents[leaf]
    return found


def _rest(entry: Any, *names: str) -> Fields:
    """Return the fields that piglet lacks, under branchline's own field name."""
    rest = {
        wire: msgspec.to_builtins(value)
        for name in names
        if (value := getattr(entry, name)) is not None and value is not msgspec.UNSET
        for wire in (_WIRE.get(name, name),)
    }
    return {FIELD: rest} if rest else {}


_WIRE = {"from_hook": "fromHook", "custom_type": "customType", "system_message": "systemMessage"}
