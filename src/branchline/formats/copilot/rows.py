"""Typed Copilot CLI events: the few fields that the tree depends on."""

from __future__ import annotations

import msgspec

__all__ = ["Row"]


class _Context(msgspec.Struct, gc=False, rename="camel"):
    cwd: str = ""
    branch: str | None = None


class _ToolRequest(msgspec.Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    name: str = ""


class _Origin(msgspec.Struct, gc=False):
    parent: str | None = msgspec.field(name="from", default=None)
    title: str | None = None


class _Data(msgspec.Struct, gc=False, rename="camel"):
    content: str | None = None
    source: str | None = None
    session_id: str = ""
    start_time: str = ""
    copilot_version: str = ""
    context: _Context | None = None
    success: bool | None = None
    branchline: _Origin | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    parent_tool_call_id: str | None = None
    asset_id: str | None = None
    is_user_requested: bool = False
    compaction_attempt_id: str = ""
    tool_requests: tuple[_ToolRequest, ...] | None = None


class Row(msgspec.Struct, gc=False, rename="camel"):
    """One line."""

    type: str = ""
    id: str = ""
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    timestamp: str = ""
    agent_id: str | None = None
    data: _Data | None = None
