"""A live conversation over one session: send, steer, abort, retry, and all that can be done to the tree."""

from branchline.conductor.conductor import Conductor, OnProgress
from branchline.conductor.events import (
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    Event,
    ForeignAppend,
    MessageAppended,
    RetryScheduled,
    SummaryDelta,
    ToolStarted,
    TurnEnded,
    TurnEndReason,
)
from branchline.conductor.policy import Policy
from branchline.models import TextDelta, ThinkingDelta, ToolCallDelta

__all__ = [
    "CompactionFailed",
    "CompactionStarted",
    "Conductor",
    "ContextCompacted",
    "Event",
    "ForeignAppend",
    "MessageAppended",
    "OnProgress",
    "Policy",
    "RetryScheduled",
    "SummaryDelta",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallDelta",
    "ToolStarted",
    "TurnEndReason",
    "TurnEnded",
]
