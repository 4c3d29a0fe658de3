"""Requests for Anthropic's Messages API.

User and assistant messages alternate, starting with the user. All results of one answer come first in one
user message. Thinking blocks are sent only with their signature, and only to the API that signed them.
"""

from __future__ import annotations

from typing import Any

from branchline.context.context import Context
from branchline.context.model_input import to_model
from branchline.context.providers.common import (
    NO_OUTPUT,
    ProviderIds,
    ProviderRequest,
    clean_arguments,
    parts,
    plain_name,
    replace_surrogates,
    tool_name,
    tool_schema,
)
from branchline.context.system_prompt import replay_system
from branchline.context.tool_pairs import close_tool_calls
from branchline.entries import (
    AssistantMessage,
    Content,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    as_blocks,
)

__all__ = ["OPENING", "anthropic"]

OPENING = "(The conversation begins with the assistant.)"
_ID_LIMIT = 64

AnthropicBlock = dict[str, Any]


def anthropic(context: Context) -> ProviderRequest:
    """Return the system prompt, tools and messages of a context."""
    ids = ProviderIds(_ID_LIMIT)
    messages: list[dict[str, Any]] = []
    to_send = to_model(context)
    for message in close_tool_calls(to_send):
        match message:
            case UserMessage():
                _add(messages, "user", _blocks(message.content))
            case ToolResult():
                _add(messages, "user", [_result(message, ids)])
            case AssistantMessage():
                _add(messages, "assistant", _answer(message, ids))
            case _:
                pass  # system messages are replayed below
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    state = replay_system(to_send)
    return ProviderRequest(
        api="anthropic",
        system=replace_surrogates(state.text) or None,
        tools=[{**tool_name(tool), "input_schema": tool_schema(tool)} for tool in state.tools],
        messages=messages,
    )


def _add(messages: list[dict[str, Any]], role: str, blocks: list[AnthropicBlock]) -> None:
    """Append blocks to the last message if it has this role, or else to a new one."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _blocks(content: Content) -> list[AnthropicBlock]:
    return [_text(part.text) if isinstance(part, Text) else _image(part) for part in parts(content)]


def _answer(message: AssistantMessage, ids: ProviderIds) -> list[AnthropicBlock]:
    signed_here = (message.api or "").startswith("anthropic")
    blocks: list[AnthropicBlock] = []
    for block in as_blocks(message.content):
        match block:
            case Text() if block.text.strip():
                blocks.append(_text(block.text))
            case Thinking() if signed_here and block.thinking_signature:
                blocks.append(_thinking(block, block.thinking_signature))
            case ToolCall():
                blocks.append(
                    {
                        "type": "tool_use",
                        "id": ids[block.id],
                        "name": plain_name(block.name),
                        "input": clean_arguments(block.arguments),
                    }
                )
            case _:
                pass
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()  # an answer must not end with a thinking block
    return blocks


def _thinking(block: Thinking, signature: str) -> AnthropicBlock:
    if block.redacted:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": replace_surrogates(block.thinking), "signature": signature}


def _result(result: ToolResult, ids: ProviderIds) -> AnthropicBlock:
    block: AnthropicBlock = {
        "type": "tool_result",
        "tool_use_id": ids[result.tool_call_id],
        "content": _blocks(result.content) or [_text(NO_OUTPUT)],
    }
    if result.is_error is True:
        block["is_error"] = True
    return block


def _text(text: str) -> AnthropicBlock:
    return {"type": "text", "text": replace_surrogates(text)}


def _image(image: Image) -> AnthropicBlock:
    source = {"type": "base64", "media_type": image.mime_type or "image/png", "data": image.data}
    return {"type": "image", "source": source}
