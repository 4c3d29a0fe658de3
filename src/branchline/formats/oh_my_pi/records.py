"""oh-my-pi's records as native ones, and native ones as oh-my-pi writes them.

Most records are pi's. Reading gives the others their native form, so that tree, context and views need not
know this program. Writing gives them back, and refuses what the program would not see.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Entry,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UnknownMessage,
    Usage,
    UsageEntry,
    codec,
    entry_from_fields,
)
from branchline.entries.lenient import usage_from
from branchline.formats.oh_my_pi.slot import clean_title
from branchline.tree import ROOT, Tree

__all__ = ["RECOVERED", "chosen_model", "entry_line", "native_entry", "refused", "with_task_usage"]

Fields = dict[str, Any]

RECOVERED = "retryRecovery"
"""What an answer that failed and was asked for again carries; kept among the diagnostics of the message."""

_WITHOUT_EFFECT = frozenset({"context_edit", "usage"})  # pi's own, which oh-my-pi passes over


def native_entry(fields: Fields, tree: Tree, position: int) -> Entry:
    """The native record of an entry, from the JSON object of its line."""
    kind = fields.get("type")
    match kind:
        case "title_change":
            name = fields.get("title")
            return entry_from_fields({**fields, "type": "session_info", "name": name})
        case "model_usage":
            native = {"type": "usage", "kind": fields.get("purpose"), "note": fields.get("errorMessage")}
            return entry_from_fields({**fields, **native})
        case "model_change":
            chosen = chosen_model(fields)
            if chosen is None or chosen[0] != "default":
                return _unknown(fields)
            provider, _, model = chosen[1].rpartition("/") if chosen[1].count("/") == 1 else _split(chosen[1])
            return entry_from_fields({**fields, "provider": provider, "modelId": model})
        case "thinking_level_change":
            return entry_from_fields({**fields, "thinkingLevel": fields.get("thinkingLevel") or "off"})
        case "compaction":
            return entry_from_fields(_native_compaction(fields, tree, position))
        case "branch_summary":
            return entry_from_fields({**fields, "fromHook": fields.get("fromExtension")})
        case "message":
            return entry_from_fields({**fields, "message": _native_message(fields.get("message"))})
        case _ if kind in _WITHOUT_EFFECT:
            return _unknown(fields)
        case _:
            return entry_from_fields(fields)


def chosen_model(fields: Fields) -> tuple[str, str] | None:
    """Role and ``provider/id`` of a model change; None for pi's form, which oh-my-pi passes over."""
    model, role = fields.get("model"), fields.get("role")
    if not isinstance(model, str) or not model:
        return None
    return ("default" if role is None else str(role)), model


def with_task_usage(entry: Entry) -> Entry:
    """The result of a sub-agent with what that agent spent, which lies among the details."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, ToolResult):
        return entry
    result = entry.message
    details = result.details
    if result.tool_name != "task" or not isinstance(details, dict) or not isinstance(details.get("usage"), dict):
        return entry
    usage = usage_from(details["usage"])
    return msgspec.structs.replace(entry, message=msgspec.structs.replace(result, usage=usage))
