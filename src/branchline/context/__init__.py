"""From a path to a model context: messages, model, thinking level, provider requests, tokens, usage."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.context.context import Context, ContextMessage, ModelRef
from branchline.context.rules import ContextRules
from branchline.context.source import ContextSource
from branchline.context.timestamps import milliseconds

if TYPE_CHECKING:
    from branchline.context.builder import build_context
    from branchline.context.incremental import IncrementalContext
    from branchline.context.model_input import (
        BRANCH_SUMMARY_PREFIX,
        COMPACTION_SUMMARY_PREFIX,
        labelled_summary,
        model_messages,
        to_model,
        unlabelled_summary,
    )
    from branchline.context.providers.anthropic import anthropic
    from branchline.context.providers.common import ProviderRequest
    from branchline.context.providers.from_anthropic import from_anthropic
    from branchline.context.providers.from_openai import from_openai
    from branchline.context.providers.openai_chat import openai_chat
    from branchline.context.providers.openai_responses import openai_responses
    from branchline.context.selection import selected_entries
    from branchline.context.system_prompt import SystemState, replay_system
    from branchline.context.tokens import (
        TokenEstimate,
        context_tokens,
        estimate_message,
        estimate_messages,
        request_tokens,
    )
    from branchline.context.tool_pairs import NO_RESULT, close_tool_calls
    from branchline.context.usage import (
        TOOLS_AND_SUMMARIES,
        UsageBreakdown,
        UsageRow,
        UsageSum,
        UsageTotals,
        totals,
        usage_rows,
        usage_sum,
    )

__all__ = [
    "BRANCH_SUMMARY_PREFIX",
    "COMPACTION_SUMMARY_PREFIX",
    "NO_RESULT",
    "TOOLS_AND_SUMMARIES",
    "Context",
    "ContextMessage",
    "ContextRules",
    "ContextSource",
    "IncrementalContext",
    "ModelRef",
    "ProviderRequest",
    "SystemState",
    "TokenEstimate",
    "UsageBreakdown",
    "UsageRow",
    "UsageSum",
    "UsageTotals",
    "anthropic",
    "build_context",
    "close_tool_calls",
    "context_tokens",
    "estimate_message",
    "estimate_messages",
    "from_anthropic",
    "from_openai",
    "labelled_summary",
    "milliseconds",
    "model_messages",
    "openai_chat",
    "openai_responses",
    "replay_system",
    "request_tokens",
    "selected_entries",
    "to_model",
    "totals",
    "unlabelled_summary",
    "usage_rows",
    "usage_sum",
]

_LATER = {
    "builder": ("build_context",),
    "selection": ("selected_entries",),
    "providers.anthropic": ("anthropic",),
    "tool_pairs": ("NO_RESULT", "close_tool_calls"),
    "incremental": ("IncrementalContext",),
    "providers.openai_responses": ("openai_responses",),
    "providers.openai_chat": ("openai_chat",),
    "providers.common": ("ProviderRequest",),
    "providers.from_anthropic": ("from_anthropic",),
    "providers.from_openai": ("from_openai",),
    "system_prompt": ("SystemState", "replay_system"),
    "model_input": (
        "BRANCH_SUMMARY_PREFIX",
        "COMPACTION_SUMMARY_PREFIX",
        "labelled_summary",
        "model_messages",
        "to_model",
        "unlabelled_summary",
    ),
    "tokens": ("TokenEstimate", "context_tokens", "estimate_message", "estimate_messages", "request_tokens"),
    "usage": (
        "TOOLS_AND_SUMMARIES",
        "UsageBreakdown",
        "UsageRow",
        "UsageSum",
        "UsageTotals",
        "totals",
        "usage_rows",
        "usage_sum",
    ),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: not every session builds requests or counts tokens."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
