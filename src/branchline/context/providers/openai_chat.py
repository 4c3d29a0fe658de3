"""Requests for OpenAI's Chat Completions API, which many other providers support too.

Arguments are JSON text; results can only be text, so their images follow in a user message; thinking blocks
are not sent; errors are marked in the text.
"""

from __future__ import annotations

from typing import Any

from branchline.context.context import Context
from branchline.context.model_input import to_model
from branchline.context.providers.common import (
    IMAGES_SENTENCE,
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
from branchline.entries import AssistantMessage, Content, Image, Text, ToolResult, UserMessage, tool_calls

__all__ = ["openai_chat"]

_ID_LIMIT = 40

Item = dict[str, Any]


def openai_chat(context: Context) -> ProviderRequest:
    """Return the tools and messages of a context; the system prompt is the first message."""
    ids = ProviderIds(_ID_LIMIT)
    messages: list[Item] = []
    images: list[Item] = []
    to_send = to_model(context)
    state = replay_system(to_send)
    if state.text:
        messages.append({"role": "system", "content": replace_surrogates(state.text)})
    for message in close_tool_calls(to_send):
        if images and not isinstance(message, ToolResult):
            messages.append(_images_message(images))
            images = []
        match message:
            case UserMessage():
                if content := _content(message.content):
                    messages.append({"role": "user", "content": content})
            case AssistantMessage():
                if answer := _answer(message, ids):
                    messages.append(answer)
            case ToolResult():
                text = error_text(message)
                messages.append({"role": "tool", "tool_call_id": ids[message.tool_call_id], "content": text})
                images += [_part(part) for part in parts(message.content) if isinstance(part, Image)]
            case _:
                pass  # system messages are replayed above
    if images:
        messages.append(_images_message(images))
    tools = [{"type": "function", "function": tool_function(tool)} for tool in state.tools]
    return ProviderRequest(api="openai-chat", system=None, tools=tools, messages=messages)


def _answer(message: AssistantMessage, ids: ProviderIds) -> Item | None:
    text = "\n".join(
        replace_surrogates(part.text) for part in parts(message.content) if isinstance(part, Text)
    )
    calls = [
        {
            "id": ids[block.id],
            "type": "function",
            "function": {"name": plain_name(block.name), "arguments": arguments_text(block.arguments)},
        }
        for block in tool_calls(message.content)
    ]
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {"role": "assistant", "content": text} if text else None


def _content(content: Content) -> str | list[Item]:
    found = parts(content)
    if len(found) == 1 and isinstance(found[0], Text):
        return replace_surrogates(found[0].text)
    return [_part(part) for part in found]


def _part(part: Text | Image) -> Item:
    if isinstance(part, Text):
        return {"type": "text", "text": replace_surrogates(part.text)}
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def _images_message(images: list[Item]) -> Item:
    return {"role": "user", "content": [{"type": "text", "text": IMAGES_SENTENCE}, *images]}
