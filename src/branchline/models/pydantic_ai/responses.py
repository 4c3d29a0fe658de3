"""Convert pydantic-ai stream events to model events, and complete responses to assistant messages."""

from __future__ import annotations

import base64
import json
from typing import Any

from pydantic_ai.messages import (
    FilePart,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from branchline.entries import AssistantMessage, Block, Cost, Image, Usage
from branchline.errors import MalformedStream, ModelRefused
from branchline.models.partial_answer import INCOMPLETE
from branchline.models.protocol import ModelEvent, TextDelta, ThinkingDelta, ToolCallDelta
from branchline.models.pydantic_ai.signatures import call_block, text_block, thinking_block

__all__ = ["answer", "delta"]

_ENDS_WITH_REASON = frozenset({"openai-completions", "anthropic-messages", "google-generative-ai"})
"""Protocols whose last event has a finish reason: without one, the connection was lost."""


def delta(event: ModelResponseStreamEvent) -> ModelEvent | None:
    """Convert one stream event; None if it adds nothing."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextDelta(block=event.index, text=text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ThinkingDelta(block=event.index, text=text)
        case PartStartEvent(part=ToolCallPart() as part):
            return ToolCallDelta(
                block=event.index, id=part.tool_call_id, name=part.tool_name, arguments=_json_text(part.args)
            )
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextDelta(block=event.index, text=text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
            return ThinkingDelta(block=event.index, text=text)
        case PartDeltaEvent(delta=ToolCallPartDelta() as more) if more.args_delta or more.tool_name_delta:
            return ToolCallDelta(
                block=event.index, name=more.tool_name_delta or "", arguments=_json_text(more.args_delta)
            )
        case _:
            return None


def answer(response: ModelResponse, *, name: str, provider: str, model: str, api: str) -> AssistantMessage:
    """Convert a response. Raises MalformedStream if it is incomplete, ModelRefused if it was filtered."""
    raw = (response.provider_details or {}).get("finish_reason")
    if response.state != "complete" or (raw is None and api in _ENDS_WITH_REASON):
        raise MalformedStream(f"{name} stopped in the middle of its answer")
    if response.finish_reason == "content_filter":
        raise ModelRefused(f"the filter of {name} ended its answer")
    if response.finish_reason == "error":
        raise MalformedStream(f"{name} ended its answer with an error")
    blocks = tuple(block for part in response.parts if (block := _block(part, api)) is not None)
    served = response.model_name
    return AssistantMessage(
        content=blocks,
        api=api,
        provider=provider,
        model=model,
        response_model=served if served and served != model else None,
        response_id=response.provider_response_id,
        usage=_usage(response),
        stop_reason=_stop_reason(response),
        raw_stop_reason=str(raw) if raw else None,
    )


def _block(part: Any, api: str) -> Block | None:
    match part:
        case TextPart() if part.content:
            return text_block(part, api)
        case ThinkingPart() if part.content or part.signature or part.id:
            return thinking_block(part, api)
        case ToolCallPart():
            return call_block(part, api, _arguments(part))
        case FilePart() if part.content.is_image:
            data = base64.b64encode(part.content.data).decode("ascii")
            return Image(data=data, mime_type=part.content.media_type)
        case _:
            return None


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        return part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {INCOMPLETE: _json_text(part.args)}


def _json_text(arguments: str | dict[str, Any] | None) -> str:
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return arguments or ""


def _stop_reason(response: ModelResponse) -> str:
    if response.tool_calls:
        return "toolUse"
    return "length" if response.finish_reason == "length" else "stop"


def _usage(response: ModelResponse) -> Usage:
    spent = response.usage
    cached = spent.cache_read_tokens + spent.cache_write_tokens
    more: dict[str, int] = {}
    if spent.cache_write_1h_tokens:
        more["cache_write_1h"] = spent.cache_write_1h_tokens
    if spent.output_reasoning_tokens:
        more["reasoning"] = spent.output_reasoning_tokens
    return Usage(
        input=max(0, spent.input_tokens - cached),
        output=spent.output_tokens,
        cache_read=spent.cache_read_tokens,
        cache_write=spent.cache_write_tokens,
        total_tokens=spent.input_tokens + spent.output_tokens,
        cost=_cost(response, spent),
        **more,
    )


def _cost(response: ModelResponse, spent: RequestUsage) -> Cost:
    """Return the list price, which does not distinguish cached input."""
    if spent.unmeasured_requests or not response.model_name:
        return Cost(known=False)
    try:
        price = response.cost()
    except (LookupError, ValueError):
        return Cost(known=False)
    return Cost(
        input=float(price.input_price), output=float(price.output_price), total=float(price.total_price)
    )
