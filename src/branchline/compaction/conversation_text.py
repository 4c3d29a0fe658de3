"""A conversation as plain text for a summarizer: messages, tool calls and their results."""

from __future__ import annotations

from collections.abc import Iterable

from branchline.context.javascript import in_order, stringify, utf16_cut, utf16_length
from branchline.context.model_input import model_messages
from branchline.entries import (
    AssistantMessage,
    Content,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
    tool_calls,
)

__all__ = ["conversation_text"]

_RESULT_LIMIT = 2000


def conversation_text(messages: Iterable[Message], *, longest: int | None = None) -> str:
    """Return the messages as text, separated by blank lines, without thinking, images and system messages.

    Tool results are truncated; ``longest`` is the maximum length of every other part.
    """
    parts = _parts(messages)
    return "\n\n".join(parts if longest is None else [_truncated(part, longest) for part in parts])


def _parts(messages: Iterable[Message]) -> list[str]:
    parts: list[str] = []
    for message in model_messages(messages):
        match message:
            case UserMessage():
                if text := blocks_text(message.content):
                    parts.append(f"[User]: {text}")
            case AssistantMessage():
                if text := _text_of(message.content):
                    parts.append(f"[Assistant]: {text}")
                calls = [_call(call) for call in tool_calls(message.content)]
                if calls:
                    parts.append(f"[Assistant tool calls]: {'; '.join(calls)}")
            case ToolResult():
                if text := blocks_text(message.content):
                    parts.append(f"[Tool result]: {_truncated(text, _RESULT_LIMIT)}")
            case _:
                pass
    return parts


def _text_of(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text) and block.text)


def _call(call: ToolCall) -> str:
    arguments = ", ".join(f"{key}={stringify(value)}" for key, value in in_order(call.arguments).items())
    return f"{call.name}({arguments})"


def _truncated(text: str, limit: int) -> str:
    length = utf16_length(text)
    if length <= limit:
        return text
    return f"{utf16_cut(text, limit)}\n\n[… {length - limit} more characters]"
