"""The tool calls of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import AssistantMessage, Block, Entry, MessageEntry, ToolCall, UnknownBlock

__all__ = ["Call", "call_of", "calls_of", "has_failed", "short_path", "single_line", "waits_for_result"]

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


def waits_for_result(block: Block) -> bool:
    """Return whether a call is open without a result: the block of a provider's tool is its whole record."""
    return not isinstance(block, UnknownBlock) or block.type == "toolCall"


def has_failed(block: Block) -> bool:
    """Return whether the block of a call itself says that it failed."""
    return isinstance(block, UnknownBlock) and block.fields.get("status") == "failed"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def short_path(path: str, home: str) -> str:
    """Abbreviate the home directory of a path as ``~``."""
    home = home.rstrip("/\\")
    if home and (path == home or path.startswith((home + "/", home + "\\"))):
        return "~" + path[len(home) :]
    return path


def single_line(text: str) -> str:
    """Return the text on one line: newlines and tabs become spaces, and the ends are trimmed."""
    return text.replace("\n", " ").replace("\t", " ").strip()
