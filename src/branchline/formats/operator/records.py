"""Conversion of Operator lines to entries.

Operator stores all tool results of a turn in one message; here each is an entry, decoded from the same line.
All other lines are one entry each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Cost,
    Custom,
    CustomContent,
    CustomMessage,
    Entry,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    Text,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UnknownMessage,
    Usage,
    UserMessage,
)
from branchline.formats.json_values import (
    dict_of,
    number_of,
    optional_flag,
    optional_number,
    optional_text,
    text_of,
)
from branchline.formats.operator.parts import blocks_of
from branchline.formats.operator.rows import contents_of, reference
from branchline.formats.operator.timestamps import instant, iso_time

__all__ = ["LEVELS", "STOP_REASONS", "TOKENS", "Result", "to_entry"]

LEVELS = frozenset({"off", "minimal", "low", "medium", "high", "xhigh", "max"})
STOP_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "content_filter": "error",
    "abort": "aborted",
    "error": "error",
}
"""Operator's stop reasons, and the native ones."""
TOKENS = ("input", "output", "cache_read", "cache_write")
"""The kinds of tokens that are counted and priced."""


class Result(NamedTuple):
    """The tool result of a message that an entry is, and the name of the tool."""

    number: int
    name: str


def to_entry(
    fields: Mapping[str, Any],
    key: str,
    parent: str | None,
    result: Result | None,
    first_parts: Mapping[str, str],
) -> Entry:
    """Return the entry of a line. ``first_parts`` names the first entry of a line that holds several."""
    common: dict[str, Any] = {"id": key, "parent": parent, "timestamp": iso_time(fields.get("timestamp"))}
    match fields.get("type"):
        case "message":
            return MessageEntry(**common, message=_message(fields.get("message"), result))
        case "thinking_level_change":
            return ThinkingLevelChange(**common, thinking_level=text_of(fields.get("thinking_level")))
        case "model_change":
            return ModelChange(
                **common,
                provider=text_of(fields.get("provider_id")),
                model_id=text_of(fields.get("model_id")),
            )
        case "compaction":
            first_kept = optional_text(fields.get("first_kept_entry_id"))
            return Compaction(
                **common,
                summary=text_of(fields.get("summary")),
                first_kept=first_kept if first_kept is None else first_parts.get(first_kept, first_kept),
                tokens_before=optional_number(fields.get("tokens_before")),
                details=fields.get("details"),
                from_hook=optional_flag(fields.get("from_hook")),
            )
        case "branch_summary":
            return BranchSummary(
                **common,
                from_id=optional_text(fields.get("from_id")),
                summary=text_of(fields.get("summary")),
                details=fields.get("details"),
                from_hook=optional_flag(fields.get("from_hook")),
            )
        case "label" if (target := reference(fields.get("target_id"))) is not None:
            return Label(**common, target=target, label=optional_text(fields.get("label")))
        case "leaf":
            return Leaf(**common, target=reference(fields.get("target_id")))
        case "session_info":
            return SessionInfo(**common, name=text_of(fields.get("name")).strip())
        case "custom":
            return Custom(**common, custom_type=text_of(fields.get("custom_type")), data=fields.get("data"))
        case "custom_message":
            return CustomMessage(
                **common,
                custom_type=text_of(fields.get("custom_type")),
                content=blocks_of(fields.get("content")),
                display=display
                if (display := optional_flag(fields.get("display"))) is not None
                else msgspec.UNSET,
                details=fields.get("details"),
            )
        case kind:
            return Unknown(type=kind if isinstance(kind, str) else "", **common, fields=dict(fields))


def _message(fields: Any, result: Result | None) -> Message:
    if not isinstance(fields, dict):
        return UnknownMessage(role="", fields={} if fields is None else {"value": fields})
    contents = contents_of(fields)
    time = instant(fields.get("timestamp"))
    match fields.get("role"):
        case "user":
            return UserMessage(content=blocks_of(contents), timestamp=time)
        case "system":
            return SystemMessage(content=blocks_of(contents), timestamp=time)
        case "assistant":
            reason = optional_text(fields.get("stop_reason"))
            ours = None if reason is None else STOP_REASONS.get(reason, reason)
            return AssistantMessage(
                content=blocks_of(contents),
                usage=_usage(fields.get("usage")),
                stop_reason=ours,
                raw_stop_reason=reason if reason == "content_filter" else None,
                error_message=text_of(fields.get("error")) or None,
                timestamp=time,
            )
        case "tool" if result is not None:
            return _tool_result(contents, result, time)
        case "custom":
            return CustomContent(custom_type="", content=blocks_of(contents), timestamp=time)
        case "branch_summary":
            return BranchSummaryMessage(summary=_text_of(contents), timestamp=time)
        case "compaction_summary":
            return CompactionSummaryMessage(summary=_text_of(contents), timestamp=time)
        case role:
            return UnknownMessage(role=role if isinstance(role, str) else "", fields=fields)


def _tool_result(contents: Any, result: Result, time: int | None) -> Message:
    """Return one of a message's results; parts of other kinds belong to the result that they follow."""
    places = [
        place
        for place, part in enumerate(contents)
        if isinstance(part, dict) and part.get("type") == "tool_result"
    ]
    start = places[result.number]
    end = places[result.number + 1] if result.number + 1 < len(places) else len(contents)
    part = contents[start]
    before = contents[:start] if result.number == 0 else []
    return ToolResult(
        tool_call_id=text_of(part.get("id")),
        tool_name=result.name,
        content=(
            *blocks_of(before),
            Text(text=text_of(part.get("content"))),
            *blocks_of(contents[start + 1 : end]),
        ),
        details=part.get("metadata") or None,
        is_error=part.get("is_error") is True,
        timestamp=time,
    )


def _usage(fields: Any) -> Usage | None:
    if not isinstance(fields, dict):
        return None
    tokens: dict[str, Any] = {name: number_of(fields.get(f"{name}_tokens")) for name in TOKENS}
    given = dict_of(fields.get("cost"))
    costs: dict[str, Any] = {name: number_of(given.get(name)) for name in (*TOKENS, "total")}
    return Usage(**tokens, total_tokens=sum(tokens.values()), cost=Cost(**costs))


def _text_of(contents: Any) -> str:
    return "".join(block.text for block in blocks_of(contents) if isinstance(block, Text))
