"""Conversion of Cline lines to entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Cost,
    Custom,
    CustomMessage,
    Entry,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UsageEntry,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.entries.blocks import UnknownBlock
from branchline.formats.cline.log_index import ClineLogIndex
from branchline.formats.cline.prompts import is_context, typed_words
from branchline.formats.common.messages import (
    completed_answer,
    content_blocks,
    output_and_error,
    unknown_block,
    usage_with_cache,
)
from branchline.formats.json_values import dict_of, list_of, text_of, whole_number
from branchline.formats.log_index import entry_fields

__all__ = ["record_of"]


def record_of(line: bytes, reading: ClineLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = reading.tree
    time = milliseconds(tree.times[position])
    common = entry_fields(tree, position)
    fields = json_codec.loads(line)
    match tree.types[position]:
        case "message" if tree.roles[position] == "toolResult":
            return MessageEntry(**common, message=_result(fields, reading, position, time))
        case "message" if tree.roles[position] == "user":
            said = UserMessage(content=tuple(_typed(fields.get("content"))), timestamp=time)
            return MessageEntry(**common, message=said)
        case "message":
            return MessageEntry(**common, message=_answer(fields, time))
        case "usage":
            provider, model = reading.request_models.get(position, ("", ""))
            return UsageEntry(
                **common,
                kind="request",
                provider=provider or None,
                model=model or None,
                usage=_spent(dict_of(fields.get("spent"))),
            )
        case "compaction":
            summary = blocks_text(_blocks(fields.get("content")), "\n")
            return Compaction(**common, summary=summary, first_kept=common["id"])
        case "custom_message":
            kind = text_of(dict_of(fields.get("metadata")).get("displayRole")) or "tool_output"
            content = _blocks(fields.get("content"))
            return CustomMessage(**common, custom_type=kind, content=content, display=True)
        case _:
            return Custom(**common, custom_type=text_of(fields.get("role")) or "unknown", data=fields)


def _answer(fields: dict[str, Any], time: int | None) -> AssistantMessage:
    model, metrics = dict_of(fields.get("modelInfo")), dict_of(fields.get("metrics"))
    return completed_answer(
        _blocks(fields.get("content")),
        provider=text_of(model.get("providerId")) or text_of(model.get("provider")) or None,
        model=text_of(model.get("modelId")) or text_of(model.get("id")) or None,
        usage=_metrics(metrics) if metrics else None,
        timestamp=time,
    )


def _result(fields: dict[str, Any], reading: ClineLogIndex, position: int, time: int | None) -> ToolResult:
    blocks = map(dict_of, list_of(fields.get("content")))
    results = [block for block in blocks if block.get("type") == "tool_result"]
    result = results[reading.place_in_line(position)]
    call, content = text_of(result.get("tool_use_id")), result.get("content")
    failed = result.get("is_error") is True or any(
        dict_of(one).get("success") is False for one in _items(content)
    )
    return ToolResult(
        tool_call_id=call,
        tool_name=text_of(result.get("name")) or reading.tool_names.get(call, ""),
        content=tuple(_output(content)),
        is_error=failed,
        timestamp=time,
    )


def _output(content: Any) -> Iterator[Block]:
    """Yield text, blocks, or what Cline's own tools return for each of several queries."""
    if isinstance(content, str):
        yield Text(text=content)
        return
    for item in _items(content):
        answer = dict_of(item)
        if answer.keys() & {"result", "error"} and "type" not in answer:
            yield Text(text=output_and_error(answer.get("result"), answer.get("error")))
        else:
            yield _block(item)


def _items(content: Any) -> list[Any]:
    """Return the answers to several queries, or the only one."""
    return [content] if isinstance(content, dict) else list_of(content)


def _typed(content: Any) -> Iterator[Block]:
    for block in _blocks(content):
        if isinstance(block, Text):
            if not is_context(block.text):
                yield Text(text=typed_words(block.text))
        elif not (isinstance(block, UnknownBlock) and block.type == "tool_result"):
            yield block


def _blocks(content: Any) -> tuple[Block, ...]:
    return content_blocks(content, _block)


def _block(value: Any) -> Block:
    fields = dict_of(value)
    kind = text_of(fields.get("type"))
    match kind:
        case "text" if isinstance(fields.get("text"), str):
            return Text(text=fields["text"])
        case "thinking" if isinstance(fields.get("thinking"), str):
            signature = text_of(fields.get("signature")) or None
            return Thinking(thinking=fields["thinking"], thinking_signature=signature)
        case "tool_use" if isinstance(fields.get("name"), str):
            arguments = dict_of(fields.get("input"))
            return ToolCall(id=text_of(fields.get("id")), name=fields["name"], arguments=arguments)
        case "image":
            source = dict_of(fields.get("source"))
            data = source.get("data", fields.get("data"))
            if isinstance(data, str):
                media = text_of(source.get("media_type")) or text_of(fields.get("mediaType"))
                return Image(data=data, mime_type=media)
        case _:
            pass
    return unknown_block(value, kind)


def _metrics(metrics: dict[str, Any]) -> Usage:
    """Return the tokens of one answer; the stored input includes cached tokens, also those just written."""
    written = whole_number(metrics.get("cacheWriteTokens"))
    usage = usage_with_cache(
        given=whole_number(metrics.get("inputTokens")) - written,
        made=metrics.get("outputTokens"),
        cached=metrics.get("cacheReadTokens"),
        written=written,
    )
    return msgspec.structs.replace(usage, cost=_cost(metrics.get("cost")))


def _spent(spent: dict[str, Any]) -> Usage:
    return Usage(
        input=whole_number(spent.get("tokensIn")),
        output=whole_number(spent.get("tokensOut")),
        cache_read=whole_number(spent.get("cacheReads")),
        cache_write=whole_number(spent.get("cacheWrites")),
        cost=_cost(spent.get("cost")),
    )


def _cost(value: Any) -> Cost:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return Cost(total=value) if known else Cost()
