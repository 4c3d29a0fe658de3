"""The events of a running conversation.

A message is on disk before it is reported: :class:`MessageAppended` names its entry. The pieces of an
answer come before; whatever becomes of the answer, a :class:`MessageAppended` with all pieces follows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from branchline.context import UsageSum
from branchline.entries import Message, ToolCall
from branchline.errors import ModelError
from branchline.models import TextDelta, ThinkingDelta, ToolCallDelta

__all__ = [
    "CompactionFailed",
    "CompactionReason",
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

CompactionReason = Literal["manual", "threshold", "overflow"]
TurnEndReason = Literal["stop", "length", "rounds", "aborted", "error"]
"""Why a turn ended: the answer is whole; it was cut at the length limit; the tools had as many rounds as they
may have; it was aborted; the model failed."""


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """What all events are."""


class MessageAppended(_Event, frozen=True, kw_only=True):
    """A message is in the session, under this entry."""

    entry: str
    message: Message


class ToolStarted(_Event, frozen=True, kw_only=True):
    """A tool is being called; its result will be shown as a message."""

    call: ToolCall


class RetryScheduled(_Event, frozen=True, kw_only=True):
    """An attempt failed in passing; another one follows after ``delay`` seconds."""

    error: ModelError
    attempt: int
    attempts: int
    delay: float


class CompactionStarted(_Event, frozen=True, kw_only=True):
    """The context is being summed up."""

    reason: CompactionReason


class SummaryDelta(_Event, frozen=True, kw_only=True):
    """More of a summary that is being written."""

    text: str


class ContextCompacted(_Event, frozen=True, kw_only=True):
    """The context was summed up; the compaction is in the session, under this entry.

    ``session`` is the id of the fork that begins with the summary, in formats that compact into one; the
    conversation goes on there.
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
