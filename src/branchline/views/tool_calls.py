"""The tool calls of a session, and the lookup of the call of a tool result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import AssistantMessage, Block, Entry, MessageEntry, ToolCall, UnknownBlock
from branchline.tree import ROOT, EntrySource

__all__ = ["Call", "ToolCallLookup", "call_of", "calls_of", "short_path", "single_line"]

_LOOK_BACK = 1000  # a result usually follows its call directly
_REMEMBERED = 512
_NOT_ARGUMENTS = frozenset({"type", "id", "call_id", "name", "status", "result"})


class Call(msgspec.Struct, frozen=True):
    """A tool call."""

    id: str
    name: str
    arguments: dict[str, Any]


def calls_of(entry: Entry) -> Iterator[Call]:
    """Yield the tool calls of an entry, including those with unusual fields."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return
    content = entry.message.content
    for block in () if isinstance(content, str) else content:
        call = call_of(block)
        if call is not None:
            yield call


def call_of(block: Block) -> Call | None:
    """Return the call of a block; None for other blocks."""
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
    """Finds the call of a tool result among its ancestors, with a cache."""

    def __init__(self, source: EntrySource) -> None:
        self._source = source
        self._seen: dict[int, dict[str, Call]] = {}

    def find(self, position: int, call_id: str) -> Call | None:
        """Return the nearest call with this id above a position; None if there is none nearby."""
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
    """Abbreviate the home directory of a path as ``~``."""
    home = home.rstrip("/\\")
    if home and (path == home or path.startswith((home + "/", home + "\\"))):
        return "~" + path[len(home) :]
    return path


def single_line(text: str) -> str:
    """Return the text on one line: newlines and tabs become spaces, and the ends are trimmed."""
    return text.replace("\n", " ").replace("\t", " ").strip()
