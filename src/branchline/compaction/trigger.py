"""When to compact a context."""

from __future__ import annotations

from branchline.context import Context, ModelRef, context_tokens, request_tokens
from branchline.entries import AssistantMessage, CompactionSummaryMessage

__all__ = ["RESERVE_TOKENS", "compaction_due", "should_compact"]

RESERVE_TOKENS = 16384
"""Tokens of the context window reserved for the answer."""


def should_compact(tokens: float, window: float, reserve: float = RESERVE_TOKENS) -> bool:
    """Return whether a context of this size leaves too little of the window for an answer."""
    return tokens > window - reserve


def compaction_due(
    context: Context,
    window: float | None,
    reserve: float = RESERVE_TOKENS,
    *,
    model: ModelRef | None = None,
    overhead: int = 0,
) -> bool:
    """Return whether to compact a context before the next request; False if the window is unknown.

    The size is the usage reported by the last answer (of ``model``, if given) plus an estimate of everything
    after it; if no usage was reported, ``overhead`` is added for the system prompt and tools. A compacted
    context is not compacted again until the model has answered: another summary would not make it shorter.
    """
    if window is None:
        return False
    messages = [item.message for item in context.messages]
    compacted = any(isinstance(message, CompactionSummaryMessage) for message in messages[:2])
    answered = any(isinstance(message, AssistantMessage) for message in messages[context.measured_from :])
    if compacted and not answered:
        return False
    size = (
        context_tokens(context).tokens if model is None else request_tokens(context, model, overhead=overhead)
    )
    return should_compact(size, window, reserve)
