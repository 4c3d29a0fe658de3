"""Live conversations: send, steer, abort, retry, and all operations on the session tree."""

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
from branchline.conductor.permissions import ALLOW_ALL, ToolPermissions
from branchline.conductor.policy import Policy
from branchline.models import TextDelta, ThinkingDelta, ToolCallDelta

__all__ = [
    "ALLOW_ALL",
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
    "ToolPermissions",
    "ToolStarted",
    "TurnEndReason",
    "TurnEnded",
]
