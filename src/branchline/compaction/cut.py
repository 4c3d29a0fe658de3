"""Find the cut point of a context: entries before it are summarized, entries after it kept verbatim.

The cut never separates a tool call from its result, even if other messages are between the two. If it splits
a turn, the start of that turn is summarized separately, so that the kept part still makes sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from branchline.context.projection import ProjectedEntry
from branchline.context.tokens import estimate_message
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    ContextEdit,
    CustomContent,
    ToolResult,
    UserMessage,
    tool_calls,
)

__all__ = ["Cut", "find_cut"]

_TURN_STARTS = (UserMessage, BashExecution, CustomContent, BranchSummaryMessage, CompactionSummaryMessage)
_CUTTABLE = (*_TURN_STARTS, AssistantMessage)


class Cut(NamedTuple):
    """``first_kept`` is the first entry kept; ``turn_start`` the start of the turn that it splits, or -1."""

    first_kept: int
    turn_start: int


def find_cut(entries: Sequence[ProjectedEntry], keep_recent_tokens: float) -> Cut:
    """Find the cut that keeps about ``keep_recent_tokens`` at the end."""
    index = _by_budget(entries, keep_recent_tokens)
    while index > 0 and not entries[index - 1].messages and entries[index - 1].type != "compaction":
        index -= 1
    return Cut(index, _split_turn(entries, index))


def _by_budget(entries: Sequence[ProjectedEntry], keep_recent_tokens: float) -> int:
    pending = _pending_calls(entries)
    points = [number for number, entry in enumerate(entries) if not pending[number] and _can_cut(entry)]
    if not points:
        return 0
    kept = 0
    for number in range(len(entries) - 1, -1, -1):
        tokens = sum(map(estimate_message, entries[number].messages))
        kept += tokens
        if tokens and kept >= keep_recent_tokens:
            index = next((point for point in points if point >= number), points[-1])
            return index + 1 if _only_failures_follow(entries, index) else index
    return points[0]


def _pending_calls(entries: Sequence[ProjectedEntry]) -> list[int]:
    """Return, for each entry, how many earlier calls have their result at or after it."""
    changes = [0] * (len(entries) + 1)
    made: dict[str, int] = {}
    for number, entry in enumerate(entries):
        for message in entry.messages:
            if isinstance(message, AssistantMessage):
                made.update((call.id, number) for call in tool_calls(message.content))
            elif isinstance(message, ToolResult) and (call := made.get(message.tool_call_id)) is not None:
                changes[call + 1] += 1
                changes[number + 1] -= 1
    return list(accumulate(changes[:-1]))


def _only_failures_follow(entries: Sequence[ProjectedEntry], index: int) -> bool:
    """Return whether all following entries were removed by edits and include a failed answer.

    Then the prompt that failed, perhaps because it is too long, may be summarized itself.
    """
    following = entries[index + 1 :]
    if any(entry.messages for entry in following):
        return False
    visible = {entry.id for entry in entries if entry.messages}
    replaces = any(
        isinstance(entry.record, ContextEdit)
        and entry.record.replacement is not None
        and entry.record.target in visible
        for entry in following
    )
    return not replaces and any(
        isinstance(message, AssistantMessage) for entry in following for message in entry.original_messages
    )


def _split_turn(entries: Sequence[ProjectedEntry], index: int) -> int:
    if index >= len(entries) or _starts_turn(entries[index]):
        return -1
    for number in range(index - 1, -1, -1):
        if _starts_turn(entries[number]):
            return number
    return -1


def _can_cut(entry: ProjectedEntry) -> bool:
    return any(isinstance(message, _CUTTABLE) for message in entry.messages)


def _starts_turn(entry: ProjectedEntry) -> bool:
    return any(isinstance(message, _TURN_STARTS) for message in entry.messages)
