"""Token counts of messages: the usage reported by the last answer, plus an estimate for later messages.

An estimate is a quarter of the length in UTF-16 units, rounded up. It is rough but consistent, which is
enough to decide about compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from branchline.context.context import Context, ModelRef
from branchline.context.foreign_roles import foreign_message
from branchline.context.javascript import stringify, utf16_length
from branchline.context.system_prompt import replay_system
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Content,
    CustomContent,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownMessage,
    UserMessage,
    as_blocks,
)

__all__ = [
    "TokenEstimate",
    "context_tokens",
    "estimate_message",
    "estimate_messages",
    "projected_tokens",
    "request_tokens",
]

_IMAGE = 4800


class TokenEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """``usage_tokens`` were reported by the answer at ``last_usage_index``; the rest is estimated."""

    tokens: int | float
    usage_tokens: int | float = 0
    trailing_tokens: int = 0
    last_usage_index: int | None = None


def context_tokens(context: Context) -> TokenEstimate:
    """Return the tokens of a context. Reported usage counts unless the context was changed after it."""
    return projected_tokens([item.message for item in context.messages], context.measured_from)


def request_tokens(context: Context, model: ModelRef | None, *, overhead: int = 0) -> int | float:
    """Estimate the tokens of the next request to a model.

    ``overhead`` is the estimate for the system prompt and tools.

    Only usage reported by the model itself includes them: other models and agents send other system prompts
    and tools. It counts at least as much as the estimate, because some servers omit cached tokens.
    """
    messages = [item.message for item in context.messages]
    estimated = projected_tokens(messages, len(messages)).tokens + overhead
    found = _last_usage(messages, context.measured_from, model)
    return estimated if found is None else max(found.tokens, estimated)


def projected_tokens(messages: Sequence[Message], measured_from: int) -> TokenEstimate:
    """Return the tokens of messages, using only usage reported from ``measured_from`` on."""
    found = _last_usage(messages, measured_from)
    if found is not None:
        return found
    others = [message for message in messages if not isinstance(message, SystemMessage)]
    tokens = sum(map(estimate_message, others))
    if len(others) < len(messages):
        state = replay_system(messages)
        sections: dict[str, str | None] = {**state.sections}
        replayed = SystemMessage(content=state.prompt, sections=sections, tools_added=state.tools or None)
        tokens += estimate_message(replayed)
    return TokenEstimate(tokens=tokens, trailing_tokens=tokens)


def estimate_messages(messages: Sequence[Message]) -> TokenEstimate:
    """Return the tokens of messages, using the usage reported by the last answer."""
    found = _last_usage(messages, 0)
    if found is not None:
        return found
    tokens = sum(map(estimate_message, messages))
    return TokenEstimate(tokens=tokens, trailing_tokens=tokens)


def estimate_message(message: Message) -> int:
    """Estimate the tokens of one message."""
    match message:
        case AssistantMessage():
            length = _answer_length(message.content)
        case UserMessage() | ToolResult() | CustomContent():
            length = _content_length(message.content)
        case BashExecution():
            length = utf16_length(message.command) + utf16_length(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            length = utf16_length(message.summary)
        case SystemMessage():
            length = _content_length(message.content)
            length += sum(utf16_length(section) for section in (message.sections or {}).values() if section)
            if message.tools_added:
                length += utf16_length(stringify(message.tools_added))
        case UnknownMessage():
            said = foreign_message(message)
            length = 0 if said is None else _content_length(said.content)
        case _:
            assert_never(message)
    return (length + 3) // 4


def _content_length(content: Content) -> int:
    if isinstance(content, str):
        return utf16_length(content)
    length = 0
    for block in content:
        if isinstance(block, Text):
            length += utf16_length(block.text)
        elif isinstance(block, Image):
            length += _IMAGE
    return length


def _answer_length(content: Content) -> int:
    length = 0
    for block in as_blocks(content):
        match block:
            case Text():
                length += utf16_length(block.text)
            case Thinking():
                length += utf16_length(block.thinking)
            case ToolCall():
                length += utf16_length(block.name) + utf16_length(stringify(block.arguments))
            case _:
                pass
    return length


def _last_usage(
    messages: Sequence[Message], first: int, model: ModelRef | None = None
) -> TokenEstimate | None:
    for index in range(len(messages) - 1, first - 1, -1):
        message = messages[index]
        if (
            isinstance(message, AssistantMessage)
            and (model is None or (message.provider, message.model) == (model.provider, model.id))
            and message.stop_reason not in ("aborted", "error")
            and message.usage is not None
            and (tokens := message.usage.context_tokens) > 0
        ):
            trailing = sum(map(estimate_message, messages[index + 1 :]))
            return TokenEstimate(
                tokens=tokens + trailing,
                usage_tokens=tokens,
                trailing_tokens=trailing,
                last_usage_index=index,
            )
    return None
