"""Convert messages of Anthropic's Messages API to session messages."""

from __future__ import annotations

from typing import Any

from branchline.context.providers.received import (
    KnownCalls,
    call_arguments,
    given,
    kept_whole,
    number,
    object_of,
    refuse,
    words,
)
from branchline.entries import (
    AssistantMessage,
    Block,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)

__all__ = ["from_anthropic"]

_NAME = "from_anthropic"
_STOP = {"max_tokens": "length", "tool_use": "toolUse", "refusal": "error"}

Fields = dict[str, Any]


def from_anthropic(value: Any, *, provider: str = "anthropic") -> list[Message]:
    """Convert an Anthropic response, a message or a list of messages.

    Accepts objects of the client library and plain dicts. An answer keeps its thinking blocks with their
    signatures, its model and its usage. One message can become several, because tool results are separate
    messages in a session. An answer is never refused: blocks that a session has no form for, such as those of
    tools hosted by Anthropic and all that are newer than branchline, are kept with all their fields. They are
    not sent again.

    Raises InvalidMessage, a ValueError, for other roles, and for prompts and results with documents, images
    given by URL or other blocks.
    """
    taken = given(value, _NAME)
    calls = KnownCalls()
    return [
        message
        for one in (taken if isinstance(taken, list) else [taken])
        for message in _messages(object_of(one, "a message", _NAME), calls, provider)
    ]


def _messages(fields: Fields, calls: KnownCalls, provider: str) -> list[Message]:
    match fields.get("role"):
        case "assistant":
            return [_answer(fields, calls, provider)]
        case "user":
            return _prompt(fields.get("content"), calls)
        case None:
            raise refuse(_NAME, "a message needs a role, user or assistant")
        case role:
            raise refuse(_NAME, f"the role {role!r} is not one of Anthropic's; there are user and assistant")


def _answer(fields: Fields, calls: KnownCalls, provider: str) -> AssistantMessage:
    raw = words(fields.get("stop_reason"))
    return AssistantMessage(
        content=tuple(_answer_block(block, calls) for block in _received(fields.get("content"))),
        api="anthropic-messages",
        provider=provider,
        model=words(fields.get("model")) or None,
        response_id=words(fields.get("id")) or None,
        usage=_usage(fields["usage"]) if isinstance(fields.get("usage"), dict) else None,
        stop_reason=_STOP.get(raw, "stop") if raw else None,
        raw_stop_reason=raw or None,
    )


def _received(content: Any) -> list[Any]:
    """Return the blocks of an answer, whatever they are."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else [] if content is None else [content]


def _answer_block(block: Any, calls: KnownCalls) -> Block:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "thinking", "thinking": str(thought)}:
            return Thinking(thinking=thought, thinking_signature=words(block.get("signature")) or None)
        case {"type": "redacted_thinking", "data": str(data)}:
            return Thinking(thinking="", thinking_signature=data, redacted=True)
        case {"type": "tool_use", "name": str(name)}:
            call = words(block.get("id"))
            calls.add(call, call, name)
            return ToolCall(id=call, name=name, arguments=call_arguments(block.get("input")))
        case _:
            return kept_whole(block)


def _prompt(content: Any, calls: KnownCalls) -> list[Message]:
    """Return the results, each as a message, then the user's text, in the order of the blocks."""
    messages: list[Message] = []
    said: list[Text | Image] = []
    for block in _blocks(content):
        if block.get("type") != "tool_result":
            said.append(_part(block))
            continue
        if said:
            messages.append(UserMessage(content=tuple(said)))
            said = []
        parts = tuple(_part(part) for part in _blocks(block.get("content") or []))
        messages.append(
            calls.result(words(block.get("tool_use_id")), parts, error=block.get("is_error") is True)
        )
    if said or not messages:
        messages.append(UserMessage(content=tuple(said)))
    return messages


def _part(block: Fields) -> Text | Image:
    match block.get("type"):
        case "text":
            return Text(text=words(block.get("text")))
        case "image":
            source = block.get("source")
            if isinstance(source, dict) and source.get("type") == "base64":
                return Image(data=words(source.get("data")), mime_type=words(source.get("media_type")))
            raise refuse(_NAME, "an image has to be base64 data, not a URL or a file id")
        case kind:
            raise refuse(_NAME, f"a prompt or a result has no block of type {kind!r} that a session can hold")


def _blocks(content: Any) -> list[Fields]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise refuse(_NAME, "the content of a message has to be a text or a list of blocks")
    return [object_of(block, "a block", _NAME) for block in content]


def _usage(fields: Fields) -> Usage:
    read, written = (
        number(fields.get("cache_read_input_tokens")),
        number(fields.get("cache_creation_input_tokens")),
    )
    given, made = number(fields.get("input_tokens")), number(fields.get("output_tokens"))
    return Usage(
        input=given,
        output=made,
        cache_read=read,
        cache_write=written,
        total_tokens=given + made + read + written,
    )
