"""The tool calls of a session, and the way from a tool's result to the call that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import AssistantMessage, Block, Entry, MessageEntry, ToolCall, UnknownBlock
from branchline.tree import ROOT, EntrySource

__all__ = ["Call", "ToolCallLookup", "call_of", "calls_of", "short_path", "single_line"]

_LOOK_BACK = 1000  # a result stands right after its call; only damage puts more between them
_REMEMBERED = 512
_NOT_ARGUMENTS = frozenset({"type", "id", "call_id", "name", "status", "result"})


class Call(msgspec.Struct, frozen=True):
    """What an answer asked a tool to do."""

    id: str
    name: str
    arguments: dict[str, Any]


def calls_of(entry: Entry) -> Iterator[Call]:
    """The tool calls of an entry, those with unusual fields included."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return
    content = entry.message.content
    for block in () if isinstance(content, str) else content:
        call = call_of(block)
        if call is not None:
            yield call


def call_of(block: Block) -> Call | None:
    """The call that a block is; None for other blocks."""
    if isinstance(block, ToolCall):
        return Call(block.id, block.name, block.arguments)
    if not isinstance(block, UnknownBlock):
        return None
    fields = block.fields
    if block.type == "toolCall":
        arguments = fields.get("arguments")
        return Call(
            _text(fields.get("id")),
            _text(fields.get("name")),
            arguments if isinstance(arguments, dict) else {},
        )
    if block.type.endswith("_call"):  # a tool that the provider runs: a web search, a picture
        action = fields.get("action")
        if not isinstance(action, dict):
            action = {name: value for name, value in fields.items() if name not in _NOT_ARGUMENTS}
        return Call(
            _text(fields.get("call_id") or fields.get("id")),
            _text(fields.get("name")) or block.type.removesuffix("_call"),
            action,
        )
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class ToolCallLookup:
    """Finds the call of a result among the entries above it, and remembers what it saw there."""

    def __init__(self, source: EntrySource) -> None:
        self._source = source
        self._seen: dict[int, dict[str, Call]] = {}

    def find(self, position: int, call_id: str) -> Call | None:
        """The nearest call with this id above a position, None when it is not near."""
        tree = self._source.tree
        roles, parents = tree.roles, tree.parents
        for _ in range(_LOOK_BACK):
            position = parents[position]
            if position == ROOT:
                break
            if roles[position] == "assistant" and (call := self._at(position).get(call_id)) is not None:
                return call
        return None

    def _at(self, position: int) -> dict[str, Call]:
        found = self._seen.get(position)
        if found is None:
            found = {call.id: call for call in calls_of(self._source.entry(position))}
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[position] = found
        return found


def short_path(path: str, home: str) -> str:
    """A path with the home directory as ``~``."""
    home = home.rstrip("/\\")
    if home and (path == home or path.startswith((home + "/", home + "\\"))):
        return "~" + path[len(home) :]
    return path


def single_line(text: str) -> str:
    """The text in one line: newlines and tabs are blanks, the ends are trimmed."""
    return text.replace("\n", " ").replace("\t", " ").strip()
