"""Conversion between oh-my-pi's records and native ones.

Most records are pi's. Reading converts the others to native ones, so tree, context and views need no special
cases. Writing converts them back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import (
    BranchSummary,
    Compaction,
    Entry,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    Usage,
    UsageEntry,
    codec,
    entry_from_fields,
    json_codec,
)
from branchline.formats.json_values import dict_of, optional_text, text_of
from branchline.formats.oh_my_pi.title_slot import clean_title
from branchline.tree import ROOT, Tree

__all__ = ["RECOVERED", "chosen_model", "native_entry", "to_fields", "with_task_usage"]

Fields = dict[str, Any]

RECOVERED = "retryRecovery"
"""The field of a failed answer that was retried; stored among the message's diagnostics."""

_WITHOUT_EFFECT = frozenset({"context_edit", "usage"})  # pi's types that oh-my-pi ignores


# -- reading ----------------------------------------------------------------------------------------------


def native_entry(fields: Fields, tree: Tree, position: int) -> Entry:
    """Return the native record of an entry from the JSON object of its line."""
    kind = fields.get("type")
    match kind:
        case "title_change":
            native = {"type": "session_info", "name": fields.get("title")}
        case "model_usage":
            native = {"type": "usage", "kind": fields.get("purpose"), "note": fields.get("errorMessage")}
        case "model_change":
            role, model = chosen_model(fields) or ("", "")
            if role != "default":
                return _unknown(fields)
            provider, slash, name = model.partition("/")
            native = {"provider": provider, "modelId": name} if slash else {"provider": "", "modelId": model}
        case "thinking_level_change":
            level = fields.get("thinkingLevel")
            native = {"thinkingLevel": "off" if level is None else level}
        case "compaction":
            native = {
                "firstKeptEntryId": _first_kept(fields, tree, position),
                "fromHook": fields.get("fromExtension", fields.get("fromHook")),
                "systemMessage": None,
                "retainedTail": None,
            }
        case "branch_summary":
            native = {"fromHook": fields.get("fromExtension", fields.get("fromHook"))}
        case "message":
            native = {"message": _native_message(fields.get("message"))}
        case _ if kind in _WITHOUT_EFFECT:
            return _unknown(fields)
        case _:
            native = {}
    return entry_from_fields({**fields, **native})


def chosen_model(fields: Fields) -> tuple[str, str] | None:
    """Return role and ``provider/id`` of a model change; None for pi's form, which oh-my-pi ignores."""
    model, role = fields.get("model"), fields.get("role")
    if not isinstance(model, str) or not model:
        return None
    return "default" if role is None else str(role), model


def with_task_usage(entry: Entry) -> Entry:
    """Add a sub-agent's usage, which is stored among the details of its result."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, ToolResult):
        return entry
    result = entry.message
    details = result.details
    if result.tool_name != "task" or not isinstance(details, dict):
        return entry
    try:
        usage = json_codec.convert(details.get("usage"), Usage)
    except ValueError:
        return entry
    return msgspec.structs.replace(entry, message=msgspec.structs.replace(result, usage=usage))


def _native_message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    if message.get("role") == "hookMessage":
        return {**message, "role": "custom"}
    if message.get("role") == "assistant" and message.get(RECOVERED):
        return {**message, "diagnostics": {RECOVERED: message[RECOVERED]}}
    return message


def _first_kept(fields: Fields, tree: Tree, position: int) -> Any:
    """Return the first entry that is sent along with a compaction.

    If the provider stores the history up to an entry, the entries after it are sent; the compaction's own id
    means that none are.
    """
    first, through = fields.get("firstKeptEntryId"), fields.get("providerReplayThroughEntryId")
    held = dict_of(fields.get("preserveData"))
    if not _is_openai_history(held.get("openaiRemoteCompaction")) and not (
        first == "" and _is_anthropic_summary(held.get("anthropicCompaction"))
    ):
        return first
    following = tree.keys[position]
    above = tree.parents[position]
    while above != ROOT:
        key = tree.keys[above]
        if key == through:
            return following
        following, above = key, tree.parents[above]
    return tree.keys[position]


def _is_openai_history(held: Any) -> bool:
    items = dict_of(held).get("replacementHistory")
    return (
        isinstance(items, list)
        and bool(text_of(held.get("provider")))
        and all(isinstance(item, dict) for item in items)
    )


def _is_anthropic_summary(held: Any) -> bool:
    return all(text_of(dict_of(held).get(name)) for name in ("provider", "content"))


def _unknown(fields: Fields) -> Unknown:
    return Unknown(
        type=str(fields.get("type")),
        id=str(fields.get("id")),
        parent=optional_text(fields.get("parentId")),
        timestamp=text_of(fields.get("timestamp")),
        fields=fields,
    )


# -- writing ----------------------------------------------------------------------------------------------


def to_fields(entry: Entry, title: str | None) -> Fields:
    """Return a new entry as oh-my-pi's JSON object; ``title`` is the one in effect before it."""
    native = codec.new_entry_fields(entry)
    common = {"id": entry.id, "parentId": entry.parent, "timestamp": entry.timestamp}
    match entry:
        case SessionInfo():
            change = {"title": clean_title(entry.name), "source": "user", "previousTitle": title or None}
            return {"type": "title_change", **common, **_present(change)}
        case ModelChange():
            model = {"model": f"{entry.provider}/{entry.model_id}", "resolvedModelIsFallback": False}
            return {"type": entry.type, **common, **model}
        case ThinkingLevelChange():
            return {**native, "configured": None}
        case Compaction():
            own = {
                "summary": entry.summary,
                "firstKeptEntryId": entry.first_kept or entry.id,
                "tokensBefore": entry.tokens_before or 0,
                "details": entry.details,
                "fromExtension": entry.from_hook,
                "usage": native.get("usage"),
            }
            return {"type": entry.type, **common, **_present(own)}
        case BranchSummary():
            own = {
                "fromId": entry.parent or "root",
                "summary": entry.summary,
                "details": entry.details,
                "fromExtension": entry.from_hook,
                "usage": native.get("usage"),
            }
            return {"type": entry.type, **common, **_present(own)}
        case UsageEntry():
            own = {
                "purpose": entry.kind,
                "api": "",
                "provider": entry.provider or "",
                "model": entry.model or "",
                "usage": msgspec.to_builtins(entry.usage or Usage()),
                "stopReason": "stop",
                "errorMessage": entry.note,
            }
            return {"type": "model_usage", **common, **_present(own)}
        case _:
            return native


def _present(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}
