"""Typed rollout lines: the few fields that the replay needs.

Releases differ in nearly every field, so all are optional; values of an unexpected type are dropped.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from branchline.formats import typed_rows
from branchline.formats.json_values import optional_text

__all__ = [
    "CONTEXT",
    "ITEMS",
    "OTHER",
    "PROVENANCE",
    "TURN",
    "Info",
    "Payload",
    "ResponseItem",
    "Row",
    "is_context",
    "is_image_tag",
    "item_class",
    "item_text",
    "item_type",
    "prompt_text",
    "row_from",
]

OTHER, TURN, CONTEXT = 0, 1, 2
"""What an item is for a rollback: neither, the start of a turn, context that precedes one."""

PROVENANCE = "branchline"
"""The type of the lines that branchline adds to its rollouts; Codex skips them."""

ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
        "tool_search_call",
        "tool_search_output",
        "agent_message",
        "compaction",
        "context_compaction",
        "ghost_snapshot",
    }
)


class ContentPart(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class TokenUsage(msgspec.Struct, gc=False):
    input_tokens: int | float | None = None
    cached_input_tokens: int | float | None = None
    cache_write_input_tokens: int | float | None = None
    output_tokens: int | float | None = None
    reasoning_output_tokens: int | float | None = None
    total_tokens: int | float | None = None


class Info(msgspec.Struct, gc=False):
    total_token_usage: TokenUsage | None = None


class ResponseItem(msgspec.Struct, gc=False):
    """An item of the model's history."""

    type: str | None = None
    role: str | None = None
    content: str | tuple[ContentPart, ...] | None = None
    call_id: str | None = None
    name: str | None = None


class Payload(ResponseItem, gc=False):
    """An item, an event, a context or a compaction."""

    message: str | None = None
    turn_id: str | None = None
    num_turns: int | None = None
    model: str | None = None
    effort: str | None = None
    info: Info | None = None
    item: ResponseItem | None = None
    replacement_history: tuple[ResponseItem, ...] | None = None
    origin: str | None = msgspec.field(name="from", default=None)
    title: str | None = None
    provider: str | None = None


class Row(msgspec.Struct, gc=False):
    """One line. The oldest files have items without an envelope, so its fields may be an item's too."""

    type: str | None = None
    timestamp: str | None = None
    ordinal: int | None = None
    payload: Payload | None = None


def row_from(fields: dict[str, Any]) -> Row:
    """Return the row for a JSON object, without values of the wrong type."""
    bare = "payload" not in fields and optional_text(fields.get("type")) in ITEMS
    return typed_rows.row_from(
        {**fields, "type": "response_item", "payload": fields} if bare else fields, Row
    )


# -- what items are ---------------------------------------------------------------------------------------

_CONTEXT = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<codex_internal_context",
    "<goal_context>",
    "<skill",
    "<hook",
    "<plugin",
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
    "Warning: Your account was flagged",
)


def is_context(text: str) -> bool:
    """Return whether a user item with this text is context, not typed by the user."""
    beginning = text[:200].lstrip() or text.lstrip()
    return beginning.startswith(_CONTEXT)


_IMAGE_TAG = re.compile(r"\s*(?:<image\b[^\n]*>|</image>)\s*")


def is_image_tag(text: str) -> bool:
    """Return whether this is the text that Codex puts before or after an image."""
    return _IMAGE_TAG.fullmatch(text) is not None


def item_type(item: ResponseItem) -> str:
    """Return the type of an item; one without a type but with a role is a message."""
    return item.type or ("message" if item.role else "")


def item_text(item: ResponseItem) -> str:
    content = item.content
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join([part.text for part in content if part.text])


def prompt_text(event: Payload) -> str:
    """Return what the user typed, from the event that repeats it."""
    if event.type == "user_message":
        return event.message or ""
    return "" if event.item is None else item_text(event.item)


def item_class(item: ResponseItem, text: str) -> int:
    """Classify an item for rollbacks."""
    kind = item_type(item)
    if kind == "agent_message":
        return TURN
    if kind != "message" or item.role == "assistant":
        return OTHER
    if item.role == "user":
        return CONTEXT if is_context(text) else TURN
    return CONTEXT if item.role in ("developer", "system") else OTHER
