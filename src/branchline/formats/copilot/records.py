"""Conversion of Copilot CLI events to entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    BashExecution,
    Block,
    Compaction,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Image,
    Message,
    MessageEntry,
    ModelChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UsageEntry,
    UserMessage,
    json_codec,
)
from branchline.formats.common.messages import completed_answer, output_and_error, usage_with_cache
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.json_values import dict_of, list_of, text_of, whole_number
from branchline.formats.log_index import entry_fields

__all__ = ["record_of"]


def record_of(line: bytes, index: CopilotLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = index.tree
    time = tree.times[position]
    common = entry_fields(tree, position)
    if position in tree.placeholders:
        return Damaged(**common, text=line.decode("utf-8", "replace"))
    fields = json_codec.loads(line)
    data = dict_of(fields.get("data"))
    match tree.types[position]:
        case "message":
            return MessageEntry(**common, message=_message(data, index, position, milliseconds(time)))
        case "usage":
            spent = dict_of(data.get("usage"))
            return UsageEntry(
                **common,
                kind="turn",
                provider="",  # as its answers name none; "modelProvider" is "other" for keys of the user
                model=text_of(spent.get("model")),
                usage=usage_with_cache(
                    given=spent.get("inputTokens"),
                    made=spent.get("outputTokens"),
                    cached=spent.get("cacheReadTokens"),
                    written=spent.get("cacheWriteTokens"),
                ),
            )
        case "compaction":
            return Compaction(
                **common,
                summary=text_of(data.get("summaryContent")),
                first_kept=tree.keys[index.first_kept.get(position, position)],
                tokens_before=whole_number(data.get("preCompactionTokens")) or None,
            )
        case "model_change":
            return ModelChange(**common, provider="", model_id=text_of(data.get("newModel")))
        case "custom_message":
            return CustomMessage(
                **common,
                custom_type=text_of(fields.get("type")),
                content=text_of(data.get("message")),
                display=True,
            )
        case _:
            name = text_of(fields.get("type"))
            return Custom(**common, custom_type=name, data=fields.get("data", fields))


def _message(data: dict[str, Any], reading: CopilotLogIndex, position: int, time: int | None) -> Message:
    match reading.tree.roles[position]:
        case "user":
            return UserMessage(content=_prompt(data, reading), timestamp=time)
        case "toolResult":
            return _result(data, reading, time)
        case "bashExecution":
            return _command(data, reading, time)
        case _:
            return completed_answer(
                tuple(_answer(data)),
                model=text_of(data.get("model")) or None,
                response_id=text_of(data.get("messageId")) or None,
                timestamp=time,
            )


def _prompt(data: dict[str, Any], reading: CopilotLogIndex) -> tuple[Block, ...]:
    """Return the user's text and attached images."""
    return (Text(text=text_of(data.get("content"))), *_images(data.get("attachments"), reading))


def _images(items: Any, reading: CopilotLogIndex) -> Iterator[Image]:
    """Yield images that a list holds, or that it names as assets."""
    for one in map(dict_of, list_of(items)):
        media = text_of(one.get("mimeType"))
        if one.get("type") not in ("blob", "image") and not media.startswith("image/"):
            continue
        data = one.get("data")
        if data is None:
            data = _data_at(reading.assets.get(text_of(one.get("assetId"))), reading).get("data")
        if isinstance(data, str):
            yield Image(data=data, mime_type=media)


def _data_at(position: int | None, reading: CopilotLogIndex) -> dict[str, Any]:
    """Return the data of another event."""
    if position is None:
        return {}
    line = json_codec.bounded(reading.read(*reading.span(position)))
    return dict_of((json_codec.loads_object(line) or {}).get("data"))


def _answer(data: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    thought, sealed = text_of(data.get("reasoningText")), text_of(data.get("reasoningOpaque"))
    if thought or sealed:
        blocks.append(Thinking(thinking=thought, thinking_signature=sealed or None))
    if text := text_of(data.get("content")):
        blocks.append(Text(text=text))
    for request in map(dict_of, list_of(data.get("toolRequests"))):
        given = request.get("arguments")
        arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
        blocks.append(
            ToolCall(
                id=text_of(request.get("toolCallId")),
                name=text_of(request.get("name")),
                arguments=arguments,
            )
        )
    return blocks


def _command(data: dict[str, Any], reading: CopilotLogIndex, time: int | None) -> BashExecution:
    """Return a shell command that the user ran; an earlier event has its text."""
    asked = _data_at(reading.commands.get(text_of(data.get("toolCallId"))), reading)
    code = dict_of(data.get("shellExecution")).get("exitCode")
    return BashExecution(
        command=text_of(dict_of(asked.get("arguments")).get("command")),
        output=_output(data),
        exit_code=code if type(code) is int else None,
        timestamp=time,
    )


def _output(data: dict[str, Any]) -> str:
    error = dict_of(data.get("error")).get("message", data.get("error"))
    return output_and_error(dict_of(data.get("result")).get("content"), error)


def _result(data: dict[str, Any], reading: CopilotLogIndex, time: int | None) -> ToolResult:
    call, result = text_of(data.get("toolCallId")), dict_of(data.get("result"))
    return ToolResult(
        tool_call_id=call,
        tool_name=reading.tool_names.get(call, ""),
        content=(Text(text=_output(data)), *_images(result.get("binaryResultsForLlm"), reading)),
        is_error=data.get("success") is False,
        timestamp=time,
    )
