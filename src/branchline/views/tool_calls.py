"""Tool calls in a few words, and the way from a tool's result to the call that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from branchline.context.javascript import number_text, stringify, utf16_cut, utf16_length
from branchline.entries import AssistantMessage, Block, Entry, MessageEntry, ToolCall, UnknownBlock
from branchline.tree import ROOT, EntrySource

__all__ = ["Call", "ToolCallLookup", "call_text", "calls_of", "short_path", "single_line"]

_LOOK_BACK = 1000  # a result stands right after its call; only damage puts more between them
_REMEMBERED = 512


class Call(NamedTuple):
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
        call = _call(block)
        if call is not None:
            yield call


def _call(block: Block) -> Call | None:
    if isinstance(block, ToolCall):
        return Call(block.id, block.name, block.arguments)
    if isinstance(block, UnknownBlock) and block.type == "toolCall":
        arguments = block.fields.get("arguments")
        call_id, name = block.fields.get("id"), block.fields.get("name")
        return Call(
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "",
            arguments if isinstance(arguments, dict) else {},
        )
    return None


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


def call_text(call: Call, home: str = "") -> str:
    """A call in brackets: ``[read: src/main.py:1-40]``, ``[bash: make test]``."""
    arguments = call.arguments
    path = short_path(_text(arguments, "path") or _text(arguments, "file_path"), home)
    match call.name:
        case "read":
            return f"[read: {path}{_lines(arguments)}]"
        case "write" | "edit":
            return f"[{call.name}: {path}]"
        case "bash":
            return f"[bash: {_first(single_line(_text(arguments, 'command')), 50)}]"
        case "grep":
            return f"[grep: /{_text(arguments, 'pattern')}/ in {path or '.'}]"
        case "find":
            return f"[find: {_text(arguments, 'pattern')} in {path or '.'}]"
        case "ls":
            return f"[ls: {path or '.'}]"
        case name:
            return f"[{name}: {_first(stringify(arguments), 40)}]"


def short_path(path: str, home: str) -> str:
    """A path with the home directory as ``~``."""
    home = home.rstrip("/\\")
    if home and (path == home or path.startswith((home + "/", home + "\\"))):
        return "~" + path[len(home) :]
    return path


def single_line(text: str) -> str:
    """The text in one line: newlines and tabs are blanks, the ends are trimmed."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def _first(text: str, length: int) -> str:
    return text if utf16_length(text) <= length else utf16_cut(text, length) + "..."


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if isinstance(value, str):
        return value
    if value is None or value is False:
        return ""
    return stringify(value)


def _lines(arguments: dict[str, Any]) -> str:
    """``:start-end`` of a call that reads a part of a file."""
    offset, limit = _number(arguments.get("offset")), _number(arguments.get("limit"))
    if offset is None and limit is None:
        return ""
    start = 1 if offset is None else offset
    return f":{number_text(start)}" + ("" if limit is None else f"-{number_text(start + limit - 1)}")


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
