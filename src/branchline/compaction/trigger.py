"""When to compact a context."""

from __future__ import annotations

from branchline.context import Context, ModelRef, context_tokens, request_tokens
from branchline.entries import AssistantMessage, CompactionSummaryMessage

__all__ = ["RESERVE_TOKENS", "compaction_due", "should_compact"]

RESERVE_TOKENS = 16384
"""How much of the window is left for the answer."""


def should_compact(tokens: float, window: float, reserve: float = RESERVE_TOKENS) -> bool:
    """Whether a context of this size leaves too little of the window for an answer."""
    return tokens > window - reserve


def compaction_due(
    context: Context,
    window: float | None,
    reserve: float = RESERVE_TOKENS,
    *,
    model: ModelRef | None = None,
    overhead: int = 0,
) -> bool:
    """Whether to compact a context before the next request.

    Its size is what the last answer, or the last one of ``model``, reported and an estimate for what came
    after, plus ``overhead`` for the system prompt and tools where nothing was reported. A context that was
    compacted is left alone until the model has answered: what is still too long then does not get shorter by
    being summed up once more. Never, where the window is not known.
    """
    if window is None:
        return False
    said = [item.message for item in context.messages]
    compacted = any(isinstance(message, CompactionSummaryMessage) for message in said[:2])
    answered = any(isinstance(message, AssistantMessage) for message in said[context.measured_from :])
    if compacted and not answered:
        return False
    size = (
        context_tokens(context).tokens if model is None else request_tokens(context, model, overhead=overhead)
    )
    return should_compact(size, window, reserve)
