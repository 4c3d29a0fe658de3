"""The events of a running conversation.

A message is on disk before it is reported: :class:`MessageAppended` names its entry. The deltas of an answer
precede it; even if the answer fails, a :class:`MessageAppended` with all of its text follows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from branchline.context import UsageSum
from branchline.entries import Message, ToolCall
from branchline.errors import ModelError
from branchline.flows.hook_events import CompactionReason
from branchline.models import TextDelta, ThinkingDelta, ToolCallDelta

__all__ = [
    "CompactionFailed",
    "CompactionStarted",
    "ContextCompacted",
    "Event",
    "ForeignAppend",
    "MessageAppended",
    "RetryScheduled",
    "SummaryDelta",
    "ToolStarted",
    "TurnEndReason",
    "TurnEnded",
]

TurnEndReason = Literal["stop", "length", "rounds", "aborted", "error"]
"""Why a turn ended: complete answer, length limit, limit of tool rounds, abort, or model failure."""


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the events."""


class MessageAppended(_Event, frozen=True, kw_only=True):
    """A message was appended to the session as this entry."""

    entry: str
    message: Message


class ToolStarted(_Event, frozen=True, kw_only=True):
    """A tool call has started; its result follows as a message."""

    call: ToolCall


class RetryScheduled(_Event, frozen=True, kw_only=True):
    """An attempt failed with a retryable error; the next one starts in ``delay`` seconds."""

    error: ModelError
    attempt: int
    """The number of the attempt that failed, from 1 on; also that of the coming retry."""
    attempts: int
    """How many attempts there are at most: one more than retries."""
    delay: float


class CompactionStarted(_Event, frozen=True, kw_only=True):
    """A compaction has started."""

    reason: CompactionReason


class SummaryDelta(_Event, frozen=True, kw_only=True):
    """More text of the summary being generated."""

    text: str


class ContextCompacted(_Event, frozen=True, kw_only=True):
    """The context was compacted; ``entry`` is the compaction.

    In formats that compact into a fork, ``session`` is the id of that fork, which starts with the summary
    and in which the conversation continues.
    """

    entry: str
    session: str | None = None
    reason: CompactionReason
    summary: str
    tokens_before: int | float | None = None


class CompactionFailed(_Event, frozen=True, kw_only=True):
    """The context was not compacted; the conversation continues unchanged."""

    reason: CompactionReason
    message: str


class ForeignAppend(_Event, frozen=True, kw_only=True):
    """Another writer appended to this session. This conversation continues on its own branch."""

    entries: int


class TurnEnded(_Event, frozen=True, kw_only=True):
    """The last event: why the turn ended, its usage, and steering messages that came too late."""

    reason: TurnEndReason
    entry: str | None = None
    error: ModelError | None = None
    usage: UsageSum = UsageSum()
    unsent: tuple[str, ...] = ()


Event = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | MessageAppended
    | ToolStarted
    | RetryScheduled
    | CompactionStarted
    | SummaryDelta
    | ContextCompacted
    | CompactionFailed
    | ForeignAppend
    | TurnEnded
)
