"""Conversion of Mistral Vibe lines to entries."""

from __future__ import annotations

from typing import Any

from branchline.entries import (
    Block,
    Custom,
    CustomMessage,
    Entry,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UsageEntry,
    UserMessage,
    json_codec,
)
from branchline.formats.common.messages import completed_answer, unknown_block, usage_with_cache
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.log_index import LogIndex, entry_fields

__all__ = ["record_of"]


def record_of(line: bytes, index: LogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = index.tree
    common = entry_fields(tree, position)
    fields = json_codec.loads(line)
    message = dict_of(fields.get("message"))
    content = tuple(map(_block, list_of(message.get("content"))))
    match tree.types[position]:
        case "message" if tree.roles[position] == "toolResult":
            result = ToolResult(
                tool_call_id=text_of(message.get("tool_call_id")),
                tool_name=text_of(message.get("name")),
                content=content,
                is_error=message.get("outcome") == "failure",
            )
            return MessageEntry(**common, message=result)
        case "message" if tree.roles[position] == "user":
            return MessageEntry(**common, message=UserMessage(content=content))
        case "message":
            return MessageEntry(**common, message=completed_answer(content))
        case "usage":
            facts = dict_of(fields.get("facts"))
            spent = dict_of(facts.get("usage"))
            usage = usage_with_cache(
                given=spent.get("inputTokens"),
                made=spent.get("outputTokens"),
                cached=spent.get("cachedInputTokens"),
            )
            return UsageEntry(
                **common, kind="session", model=text_of(facts.get("model")) or None, usage=usage
            )
        case "custom_message":
            return CustomMessage(**common, custom_type="injection", content=content, display=True)
        case _:
            return Custom(**common, custom_type=text_of(message.get("role")) or "unknown", data=fields)


def _block(value: Any) -> Block:
    fields = dict_of(value)
    kind = text_of(fields.get("type"))
    match kind:
        case "text" if isinstance(fields.get("text"), str):
            return Text(text=fields["text"])
        case "reasoning" if thinking := _thinking(fields):
            return Thinking(thinking=thinking)
        case "tool_call" if isinstance(fields.get("name"), str):
            return ToolCall(
                id=text_of(fields.get("id")),
                name=fields["name"],
                arguments=dict_of(dict_of(fields.get("arguments")).get("value")),
            )
        case "image" if isinstance(fields.get("data"), str):
            return Image(data=fields["data"], mime_type=text_of(fields.get("mimeType")))
        case _:
            return unknown_block(value, kind)


def _thinking(fields: dict[str, Any]) -> str:
    """Return the text of a reasoning part; encrypted parts have none."""
    return "\n".join(
        filter(None, (text_of(dict_of(part).get("text")) for part in list_of(fields.get("content"))))
    )
