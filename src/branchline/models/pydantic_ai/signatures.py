"""Provider data that must be sent back unchanged, stored in the fields that pi uses.

Thinking blocks are encrypted or signed, and items have ids. pi stores them in the signature fields of its
blocks. branchline does the same, so that each program can continue the other's sessions:

| where | what |
|---|---|
| Anthropic | the signature of a thinking block, or the data of a redacted one |
| OpenAI Responses | the reasoning item as JSON; a call id as ``call|item``; the item id of a text |
| chat completions | the name of the field that held the thinking text |
| Google | the thought signature of a text or a call |
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

from branchline.entries import Text, Thinking, ToolCall

__all__ = [
    "RESPONSES",
    "call_block",
    "call_part",
    "text_block",
    "text_part",
    "thinking_block",
    "thinking_part",
]

RESPONSES = "openai-responses"
_REDACTED = "redacted_thinking"
_GOOGLE = "thought_signature"


def thinking_block(part: ThinkingPart, api: str) -> Thinking:
    """Return the thinking block to store."""
    if api == RESPONSES and (part.id or part.signature):
        item = {
            "type": "reasoning",
            "id": part.id,
            "summary": [{"type": "summary_text", "text": part.content}] if part.content else [],
            "encrypted_content": part.signature,
        }
        return Thinking(thinking=part.content, thinking_signature=json.dumps(item, ensure_ascii=False))
    if part.id == _REDACTED:
        return Thinking(thinking="", thinking_signature=part.signature, redacted=True)
    return Thinking(thinking=part.content, thinking_signature=part.signature or part.id)


def thinking_part(block: Thinking, api: str, system: str) -> ThinkingPart | None:
    """Return a stored thinking block as its provider expects it; None if it cannot be sent back."""
    signature = block.thinking_signature
    if api == RESPONSES:
        item = _object(signature)
        if item.get("type") != "reasoning":
            return None
        encrypted = item.get("encrypted_content")
        return ThinkingPart(
            content=block.thinking,
            id=_text(item.get("id")),
            signature=_text(encrypted),
            provider_name=system,
        )
    if block.redacted:
        return ThinkingPart(content="", id=_REDACTED, signature=signature, provider_name=system)
    if not signature:
        return None
    if api == "openai-completions":
        return ThinkingPart(content=block.thinking, id=signature, provider_name=system)
    return ThinkingPart(content=block.thinking, signature=signature, provider_name=system)


def text_block(part: TextPart, api: str) -> Text:
    details = part.provider_details or {}
    if api == RESPONSES and part.id:
        return Text(text=part.content, text_signature=json.dumps({"v": 1, "id": part.id}))
    return Text(text=part.content, text_signature=_text(details.get(_GOOGLE)))


def text_part(text: str, block: Text, api: str, system: str | None) -> TextPart:
    """Return a stored text, with its id or signature only for the provider that produced it."""
    signature = block.text_signature
    if system is None or not signature:
        return TextPart(content=text)
    if api == RESPONSES:
        item = _text(_object(signature).get("id"))
        return TextPart(content=text, id=item, provider_name=system if item else None)
    if api == "google-generative-ai":
        return TextPart(content=text, provider_name=system, provider_details={_GOOGLE: signature})
    return TextPart(content=text)


def call_block(part: ToolCallPart, api: str, arguments: dict[str, Any]) -> ToolCall:
    name = f"{part.tool_call_id}|{part.id}" if api == RESPONSES and part.id else part.tool_call_id
    signature = _text((part.provider_details or {}).get(_GOOGLE))
    return ToolCall(id=name, name=part.tool_name, arguments=arguments, thought_signature=signature)


def call_part(part: ToolCallPart, block: ToolCall, api: str, system: str | None) -> ToolCallPart:
    """Add the stored item id and signature to a call, for the provider that made it."""
    if system is None:
        return part
    _, bar, item = block.id.partition("|")
    if api == RESPONSES and bar:
        part.id, part.provider_name = item, system
    if block.thought_signature and api == "google-generative-ai":
        part.provider_name, part.provider_details = system, {_GOOGLE: block.thought_signature}
    return part


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
