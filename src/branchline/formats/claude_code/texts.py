"""Extracts the text of many records at once, for indexing.

Most bytes of a transcript are fields such as ``toolUseResult``, which repeat the message; they are skipped
here. An unusual record is decoded as an entry instead. Both paths give the same text; a test compares them.
Together with bulk linking, 350 MB are indexed in 3.9 instead of 9.0 seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.entries import Usage, json_codec
from branchline.formats.claude_code.kinds import ANSWER, HUMAN, RESULT
from branchline.formats.claude_code.records import NO_MODEL, STOP_REASONS
from branchline.formats.entry_text import EntryText, files_in, strings_in
from branchline.formats.log_index import LineChunk

if TYPE_CHECKING:
    from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex

__all__ = ["record_texts"]


class _Part(msgspec.Struct, gc=False):
    """A block inside a tool result."""

    type: str = ""
    text: str | None = None


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: str | tuple[_Part, ...] | None = None
    is_error: bool | None = None


class _CacheCreation(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: int | float = 0


class _Spent(msgspec.Struct, gc=False):
    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_input_tokens: int | float = 0
    cache_creation_input_tokens: int | float = 0
    cache_creation: _CacheCreation | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: str | tuple[_Block, ...] = ""
    stop_reason: str | None = None
    usage: _Spent | None = None


class _Record(msgspec.Struct, gc=False):
    message: _Message | None = None
    requestId: str | None = None  # noqa: N815


@json_codec.build_once
def _decoder() -> msgspec.json.Decoder[_Record]:
    return msgspec.json.Decoder(_Record)


_CALLS = frozenset({"tool_use", "server_tool_use"})
_SILENT = frozenset({"image", "redacted_thinking"})


def record_texts(
    data: bytes, index: ClaudeCodeLogIndex, block: LineChunk
) -> Sequence[EntryText | None] | None:
    """Return the texts of prompts, answers and results; everything else is left to the entry decoder."""
    try:
        records = _decoder().decode_lines(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if len(records) != len(block.ends):
        return None
    types, kinds, first = index.tree.types, index.kinds, block.first
    found: list[EntryText | None] = []
    for position, record in enumerate(records, first):
        text = None
        if record.message is not None and types[position] == "message":
            kind = kinds[position]
            if kind == ANSWER:
                text = _answer(record, record.message, index, position)
            elif kind == RESULT:
                text = _result(record.message, index, position)
            elif kind == HUMAN:
                text = _prompt(record.message)
        found.append(text)
    return found


def _prompt(message: _Message) -> EntryText | None:
    content = message.content
    if isinstance(content, str):
        return EntryText("user", content)
    texts = []
    for block in content:
        if block.type == "text" and block.text is not None:
            texts.append(block.text)
        elif block.type not in _SILENT:
            return None
    return EntryText("user", "\n".join(texts))


def _result(message: _Message, index: ClaudeCodeLogIndex, position: int) -> EntryText | None:
    content = message.content
    number = index.numbers.get(position, 0)
    if isinstance(content, str):
        return None
    results = [block for block in content if block.type == "tool_result"]
    if number >= len(results):
        return None
    result = results[number]
    inner = result.content
    if inner is not None and not isinstance(inner, str):
        texts = []
        for part in inner:
            if part.type == "text" and part.text is not None:
                texts.append(part.text)
            elif part.type not in _SILENT:
                return None
        inner = "\n".join(texts)
    name = index.tool_names.get(result.tool_use_id or "", "")
    return EntryText("toolResult", "", inner or "", name, failed=result.is_error is True)


def _answer(record: _Record, message: _Message, index: ClaudeCodeLogIndex, position: int) -> EntryText | None:
    content = message.content
    texts: list[str] = []
    tools: list[str] = []
    names: list[str] = []
    files: dict[str, None] = {}
    if isinstance(content, str):
        texts.append(content)
        content = ()
    for block in content:
        kind = block.type
        if kind == "text" and block.text is not None:
            texts.append(block.text)
        elif kind == "thinking" and block.thinking is not None:
            texts.append(block.thinking)
        elif kind in _CALLS and block.name is not None:
            arguments = block.input if isinstance(block.input, dict) else {}
            values = strings_in(arguments)
            names.append(block.name)
            tools += (block.name, *values)
            files.update(dict.fromkeys(files_in(arguments, values)))
        else:
            return None
    if message.model == NO_MODEL or message.stop_reason == "error":
        return None
    model = f"anthropic/{message.model}" if message.model else ""
    spent, usage = message.usage, None
    if spent is not None and index.spends(position, message.id, record.requestId):
        split = spent.cache_creation
        usage = Usage(
            input=spent.input_tokens,
            output=spent.output_tokens,
            cache_read=spent.cache_read_input_tokens,
            cache_write=spent.cache_creation_input_tokens,
            cache_write_1h=msgspec.UNSET if split is None else split.ephemeral_1h_input_tokens,
            total_tokens=spent.input_tokens
            + spent.output_tokens
            + spent.cache_read_input_tokens
            + spent.cache_creation_input_tokens,
        )
    return EntryText(
        "assistant",
        "\n".join(texts),
        "\n".join(tools),
        "\n".join(names),
        tuple(files),
        model,
        STOP_REASONS.get(message.stop_reason or "") == "error",
        usage=usage,
        spender="" if usage is None else model or "anthropic",
    )
