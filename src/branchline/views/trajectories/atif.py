"""A trajectory as an ATIF document, version 1.8 (Agent Trajectory Interchange Format)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from branchline.context.providers.common import (
    clean_arguments,
    data_url,
    parts,
    replace_surrogates,
    tool_schema,
)
from branchline.entries import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Content,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    amount,
    blocks_text,
)
from branchline.views.trajectories.turns import Trajectory, TrajectoryTurn

__all__ = ["ATIF_VERSION", "atif"]

ATIF_VERSION = "ATIF-v1.8"
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

Fields = dict[str, Any]


def atif(trajectory: Trajectory) -> Fields:
    """Return the document. ``extra.entry_id`` of a step names its entry."""
    steps = []
    if trajectory.system.text:
        steps.append({"source": "system", "message": replace_surrogates(trajectory.system.text)})
    steps += [_step(turn) for turn in trajectory.turns if turn.role != "system"]
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    tools = [
        {"type": "function", "function": {**tool, "parameters": tool_schema(tool)}}
        for tool in trajectory.system.tools
    ]
    agent = {"name": trajectory.agent, "version": "unknown", "model_name": trajectory.model}
    extra = {"leaf": trajectory.leaf, "title": trajectory.title}
    return _present(
        {
            "schema_version": ATIF_VERSION,
            "session_id": trajectory.session,
            "trajectory_id": f"{trajectory.session}:{trajectory.leaf}",
            "agent": _present({**agent, "tool_definitions": tools or None}),
            "steps": numbered,
            "final_metrics": _totals(numbered),
            "extra": _present(extra),
        }
    )


def _step(turn: TrajectoryTurn) -> Fields:
    common: Fields = {
        "timestamp": _time(turn.time),
        "extra": {"entry_id": turn.entry},
        "is_copied_context": True if turn.inherited else None,
    }
    message = turn.message
    if isinstance(message, CompactionSummaryMessage | BranchSummaryMessage):
        common["extra"] = {"entry_id": turn.entry, "kind": message.role}
        return _present({"source": "system", "message": replace_surrogates(message.summary), **common})
    if not isinstance(message, AssistantMessage):
        content = getattr(message, "content", "")
        return _present({"source": "user", "message": _content(content), **common})
    blocks = () if isinstance(message.content, str) else message.content
    thoughts = [block.thinking for block in blocks if isinstance(block, Thinking) and block.thinking]
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    results = {result.tool_call_id: result for result in turn.results}
    return _present(
        {
            "source": "agent",
            "message": replace_surrogates(blocks_text(message.content, "\n")),
            "model_name": message.model,
            "reasoning_content": replace_surrogates("\n".join(thoughts)) if thoughts else None,
            "tool_calls": [_call(call) for call in calls] or None,
            "observation": {"results": [_result(results[call.id]) for call in calls if call.id in results]}
            if calls
            else None,
            "metrics": None if message.usage is None else _metrics(message.usage),
            "llm_call_count": 1,
            **common,
        }
    )


def _call(call: ToolCall) -> Fields:
    return {
        "tool_call_id": call.id,
        "function_name": call.name,
        "arguments": clean_arguments(call.arguments),
    }


def _result(result: ToolResult) -> Fields:
    failed = {"is_error": True} if result.is_error is True else None
    return _present(
        {"source_call_id": result.tool_call_id, "content": _content(result.content), "extra": failed}
    )


def _content(content: Content) -> str | list[Fields]:
    found = parts(content)
    if not any(isinstance(part, Image) for part in found):
        return replace_surrogates("\n".join(part.text for part in found if isinstance(part, Text)))
    return [_part(part) for part in found]


def _part(part: Text | Image) -> Fields:
    if isinstance(part, Text):
        return {"type": "text", "text": replace_surrogates(part.text)}
    if part.mime_type not in _PICTURES:
        return {"type": "text", "text": f"[{part.mime_type or 'picture'}]"}
    return {"type": "image", "source": {"media_type": part.mime_type, "path": data_url(part)}}


def _metrics(usage: Usage) -> Fields | None:
    read = sum(map(_whole, (usage.input, usage.cache_read, usage.cache_write)))
    counted = {
        "prompt_tokens": read,
        "completion_tokens": _whole(usage.output),
        "cached_tokens": _whole(usage.cache_read),
    }
    cost = float(amount(usage.cost.total))
    if not any(counted.values()):
        return None
    return counted | ({"cost_usd": cost} if cost else {})


def _totals(steps: list[Fields]) -> Fields:
    measured = [step["metrics"] for step in steps if "metrics" in step]
    cost = sum(each.get("cost_usd", 0.0) for each in measured)
    return _present(
        {
            "total_prompt_tokens": sum(each["prompt_tokens"] for each in measured) or None,
            "total_completion_tokens": sum(each["completion_tokens"] for each in measured) or None,
            "total_cached_tokens": sum(each["cached_tokens"] for each in measured) or None,
            "total_cost_usd": cost or None,
            "total_steps": len(steps),
        }
    )


def _whole(number: float) -> int:
    return max(0, int(amount(number)))


def _time(text: str) -> str | None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _present(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}
