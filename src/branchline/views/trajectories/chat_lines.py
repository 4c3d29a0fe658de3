"""A trajectory as one line of a fine-tuning file: OpenAI's chat format, and ShareGPT's.

Thoughts are left out, every call has its result, and answers that were inherited have the weight 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from branchline.context import Context, ContextMessage
from branchline.context.providers.openai_chat import openai_chat
from branchline.entries import CompactionSummaryMessage
from branchline.views.trajectories.turns import Trajectory, TrajectoryTurn

__all__ = ["openai_line", "sharegpt_line"]

_SPEAKERS = {"system": "system", "user": "human", "tool": "observation"}

Fields = dict[str, Any]


def openai_line(trajectory: Trajectory) -> Fields:
    """``{"messages": […], "tools": […]}``, with ``weight`` 0 for answers that were inherited."""
    request = openai_chat(_context(trajectory.turns))
    inherited = openai_chat(_context(turn for turn in trajectory.turns if turn.inherited)).messages
    copied = sum(message["role"] == "assistant" for message in inherited)
    messages = []
    for message in request.messages:
        if message["role"] == "assistant" and copied:
            copied -= 1
            messages.append({**message, "weight": 0})
        else:
            messages.append(message)
    return {"messages": messages} | ({"tools": request.tools} if request.tools else {})


def sharegpt_line(trajectory: Trajectory) -> Fields:
    """``{"conversations": [{"from": …, "value": …}]}``; a call is JSON with name and arguments."""
    said: list[Fields] = []
    for message in openai_line(trajectory)["messages"]:
        weight = {"weight": 0} if "weight" in message else {}
        if message["role"] != "assistant":
            said.append({"from": _SPEAKERS[message["role"]], "value": _words(message["content"])})
            continue
        if message["content"]:
            said.append({"from": "gpt", "value": message["content"], **weight})
        for call in message.get("tool_calls", ()):
            function = call["function"]
            value = {"name": function["name"], "arguments": json.loads(function["arguments"])}
            text = json.dumps(value, ensure_ascii=False)
            said.append({"from": "function_call", "value": text, **weight})
    title = {} if trajectory.title is None else {"title": trajectory.title}
    return {"id": f"{trajectory.session}:{trajectory.leaf}", **title, "conversations": said}


def _context(turns: Iterable[TrajectoryTurn]) -> Context:
    """The messages of a path. What a compaction stands for is all there, so its summary is left out."""
    return Context(
        messages=[
            ContextMessage(turn.entry, message)
            for turn in turns
            if not isinstance(turn.message, CompactionSummaryMessage)
            for message in (turn.message, *turn.results)
        ]
    )


def _words(content: str | list[Fields]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else "<image>" for part in content)
