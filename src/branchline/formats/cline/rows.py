"""Typed Cline lines: the few fields that the tree depends on."""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

import msgspec

__all__ = ["Content", "Row"]


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None


Content = str | list[_Block] | None


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    display_only: bool = False


class _Model(msgspec.Struct, gc=False, rename="camel"):
    """The model of an answer: the command line and the editor extensions name the fields differently."""

    id: str | None = None
    model_id: str | None = None
    provider: str | None = None
    provider_id: str | None = None


class _Presence(msgspec.Struct, gc=False):
    """Any object; no fields are kept."""


class Row(msgspec.Struct, gc=False):
    """One line: the session, a message, or the usage."""

    cline: str = ""
    id: str | None = None
    parent: str | None = None
    agent: str | None = None
    cwd: str = ""
    time: str | int | float | None = None
    title: str | None = None
    model: str | None = None
    branch: str | None = None
    role: str = ""
    content: Content = None
    ts: int | float | None = None
    metadata: _Metadata | None = None
    is_summary: bool = msgspec.field(name="isSummary", default=False)
    spent: _Presence | None = None
    model_info: _Model | None = msgspec.field(name="modelInfo", default=None)
