"""Encodes entries as records that name their own id and their parent's, for whole new files.

A format derives from :class:`LinkedWriter` and implements one method for each kind of record. This module
assigns ids and parents, and ensures that every tool call has an id and a name that model APIs accept and is
followed by one result. A missing result is replaced by one that says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from branchline.context.tool_pairs import close_tool_calls, no_result, told_result
from branchline.entries import (
    AssistantMessage,
    Compaction,
    Entry,
    Leaf,
    Message,
    MessageEntry,
    SessionInfo,
    ToolCall,
    ToolResult,
    UserMessage,
    json_codec,
    tool_calls,
)
from branchline.errors import NotSupported
from branchline.formats.api_limits import api_tool_name, well_formed
from branchline.formats.derived_ids import api_call_ids, call_ids, is_uuid, uuid4_from
from branchline.formats.entry_times import entry_time
from branchline.formats.extra_fields import typed_message
from branchline.formats.log_index import LinkedLogIndex
from branchline.tree import ROOT

__all__ = ["LinkedWriter", "Placed"]

IndexT = TypeVar("IndexT", bound=LinkedLogIndex)
_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}", re.ASCII)
_CALL = "call_"


class Placed(NamedTuple):
    """The id, parent and time of a new record."""

    id: str
    parent: str | None
    time: str


class _Written(NamedTuple):
    parent: str | None
    message: Message | None


class LinkedWriter(Generic[IndexT]):
    """Encodes records for appending. ``refuse`` makes the exception for anything the format cannot store."""

    needs_uuids = False
    """Whether the agent rejects a file with a record id that is not a UUID."""

    def __init__(
        self,
        index: IndexT,
        refuse: Callable[[str], NotSupported],
        decode: Callable[[bytes, IndexT, int], Entry],
    ) -> None:
        self.index = index
        self.refuse = refuse
        self._decode = decode
        header = index.header
        self.session = "" if header is None else header.id
        self.cwd = "" if header is None else well_formed(header.cwd)
        self._started = "" if header is None else header.timestamp
        self._written: dict[str, _Written] = {}
        self._ids: dict[str, str] = {}  # record ids of this call, by entry id
        self._calls: set[str] = set()
        self._lines: list[bytes] = []
        self.last = index.tree.keys[-1] if len(index.tree) else None
        """The last record of the file, for linear formats."""

    # -- what a format writes -------------------------------------------------------------------------

    def write_prompt(self, placed: Placed, message: UserMessage) -> None:
        raise NotImplementedError

    def write_answer(self, placed: Placed, message: AssistantMessage) -> None:
        raise NotImplementedError

    def write_result(self, placed: Placed, message: ToolResult) -> None:
        raise NotImplementedError

    def write_compaction(self, placed: Placed, entry: Compaction) -> None:
        del placed, entry
        raise self.refuse("compaction")

    def write_title(self, placed: Placed, title: str) -> None:
        del placed, title
        raise self.refuse("title")

    def write_position(self, placed: Placed) -> None:
        """Write a record that makes its parent the end of the active path."""
        del placed
        raise self.refuse("branch")

    # -- what is the same for all ---------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> bytes:
        """Return the lines for these entries; raises an error unless all of them can be written."""
        for entry in entries:
            self._write(entry)
        return b"".join(self._lines)

    def line(self, fields: dict[str, Any]) -> None:
        """Add a line."""
        try:
            self._lines.append(json_codec.dumps(fields, surrogates="strict") + b"\n")
        except UnicodeEncodeError:
            raise self.refuse("half character") from None

    def new_id(self, name: str) -> str:
        """Return an unused record id: ``name`` itself if the agent accepts it, else one derived from it."""
        fits = is_uuid(name) if self.needs_uuids else _PLAIN_ID.fullmatch(name) is not None
        if fits and not self._is_taken(name):
            return name
        seed = f"{self.session} {name}"
        while self._is_taken(found := uuid4_from(seed)):
            seed += "+"
        return found

    def paired(self, placed: Placed, messages: Iterable[Message]) -> list[Message]:
        """Return messages inside a record with one result for each call; other results become text.

        The calls get ids that no other record has.
        """
        found: list[Message] = []
        asked: set[str] = set()
        for message in messages:
            if isinstance(message, AssistantMessage):
                asked = {call.id for call in tool_calls(message.content)}
            elif isinstance(message, ToolResult):
                if message.tool_call_id not in asked:
                    found.append(told_result(message))
                    continue
            else:
                asked = set()
            found.append(message)
        return [self._with_own_ids(placed, message) for message in close_tool_calls(found)]

    def _with_own_ids(self, placed: Placed, message: Message) -> Message:
        def named(call: str) -> str:
            return next(call_ids(_CALL, f"{placed.id} {call}"))

        if isinstance(message, ToolResult):
            tool = api_tool_name(message.tool_name)
            return msgspec.structs.replace(message, tool_call_id=named(message.tool_call_id), tool_name=tool)
        return _renamed(message, named) if isinstance(message, AssistantMessage) else message

    def _is_taken(self, name: str) -> bool:
        return name in self._written or name in self.index.tree.positions

    def _write(self, entry: Entry) -> None:
        match entry:
            case MessageEntry():
                self._write_message(entry)
            case Compaction():
                if entry.retained_tail is None and entry.first_kept not in (None, entry.id):
                    raise self.refuse("kept messages")
                self.write_compaction(self._place(entry, None), entry)
            case SessionInfo():
                if not entry.name.strip():
                    raise self.refuse("untitle")
                self.write_title(self._place(entry, None, closed=False), entry.name)
            case Leaf():
                if entry.target is None:
                    raise self.refuse("reset")
                # A call at the end needs a result too: agents leave out one that has none.
                name, parent = self.new_id(entry.id), self._close(self._named(entry.target), entry)
                self.write_position(Placed(name, parent, self._time(entry, parent)))
                self._written[name] = _Written(parent, None)
            case _:
                raise self.refuse(entry.type)

    def _write_message(self, entry: MessageEntry) -> None:
        message = typed_message(entry.message)
        match message:
            case UserMessage():
                self.write_prompt(self._place(entry, message), message)
            case AssistantMessage():
                message = _renamed(message, self._new_call)
                self.write_answer(self._place(entry, message), message)
            case ToolResult():
                waiting = self._unanswered(self._named(entry.parent))
                call = self._call_named(message.tool_call_id, waiting)
                if call is None:
                    raise self.refuse("result")
                message = msgspec.structs.replace(message, tool_call_id=call, tool_name=waiting[call])
                self.write_result(self._place(entry, message, closed=False), message)
            case _:
                raise self.refuse("message")

    def _new_call(self, call: str) -> str:
        """Return an unused id for a call: its own if model APIs accept it, else one derived from it."""
        name = next(name for name in api_call_ids(call) if not self._is_call(name))
        self._calls.add(name)
        return name

    def _call_named(self, wanted: str, waiting: Container[str]) -> str | None:
        """Return the id written for a call; a reused id has another one."""
        for name in api_call_ids(wanted):
            if name in waiting:
                return name
            if not self._is_call(name):
                return None
        return None

    def _is_call(self, name: str) -> bool:
        return name in self._calls or name in self.index.tool_names

    def _place(self, entry: Entry, message: Message | None, *, closed: bool = True) -> Placed:
        """Return the place of a new record; ``closed`` first adds results for all open calls."""
        parent = self._named(entry.parent)
        if closed:
            parent = self._close(parent, entry)
        name = self.new_id(entry.id)
        self._ids[entry.id] = name
        self._written[name] = _Written(parent, message)
        return Placed(name, parent, self._time(entry, parent))

    def _close(self, parent: str | None, entry: Entry) -> str | None:
        for call, tool in self._unanswered(parent).items():
            name = self.new_id(f"{entry.id}-{call}")
            message = no_result(call, tool)
            self.write_result(Placed(name, parent, self._time(entry, parent)), message)
            self._written[name] = _Written(parent, message)
            parent = name
        return parent

    def _unanswered(self, name: str | None) -> dict[str, str]:
        """Return the calls at the end of a path that have no result yet, and their tools, in order."""
        answered: set[str] = set()
        while name is not None:
            parent, message = self._known(name)
            if isinstance(message, ToolResult):
                answered.add(message.tool_call_id)
            elif isinstance(message, AssistantMessage):
                return {call: tool for call, tool in _calls_of(message).items() if call not in answered}
            elif message is not None:
                break
            name = parent
        return {}

    def _named(self, key: str | None) -> str | None:
        """Return the record id of an entry."""
        if key is None:
            return None
        return self._ids.get(key, key if self._is_taken(key) else None)

    def _known(self, name: str) -> _Written:
        if name in self._written:
            return self._written[name]
        tree = self.index.tree
        position = tree.positions[name]
        parent = tree.parent_position(position)
        above = None if parent == ROOT else tree.keys[parent]
        if tree.types[position] != "message":
            return _Written(above, None if tree.types[position] != "compaction" else UserMessage(content=""))
        entry = self._decode(self.index.read(*self.index.span(position)), self.index, position)
        return _Written(above, entry.message if isinstance(entry, MessageEntry) else None)

    def _time(self, entry: Entry, parent: str | None) -> str:
        position = self.index.tree.positions.get(parent or "", ROOT)
        above = "" if position == ROOT else self.index.tree.times[position]
        return entry_time(entry) or above or self._started


def _renamed(message: AssistantMessage, named: Callable[[str], str]) -> AssistantMessage:
    """Return an answer with new ids for its calls, and with names of tools that model APIs accept."""
    if isinstance(message.content, str):
        return message
    content = tuple(
        msgspec.structs.replace(block, id=named(block.id), name=api_tool_name(block.name))
        if isinstance(block, ToolCall)
        else block
        for block in message.content
    )
    return msgspec.structs.replace(message, content=content)


def _calls_of(message: AssistantMessage) -> dict[str, str]:
    """Return the calls of an answer, and their tools."""
    blocks = () if isinstance(message.content, str) else message.content
    return {block.id: block.name for block in blocks if isinstance(block, ToolCall)}
