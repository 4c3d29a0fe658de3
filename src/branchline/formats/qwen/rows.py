"""Typed Qwen Code records: the few fields that the tree depends on."""

from __future__ import annotations

import msgspec

__all__ = ["Row"]


class _Presence(msgspec.Struct, gc=False):
    """Any object; no fields are kept."""


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    name: str = ""


class _Part(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _Call | None = None
    function_response: _Presence | None = None


class _Message(msgspec.Struct, gc=False):
    parts: tuple[_Part, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Return the texts in it, without thinking."""
        return [part.text for part in self.parts if part.text and not part.thought]


class _SystemPayload(msgspec.Struct, gc=False, rename="camel"):
    custom_title: str | None = None
    parent: str | None = msgspec.field(name="from", default=None)


class _ForkedFrom(msgspec.Struct, gc=False, rename="camel"):
    session_id: str = ""


class Row(msgspec.Struct, gc=False, rename="camel"):
    """One line."""

    uuid: str = ""
    parent_uuid: str | msgspec.UnsetType | None = msgspec.UNSET
    session_id: str = ""
    timestamp: str = ""
    type: str = ""
    subtype: str | None = None
    provenance: str | None = None
    cwd: str = ""
    version: str = ""
    git_branch: str | None = None
    message: _Message | None = None
    system_payload: _SystemPayload | None = None
    forked_from: _ForkedFrom | None = None
