"""Parts of messages that several agents store in much the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from branchline.entries import AssistantMessage, Block, Text, ToolCall, Usage, json_codec
from branchline.entries.blocks import UnknownBlock
from branchline.formats.json_values import list_of, whole_number

__all__ = [
    "completed_answer",
    "content_blocks",
    "output_and_error",
    "text_or_json",
    "unknown_block",
    "usage_with_cache",
]


def completed_answer(content: tuple[Block, ...], **facts: Any) -> AssistantMessage:
    """Return an answer that ended as usual: with tool calls, or because the model was done."""
    calls = any(isinstance(block, ToolCall) for block in content)
    return AssistantMessage(content=content, stop_reason="toolUse" if calls else "stop", **facts)


def content_blocks(content: Any, block_of: Callable[[Any], Block]) -> tuple[Block, ...]:
    """Return the blocks of content that is text or a list."""
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(map(block_of, list_of(content)))


def unknown_block(value: Any, kind: str = "") -> UnknownBlock:
    """Return a block with whatever it contains."""
    return UnknownBlock(type=kind, fields=value if value and isinstance(value, dict) else {"value": value})


def text_or_json(value: Any) -> str:
    """Return text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json_codec.dumps(value).decode("utf-8", "replace")


def output_and_error(output: Any, error: Any) -> str:
    """Return what a failed tool printed, and its error unless the output contains it."""
    printed = "" if output is None else text_or_json(output)
    problem = text_or_json(error) if error else ""
    if not printed.strip():
        return problem or printed
    return printed if problem.strip() in printed else f"{printed}\n{problem}"


def usage_with_cache(*, given: Any, made: Any, cached: Any, written: Any = 0) -> Usage:
    """Return the tokens of requests whose input is stored with the cached tokens included."""
    from_cache = whole_number(cached)
    return Usage(
        input=max(whole_number(given) - from_cache, 0),
        output=whole_number(made),
        cache_read=from_cache,
        cache_write=whole_number(written),
    )
