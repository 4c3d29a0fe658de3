"""Build a model request from a context: system prompt, tools, and messages that any provider accepts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from branchline.compaction import SummaryRequest
from branchline.context import Context, close_tool_calls, replay_system, to_model
from branchline.entries import SystemMessage, Text, UserMessage
from branchline.models.protocol import ModelRequest, Tool

__all__ = ["request_for", "request_overhead", "summary_model_request"]


def request_for(
    context: Context,
    *,
    system: str = "",
    tools: Sequence[Tool] = (),
    thinking_level: str | None = None,
    max_tokens: int | None = None,
) -> ModelRequest:
    """Build the request for a context. ``system`` precedes the system messages of the session.

    ``thinking_level`` defaults to the level of the context.
    """
    messages = to_model(context)
    return ModelRequest(
        messages=tuple(
            message for message in close_tool_calls(messages) if not isinstance(message, SystemMessage)
        ),
        system="\n\n".join(filter(None, (system, replay_system(messages).text))),
        tools=tuple(tools),
        thinking_level=context.thinking_level if thinking_level is None else thinking_level,
        max_tokens=max_tokens,
    )


def request_overhead(system: str, tools: Sequence[Tool]) -> int:
    """Estimate the tokens of the system prompt and the tool declarations."""
    declared = [{"name": tool.name, "description": tool.description, **tool.parameters} for tool in tools]
    return (len(system) + (len(json.dumps(declared)) if declared else 0) + 3) // 4


def summary_model_request(request: SummaryRequest) -> ModelRequest:
    """Build the model request for a summary: the task only, without tools or conversation."""
    return ModelRequest(
        system=request.system,
        messages=(UserMessage(content=(Text(text=request.prompt),)),),
        max_tokens=request.max_tokens,
        cacheable=False,
    )
