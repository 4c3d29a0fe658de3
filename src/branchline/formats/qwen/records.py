"""Conversion of Qwen Code records to entries."""

from __future__ import annotations

from typing import Any

from branchline.context import milliseconds, unlabelled_summary
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    Message,
    MessageEntry,
    SessionInfo,
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
from branchline.formats.json_values import dict_of, list_of, text_of, whole_number
from branchline.formats.log_index import entry_fields
from branchline.formats.qwen.log_index import QwenLogIndex

__all__ = ["record_of"]


def record_of(line: bytes, index: QwenLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = index.tree
    time = tree.times[position]
    common = entry_fields(tree, position)
    if position in tree.placeholders:
        return Damaged(**common, text=line.decode("utf-8", "replace"))
    fields = json_codec.loads(line)
    payload = dict_of(fields.get("systemPayload"))
    content = dict_of(fields.get("message")).get("parts")
    match tree.types[position]:
        case "message":
            return MessageEntry(**common, message=_message(fields, content, tree.roles[position], time))
        case "custom_message":
            kind = text_of(fields.get("subtype")) or text_of(fields.get("provenance"))
            return CustomMessage(**common, custom_type=kind, content=prompt_blocks(content), display=True)
        case "session_info":
            return SessionInfo(**common, name=text_of(payload.get("customTitle")))
        case "compaction":
            return _compaction(common, payload, time)
        case _:
            kind = text_of(fields.get("subtype")) or text_of(fields.get("type"))
            return Custom(**common, custom_type=kind, data=fields.get("systemPayload", fields))


def _message(fields: dict[str, Any], parts: Any, role: str | None, time: str) -> Message:
    timestamp = milliseconds(time)
    if role == "toolResult":
        return _result(parts, dict_of(fields.get("toolCallResult")), timestamp)
    if role == "user":
        return UserMessage(content=prompt_blocks(parts), timestamp=timestamp)
    spent = fields.get("usageMetadata")
    return _answer(answer_blocks(parts), timestamp, model=text_of(fields.get("model")) or None, spent=spent)


def _answer(
    blocks: tuple[Block, ...], time: int | None, *, model: str | None = None, spent: Any = None
) -> AssistantMessage:
    return completed_answer(
        blocks,
        model=model,
        usage=None
        if not isinstance(spent, dict)
        else usage_of(
            prompt=spent.get("promptTokenCount"),
            cached=spent.get("cachedContentTokenCount"),
            output=spent.get("candidatesTokenCount"),
            thoughts=spent.get("thoughtsTokenCount"),
            total=spent.get("totalTokenCount"),
        ),
        timestamp=time,
    )


def _result(parts: Any, about: dict[str, Any], time: int | None) -> ToolResult:
    """Return the tool result of a record."""
    found = [
        response
        for part in list_of(parts)
        if isinstance(response := dict_of(part).get("functionResponse"), dict)
    ]
    first = found[0] if found else {}
    return ToolResult(
        tool_call_id=text_of(first.get("id")) or text_of(about.get("callId")),
        tool_name=text_of(first.get("name")),
        content=(
            *(block for response in found for block in response_blocks(response)),
            *(block for block in blocks_of(parts) if isinstance(block, Image)),
        ),
        is_error=any(map(response_failed, found)) or about.get("status") in ("error", "cancelled"),
        timestamp=time,
    )


def _compaction(common: dict[str, Any], payload: dict[str, Any], time: str) -> Compaction:
    """Return a compaction: the record holds the history sent from then on, summary first."""
    history = payload.get("compressedHistory")
    kept = [_kept(dict_of(item), milliseconds(time)) for item in list_of(history)]
    summary = ""
    if kept and "branchline" not in payload and isinstance(first := kept[0], UserMessage):
        summary = unlabelled_summary(blocks_text(first.content, "\n"))
        del kept[0]
    before = whole_number(dict_of(payload.get("info")).get("originalTokenCount"))
    return Compaction(
        **common,
        summary=summary,
        first_kept=common["id"],
        tokens_before=before or None,
        retained_tail=tuple(kept),
    )


def _kept(item: dict[str, Any], time: int | None) -> Message:
    parts = item.get("parts")
    if item.get("role") == "model":
        return _answer(answer_blocks(parts), time)
    if any("functionResponse" in dict_of(part) for part in list_of(parts)):
        return _result(parts, {}, time)
    return UserMessage(content=prompt_blocks(parts), timestamp=time)
