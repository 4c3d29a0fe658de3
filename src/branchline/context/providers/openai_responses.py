"""Requests for OpenAI's Responses API: a list of items, in which calls and results are separate items.

Thinking blocks are not sent, and neither are item ids: without its reasoning item, the API would refuse a
call with its stored id.
"""

from __future__ import annotations

from typing import Any

from branchline.context.context import Context
from branchline.context.model_input import to_model
from branchline.context.providers.common import (
    ProviderIds,
    ProviderRequest,
    arguments_text,
    data_url,
    error_text,
    parts,
    plain_name,
    replace_surrogates,
    tool_function,
)
from branchline.context.system_prompt import replay_system
from branchline.context.tool_pairs import close_tool_calls
from branchline.entries import AssistantMessage, Image, Text, ToolCall, ToolResult, UserMessage, as_blocks

__all__ = ["openai_responses"]

_ID_LIMIT = 64

Item = dict[str, Any]


def openai_responses(context: Context) -> ProviderRequest:
    """Return the instructions, tools and input items of a context."""
    ids = ProviderIds(_ID_LIMIT)
    items: list[Item] = []
    to_send = to_model(context)
    for message in close_tool_calls(to_send):
        match message:
            case UserMessage():
                if content := [_part(part) for part in parts(message.content)]:
                    items.append({"type": "message", "role": "user", "content": content})
            case AssistantMessage():
                items += _answer(message, ids)
            case ToolResult():
                items.append(_result(message, ids))
            case _:
                pass  # system messages are replayed below
    state = replay_system(to_send)
    tools = [{"type": "function", **tool_function(tool)} for tool in state.tools]
    return ProviderRequest(
        api="openai-responses", system=replace_surrogates(state.text) or None, tools=tools, messages=items
    )


def _answer(message: AssistantMessage, ids: ProviderIds) -> list[Item]:
    items: list[Item] = []
    for block in as_blocks(message.content):
        match block:
            case Text() if block.text.strip():
                part = {"type": "output_text", "text": replace_surrogates(block.text), "annotations": []}
                items.append({"type": "message", "role": "assistant", "content": [part]})
            case ToolCall():
                items.append(
                    {
                        "type": "function_call",
                        "call_id": ids[block.id],
                        "name": plain_name(block.name),
                        "arguments": arguments_text(block.arguments),
                    }
                )
            case _:
                pass
    # The results follow the calls, so text after a call must precede all calls.
    items.sort(key=lambda item: item["type"] == "function_call")
    return items


def _result(result: ToolResult, ids: ProviderIds) -> Item:
    images = [part for part in parts(result.content) if isinstance(part, Image)]
    output: str | list[Item] = error_text(result)
    if images:
        output = [{"type": "input_text", "text": output}, *map(_part, images)]
    return {"type": "function_call_output", "call_id": ids[result.tool_call_id], "output": output}


def _part(part: Text | Image) -> Item:
    if isinstance(part, Text):
        return {"type": "input_text", "text": replace_surrogates(part.text)}
    return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
