"""A trajectory as the message attributes of OpenTelemetry's conventions for generative AI.

The conventions are in development. The names of the attributes and the shape of messages and parts follow the
JSON schemas of ``gen_ai.input.messages`` and ``gen_ai.output.messages``.
"""

from __future__ import annotations

from typing import Any

from branchline.context.providers.common import clean_arguments, error_text, parts, replace_surrogates
from branchline.entries import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Content,
    Image,
    Text,
    Thinking,
    ToolCall,
)
from branchline.views.trajectories.turns import Trajectory, TrajectoryTurn

__all__ = ["otel"]

_FINISH = {"stop": "stop", "length": "length", "toolUse": "tool_call", "error": "error", "aborted": "error"}

Fields = dict[str, Any]


def otel(trajectory: Trajectory) -> Fields:
    """Return the attributes of the last model call of a path: its input and its answer."""
    turns = [turn for turn in trajectory.turns if turn.role != "system"]
    last = turns[-1] if turns and turns[-1].role == "assistant" and not turns[-1].results else None
    given = turns if last is None else turns[:-1]
    attributes: Fields = {
        "gen_ai.conversation.id": trajectory.session,
        "gen_ai.agent.name": trajectory.agent,
        "gen_ai.request.model": trajectory.model,
        "gen_ai.system_instructions": [_text(trajectory.system.text)] if trajectory.system.text else None,
        "gen_ai.input.messages": [message for turn in given for message in _messages(turn)],
        "gen_ai.output.messages": None if last is None else [_answer(last.message)],
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _messages(turn: TrajectoryTurn) -> list[Fields]:
    message = turn.message
    if isinstance(message, CompactionSummaryMessage | BranchSummaryMessage):
        summary = replace_surrogates(message.summary)
        return [{"role": "user", "parts": [{"type": "compaction", "content": summary}]}]
    if not isinstance(message, AssistantMessage):
        return [{"role": "user", "parts": _parts(getattr(message, "content", ""))}]
    said = {"role": "assistant", "parts": _answer_parts(message)}
    responses = [
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": result.tool_call_id, "response": error_text(result)},
                *(part for part in _parts(result.content) if part["type"] == "blob"),
            ],
        }
        for result in turn.results
    ]
    return [said, *responses]


def _answer(message: Any) -> Fields:
    finish = _FINISH.get(message.stop_reason or "", "stop")
    return {"role": "assistant", "parts": _answer_parts(message), "finish_reason": finish}


def _answer_parts(message: AssistantMessage) -> list[Fields]:
    if isinstance(message.content, str):
        return [_text(message.content)]
    found: list[Fields] = []
    for block in message.content:
        match block:
            case Text():
                found.append(_text(block.text))
            case Thinking():
                found.append({"type": "reasoning", "content": replace_surrogates(block.thinking)})
            case ToolCall():
                arguments = clean_arguments(block.arguments)
                found.append(
                    {"type": "tool_call", "id": block.id, "name": block.name, "arguments": arguments}
                )
            case _:
                pass  # tools that a provider runs have a form of their own for each provider
    return found


def _parts(content: Content) -> list[Fields]:
    return [_text(part.text) if isinstance(part, Text) else _picture(part) for part in parts(content)]


def _text(text: str) -> Fields:
    return {"type": "text", "content": replace_surrogates(text)}


def _picture(picture: Image) -> Fields:
    return {
        "type": "blob",
        "modality": "image",
        "mime_type": picture.mime_type or None,
        "content": picture.data,
    }
