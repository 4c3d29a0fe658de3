"""Conversion of Gemini CLI messages to entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Custom,
    CustomMessage,
    Entry,
    Leaf,
    Message,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.common.gemini_parts import (
    answer_blocks,
    blocks_of,
    prompt_blocks,
    response_blocks,
    response_failed,
    usage_of,
)
from branchline.formats.common.messages import completed_answer
from branchline.formats.gemini.log_index import EntryPart, GeminiLogIndex
from branchline.formats.gemini.rows import CONTEXT_BEGINS
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.log_index import entry_fields

__all__ = ["record_of"]


def record_of(line: bytes, index: GeminiLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line or of its newest version."""
    tree = index.tree
    common = entry_fields(tree, position)
    source = index.sources.get(position, EntryPart())
    if (newer := index.versions.get(position)) is not None:
        line, source = json_codec.bounded(index.read(*newer)), EntryPart()
    fields = json_codec.loads(line)
    messages = list_of(dict_of(fields.get("$set")).get("messages"))
    if source.message is not None:
        fields = dict_of(messages[source.message] if source.message < len(messages) else None)
    time = milliseconds(common["timestamp"])
    match tree.types[position]:
        case "message" if tree.roles[position] == "toolResult":
            return MessageEntry(**common, message=_result(fields, source.result_of or "", time))
        case "message" if tree.roles[position] == "user":
            content = _without_context(prompt_blocks(fields.get("content")))
            return MessageEntry(**common, message=UserMessage(content=content, timestamp=time))
        case "message":
            return MessageEntry(**common, message=_answer(fields, time))
        case "custom_message":
            kind = text_of(fields.get("type"))
            return CustomMessage(
                **common,
                custom_type="context" if kind == "user" else kind,
                content=blocks_of(fields.get("content")),
                display=kind != "user",
            )
        case "compaction":
            return _compaction(common, messages, time)
        case "leaf":
            return Leaf(**common, target=common["parent"])
        case _:
            return Custom(**common, custom_type=text_of(fields.get("type")), data=fields)


def _answer(fields: dict[str, Any], time: int | None) -> AssistantMessage:
    thoughts: list[Block] = [
        Thinking(thinking=_thought(dict_of(thought))) for thought in list_of(fields.get("thoughts"))
    ]
    blocks = list(answer_blocks(fields.get("content")))
    calls = {block.id for block in blocks if isinstance(block, ToolCall)}
    for call in map(dict_of, list_of(fields.get("toolCalls"))):
        if (id_ := text_of(call.get("id"))) not in calls:
            name = text_of(call.get("name"))
            blocks.append(ToolCall(id=id_, name=name, arguments=dict_of(call.get("args"))))
    spent = fields.get("tokens")
    return completed_answer(
        (*thoughts, *blocks),
        provider="google",
        model=text_of(fields.get("model")) or None,
        usage=None
        if not isinstance(spent, dict)
        else usage_of(
            prompt=spent.get("input"),
            cached=spent.get("cached"),
            output=spent.get("output"),
            thoughts=spent.get("thoughts"),
            total=spent.get("total"),
        ),
        timestamp=time,
    )


def _without_context(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return a prompt without the context before it."""
    first = blocks[0] if len(blocks) > 1 else None
    return blocks[1:] if isinstance(first, Text) and first.text.startswith(CONTEXT_BEGINS) else blocks


def _thought(thought: dict[str, Any]) -> str:
    subject, description = text_of(thought.get("subject")), text_of(thought.get("description"))
    return f"**{subject}**\n\n{description}" if subject and description else subject or description


def _result(fields: dict[str, Any], call_id: str, time: int | None) -> ToolResult:
    """Return a tool result, from the answer with the call or from a message of its own."""
    for call in map(dict_of, list_of(fields.get("toolCalls"))):
        if text_of(call.get("id")) == call_id:
            found = [dict_of(dict_of(one).get("functionResponse")) for one in list_of(call.get("result"))]
            failed = call.get("status") in ("error", "cancelled") or any(map(response_failed, found))
            blocks = tuple(block for one in found for block in response_blocks(one))
            if not blocks and isinstance(shown := call.get("resultDisplay"), str):
                blocks = (Text(text=shown),)
            return _tool_result(call_id, text_of(call.get("name")), blocks, time, failed=failed)
    content = fields.get("content")
    for part in content if isinstance(content, list) else [content]:
        response = dict_of(dict_of(part).get("functionResponse"))
        if response and text_of(response.get("id")) == call_id:
            name, failed = text_of(response.get("name")), response_failed(response)
            return _tool_result(call_id, name, response_blocks(response), time, failed=failed)
    return _tool_result(call_id, "", (), time, failed=False)


def _tool_result(
    call: str, name: str, content: tuple[Block, ...], time: int | None, *, failed: bool
) -> ToolResult:
    return ToolResult(tool_call_id=call, tool_name=name, content=content, is_error=failed, timestamp=time)


def _compaction(common: dict[str, Any], messages: list[Any], time: int | None) -> Compaction:
    """Return a replaced list as a compaction: its first prompt is the summary, the rest is kept."""
    kept = list(_kept(messages, time))
    summary = ""
    if kept and isinstance(first := kept[0], UserMessage):
        summary = blocks_text(first.content, "\n")
        del kept[0]
    return Compaction(**common, summary=summary, first_kept=common["id"], retained_tail=tuple(kept))


def _kept(messages: list[Any], time: int | None) -> Iterator[Message]:
    answered: set[str] = set()
    for fields in map(dict_of, messages):
        content = fields.get("content")
        parts = map(dict_of, content if isinstance(content, list) else [content])
        calls = [
            text_of(response.get("id"))
            for part in parts
            if (response := dict_of(part.get("functionResponse")))
        ]
        if fields.get("type") == "gemini":
            yield _answer(fields, time)
            calls = [
                text_of(call.get("id"))
                for call in map(dict_of, list_of(fields.get("toolCalls")))
                if call.get("result")
            ]
        elif fields.get("type") == "user" and not calls:
            blocks = _without_context(prompt_blocks(content))
            if not blocks_text(blocks).lstrip().startswith(CONTEXT_BEGINS):
                yield UserMessage(content=blocks, timestamp=time)
        for call in calls:
            if call not in answered:
                answered.add(call)
                yield _result(fields, call, time)
