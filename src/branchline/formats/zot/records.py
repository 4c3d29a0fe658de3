"""Conversion between zot rows and entries.

Blocks have no type field; their keys identify them. zot stores the results of all calls of an answer in one
row; here each result is a message. Fields that zot lacks are stored in ``message.meta``, which zot copies but
never reads.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    CompactionSummaryMessage,
    Content,
    Cost,
    Custom,
    Entry,
    Image,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UsageEntry,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.extra_fields import FIELD, extra_fields, restore_extra_fields, typed_message
from branchline.formats.go_json import dumps, time_text, utc_time
from branchline.formats.json_values import dict_of, text_of
from branchline.formats.log_index import entry_fields
from branchline.formats.zot.log_index import ZotLogIndex
from branchline.formats.zot.rows import UsageRow, is_summary, row_of

__all__ = [
    "SUMMARY_HEADING",
    "CurrentModel",
    "decode_message",
    "message_row",
    "record_of",
    "results_row",
    "unread",
]

SUMMARY_HEADING = "## Context Summary (compacted)\n\n"
"""The heading of a compaction summary."""

_STORED_ELSEWHERE = frozenset({"usage", "provider", "model"})  # stored in rows of their own

Fields = dict[str, Any]


class CurrentModel:
    """Provider and model in use: an answer's row does not name them, the last meta row before it does."""

    def __init__(self, meta: Fields) -> None:
        self.provider = text_of(meta.get("provider")) or None
        self.model = text_of(meta.get("model")) or None


# -- reading ----------------------------------------------------------------------------------------------


def record_of(line: bytes, reading: ZotLogIndex, position: int) -> Entry:
    """Return the entry at a position; id and parent come from the tree."""
    tree, common = reading.tree, entry_fields(reading.tree, position)
    kind = tree.types[position]
    if kind == "usage":
        return _usage(line, reading, position, common)
    fields = json_codec.loads(line)
    match kind:
        case "message":
            raw, number = fields["message"], reading.numbers.get(position, 0)
            tool = ""
            if tree.roles[position] == "toolResult":
                tool = reading.tool_of(position, _call(raw.get("content"), number))
            message = decode_message(raw, CurrentModel(reading.meta_at(position)), number, tool)
            return MessageEntry(message=message, **common)
        case "session_info":
            return SessionInfo(name=fields["title"], **common)
        case "model_change":
            current = CurrentModel(fields["meta"])
            return ModelChange(provider=current.provider or "", model_id=current.model or "", **common)
        case _:
            data = {name: value for name, value in fields.items() if name != "type"}
            return Custom(custom_type=str(fields["type"]), data=data, **common)


def _usage(line: bytes, reading: ZotLogIndex, position: int, common: Fields) -> UsageEntry:
    """Return the usage of one row: its totals minus those before it."""
    row = row_of(line)
    assert isinstance(row, UsageRow)
    totals = row.cumulative
    before = reading.totals_before(position)
    reading.usage_rows.remember(position, row)
    tokens = {
        "input": totals.input_tokens - before.input_tokens,
        "output": totals.output_tokens - before.output_tokens,
        "cache_read": totals.cache_read_tokens - before.cache_read_tokens,
        "cache_write": totals.cache_write_tokens - before.cache_write_tokens,
    }
    try:
        cost = Cost(total=round(totals.cost_usd - before.cost_usd, 12))
    except OverflowError:  # an integer too large for a float
        cost = Cost()
    usage = Usage(**tokens, total_tokens=sum(tokens.values()), cost=cost)
    current = CurrentModel(reading.meta_at(position))
    return UsageEntry(kind="turn", provider=current.provider, model=current.model, usage=usage, **common)


def _call(content: Any, number: int) -> str:
    """Return the id of the call that a tool result answers."""
    block = content[number] if isinstance(content, list) and number < len(content) else None
    return text_of(block.get("call_id")) if isinstance(block, dict) else ""


def decode_message(message: Fields, current: CurrentModel, number: int = 0, tool_name: str = "") -> Message:
    """Return the message in a row; ``number`` selects one of several tool results."""
    time = milliseconds(utc_time(text_of(message.get("time"))))
    rest = _rest(message.get("meta"))
    role = message.get("role")
    content = message.get("content")
    if role == "tool":
        result = _result(content, number, tool_name, time)
        return restore_extra_fields(result, rest.get(str(number)))
    blocks = _blocks(content)
    meta = message.get("meta")
    if role == "user" and is_summary(meta):
        before = text_of(meta.get("tokens_before"))
        return CompactionSummaryMessage(
            summary=blocks_text(blocks),
            tokens_before=int(before) if before.isascii() and before.isdigit() else None,
            timestamp=time,
        )
    if role == "user":
        return restore_extra_fields(UserMessage(content=blocks, timestamp=time), rest)
    if role == "assistant":
        calls = any(isinstance(block, ToolCall) for block in blocks)
        answer = AssistantMessage(
            content=blocks,
            provider=current.provider,
            model=current.model,
            stop_reason="toolUse" if calls else "stop",
            timestamp=time,
        )
        return restore_extra_fields(answer, rest)
    return UnknownMessage(role=text_of(role), fields=message)


def _blocks(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(map(_block, content)) if isinstance(content, list) else ()


def _block(fields: Any) -> Block:
    """Return one block, identified by its keys; unknown blocks and unexpected values are kept verbatim."""
    if isinstance(fields, str):
        return Text(text=fields)
    if not isinstance(fields, dict):
        return UnknownBlock(type="", fields={"value": fields})
    if (
        "reasoning_id" in fields
        or "encrypted_content" in fields
        or ("summary" in fields and "text" not in fields)
    ):
        return _reasoning(fields)
    if "call_id" in fields:
        return UnknownBlock(type="tool_result", fields=fields)
    if "name" in fields and ("arguments" in fields or "id" in fields):
        arguments = fields.get("arguments")
        if isinstance(arguments, dict) or arguments is None:
            return ToolCall(
                id=text_of(fields.get("id")), name=text_of(fields["name"]), arguments=arguments or {}
            )
        return UnknownBlock(type="toolCall", fields=fields)
    if "mime_type" in fields:
        return Image(data=text_of(fields.get("data")), mime_type=text_of(fields["mime_type"]))
    if not isinstance(fields.get("text", ""), str):
        return UnknownBlock(type="text", fields=fields)
    return Text(text=fields.get("text", ""))


def _reasoning(fields: Fields) -> Thinking:
    """Return a thinking block; its signature is the provider's own reasoning item as JSON."""
    item = {
        name: text
        for name, key in (("id", "reasoning_id"), ("encrypted_content", "encrypted_content"))
        if (text := text_of(fields.get(key)))
    }
    summary = text_of(fields.get("summary"))
    if not item:
        return Thinking(thinking=summary)
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    signature = json_codec.dumps({"type": "reasoning", **item, "summary": parts}).decode("utf-8", "replace")
    return Thinking(thinking=summary, thinking_signature=signature)


def _result(content: Any, number: int, tool_name: str, time: int | None) -> ToolResult:
    fields = content[number] if isinstance(content, list) and number < len(content) else content
    if not isinstance(fields, dict) or "call_id" not in fields:
        blocks = _blocks([fields] if isinstance(fields, dict) else fields)
        return ToolResult(
            tool_call_id="", tool_name=tool_name, content=blocks, is_error=False, timestamp=time
        )
    return ToolResult(
        tool_call_id=text_of(fields["call_id"]),
        tool_name=tool_name,
        content=_blocks(fields.get("content")),
        is_error=fields.get("is_error") is True,
        timestamp=time,
    )


def _rest(meta: Any) -> Fields:
    """Return the extra fields stored with a message, except those that have rows of their own."""
    text = text_of(dict_of(meta).get(FIELD))
    rest = (json_codec.loads_object(text.encode("utf-8", "surrogatepass")) if text else None) or {}
    return {name: value for name, value in rest.items() if name not in _STORED_ELSEWHERE}


# -- writing ----------------------------------------------------------------------------------------------


def message_row(message: Message, current: CurrentModel) -> bytes | None:
    """Return the row of a user or assistant message; None if zot has no such message."""
    typed = typed_message(message)
    meta: Fields = {}
    match typed:
        case UserMessage():
            role, blocks = "user", _encode_blocks(typed.content)
        case AssistantMessage():
            role, blocks = "assistant", _encode_blocks(typed.content)
        case CompactionSummaryMessage():
            role, blocks = "user", [{"text": typed.summary}]
            meta["compaction"] = "true"
            if typed.tokens_before is not None:
                meta["tokens_before"] = str(int(typed.tokens_before))
        case _:
            return None
    if blocks is None:
        return None
    # zot omits messages without content. A message of empty texts would become an empty message in zot's
    # requests, which providers reject.
    content = blocks if any(map(_has_content, blocks)) else None
    fields: Fields = {"role": role, "content": content, "time": time_text(typed.timestamp)}
    if not meta:
        rest = extra_fields(message, decode_message(fields, current), _STORED_ELSEWHERE)
        meta = _kept(rest)
    return _row(fields, meta)


def results_row(results: Sequence[tuple[Message, str]]) -> bytes | None:
    """Return the single row for the results of an answer's calls, given with their tool names."""
    blocks: list[Fields] = []
    times = []
    for message, _ in results:
        typed = typed_message(message)
        content = _encode_blocks(typed.content) if isinstance(typed, ToolResult) else None
        if not isinstance(typed, ToolResult) or content is None:
            return None
        times.append(typed.timestamp)
        blocks.append(
            {"call_id": typed.tool_call_id, "content": content or None, "is_error": typed.is_error is True}
        )
    fields: Fields = {"role": "tool", "content": blocks, "time": time_text(times[-1])}
    rest: Fields = {}
    for number, (message, name) in enumerate(results):
        found = decode_message(fields, CurrentModel({}), number, name)
        if missing := extra_fields(message, found):
            rest[str(number)] = missing
    return _row(fields, _kept(rest))


def _row(fields: Fields, meta: Fields) -> bytes:
    message = {**fields, "meta": meta} if meta else fields
    return dumps({"type": "message", "message": message}) + b"\n"


def _kept(rest: Fields) -> Fields:
    return {FIELD: dumps(rest).decode("utf-8", "surrogatepass")} if rest else {}


def _encode_blocks(content: Content) -> list[Fields] | None:
    """Return the blocks of a message as zot writes them; None if zot has no such kind of block."""
    written: list[Fields] = []
    for block in (Text(text=content),) if isinstance(content, str) else content:
        match block:
            case Text():
                written.append({"text": block.text})
            case Image():
                written.append({"mime_type": block.mime_type, "data": block.data})
            case ToolCall():
                written.append({"id": block.id, "name": block.name, "arguments": block.arguments})
            case Thinking():
                written.append(_encode_reasoning(block))
            case UnknownBlock():
                return None
    return written


def unread(message: Message) -> tuple[str, ...]:
    """Return what zot ignores in a stored message, as phrases for the fidelity report."""
    content = getattr(message, "content", ())
    blocks: Sequence[Block] = () if isinstance(content, str) else content
    found = []
    if any(isinstance(block, Thinking) and not _is_reasoning(_encode_reasoning(block)) for block in blocks):
        found.append("with thinking that zot does not read")
    if any(isinstance(block, Image) and not _is_base64(block.data) for block in blocks):
        found.append("with an image that zot does not read: its data is not base64")
    written = _encode_blocks(content)
    if not isinstance(message, ToolResult) and written is not None and not any(map(_has_content, written)):
        found.append(
            "omitted by zot, as it has no other content" if found else "omitted by zot, as it is empty"
        )
    return tuple(found)


def _has_content(block: Fields) -> bool:
    """Return whether zot treats a block as more than empty text."""
    return bool(block.get("text")) or "mime_type" in block or "name" in block or _is_reasoning(block)


def _is_reasoning(block: Fields) -> bool:
    return bool(block.get("reasoning_id") or block.get("encrypted_content"))


def _is_base64(data: str) -> bool:
    try:
        b64decode(data, validate=True)
    except ValueError:
        return False
    return True


def _encode_reasoning(block: Thinking) -> Fields:
    signature = block.thinking_signature or ""
    item: Fields = {}
    if signature.startswith("{"):
        item = json_codec.loads_object(signature.encode("utf-8", "surrogatepass")) or {}
    fields = {
        "reasoning_id": text_of(item.get("id")),
        "summary": block.thinking,
        "encrypted_content": text_of(item.get("encrypted_content")),
    }
    return {name: text for name, text in fields.items() if text}
