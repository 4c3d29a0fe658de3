"""A trajectory as one line of a fine-tuning file in OpenAI's chat format.

Thoughts are left out, every call has its result, and answers that were inherited have the weight 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.context import Context, ContextMessage
from branchline.context.providers.openai_chat import openai_chat
from branchline.entries import CompactionSummaryMessage
from branchline.views.trajectories.turns import Trajectory, TrajectoryTurn

__all__ = ["openai_line"]

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
