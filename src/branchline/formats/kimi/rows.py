"""Typed Kimi Code events: the few fields that the replay needs."""

from __future__ import annotations

import msgspec

__all__ = ["Row"]


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Origin(msgspec.Struct, gc=False):
    kind: str = ""


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    id: str | None = None
    content: str | tuple[_Part, ...] | None = None
    origin: _Origin | None = None


class _Event(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    uuid: str | None = None
    step_uuid: str | None = None
    tool_call_id: str | None = None
    name: str | None = None
    part: _Part | None = None


class _Environment(msgspec.Struct, gc=False):
    cwd: str = ""


class Row(msgspec.Struct, gc=False, rename="camel"):
    """One line."""

    type: str = ""
    time: int | float | None = None
    created_at: int | float | None = msgspec.field(name="created_at", default=None)
    protocol_version: str = msgspec.field(name="protocol_version", default="")
    input: str | tuple[_Part, ...] | None = None
    prompt_id: str | None = None
    message: _Message | None = None
    event: _Event | None = None
    count: int | None = None
    kept_user_message_count: int | None = None
    provider: str | None = None
    model: str | None = None
    environment_disclosure: _Environment | None = None
