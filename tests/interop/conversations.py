"""Conversations item by item, to compare a session with what a real agent sends to its model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from branchline.context import build_context, close_tool_calls, model_messages
from branchline.context.tool_pairs import told_result
from branchline.conversion.fallbacks import known_block
from branchline.entries import (
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from branchline.formats import EntryLog
from branchline.formats.api_limits import api_tool_name
from support import CORPUS

GOLDENS = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
PROMPT = "And now?"
PICTURE = "(a picture)"

Item = tuple[Any, ...]


class Layout(NamedTuple):
    """How a program lays out the parts of a message."""

    between: str = ""
    """What separates the texts of a result."""
    pictures_last: bool = False
    """Whether the pictures of a prompt follow its texts."""


def said(source: EntryLog, layout: Layout = Layout()) -> list[Item]:  # noqa: B008  immutable
    """The conversation of a session item by item, as a model sees it without thinking.

    A block of an unknown type is text, and tools have names that APIs accept.
    """
    leaf = source.tree.nearest_conversation_entry(source.reading.leaf)
    messages = model_messages(item.message for item in build_context(source, leaf).messages)
    calls: dict[str, int] = {}
    found: list[Item] = []
    for message in close_tool_calls(_paired(messages)):
        found += _items(message, calls, layout)
    return joined(found)


def _paired(messages: list[Message]) -> Iterator[Message]:
    """The messages with words for results whose call does not precede them."""
    asked: set[str] = set()
    for message in messages:
        match message:
            case AssistantMessage():
                asked = {block.id for block in message.content if isinstance(block, ToolCall)}
                yield message
            case ToolResult() if message.tool_call_id not in asked:
                yield told_result(message)
            case ToolResult():
                yield message
            case _:
                asked = set()
                yield message


def _result(parts: list[str], layout: Layout) -> str:
    """The texts of a result, and its pictures, which stay apart where its texts become one."""
    if not layout.between:
        return "".join(parts)
    texts = [part for part in parts if part != PICTURE]
    return layout.between.join(texts) + PICTURE * parts.count(PICTURE)


def _items(message: Message, calls: dict[str, int], layout: Layout) -> Iterator[Item]:
    match message:
        case UserMessage():
            if parts := _parts(message.content):
                yield ("user", sorted(parts, key=PICTURE.__eq__) if layout.pictures_last else parts)
        case ToolResult():
            yield ("result", calls[message.tool_call_id], _result(_parts(message.content), layout))
        case AssistantMessage():
            content = message.content
            for block in (Text(text=content),) if isinstance(content, str) else map(known_block, content):
                if isinstance(block, Text) and block.text.strip():
                    yield ("assistant", [block.text])
                elif isinstance(block, ToolCall):
                    calls[block.id] = len(calls)
                    yield ("call", calls[block.id], api_tool_name(block.name), block.arguments)


def _parts(content: Any) -> list[str]:
    blocks = (Text(text=content),) if isinstance(content, str) else map(known_block, content)
    return [block.text if isinstance(block, Text) else PICTURE for block in blocks if _counts(block)]


def _counts(block: Any) -> bool:
    return isinstance(block, Image) or (isinstance(block, Text) and bool(block.text.strip()))


def joined(items: list[Item]) -> list[Item]:
    """Texts of one speaker that follow each other are one item: no API tells them apart."""
    found: list[Item] = []
    for item in items:
        if found and item[0] in ("user", "assistant") and found[-1][0] == item[0]:
            found[-1] = (item[0], [*found[-1][1], *item[1]])
        else:
            found.append(item)
    return found


def texts_first(items: list[Item]) -> list[Item]:
    """The items with the texts of an answer before its calls, where some APIs and programs put them."""
    found: list[Item] = []
    calls: list[Item] = []
    for item in items:
        if item[0] == "call":
            calls.append(item)
            continue
        if item[0] != "assistant":
            found += calls
            calls = []
        found.append(item)
    return joined(found + calls)


def results_sorted(items: list[Item]) -> list[Item]:
    """The items with results that follow each other in the order of their calls, where some programs put them."""
    groups = groupby(items, key=lambda item: item[0])
    return [item for kind, group in groups for item in (sorted(group) if kind == "result" else group)]


def rounded(value: Any) -> Any:
    """A value with whole numbers as JavaScript reads them."""
    match value:
        case int() if abs(value) > 2**53:
            return float(value)
        case dict():
            return {name: rounded(inner) for name, inner in value.items()}
        case list():
            return [rounded(inner) for inner in value]
        case tuple():
            return tuple(rounded(inner) for inner in value)
        case _:
            return value
