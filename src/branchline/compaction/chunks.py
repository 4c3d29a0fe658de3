"""Split a conversation that is too long for its summarizer.

A session made with a large context window, or by another agent, may exceed the window of the summarizing
model many times. Its chunks are summarized in order, each updating the summary of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from branchline.compaction.conversation_text import conversation_text
from branchline.compaction.trigger import RESERVE_TOKENS
from branchline.context.javascript import utf16_length
from branchline.entries import Message

__all__ = ["CHARACTERS_PER_TOKEN", "split_by_tokens", "summary_budget"]

CHARACTERS_PER_TOKEN = 4


def summary_budget(window: int | None, reserve: int = RESERVE_TOKENS) -> int | None:
    """Return how many tokens of a conversation fit into one request; None (no limit) for an unknown window.

    A quarter of the budget is kept free, because estimates are rough and an earlier summary is added. At
    least a quarter of the window is used, whatever the reserve.
    """
    return None if window is None else max(window // 4, (window - reserve) * 3 // 4, 1)


def split_by_tokens(messages: Sequence[Message], budget_tokens: int | None) -> list[tuple[Message, ...]]:
    """Split messages into chunks of at most ``budget_tokens``; a longer message is not split."""
    if budget_tokens is None or not messages:
        return [tuple(messages)] if messages else []
    chunks: list[list[Message]] = [[]]
    remaining = limit = budget_tokens * CHARACTERS_PER_TOKEN
    for message in messages:
        size = utf16_length(conversation_text([message])) + 2  # the blank line between
        if size > remaining and chunks[-1]:
            chunks.append([])
            remaining = limit
        chunks[-1].append(message)
        remaining -= size
    return [tuple(chunk) for chunk in chunks]
