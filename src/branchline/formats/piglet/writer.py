"""Our entries as lines of piglet, behind the lines that are there.

For piglet the last line is the leaf, labels and moves included, and the next entry hangs from it. So rows are
written by :class:`PigletWriter`, which tracks where the file ends: an entry that continues the conversation
hangs from the last line; any other names its parent and begins a branch.
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
from branchline.formats.piglet.rows import KINDS, OURS
from branchline.tree import ROOT, Tree

__all__ = ["CANNOT", "PigletWriter", "line", "meta_fields", "meta_row"]

CANNOT = {
    "context_edit": "piglet keeps every message as it is",
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
    """One entry, keys in piglet's order; what is empty is left out."""
    fields: Fields = {"type": kind}
    if entry_id:
        fields["id"] = entry_id
    if parent_id:
        fields["parentId"] = parent_id
    fields |= {"ts": written, "data": data}
    return dumps(fields | {name: value for name, value in more.items() if value}) + b"\n"


def meta_row(fields: Fields, written: str) -> bytes:
    """A complete meta row."""
    meta: Fields = {"id": fields.get("id") or "", "cwd": fields.get("cwd") or ""}
    if fields.get("model"):
        meta["model"] = fields["model"]
    meta["createdAt"] = fields.get("createdAt") or NO_TIME
    meta |= {name: fields[name] for name in _OPTIONAL if fields.get(name)}
    return dumps({"type": "meta", "ts": written, "data": meta}) + b"\n"


def meta_fields(header: Header) -> Fields:
    """What the first meta row of a new session says."""
    fields: Fields = {"id": header.id, "cwd": header.cwd, "createdAt": go_timestamp(header.timestamp)}
    if header.parent_session is not None:
        fields |= {
            "parentId": header.parent_session,
            "forkPoint": (header.metadata or {}).get("fork_point"),
        }
    return fields


class PigletWriter:
    """Writes lines behind a reading. ``refuse`` gives the exception for what piglet cannot hold."""

    def __init__(self, reading: PigletLogIndex, refuse: Callable[[str], NotSupported]) -> None:
        self._refuse = refuse
        self._reading = reading
        self._meta = dict(reading.meta or {})
        tree = reading.tree
        here = tree.nearest_conversation_entry(reading.leaf)
        self._written: set[str] = set()
        self._tip = None if reading.leaf == ROOT else self._named(tree.keys[reading.leaf])
        """What piglet takes for the leaf."""
        self._standing: set[str | None] = _behind(tree, reading.leaf, here)
        """The ids that mean the end of the conversation: the next message hangs from the tip for them."""
        self._lines: list[bytes] = []

    def write(self, entries: Sequence[Entry]) -> bytes:
        """The lines for these entries; all of them or an exception."""
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
                self._add(entry, OURS + entry.type, own)
            case SessionInfo():
                self._meta["title"] = entry.name
                self._lines.append(meta_row(self._meta, go_timestamp(entry.timestamp)))
            case ModelChange():
                self._meta["model"] = entry.model_id
                self._lines.append(meta_row(self._meta, go_timestamp(entry.timestamp)))
            case _:
                raise self._refuse(entry.type)

    def _add(self, entry: Entry, kind: str, data: Any, **more: Any) -> None:
        """Write an entry where it hangs, and stand there."""
        side = entry.type in SIDE_TYPES
        parent = entry.parent
        if side or parent in self._standing:
            parent = self._tip
        elif parent is not None:
            parent = self._named(parent)
        self._lines.append(line(kind, entry.id, parent, go_timestamp(entry.timestamp), data, **more))
        self._tip = entry.id
        self._written.add(entry.id)
        if not side:
            self._standing.clear()
        self._standing.add(entry.id)

    def _write_move(self, entry: Leaf) -> None:
        data = {"summary": "", "fromId": self._tip or ""}
        parent = None if entry.target is None else self._named(entry.target)
        self._lines.append(line("branch_summary", entry.id, parent, go_timestamp(entry.timestamp), data))
        self._tip = entry.id
        self._written.add(entry.id)
        self._standing = {entry.target, entry.id}

    def _message(self, message: Message) -> tuple[str, Fields]:
        found = envelope(message)
        if found is None:
            raise self._refuse("block" if message.role in ("user", "assistant", "toolResult") else "message")
        return found

    def _kept(self, message: Message) -> tuple[str, Fields]:
        """A message inside a compaction; what only our roles can say is said as a model would get it."""
        if envelope(message) is None and (said := model_messages([message])):
            message = said[0]
        return self._message(message)

    def _write_compaction(self, entry: Compaction) -> None:
        if entry.retained_tail is None and entry.first_kept not in (None, entry.id):
            raise self._refuse("kept")
        messages = [self._kept(message) for message in entry.retained_tail or ()]
        rest = _rest(entry, "details", "usage", "from_hook", "system_message").get(FIELD, {})
        if entry.summary or not messages:
            # An empty list would not hide anything after a reload: nothing to say is an empty message.
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
        """The id by which piglet knows an entry."""
        name = key if key in self._written else reference_id(self._reading, key)
        if name is None:
            raise self._refuse("duplicate")
        return name


def _behind(tree: Tree, leaf: int, here: int) -> set[str | None]:
    """The ids from a position up to the entry of the conversation that it belongs to."""
    found: set[str | None] = {None if here == ROOT else tree.keys[here]}
    while leaf != here:
        found.add(tree.keys[leaf])
        leaf = tree.parents[leaf]
    return found


def _rest(entry: Any, *names: str) -> Fields:
    """What piglet has no field for, in the field of our own."""
    rest = {
        wire: msgspec.to_builtins(value)
        for name in names
        if (value := getattr(entry, name)) is not None and value is not msgspec.UNSET
        for wire in (_WIRE.get(name, name),)
    }
    return {FIELD: rest} if rest else {}


_WIRE = {"from_hook": "fromHook", "custom_type": "customType", "system_message": "systemMessage"}
