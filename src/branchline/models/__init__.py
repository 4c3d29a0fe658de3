"""Access to models: requests and events, the offline model, and every pydantic-ai provider by name."""

from branchline.models.complete import acomplete, complete, stream_sync
from branchline.models.mcp import mcp_tools
from branchline.models.offline import OfflineModel
from branchline.models.partial_answer import PartialAnswer
from branchline.models.protocol import (
    THINKING_LEVELS,
    Done,
    Model,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    Tool,
    ToolCallDelta,
    model_name,
)
from branchline.models.providers import ProviderStatus
from branchline.models.registry import DEFAULT_MODEL, ModelRegistry, model_by_name, model_by_reference
from branchline.models.requests import request_for, request_overhead, summary_model_request
from branchline.models.tools import COUNT_WORDS, call_tool, count_words, tool

__all__ = [
    "COUNT_WORDS",
    "DEFAULT_MODEL",
    "THINKING_LEVELS",
    "Done",
    "Model",
    "ModelEvent",
    "ModelRegistry",
    "ModelRequest",
    "OfflineModel",
    "PartialAnswer",
    "ProviderStatus",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolCallDelta",
    "acomplete",
    "call_tool",
    "complete",
    "count_words",
    "mcp_tools",
    "model_by_name",
    "model_by_reference",
    "model_name",
    "request_for",
    "request_overhead",
    "stream_sync",
    "summary_model_request",
    "tool",
]
