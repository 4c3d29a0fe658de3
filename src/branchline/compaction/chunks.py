"""Splits a conversation that is too long for its summarizer.

A session that was made with a large window, or by another program, may hold many times what the model that
sums it up can read. Its pieces are summed up one after the other, each as an update of the one before.
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
    """How many tokens of a conversation may be shown at once; None, where the window is not known: all.

    A quarter of the budget is kept free, since estimates are rough and an earlier summary is added. A
    small window is used to a quarter, however much was to be reserved.
    """
    return None if window is None else max(window // 4, (window - reserve) * 3 // 4, 1)


def split_by_tokens(messages: Sequence[Message], budget_tokens: int | None) -> list[tuple[Message, ...]]:
    """Split messages into chunks of at most so many tokens as text; a longer message stays whole."""
    if budget_tokens is None or not messages:
        return [tuple(messages)] if messages else []
    pieces: list[list[Message]] = [[]]
    room = limit = budget_tokens * CHARACTERS_PER_TOKEN
    for message in messages:
        size = utf16_length(conversation_text([message])) + 2  # the blank line between
        if size > room and pieces[-1]:
            pieces.append([])
            room = limit
        pieces[-1].append(message)
        room -= size
    return [tuple(piece) for piece in pieces]
